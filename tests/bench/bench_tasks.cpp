// SPDX-License-Identifier: GPL-3.0-or-later
// The tasks of docs/tasks.md with a stopwatch: prints inputs and the time from the first of them until the answer
// stands on the screen, which has no time to think in it. bench_tasks [TIMES]
#include "tests/app/gui/tasks.h"
#include "tests/views/fail_on_warning.h"

#include <QApplication>
#include <QStandardPaths>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace fourwalls;
using namespace fourwalls::gui;

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QStandardPaths::setTestModeEnabled(true);
    const QApplication application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi);
    const tests::FailOnWarning warnings;
    applyLanguage(QStringLiteral("en"));
    applyTheme(false);
    const int times = argc > 1 ? std::max(1, QByteArray(argv[1]).toInt()) : 5;
    gui::test::TaskTraces traces;
    if (!traces.make()) {
        std::fprintf(stderr, "the traces could not be made\n");
        return 1;
    }
    bool good = true;
    for (const gui::test::Task& task : gui::test::allTasks(traces)) {
        std::vector<double> ms;
        gui::test::TaskResult last;
        for (int i = 0; i < times; ++i) {
            last = gui::test::runTask(task);
            ms.push_back(last.ms);
        }
        std::ranges::sort(ms);
        std::printf("%-40s %d inputs, %.0f ms (%.0f to %.0f)%s\n", task.name, last.inputs, ms[ms.size() / 2],
                    ms.front(), ms.back(), last.missing.isEmpty() ? "" : ": NOT ANSWERED");
        if (!last.missing.isEmpty())
            std::printf("  not on the screen: %s\n  but: %s\n", qPrintable(last.missing.join(QStringLiteral("; "))),
                        qPrintable(last.seen));
        good = good && last.missing.isEmpty();
    }
    return good ? 0 : 1;
}
