// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a hung job: rows that fold, cells that show the wave front, and what is said of it.
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/hang/hang_matrix_plot.h"
#include "views/hang/hang_page.h"
#include "views/hang/hang_rows.h"
#include "views/hang/hang_words.h"

#include <QCheckBox>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QtTest/QtTest>

#include <memory>

namespace tst_hang_page {

using namespace fourwalls;
using namespace fourwalls::views;
using diagnose::HangReport;

namespace {

/// `ranks` ranks in one group of all and in tensor groups of 8. Rank 11 never entered operation 40 of its tensor group
/// and 7 of all; rank 20 wrote no dump.
HangReport reportOf(int ranks)
{
    HangReport report;
    const auto add = [&](const std::string& name, const std::string& kind, int first, int count, std::int64_t newest) {
        diagnose::HangFront front;
        front.group = name;
        front.description = kind;
        for (int r = first; r < first + count; ++r) {
            front.ranks.push_back(r);
            const bool isBad = r == 11, isGone = r == 20;
            const bool isHeld = kind == "default_pg" || (11 >= first && 11 < first + count);
            front.entered.push_back(isGone ? std::nullopt : std::optional(newest - isBad));
            front.started.emplace_back();
            front.completed.push_back(isGone ? std::nullopt : std::optional(newest - isHeld));
        }
        report.fronts.push_back(std::move(front));
    };
    add("0", "default_pg", 0, ranks, 7);
    for (int g = 0; g < ranks / 8; ++g) add(std::to_string(100 + g), "TENSOR_MODEL_PARALLEL_GROUP", 8 * g, 8, 40);
    add("900", "EXPERT_MODEL_PARALLEL_GROUP", 24, 2, 5); // both members finished everything
    for (int r = 0; r < ranks; ++r) report.ranks.push_back(r);
    report.missing = {20};
    report.suspects.push_back({20, diagnose::HangReason::NoDump, diagnose::HangConfidence::Certain, {}, "", ""});
    report.suspects.push_back({11,
                               diagnose::HangReason::HostStopped,
                               diagnose::HangConfidence::Strong,
                               {"101", "TENSOR_MODEL_PARALLEL_GROUP", "all_reduce", 40},
                               "",
                               "load (loader.py:7)"});
    report.stacks[11] = "load (loader.py:7)\nmain (train.py:3)";
    report.chain.push_back({{8, 9, 10}, {"101", "TENSOR_MODEL_PARALLEL_GROUP", "all_reduce", 40}, {11}});
    return report;
}

const HangRow& rowWith(const HangRows& rows, int rank)
{
    for (const HangRow& row : rows.rows)
        if (std::find(row.ranks.begin(), row.ranks.end(), rank) != row.ranks.end()) return row;
    qFatal("no row of rank %d", rank);
}

} // namespace

class TestHangPage : public QObject {
    Q_OBJECT

    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void cellsShowTheFront()
    {
        const HangRows rows = hangRows(reportOf(32), false);
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
        const HangRows rows = hangRows(reportOf(4096), true);
        // 11; 20; its seven peers; all the others.
        QCOMPARE(rows.rows.size(), std::size_t(4));
        QVERIFY(rows.rows[0].kind != HangRowKind::Usual && rows.rows[1].kind != HangRowKind::Usual);
        QCOMPARE(rowWith(rows, 11).ranks.size(), std::size_t(1));
        QCOMPARE(rowWith(rows, 8).ranks, (std::vector<int>{8, 9, 10, 12, 13, 14, 15}));
        QCOMPARE(rowWith(rows, 0).ranks.size(), std::size_t(4096 - 9));
    }

    void theVerdict()
    {
        HangPage page;
        page.resize(1000, 700);
        page.setReport("dumps", std::make_shared<HangReport>(reportOf(32)));
        page.show();
        QVERIFY(QTest::qWaitForWindowExposed(&page));
        QVERIFY(page.isReady());
        const QString text = page.asText();
        QVERIFY2(
            text.contains("Rank 20 wrote no dump") &&
                text.contains("The program of rank 11 stands: it never entered all-reduce 40 of the tensor group 101"),
            qPrintable(text));
        // A rank with a stack is chosen first.
        auto* stack = page.findChild<QPlainTextEdit*>();
        QVERIFY(stack->toPlainText().contains("loader.py:7"));
        page.chooseRank(3);
        QVERIFY(!stack->toPlainText().contains("loader.py:7"));
        auto* fold = page.findChild<QCheckBox*>();
        QVERIFY(!fold->isChecked());
        fold->click();
        QCOMPARE(page.matrix().rows().rows.size(), std::size_t(4));
    }

    void aClickChoosesARank()
    {
        HangPage page;
        page.resize(1200, 900);
        page.setReport("dumps", std::make_shared<HangReport>(reportOf(4096)));
        page.show();
        QVERIFY(QTest::qWaitForWindowExposed(&page));
        auto* matrix = page.findChild<HangMatrixPlot*>();
        QSignalSpy chosen(matrix, &HangMatrixPlot::rankChosen);
        QTest::mouseClick(matrix->viewport(), Qt::LeftButton, {}, QPoint(20, 38 + 10));
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen[0][0].toInt(), matrix->rows().rows[0].ranks.front());
        QTest::keyClick(matrix, Qt::Key_Down);
        QCOMPARE(chosen.size(), 2);
        QCOMPARE(chosen[1][0].toInt(), matrix->rows().rows[1].ranks.front());
    }

    void nothingOpenAndErrors()
    {
        HangPage page;
        page.resize(900, 600);
        page.show();
        QVERIFY(page.isReady() && page.asText().isEmpty());
        page.setReading("dumps");
        QVERIFY(!page.isReady());
        page.setProblem({ErrorCode::Format, "no dump", "x", "y"});
        QVERIFY(page.isReady() && page.report() == nullptr);
        HangReport sound;
        sound.ranks = {0, 1};
        page.setReport("dumps", std::make_shared<HangReport>(sound));
        QVERIFY(page.asText().contains("no operation waits"));
        QVERIFY(page.matrix().rows().columns.empty());
    }
};

FOURWALLS_TEST(TestHangPage, QApplication)

} // namespace tst_hang_page

#include "tst_hang_page.moc"
