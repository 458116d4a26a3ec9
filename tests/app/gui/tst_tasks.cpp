// SPDX-License-Identifier: GPL-3.0-or-later
// The tasks of docs/tasks.md, but the one on two runs: each is done with as many inputs as the table says, and its answer is on the screen.
#include "tests/app/gui/tasks.h"
#include "tests/app/gui/window_start.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#endif

#include <QStandardPaths>

namespace tst_tasks {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestTasks : public QObject, private tests::WindowStart {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QVERIFY(m_traces.make());
    }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void takesAsManyInputsAsTheTableSays_data()
    {
        QTest::addColumn<int>("task");
        const auto all = gui::test::allTasks(m_traces);
        QCOMPARE(all.size(), std::size_t{11});
        for (std::size_t i = 0; i < all.size(); ++i) QTest::newRow(all[i].name) << static_cast<int>(i);
    }

    void takesAsManyInputsAsTheTableSays()
    {
        QFETCH(int, task);
        const gui::test::Task done = gui::test::allTasks(m_traces)[static_cast<std::size_t>(task)];
        const gui::test::TaskResult result = gui::test::runTask(done);
        QVERIFY2(result.missing.isEmpty(),
                 qPrintable(QStringLiteral("not seen: %1\nbut: %2").arg(result.missing.join(u';'), result.seen)));
        QCOMPARE(result.inputs, done.inputs);
    }

private:
    gui::test::TaskTraces m_traces;
};

FOURWALLS_TEST(TestTasks, QApplication)

} // namespace tst_tasks

#include "tst_tasks.moc"
