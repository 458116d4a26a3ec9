// SPDX-License-Identifier: Apache-2.0
// The partition of a rank's step: priorities, exact sums, pipeline window, waterfall sums, collectives.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/summary_builder.h"
#include "tests/support/test_program.h"

#include <random>

namespace tst_step_summary {

using namespace fourwalls;

namespace {

OpInfo op(Activity activity, Phase phase = Phase::Forward, double flops = 0, std::int64_t bytes = 0)
{
    OpInfo info;
    info.name = "op";
    info.activity = activity;
    info.phase = phase;
    info.flops = flops;
    info.bytes = bytes;
    return info;
}

StepRecord step(std::int64_t begin, std::int64_t end, int index = 0)
{
    StepRecord record;
    record.step = StepIndex{index};
    record.range = {Instant{begin}, Instant{end}};
    return record;
}

struct Bar {
    OpInfo info;
    std::int64_t start, end;
};

StepSummary summarise(const std::vector<Bar>& bars, const StepRecord& record, bool pipelined = false,
                      std::optional<double> peak = {}, std::optional<double> bandwidth = {},
                      std::optional<TimeRange> window = {})
{
    StepAccumulator accumulator(RankId{3}, record, peak, bandwidth, pipelined);
    for (const Bar& bar : bars) accumulator.add(bar.info, Instant{bar.start}, Duration{bar.end - bar.start});
    return accumulator.finish(window);
}

std::int64_t partitionSum(const StepSummary& s)
{
    return (s.compute + s.exposedComm + s.exposedCopy + s.bubble + s.idle()).ns;
}

} // namespace

class StepSummaryTest : public QObject {
    Q_OBJECT

private slots:
    void prioritiesByHand();
    void everyKindOfIdle();
    void clipsToTheStep();
    void addsUpExactly();
    void pipelineWindowMakesBubbles();
    void windowOverAllStages();
    void pipelineTransfersAreNotBusy();
    void computeUnionAndSum();
    void flopsByPhase();
    void excessByRoofline();
    void overlapsAreScaled();
    void manyStepsOfARank();
    void collectivesFoldTheirMembers();
    void collectivesOfAnUnknownGroup();
    void operatorTotals();
    void nestedOperatorsCountOnce();
};

void StepSummaryTest::prioritiesByHand()
{
    // 0        10        20        30        40        50
    // compute--|         compute---|
    //      transfer-------------|               (5..28)
    //                copy------------------|    (15..40)
    const StepSummary s = summarise({{op(Activity::Transfer), 5, 28},
                                     {op(Activity::Compute), 0, 10},
                                     {op(Activity::Copy), 15, 40},
                                     {op(Activity::Compute), 20, 30}},
                                    step(0, 50));
    QCOMPARE(qint64{s.compute.ns}, qint64{20});
    QCOMPARE(qint64{s.exposedComm.ns}, qint64{10}); // 10..20
    QCOMPARE(qint64{s.exposedCopy.ns}, qint64{10}); // 30..40
    QCOMPARE(qint64{s.bubble.ns}, qint64{0});
    QCOMPARE(qint64{s.idleOther.ns}, qint64{10}); // 40..50
    QCOMPARE(s.rank.value, 3);
}

void StepSummaryTest::everyKindOfIdle()
{
    const StepSummary s = summarise({{op(Activity::DataLoading), 0, 5},
                                     {op(Activity::Launch), 3, 9},
                                     {op(Activity::Synchronisation), 8, 12},
                                     {op(Activity::CollectiveWait), 20, 24},
                                     {op(Activity::None), 0, 30}},
                                    step(0, 30));
    QCOMPARE(qint64{s.idleDataLoading.ns}, qint64{5});
    QCOMPARE(qint64{s.idleLaunch.ns}, qint64{4});
    QCOMPARE(qint64{s.idleSynchronisation.ns}, qint64{3});
    QCOMPARE(qint64{s.exposedComm.ns}, qint64{4}); // waiting in a collective counts as communication
    QCOMPARE(qint64{s.collectiveWait.ns}, qint64{4});
    QCOMPARE(qint64{s.idleOther.ns}, qint64{14});
}

void StepSummaryTest::clipsToTheStep()
{
    const StepSummary s = summarise({{op(Activity::Compute, Phase::Forward, 100), -10, 10},
                                     {op(Activity::Compute), 15, 90},
                                     {op(Activity::Compute), 20, 25}},
                                    step(0, 20));
    QCOMPARE(qint64{s.compute.ns}, qint64{15});
    QCOMPARE(s.modelFlops, 50.0); // half of the first slice lies inside
}

void StepSummaryTest::addsUpExactly()
{
    std::mt19937 random(11);
    for (int round = 0; round < 50; ++round) {
        std::vector<Bar> bars;
        for (int i = 0; i < 60; ++i) {
            const std::int64_t start = std::int64_t(random() % 1200) - 100;
            bars.push_back(
                {op(static_cast<Activity>(random() % kActivityCount), static_cast<Phase>(random() % kPhaseCount)),
                 start, start + std::int64_t(random() % 80)});
        }
        for (const bool pipelined : {false, true}) {
            const StepSummary s = summarise(bars, step(0, 1000), pipelined);
            QCOMPARE(partitionSum(s), 1000);
            // Compute against counting every nanosecond.
            std::int64_t compute = 0;
            for (std::int64_t t = 0; t < 1000; ++t)
                for (const Bar& bar : bars)
                    if (bar.info.activity == Activity::Compute && bar.start <= t && t < bar.end) {
                        ++compute;
                        break;
                    }
            QCOMPARE(qint64{s.compute.ns}, qint64{compute});
            if (!pipelined) QCOMPARE(qint64{s.bubble.ns}, qint64{0});
        }
    }
}

void StepSummaryTest::pipelineWindowMakesBubbles()
{
    // Forward 10..20, gap, backward 30..50; the optimizer 60..70 is outside of the window.
    const std::vector<Bar> bars{{op(Activity::Compute), 10, 20},
                                {op(Activity::PipelineWait), 22, 28},
                                {op(Activity::Compute, Phase::BackwardInput), 30, 50},
                                {op(Activity::Compute, Phase::Optimizer), 60, 70}};
    const StepSummary s = summarise(bars, step(0, 80), true);
    QCOMPARE(qint64{s.pipelineWindow.ns}, qint64{40});
    QCOMPARE(qint64{s.pipelineBusy.ns}, qint64{30});
    QCOMPARE(qint64{s.bubble.ns}, qint64{10});
    QCOMPARE(qint64{s.idleOther.ns}, qint64{30});
    QCOMPARE(partitionSum(s), 80);
    const StepSummary flat = summarise(bars, step(0, 80), false);
    QCOMPARE(qint64{flat.bubble.ns}, qint64{0});
    QCOMPARE(qint64{flat.pipelineWindow.ns}, qint64{0});
    QCOMPARE(partitionSum(flat), 80);
}

void StepSummaryTest::windowOverAllStages()
{
    // GPipe, 2 equal stages, 2 micro-batches, forward 10, backward 20: W = 90, each stage busy 60.
    // (p-1)/(m+p-1) = 1/3.
    const std::vector<Bar> first{{op(Activity::Compute), 0, 10},
                                 {op(Activity::Compute), 10, 20},
                                 {op(Activity::Compute, Phase::BackwardInput), 50, 70},
                                 {op(Activity::Compute, Phase::BackwardInput), 70, 90}};
    const std::vector<Bar> second{{op(Activity::Compute), 10, 20},
                                  {op(Activity::Compute), 20, 30},
                                  {op(Activity::Compute, Phase::BackwardInput), 30, 50},
                                  {op(Activity::Compute, Phase::BackwardInput), 50, 70}};
    std::map<StepIndex, TimeRange> hull;
    TraceHeader header;
    header.spec = RunSpec{};
    header.spec->plan.pp = 2;
    QVERIFY(isPipelined(header));
    std::vector<RankStepSummarizer> ranks;
    for (int r = 0; r < 2; ++r) {
        ranks.emplace_back(RankId{r}, std::vector{step(0, 100)}, header, TraceClosing{});
        for (const Bar& bar : r == 0 ? first : second)
            ranks.back().add(bar.info, Instant{bar.start}, Duration{bar.end - bar.start});
        mergePipelineWindows(hull, ranks.back().pipelineWindows());
    }
    for (RankStepSummarizer& rank : ranks) {
        const StepSummary s = rank.finish(hull).front();
        QCOMPARE(qint64{s.pipelineWindow.ns}, qint64{90});
        QCOMPARE(qint64{s.pipelineBusy.ns}, qint64{60});
        QCOMPARE(qint64{s.bubble.ns}, qint64{30});
        QCOMPARE(partitionSum(s), 100);
    }
}

void StepSummaryTest::pipelineTransfersAreNotBusy()
{
    const StepSummary s = summarise({{op(Activity::Compute), 0, 10},
                                     {op(Activity::PipelineTransfer), 5, 15},
                                     {op(Activity::Transfer), 15, 20},
                                     {op(Activity::Compute, Phase::BackwardInput), 20, 30}},
                                    step(0, 30), true);
    QCOMPARE(qint64{s.exposedComm.ns}, qint64{10});
    QCOMPARE(qint64{s.pipelineBusy.ns}, qint64{25});
    QCOMPARE(qint64{s.bubble.ns}, qint64{0});
}

void StepSummaryTest::computeUnionAndSum()
{
    const StepSummary s =
        summarise({{op(Activity::Compute), 0, 10}, {op(Activity::Compute, Phase::Recompute), 5, 20}}, step(0, 20));
    QCOMPARE(qint64{s.compute.ns}, qint64{20});
    QCOMPARE(qint64{s.computeSum.ns}, qint64{25});
    QCOMPARE(qint64{s.recomputeTime.ns}, qint64{15});
    QCOMPARE(qint64{s.computeByPhase[static_cast<std::size_t>(Phase::Forward)].ns}, qint64{10});
    QCOMPARE(qint64{s.computeByPhase[static_cast<std::size_t>(Phase::Recompute)].ns}, qint64{15});
}

void StepSummaryTest::flopsByPhase()
{
    const StepSummary s = summarise({{op(Activity::Compute, Phase::Forward, 7), 0, 1},
                                     {op(Activity::Compute, Phase::BackwardWeight, 14), 1, 2},
                                     {op(Activity::Compute, Phase::Recompute, 5), 2, 3},
                                     {op(Activity::None, Phase::Forward, 1000), 0, 3}},
                                    step(0, 10));
    QCOMPARE(s.modelFlops, 21.0);
    QCOMPARE(s.recomputeFlops, 5.0);
}

void StepSummaryTest::excessByRoofline()
{
    // Peak 1 FLOP/ns, bandwidth 1 byte/ns. First: 40 FLOP in 100 ns, 60 bytes: bound by memory, excess 60.
    // Second: 40 FLOP in 50 ns, 30 bytes: bound by arithmetic, excess 10. Third: nothing known, excess 20.
    const StepSummary s = summarise({{op(Activity::Compute, Phase::Forward, 40, 60), 0, 100},
                                     {op(Activity::Compute, Phase::Forward, 40, 30), 100, 150},
                                     {op(Activity::Compute, Phase::Optimizer), 150, 170}},
                                    step(0, 200), false, 1e9, 1e9);
    QCOMPARE(qint64{s.memoryBoundExcess.ns}, qint64{60});
    QCOMPARE(qint64{s.inefficiencyExcess.ns}, qint64{30});
    QCOMPARE(qint64{s.compute.ns} - 80, qint64{90}); // the rest of compute beyond the arithmetic
}

void StepSummaryTest::overlapsAreScaled()
{
    // Two slices of 100 ns side by side cover 100 ns: each counts 50 ns, of which 10 are arithmetic.
    const StepSummary s = summarise(
        {{op(Activity::Compute, Phase::Forward, 10), 0, 100}, {op(Activity::Compute, Phase::Forward, 10), 0, 100}},
        step(0, 100), false, 1e9, 1e9);
    QCOMPARE(qint64{s.inefficiencyExcess.ns}, qint64{80});
    QCOMPARE(qint64{s.compute.ns}, qint64{100});
}

void StepSummaryTest::manyStepsOfARank()
{
    RankStepSummarizer summarizer(RankId{0}, std::vector{step(100, 200, 1), step(0, 100, 0), step(300, 400, 2)},
                                  TraceHeader{}, TraceClosing{});
    summarizer.add(op(Activity::Compute), Instant{90}, Duration{20});  // over the border of two steps
    summarizer.add(op(Activity::Compute), Instant{250}, Duration{10}); // between steps
    summarizer.add(op(Activity::Compute), Instant{350}, Duration{10});
    const auto summaries = summarizer.finish();
    QCOMPARE(summaries.size(), std::size_t{3});
    for (int i = 0; i < 3; ++i) {
        QCOMPARE(summaries[std::size_t(i)].step.value, i);
        QCOMPARE(qint64{summaries[std::size_t(i)].compute.ns}, qint64{10});
    }
    const StepLookup lookup(std::vector{step(100, 200, 1), step(0, 100, 0)});
    QCOMPARE(lookup.find(Instant{100})->step.value, 1);
    QCOMPARE(lookup.find(Instant{99})->step.value, 0);
    QVERIFY(!lookup.find(Instant{200}));
    QVERIFY(!lookup.find(Instant{-1}));
}

void StepSummaryTest::collectivesFoldTheirMembers()
{
    const std::vector<ProcessGroupInfo> groups{{"dp", {RankId{0}, RankId{1}}, "local"}};
    CollectiveSummarizer summarizer(groups);
    CollectiveRecord record;
    record.operation = CollectiveOp::AllReduce;
    record.payloadBytes = 1000;
    record.wireBytes = 1000;
    for (int sequence = 0; sequence < 3; ++sequence) {
        const std::int64_t base = sequence * 100;
        record.sequence = sequence;
        record.lastArrival = Instant{base + 10};
        record.start = Instant{base}; // early: waits 10
        record.end = Instant{base + 30};
        summarizer.add(record);
        record.start = Instant{base + 10}; // late: waits 0, ends last
        record.end = Instant{base + 32};
        summarizer.add(record);
    }
    const auto summaries = summarizer.finish();
    QCOMPARE(summaries.size(), std::size_t{1});
    QCOMPARE(summaries[0].count, 3);
    QCOMPARE(summaries[0].payloadBytes.value_or(-1), 3000);
    QCOMPARE(summaries[0].wireBytes.value_or(-1), 3000);
    QCOMPARE(qint64{summaries[0].time.ns}, qint64{3 * 22});
    QCOMPARE(qint64{summaries[0].wait.ns}, qint64{3 * 10});
}

// A group whose members nobody knows, as imports have them: equal numbers are one operation all the same. A message has
// one member on either side, whatever its group.
void StepSummaryTest::collectivesOfAnUnknownGroup()
{
    const std::vector<ProcessGroupInfo> groups{{"default", {}, "nccl"}, {"pp", {RankId{0}, RankId{1}}, "nccl"}};
    for (const int group : {0, 2}) { // the second one is not even defined
        CollectiveSummarizer summarizer(groups);
        CollectiveRecord record;
        record.group = GroupId{group};
        record.operation = CollectiveOp::AllReduce;
        record.payloadBytes = 1000;
        for (int member = 0; member < 3; ++member) summarizer.add(record);
        const auto summaries = summarizer.finish();
        QCOMPARE(summaries.size(), std::size_t{1});
        QCOMPARE(summaries[0].count, 1);
        QCOMPARE(summaries[0].payloadBytes.value_or(-1), 1000);
    }
    CollectiveSummarizer summarizer(groups);
    CollectiveRecord record;
    record.group = GroupId{1};
    record.operation = CollectiveOp::Send;
    record.payloadBytes = 1000;
    for (int rank = 0; rank < 2; ++rank) summarizer.add(record); // each rank counts its own messages from 0
    QCOMPARE(summarizer.finish()[0].count, 2);
}

void StepSummaryTest::operatorTotals()
{
    OpSummarizer summarizer;
    summarizer.add(OpId{2}, Duration{5});
    summarizer.add(OpId{0}, Duration{7});
    summarizer.add(OpId{2}, Duration{6});
    const auto summaries = summarizer.finish();
    QCOMPARE(summaries.size(), std::size_t{2});
    QCOMPARE(summaries[0].op.value, 2);
    QCOMPARE(summaries[0].count, 2);
    QCOMPARE(qint64{summaries[0].total.ns}, qint64{11});
    QCOMPARE(qint64{summaries[0].longest.ns}, qint64{6});
}

void StepSummaryTest::nestedOperatorsCountOnce()
{
    // linear 0..100 holds addmm 10..60, which holds copy 20..30, and relu 60..90; then another linear runs beside
    // the end of a third. Waiting takes nothing from what it lies in.
    const OpId linear{0}, addmm{1}, copy{2}, relu{3}, wait{4};
    OpSummarizer summarizer;
    const auto add = [&](OpId op, std::int64_t from, std::int64_t to, Activity activity = Activity::Compute) {
        summarizer.addInTrack(op, activity, Instant{from}, Duration{to - from});
    };
    const auto total = [&](OpId op) {
        for (const OpSummary& each : summarizer.finish())
            if (each.op == op) return qint64{each.total.ns};
        return qint64{-1};
    };
    add(linear, 0, 100);
    add(addmm, 10, 60);
    add(copy, 20, 30);
    add(relu, 60, 90);
    add(wait, 92, 95, Activity::CollectiveWait);
    QCOMPARE(total(linear), 20);
    QCOMPARE(total(addmm), 40);
    QCOMPARE(total(copy), 10);
    QCOMPARE(total(relu), 30);
    QCOMPARE(total(wait), 3);
    QCOMPARE(qint64{summarizer.finish()[0].longest.ns}, 50); // of addmm, whole
    // Neither holds the other.
    add(linear, 200, 300);
    add(relu, 250, 350);
    QCOMPARE(total(linear), 120);
    QCOMPARE(total(relu), 130);
    // What overlaps within takes no more than there is.
    add(linear, 400, 500);
    add(addmm, 400, 480);
    add(addmm, 420, 490);
    QCOMPARE(total(linear), 120);
    // Another track holds nothing of this one.
    summarizer.nextTrack();
    add(copy, 410, 420);
    QCOMPARE(total(copy), 20);
    QCOMPARE(total(addmm), 40 + 80 + 70);
}

FOURWALLS_TEST(StepSummaryTest, QCoreApplication)

} // namespace tst_step_summary

#include "tst_step_summary.moc"
