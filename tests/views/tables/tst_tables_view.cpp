// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of a trace, offscreen: every table, filter, order, CSV, the visible range.
#include "tests/views/memory/view_probe.h"
#include "views/plot_table.h"
#include "views/tables/tables_view.h"

#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QTableView>

using namespace fourwalls;
using namespace fourwalls::views;

class TablesViewTest : public QObject {
    Q_OBJECT

    static sample::Shape small()
    {
        sample::Shape shape;
        shape.layers = 3;
        shape.steps = 4;
        shape.ranks = 2;
        return shape;
    }

    /// The trace is open and everything of it is there.
    static bool shown(ViewProbe<TablesView>& probe)
    {
        return QTest::qWaitFor([&] { return probe.view->session() != nullptr; }) && probe.ready();
    }

private slots:
    void init() { failOnQtWarnings(); }

    void everyTableIsRead()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        QAbstractItemModelTester tester(&probe.view->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (int kind = 0; kind < kTableKindCount; ++kind) {
            probe.view->showTable(static_cast<TableKind>(kind));
            QVERIFY(shown(probe));
            QVERIFY(probe.view->model().table());
            QCOMPARE(probe.view->model().table()->kind, static_cast<TableKind>(kind));
            QVERIFY2(probe.view->model().columnCount() >= 4, qPrintable(tableId(static_cast<TableKind>(kind))));
            for (const auto& row : probe.view->model().table()->rows)
                QCOMPARE(row.size(), probe.view->model().table()->columns.size());
        }
    }

    void stepsAreThoseOfTheRank()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Steps);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->model().rowCount(), 4);
        probe.view->showTable(TableKind::Ranks);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->model().rowCount(), 2);
    }

    void slicesFollowTheVisibleRange()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Slices);
        QVERIFY(shown(probe));
        const int all = probe.view->model().rowCount();
        QVERIFY(all > 0);
        const TimeRange whole = probe.selection.whole();
        probe.selection.setRange({whole.begin, whole.begin + Duration{whole.length().ns / 4}});
        QVERIFY(shown(probe));
        QVERIFY(probe.view->model().rowCount() > 0);
        QVERIFY(probe.view->model().rowCount() < all);
    }

    void filtersSortsAndCopies()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Operators);
        QVERIFY(shown(probe));
        QTableView& table = probe.view->table();
        const int all = table.model()->rowCount();
        QVERIFY(all > 1);
        probe.view->filter().setText(QStringLiteral("optimizer"));
        QVERIFY(table.model()->rowCount() < all);
        probe.view->filter().setText(QStringLiteral("there is no such operator"));
        QCOMPARE(table.model()->rowCount(), 0);
        probe.view->filter().clear();
        QCOMPARE(table.model()->rowCount(), all);
        constexpr int kTotal = 5;
        table.sortByColumn(kTotal, Qt::AscendingOrder);
        for (int row = 1; row < all; ++row)
            QVERIFY(table.model()->index(row - 1, kTotal).data(kExactRole).toLongLong() <=
                    table.model()->index(row, kTotal).data(kExactRole).toLongLong());
        const QString csv = probe.view->tableAsCsv();
        QCOMPARE(csv.count(QLatin1Char('\n')), all + 1);
    }
};

QTEST_MAIN(TablesViewTest)
#include "tst_tables_view.moc"
