// SPDX-License-Identifier: Apache-2.0
// Who is where in a hung job: rows that fold, and cells that show the wave front.
#include <QtTest> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/hang_rows.h"
#include "tests/support/hung_report.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tst_hang_rows {

using namespace fourwalls;
using sample::hungReport;

namespace {

const HangRow& rowWith(const HangRows& rows, int rank)
{
    for (const HangRow& row : rows.rows)
        if (std::find(row.ranks.begin(), row.ranks.end(), rank) != row.ranks.end()) return row;
    qFatal("no row of rank %d", rank);
}

} // namespace

class HangRowsTest : public QObject {
    Q_OBJECT

private slots:
    void cellsShowTheFront()
    {
        const HangRows rows = hangRows(hungReport(32), false);
        QCOMPARE(rows.rows.size(), std::size_t(32));
        // The column of the suspects first; where all agree there is none.
        QCOMPARE(rows.columns.size(), std::size_t(2));
        QCOMPARE(rows.columns[0].kind, std::string("TENSOR_MODEL_PARALLEL_GROUP"));
        QCOMPARE(*rows.columns[0].newest, std::int64_t(40));
        QCOMPARE(rows.agreeing, 1);
        const int last = rows.columns[0].cells - 1;
        QVERIFY(rowWith(rows, 11).cell(rows.columns[0], 0, last) == HangCell::NotEntered);
        QVERIFY(rowWith(rows, 11).cell(rows.columns[0], 0, last - 1) == HangCell::Finished);
        QVERIFY(rowWith(rows, 9).cell(rows.columns[0], 0, last) == HangCell::Entered);
        QVERIFY(rowWith(rows, 0).cell(rows.columns[0], 0, last) == HangCell::Finished);
        QVERIFY(rowWith(rows, 0).cell(rows.columns[1], 1, rows.columns[1].cells - 1) == HangCell::Entered);
        QVERIFY(rowWith(rows, 20).kind == HangRowKind::Missing);
        QVERIFY(rowWith(rows, 20).cell(rows.columns[0], 0, last) == HangCell::Unknown);
    }

    void equalRanksFold()
    {
        const HangRows rows = hangRows(hungReport(4096), true);
        // 11; 20; its seven peers; all the others.
        QCOMPARE(rows.rows.size(), std::size_t(4));
        QVERIFY(rows.rows[0].kind != HangRowKind::Usual && rows.rows[1].kind != HangRowKind::Usual);
        QCOMPARE(rowWith(rows, 11).ranks.size(), std::size_t(1));
        QCOMPARE(rowWith(rows, 8).ranks, (std::vector<int>{8, 9, 10, 12, 13, 14, 15}));
        QCOMPARE(rowWith(rows, 0).ranks.size(), std::size_t(4096 - 9));
    }
};

FOURWALLS_TEST(HangRowsTest, QCoreApplication)

} // namespace tst_hang_rows

#include "tst_hang_rows.moc"
