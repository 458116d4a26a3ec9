// SPDX-License-Identifier: GPL-3.0-or-later
// The status bar says what the trace says about itself.
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/header_bar.h"
#include "views/chrome/rail.h"
#include "views/chrome/status_strip.h"
#include "views/chrome/trace_tabs.h"

#include <QSignalSpy>
#include <QtTest/QtTest>

#include <QAbstractButton>

namespace tst_status_strip {

using namespace fourwalls;
using namespace fourwalls::views;

class TestStatusStrip : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    static TraceInfo info()
    {
        TraceInfo info;
        info.counts.slices = 18'412'907;
        info.header.ranks.resize(16);
        info.stepCount = 5;
        for (RankInfo& rank : info.header.ranks) rank.device = "H100";
        return info;
    }

    static QString joined(const TraceInfo& info)
    {
        QStringList texts;
        for (const StatusItem& item : statusOf(info)) texts.append(item.text);
        return texts.join(QLatin1Char('|')).remove(QChar(0x202F));
    }

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aCompleteTrace()
    {
        const QString text = joined(info());
        QVERIFY2(text.contains(QStringLiteral("complete")), qPrintable(text));
        QVERIFY2(!text.contains(QStringLiteral("not complete")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("18412907 slices")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("dropped 0")), qPrintable(text));
        QVERIFY2(!text.contains(QStringLiteral("overhead")), qPrintable(text)); // unknown is left out, never 0
        for (const StatusItem& item : statusOf(info())) QVERIFY(!item.warning);
    }

    /// Amber, not green: what is missing, and how much was read.
    void whatIsMissingIsSaidFirst()
    {
        TraceInfo partial = info();
        partial.audit.push_back(
            {"unread_osrt_api", AuditSeverity::Skipped, 12, "OS runtime calls: a table that is not read"});
        const StatusItem first = statusOf(partial).front();
        QVERIFY(first.warning && first.text.contains(QStringLiteral("not complete")));
        QVERIFY(first.explanation.contains(QStringLiteral("OS runtime calls")));
        partial.audit.push_back({"file_cut", AuditSeverity::Dropped, 7, {}});
        partial.audit.push_back({"import_entries", AuditSeverity::Info, 345, {}});
        QVERIFY(statusOf(partial).front().text.contains(QStringLiteral("the file ends early: 345 events read")));
    }

    void clocksOfSeveralRanks()
    {
        TraceInfo run = info();
        run.audit.push_back({"clock_residual_ns_rank_1", AuditSeverity::Info, 2900, {}});
        QVERIFY2(joined(run).contains(QStringLiteral("clocks aligned within 2.9")), qPrintable(joined(run)));
        run.audit.push_back({"clock_not_aligned", AuditSeverity::Info, 1, {}});
        QVERIFY2(joined(run).contains(QStringLiteral("clocks not aligned")), qPrintable(joined(run)));
        QVERIFY(statusOf(run).front().warning);
    }

    void ranksThatStandForOthersSaySo()
    {
        TraceInfo predicted = info();
        predicted.header.ranks = {RankInfo{}, RankInfo{}};
        for (RankInfo& rank : predicted.header.ranks) rank.multiplicity = 8;
        QVERIFY2(joined(predicted).contains(QStringLiteral("2 ranks for 16")), qPrintable(joined(predicted)));
        predicted.header.ranks.pop_back();
        QVERIFY2(joined(predicted).contains(QStringLiteral("1 rank for 8")), qPrintable(joined(predicted)));
    }

    void whatWasLostIsAWarning()
    {
        TraceInfo broken = info();
        broken.complete = false;
        broken.audit.push_back({"queue_full", AuditSeverity::Dropped, 12, "of rank 3"});
        broken.audit.push_back({"bad_rows", AuditSeverity::Skipped, 5, {}});
        broken.audit.push_back({"clamped", AuditSeverity::Repaired, 7, {}});
        broken.closing.recorderOverheadFraction = 0.0041;
        const QString text = joined(broken);
        QVERIFY2(text.contains(QStringLiteral("recovered")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("dropped 12")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("repaired 7")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("skipped 5")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("0.41%")), qPrintable(text));
        int warnings = 0;
        QString explained;
        for (const StatusItem& item : statusOf(broken)) {
            warnings += item.warning;
            explained += item.explanation;
        }
        QCOMPARE(warnings, 2); // recovered, and lost records
        QVERIFY(explained.contains(QStringLiteral("queue full")));
    }

