// SPDX-License-Identifier: GPL-3.0-or-later
// The list of findings: what a card says, and that its button goes to the place, zoomed and marked.
#include "tests/views/trace_probe.h" // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "views/findings/findings_view.h"
#include "views/plot/plot_card.h"
#ifndef Q_MOC_RUN
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "tests/views/painted_texts.h"
#include "tests/views/shown_view.h"
#endif

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>

namespace tst_findings_view {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::views;

namespace {

void program(Builder& b, const std::string& name, SliceKind kind, Activity activity, std::int64_t begin,
             std::int64_t end, const std::string& detail = {})
{
    OpInfo info;
    info.name = name;
    info.kind = kind;
    info.activity = activity;
    info.detail = detail;
    const TrackId track = b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 2});
    b.producer->slice({track, b.trace.defineOp(info), Instant{begin}, Duration{end - begin}, {}, {}});
}

/// A step of 100 ms with a call from 20 to 50 ms that waits while the device does nothing, and other work to 80.
std::shared_ptr<const InMemoryTraceData> waiting()
{
    Builder b(1);
    b.step(0, 3, 0, 100 * kMs);
    for (int i = 0; i < 20; ++i) b.work(0, "k", Phase::None, i * kMs, (i + 1) * kMs);
    b.work(0, "k", Phase::None, 80 * kMs, 100 * kMs);
    program(b, "cudaStreamSynchronize", SliceKind::HostCall, Activity::Synchronisation, 20 * kMs, 50 * kMs,
            "train.py:31 log < train.py:90 main");
    program(b, "aten::mm", SliceKind::Operator, Activity::None, 50 * kMs, 80 * kMs);
    b.finish();
    return b.trace.data();
}

} // namespace

class FindingsViewTest : public QObject {
    Q_OBJECT

private slots:
    void init() { failOnQtWarnings(); }

    void cardsSayWhereAndWhatHelps()
    {
        TraceProbe<FindingsView> probe(waiting());
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->diagnosis()->findings.size(), std::size_t(2));
        QString all;
        for (const QLabel* label : probe.view->findChildren<QLabel*>()) all += label->text() + QLatin1Char('\n');
        QVERIFY2(all.contains(QStringLiteral("log at train.py:31")), qPrintable(all));
        QVERIFY2(all.contains(QStringLiteral("Avoid .item(), .cpu()")), qPrintable(all));
        // What could not be told comes with what to record.
        QVERIFY2(all.contains(QStringLiteral("profile_memory=True")), qPrintable(all));
        QVERIFY(probe.view->tableAsCsv().contains(QStringLiteral("train.py:31")));
    }

    void showGoesToThePlace()
    {
        TraceProbe<FindingsView> probe(waiting());
        QVERIFY(probe.ready());
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        const auto& findings = probe.view->diagnosis()->findings;
        auto buttons = probe.view->findChildren<QPushButton*>();
        buttons.removeIf(
            [](const QPushButton* each) { return !each->accessibleName().startsWith(QStringLiteral("Show: ")); });
        QCOMPARE(static_cast<std::size_t>(buttons.size()), findings.size());
        for (std::size_t i = 0; i < findings.size(); ++i) {
            QVERIFY(findings[i].show.range);
            buttons[static_cast<int>(i)]->click();
            QCOMPARE(asked.size(), static_cast<qsizetype>(i) + 1);
            QCOMPARE(asked.last().front().toString(), QStringLiteral("timeline"));
            QCOMPARE(probe.selection.measured(), findings[i].show.range);
            const TimeRange seen = probe.selection.range(), place = *findings[i].show.range;
            QVERIFY(seen.begin <= place.begin && seen.end >= place.end);
            QVERIFY(seen.length().ns <= place.length().ns * 13 / 10);
            QCOMPARE(probe.selection.rank(), RankId{0});
        }
    }

    void aLongHeadlineTakesASecondLine()
    {
        TraceProbe<FindingsView> probe(waiting());
        QVERIFY(probe.ready());
        auto* headline = probe.view->findChild<ElidedText*>();
        QVERIFY(headline);
        probe.view->resize(900, 600);
        const QString words = QStringLiteral("Computation takes little of the step; why, the trace does not tell. ");
        headline->setText(words.repeated(3).trimmed());
        for (int turn = 0; turn < 5; ++turn) QCoreApplication::processEvents();
        QString said;
        for (const tests::PaintedText& each : tests::paintedTexts(*headline)) said += each.text.trimmed() + QChar(' ');
        QCOMPARE(said.trimmed(), headline->text());
    }

    void nothingIsThereWithoutATrace()
    {
        FindingsView view;
        QVERIFY(!view.emptyReason().isEmpty());
        QVERIFY(view.tableAsCsv().isEmpty());
    }
};

FOURWALLS_TEST(FindingsViewTest, QApplication)

} // namespace tst_findings_view

#include "tst_findings_view.moc"
