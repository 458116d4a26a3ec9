// SPDX-License-Identifier: GPL-3.0-or-later
// The card of the What-if dock that runs the open step again: what it offers, and where it keeps quiet.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/layout_problems.h"
#include "views/session/trace_session.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/replay_card.h"
#include "views/whatif/replay_controls.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <QApplication>
#include <QComboBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>

namespace tst_replay_card {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::views;

TraceOpener openerOf(TraceSource source)
{
    return [source](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        // Rank 1 computes for 6 ms, rank 0 for 4 and waits; 2 ms of transfer; both update for 2 ms.
        Builder b(2, headerOf(2, source));
        for (const int rank : {0, 1}) {
            b.step(rank, 0, 0, 10 * kMs);
            b.work(rank, "forward", Phase::Forward, 0, (rank == 0 ? 4 : 6) * kMs);
            b.collective(rank, (rank == 0 ? 4 : 6) * kMs, 6 * kMs, 8 * kMs);
            b.work(rank, "adam", Phase::Optimizer, 8 * kMs, 10 * kMs);
        }
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(b.finish()));
    };
}

class ReplayCardTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_warnings.emplace(); }
    void cleanup()
    {
        QCOMPARE(tests::FailOnWarning::take(), QString());
        m_warnings.reset();
    }
    void offersWhatTheTraceCanAnswer();
    void changesTogether();
    void theChangedStepIsTheGhost();
    void changesOfOthersAreShown();
    void offersStagesAndTheProgram();
    void asksOnlyWhenSeen();
    void aPredictionHasNoCard();

private:
    std::optional<tests::FailOnWarning> m_warnings;
};