    void aRunThatRanOutOfMemoryIsNotComplete()
    {
        // One of nobody first: a rank is named where one is known.
        std::vector<OutOfMemory> ranks(3);
        ranks[1].rank = RankId{3};
        ranks[2].rank = RankId{1};
        TraceInfo full = info();
        const QList<StatusItem> items = statusOf(full, ranks);
        QVERIFY2(items.front().text.endsWith(QStringLiteral("rank 3 ran out of memory")),
                 qPrintable(items.front().text));
        QVERIFY(items.front().warning);
        for (const StatusItem& item : items) QVERIFY(!item.text.contains(QStringLiteral("complete")));
        full.complete = false; // worse: the recording itself is not whole
        QVERIFY(statusOf(full, ranks).front().text.contains(QStringLiteral("recovered")));
    }

    void chipsNameDeviceAndPlan()
    {
        TraceInfo trace = info();
        QVERIFY(deviceWords(trace).contains(QStringLiteral("16")));
        QVERIFY(deviceWords(trace).contains(QStringLiteral("H100")));
        QVERIFY(planWords(trace).isEmpty()); // no spec: nothing is claimed
        TraceInfo part;
        part.header.ranks.push_back({RankId{2}, "AMD Instinct MI300X", "", 0, 0, 1});
        QVERIFY(!deviceWords(part).contains(QStringLiteral("rank")));
        part.header.worldSize = 8;
        QVERIFY2(deviceWords(part).endsWith(QStringLiteral("rank 2 of 8")), qPrintable(deviceWords(part)));
        trace.header.spec = RunSpec{};
        trace.header.spec->plan.dp = 4;
        trace.header.spec->plan.pp = 4;
        trace.header.spec->plan.microbatches = 8;
        const QString plan = planWords(trace);
        QVERIFY2(plan.contains(QStringLiteral("dp 4")) && plan.contains(QStringLiteral("1F1B")) &&
                     plan.contains(QStringLiteral("m 8")),
                 qPrintable(plan));
    }

    void tabsAndRailAnswerTheKeyboard()
    {
        Rail rail;
        rail.addEntry(QStringLiteral("timeline"), QStringLiteral("timeline"), QStringLiteral("Timeline"));
        rail.addEntry(QStringLiteral("memory"), QStringLiteral("memory"), QStringLiteral("Memory"));
        const QSignalSpy chosen(&rail, &Rail::chosen);
        for (QAbstractButton* button : rail.findChildren<QAbstractButton*>()) {
            QVERIFY(!button->accessibleName().isEmpty());
            QTest::keyClick(button, Qt::Key_Space);
        }
        QCOMPARE(chosen.size(), 2);
        QCOMPARE(chosen.at(1).at(0).toString(), QStringLiteral("memory"));

        TraceTabs tabs;
        const int first = tabs.addTab(QStringLiteral("a.fourwalls"), QStringLiteral("/a.fourwalls"));
        const int second = tabs.addTab(QStringLiteral("b.fourwalls"), QStringLiteral("/b.fourwalls"));
        QVERIFY(first != second);
        const QSignalSpy closing(&tabs, &TraceTabs::closeRequested);
        tabs.resize(600, 34);
        QAbstractButton* tab = tabs.findChildren<QAbstractButton*>().constFirst();
        QTest::mouseClick(tab, Qt::MiddleButton);
        QCOMPARE(closing.size(), 1);
        QCOMPARE(closing.at(0).at(0).toInt(), first);
        tabs.removeTab(first);
        QCOMPARE(tabs.keys(), QList<int>{second});
    }

    void theStripFitsAnyWidth()
    {
        StatusStrip strip;
        strip.setItems(statusOf(info()));
        strip.setOwnFigures({84.0, 6.1, 131.0});
        for (const int width : {60, 400, 1600}) {
            strip.resize(width, strip.height());
            QVERIFY(!strip.grab().isNull());
        }
    }
};

FOURWALLS_TEST(TestStatusStrip, QApplication)

} // namespace tst_status_strip

#include "tst_status_strip.moc"
