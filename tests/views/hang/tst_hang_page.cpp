// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a hung job: what is said of it, and what a click chooses.
#include "tests/support/hung_report.h"
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/hang/hang_matrix_plot.h"
#include "views/hang/hang_page.h"
#include "views/hang/hang_words.h"

#include <QCheckBox>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QtTest/QtTest>

#include <memory>

namespace tst_hang_page {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

class TestHangPage : public QObject {
    Q_OBJECT

    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void theVerdict()
    {
        HangPage page;
        page.resize(1000, 700);
        page.setReport("dumps", std::make_shared<diagnose::HangReport>(hungReport(32)));
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
        page.setReport("dumps", std::make_shared<diagnose::HangReport>(hungReport(4096)));
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
        diagnose::HangReport sound;
        sound.ranks = {0, 1};
        page.setReport("dumps", std::make_shared<diagnose::HangReport>(sound));
        QVERIFY(page.asText().contains("no operation waits"));
        QVERIFY(page.matrix().rows().columns.empty());
    }
};

FOURWALLS_TEST(TestHangPage, QApplication)

} // namespace tst_hang_page

#include "tst_hang_page.moc"