void ReplayCardTest::offersWhatTheTraceCanAnswer()
{
    TraceSession session(openerOf(TraceSource::Recorded), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    card.show();
    QTRY_VERIFY(card.sentence().contains(QLatin1String("this replay is 0")));
    // The other three figures of an unchanged replay.
    QVERIFY(card.sentence().contains(QRegularExpression(QStringLiteral("each other it is 0(\\.0+)?\\D{0,2}% off"))));
    QVERIFY(card.sentence().contains(QLatin1String("contradict it: 0.")));
    QVERIFY(card.sentence().contains(QLatin1String("did not wait for: 0.")));
    // What the trace has: two ranks, links of one group, the kernels on the path; no calls, no pipeline, and a plan.
    ReplayControls& controls = card.controls();
    QVERIFY(controls.row(QStringLiteral("link:dp")));
    QVERIFY(controls.row(QStringLiteral("kernels:\"forward\"")));
    QVERIFY(!controls.row(QStringLiteral("microbatches")));
    QVERIFY(controls.changes().empty());
    QVERIFY(card.restsOn().isEmpty() && card.command().isEmpty());
    QVERIFY(!card.table().isVisible());
}

void ReplayCardTest::changesTogether()
{
    TraceSession session(openerOf(TraceSource::Recorded), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    card.show();
    QTRY_VERIFY(card.controls().row(QStringLiteral("kernels:\"forward\"")));
    // Half of rank 1's 6 ms, rank 0's 4 ms halved count no more: 7 ms. Links twice as fast: 6 ms.
    emit card.controls().row(QStringLiteral("kernels:\"forward\""))->valueTyped(0.5);
    QTRY_COMPARE(card.table().rows().size(), std::size_t(1));
    QTRY_VERIFY(card.table().rows().front().predicted.startsWith(QLatin1String("7")));
    QCOMPARE(card.controls().changes(), std::vector<std::string>{"kernels:\"forward\"*0.5"});
    QVERIFY(card.table().rows().front().recorded.startsWith(QLatin1String("10")));
    emit card.controls().row(QStringLiteral("link:dp"))->slider().valueChosen(2);
    QTRY_VERIFY(card.table().rows().front().predicted.startsWith(QLatin1String("6")));
    QVERIFY(card.restsOn().contains(QLatin1String("scaled")));
    QCOMPARE(card.command(),
             QStringLiteral("fourwalls-cli replay 'a.fourwalls' --steps 0-0 --change 'link:dp*2' --change "
                            "'kernels:\"forward\"*0.5'"));
    QSignalSpy saved(&card, &ReplayCard::saveRequested);
    for (auto* button : card.findChildren<QPushButton*>())
        if (button->text() == QLatin1String("Save as trace")) button->click();
    QCOMPARE(saved.size(), 1);
    QCOMPARE(saved.front().front().toStringList(), QStringList({"link:dp*2", "kernels:\"forward\"*0.5"}));
    card.controls().reset();
    QVERIFY(card.controls().changes().empty() && card.command().isEmpty());
    QVERIFY(!card.table().isVisible());
}

void ReplayCardTest::theChangedStepIsTheGhost()
{
    TraceSession session(openerOf(TraceSource::Recorded), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    Replayer& replayer = whatIf.replayer();
    replayer.setSession(&session);
    QVERIFY(!whatIf.showsReplay() && !whatIf.drawn() && !whatIf.ghost());
    replayer.ask();
    QTRY_VERIFY(replayer.offers());
    replayer.setValue("schedule", ""); // nothing to take back
    QVERIFY(replayer.changes().empty());
    replayer.setChanges({"kernels:forward*0.5"});
    QVERIFY(replayer.isBusy());
    QTRY_VERIFY(!replayer.isBusy());
    QVERIFY(whatIf.showsReplay());
    // Rank 1 computes for 3 ms instead of 6, rank 0 for 2: transfers from 3 to 5 ms, and 2 ms of the optimizer.
    const auto drawn = whatIf.drawn();
    QVERIFY(drawn && drawn->byRank);
    QCOMPARE(drawn->length, Duration{7 * kMs});
    QCOMPARE(drawn->lanes.size(), std::size_t(2));
    const DrawnLane& slow = *drawn->laneOf(RankId{1}, 0);
    QCOMPARE(slow.rank, RankId{1});
    QVERIFY(slow.intervals.size() >= 2);
    QCOMPARE(slow.intervals.front().phase, Phase::Forward);
    QCOMPARE(slow.intervals.front().range, (TimeRange{Instant{}, Instant{3 * kMs}}));
    QCOMPARE(slow.intervals.back().phase, Phase::Optimizer);
    QCOMPARE(slow.intervals.back().range, (TimeRange{Instant{5 * kMs}, Instant{7 * kMs}}));
    QCOMPARE(slow.intervals.back().provenance, Provenance::Scaled);
    const auto ghost = whatIf.ghost();
    QVERIFY(ghost && ghost->replayed);
    QCOMPARE(ghost->metrics->stepTime, std::optional(Duration{7 * kMs}));
    QCOMPARE(ghostName(&whatIf), QStringLiteral("replayed"));
    QVERIFY2(ghostNote(&whatIf).contains(QLatin1String("scaled")), qPrintable(ghostNote(&whatIf)));
    // The prediction may take its place, and does once nothing is changed.
    whatIf.setShowsReplay(false);
    QVERIFY(!whatIf.drawn() && !whatIf.ghost()); // nothing says what ran: nothing is predicted
    QCOMPARE(ghostName(&whatIf), QStringLiteral("predicted"));
    whatIf.setShowsReplay(true);
    QCOMPARE(whatIf.drawn(), drawn);
    replayer.setChanges({});
    QVERIFY(!whatIf.showsReplay() && !whatIf.drawn());
    // What cannot be answered leaves no ghost, and says why.
    replayer.setChanges({"kernels:nosuch*0.5"});
    QTRY_VERIFY(!replayer.isBusy());
    QVERIFY(!whatIf.drawn() && replayer.problem().contains(QLatin1String("nosuch")));
}

void ReplayCardTest::changesOfOthersAreShown()
{
    TraceSession session(openerOf(TraceSource::Recorded), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    card.show();
    QTRY_VERIFY(card.controls().row(QStringLiteral("link:dp")));
    // A pattern that the card has no row for gets one; what no control says is kept.
    const std::vector<std::string> set{"rank:1=recorded", "stragglers=none", "link:dp*2", "kernels:war*0.25"};
    whatIf.replayer().setChanges(set);
    QVERIFY(card.controls().row(QStringLiteral("kernels:war")));
    std::vector<std::string> shown = card.controls().changes(), all = set;
    std::sort(shown.begin(), shown.end());
    std::sort(all.begin(), all.end());
    QCOMPARE(shown, all);
    QVERIFY(card.command().contains(QLatin1String("--change 'rank:1=recorded'")));
    // One more of the card's own leaves the others.
    emit card.controls().row(QStringLiteral("link:dp"))->slider().valueChosen(4);
    QCOMPARE(whatIf.replayer().changes().size(), std::size_t(4));
    QVERIFY(card.command().contains(QLatin1String("link:dp*4")));
    QTRY_VERIFY(!whatIf.replayer().isBusy());
    card.controls().reset();
    QVERIFY(whatIf.replayer().changes().empty());
}

/// The choices of a card by the change that they make.
QStringList choicesOf(const ReplayCard& card)
{
    QStringList changes;
    for (const auto* box : card.findChildren<QComboBox*>())
        for (int i = 0; i < box->count(); ++i) changes << box->itemData(i).toString();
    return changes;
}

void ReplayCardTest::offersStagesAndTheProgram()
{
    // Two stages, the second of which takes longer, and a program that launches their work.
    const auto opener = [](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        TraceHeader header = headerOf(2);
        header.ranks[1].pipelineStage = 1;
        Builder b(2, std::move(header));
        for (const int rank : {0, 1}) {
            const TrackId thread = b.trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "thread 1", 2});
            OpInfo call;
            call.name = "cudaLaunchKernel";
            call.kind = SliceKind::HostCall;
            OpInfo kernel;
            kernel.name = "gemm";
            kernel.kind = SliceKind::Kernel;
            kernel.activity = Activity::Compute;
            const CorrelationId id{rank};
            b.producer->slice({thread, b.trace.defineOp(call), Instant{kMs}, Duration{kMs}, {}, id});
            b.producer->slice(
                {b.kernels(rank), b.trace.defineOp(kernel), Instant{2 * kMs}, Duration{(3 + rank) * kMs}, {}, id});
            b.step(rank, 0, 0, 8 * kMs);
        }
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(b.finish()));
    };
    TraceSession session(opener, QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    card.show();
    QTRY_VERIFY(card.controls().row(QStringLiteral("host:")));
    const QStringList choices = choicesOf(card);
    QVERIFY(choices.contains(QLatin1String("stage:0=fleet")) && choices.contains(QLatin1String("stage:1=fleet")));
    QVERIFY(choices.contains(QLatin1String("rank:1=fleet")));
    QVERIFY(choices.filter(QLatin1String("cluster=")).isEmpty()); // nothing says which machines they were
    card.resize(318, 600);                                        // as in the dock
    QCOMPARE(tests::shortenedNames(card), QStringList());
    emit card.controls().row(QStringLiteral("host:"))->valueTyped(0.5);
    QTRY_COMPARE(card.controls().changes(), std::vector<std::string>{"host:*0.5"});
    // 1 ms until the launch, 1 of it and 6 behind it, halved.
    QTRY_VERIFY(!card.table().rows().empty() && card.table().rows().front().predicted.startsWith(QLatin1String("4")));
}

void ReplayCardTest::asksOnlyWhenSeen()
{
    TraceSession session(openerOf(TraceSource::Imported), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    QCOMPARE(session.pending(), 0);
    card.show();
    QCOMPARE(session.pending(), 1);
    card.setWhatIf(nullptr);
    QVERIFY(card.table().rows().empty() || !card.table().isVisible());
}

void ReplayCardTest::aPredictionHasNoCard()
{
    TraceSession session(openerOf(TraceSource::Predicted), QStringLiteral("a.fourwalls"));
    WhatIf whatIf;
    whatIf.replayer().setSession(&session);
    ReplayCard card;
    card.setWhatIf(&whatIf);
    card.show();
    QTRY_COMPARE(session.pending(), 0);
    QVERIFY(card.sentence().isEmpty());
    QVERIFY(!card.table().isVisible());
}

FOURWALLS_TEST(ReplayCardTest, QApplication)

} // namespace tst_replay_card

#include "tst_replay_card.moc"
