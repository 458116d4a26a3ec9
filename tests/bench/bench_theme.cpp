// SPDX-License-Identifier: GPL-3.0-or-later
// What another theme costs the window's thread: opens the traces, shows every view of each of them (or the overview
// alone), then changes the theme some times. bench_theme [--overview] [--times N] FILE.fourwalls…
#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_patience.h"
#include "tests/views/fail_on_warning.h"
#include "views/view_registry.h"

#include <QApplication>
#include <QStandardPaths>

#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace fourwalls;
using namespace fourwalls::gui;

namespace {

double threadMs()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// The longest event of the thread since it was last taken [ms of processor time].
class TimedApplication : public QApplication {
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override
    {
        if (m_depth > 0) return QApplication::notify(receiver, event);
        ++m_depth;
        const double start = threadMs();
        const bool taken = QApplication::notify(receiver, event);
        const double ms = threadMs() - start;
        m_longest = std::max(m_longest, ms);
        --m_depth;
        return taken;
    }
    double takeLongest() { return std::exchange(m_longest, 0); }

private:
    int m_depth = 0;
    double m_longest = 0;
};

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QStandardPaths::setTestModeEnabled(true);
    TimedApplication application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi);
    const tests::FailOnWarning warnings;
    QStringList traces;
    bool overviewOnly = false;
    int times = 4;
    const QStringList words = QCoreApplication::arguments().mid(1);
    for (qsizetype i = 0; i < words.size(); ++i) {
        if (words[i] == QLatin1String("--overview"))
            overviewOnly = true;
        else if (words[i] == QLatin1String("--times") && i + 1 < words.size())
            times = words[++i].toInt();
        else
            traces << words[i];
    }
    applyLanguage(QStringLiteral("en"));
    applyTheme(false);
    Settings settings(Settings::Kind::Forgetful);
    MainWindow window(tests::fileOpener(), settings);
    window.resize(1440, 860);
    window.show();
    gui::test::WindowPatience patience(window);
    for (const QString& trace : traces) {
        window.openFile(trace);
        patience.rest();
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            patience.rest();
            if (overviewOnly) break;
        }
    }
    window.showView(QStringLiteral("overview"));
    patience.rest();
    std::printf("%lld traces, %lld widgets\n", static_cast<long long>(traces.size()),
                static_cast<long long>(QApplication::allWidgets().size()));
    for (int i = 0; i < times; ++i) {
        const double start = threadMs();
        applyTheme(i % 2 == 0);
        const double applied = threadMs();
        application.takeLongest();
        patience.rest();
        QCoreApplication::processEvents();
        const double settled = threadMs();
        std::printf("theme %d: %.0f ms, then %.0f ms until all is quiet, the longest event of them %.0f ms\n", i,
                    applied - start, settled - applied, application.takeLongest());
    }
    return 0;
}
