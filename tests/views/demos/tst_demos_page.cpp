// SPDX-License-Identifier: GPL-3.0-or-later
// The list of demos: four walls beside each other where their words have room, else two or one.
#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#include "views/demos/demos_page.h"

#include <QLabel>
#include <QtTest>

#include <set>

namespace tst_demos_page {

using namespace fourwalls;
using namespace fourwalls::views;

class DemosPageTest : public QObject {
    Q_OBJECT
private slots:
    void wallsStandWhereTheirWordsHaveRoom()
    {
        QList<DemoEntry> demos;
        for (const char* wall : {"memory", "communication", "performance", "tuning"})
            for (int i = 0; i < 3; ++i)
                demos << DemoEntry{QStringLiteral("%1-%2").arg(QLatin1String(wall)).arg(i), QLatin1String(wall),
                                   QStringLiteral("Everybody waits for each parameter"),
                                   QStringLiteral("Recomputation: none, selective or full, side by side")};
        DemosPage page;
        page.setDemos(demos);
        page.show();
        const auto columnsAt = [&](int width) {
            page.resize(width, 900);
            for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents();
            std::set<int> lefts;
            int buttons = 0;
            for (const QAbstractButton* each : page.findChildren<QAbstractButton*>()) {
                if (!each->isVisible() || !each->objectName().startsWith(QLatin1String("demo."))) continue;
                ++buttons;
                lefts.insert(each->mapTo(&page, QPoint()).x());
            }
            if (buttons != demos.size()) return -1;
            const QStringList problems = tests::layoutProblems(page);
            if (!problems.isEmpty()) qInfo("%d: %s", width, qPrintable(problems.join(QLatin1Char('|'))));
            return problems.isEmpty() ? static_cast<int>(lefts.size()) : 0;
        };
        QCOMPARE(columnsAt(1200), 4);
        QCOMPARE(columnsAt(500), 2);
        for (int width = 260; width < 1300; width += 30) QVERIFY(columnsAt(width) > 0);
        for (int width = 1300; width > 260; width -= 40) QVERIFY(columnsAt(width) > 0);
        QCOMPARE(columnsAt(260), 1);
        QCOMPARE(columnsAt(1200), 4);
    }
};

FOURWALLS_TEST(DemosPageTest, QApplication)

} // namespace tst_demos_page

#include "tst_demos_page.moc"
