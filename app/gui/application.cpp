// SPDX-License-Identifier: GPL-3.0-or-later
// The desktop application: reads the command line before any window system is asked for, then runs one of the modes.
#include "app/gui/application.h"

#include "app/gui/appearance.h"
#include "app/gui/bench_run.h"
#include "app/gui/command_line.h"
#include "app/gui/demo_library.h"
#include "app/gui/main_window.h"
#include "app/gui/render_run.h"
#include "views/view_registry.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>

#include <cstdio>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fourwalls::gui {

namespace {

/// One heap for all threads: by default every worker keeps a heap of its own, and what they free in turns is held
/// many times over (measured on 10 M slices: 15 MB).
void shareOneHeap()
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

QStringList viewIds()
{
    QStringList ids{QStringLiteral("welcome")};
    for (const views::ViewEntry& entry : views::viewRegistry()) ids.append(entry.id);
    ids << QStringLiteral("whatif") << QStringLiteral("runs") << QStringLiteral("hang") << QStringLiteral("demos")
        << QStringLiteral("claims");
    return ids;
}

bool hasDisplay()
{
    return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY");
}

/// Renders and benchmarks must not depend on the display's scale or on the desktop's look.
void makeIndependentOfDisplay()
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("QT_ENABLE_HIGHDPI_SCALING", "0");
    qputenv("QT_QPA_PLATFORMTHEME", "");
}

/// Without a display some of Qt's warnings say only that; everything else is passed on.
void quietOffscreen(QtMsgType type, const QMessageLogContext& context, const QString& message)
{
    if (message.startsWith(QLatin1String("This plugin does not support")) ||
        message.contains(QLatin1String("XDG_RUNTIME_DIR")))
        return;
    std::fprintf(stderr, "%s\n", qFormatLogMessage(type, context, message).toLocal8Bit().constData());
}

int runWindow(const CommandLine& line, const views::TraceOpener& opener)
{
    Settings settings(Settings::Kind::Persistent);
    applyLanguage(line.language.isEmpty() ? settings.language() : line.language);
    applyTheme(line.dark.value_or(settings.dark()));
    MainWindow window(opener, settings);
    if (!line.demo.isEmpty()) window.startDemo(line.demo);
    if (line.files.isEmpty() && line.demo.isEmpty()) {
        window.restoreSession();
    } else if (!line.files.isEmpty()) {
        QStringList files;
        for (const QString& file : line.files) files.append(QDir::current().absoluteFilePath(file));
        window.openAt(files, line);
    }
    window.show();
    return QApplication::exec();
}

} // namespace

int runApplication(int argc, char** argv, const views::TraceOpener& opener)
{
    shareOneHeap();
    QStringList arguments;
    for (int i = 1; i < argc; ++i) arguments.append(QString::fromLocal8Bit(argv[i]));
    const Result<CommandLine> parsed = parseCommandLine(arguments, viewIds());
    if (!parsed.ok()) {
        std::fprintf(stderr, "fourwalls: %s\n", parsed.error().message().c_str());
        return 2;
    }
    const CommandLine& line = *parsed;
    if (line.mode == CommandLine::Mode::Help) {
        std::printf("%s", usage(viewIds(), builtInDemos()).toUtf8().constData());
        return 0;
    }
    if (!line.demo.isEmpty() && !builtInDemos().contains(line.demo) && !QFileInfo::exists(line.demo)) {
        std::fprintf(stderr, "fourwalls: --demo: there is no demo or file \"%s\" (demos: %s)\n", qPrintable(line.demo),
                     qPrintable(builtInDemos().join(QStringLiteral(", "))));
        return 2;
    }
    if (line.mode == CommandLine::Mode::Version) {
        std::printf("fourwalls %s\n", FOURWALLS_VERSION);
        return 0;
    }
    const bool hidden = line.mode == CommandLine::Mode::Render || line.mode == CommandLine::Mode::Bench;
    if (hidden) {
        makeIndependentOfDisplay();
        qInstallMessageHandler(quietOffscreen);
    }
    if (!hidden && !hasDisplay() && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
        std::fprintf(stderr, "fourwalls: there is no display (try: fourwalls --render timeline -o picture.png FILE)\n");
        return 1;
    }

    QCoreApplication::setApplicationName(QStringLiteral("fourwalls"));
    QCoreApplication::setApplicationVersion(QStringLiteral(FOURWALLS_VERSION));
    QApplication application(argc, argv);
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Fourwalls"));
    if (!hidden) return runWindow(line, opener);
    applyLanguage(line.language.isEmpty() ? QStringLiteral("en") : line.language);
    applyTheme(line.dark.value_or(false));
    return line.mode == CommandLine::Mode::Render ? runRender(line, opener) : runBench(line, opener);
}

} // namespace fourwalls::gui
