// SPDX-License-Identifier: Apache-2.0
// The analyses of one step on traces small enough to be worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/communication_step.h"
#include "model/trace/group_label.h"
#include "model/trace/launch_gaps.h"
#include "model/trace/metrics.h"
#include "model/trace/operator_roofline.h"
#include "model/trace/transfer_rates.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

namespace tst_step_analysis {

using namespace fourwalls;
using namespace fourwalls::test;

class StepAnalysisTest : public QObject {
    Q_OBJECT

private slots:
    void theStepOfMedianLengthIsLookedAt();
    void aStepIsReadWholeOrInBins();
    void lateness();
    void lateAboveChance();
    void timingOfGroups();
    void whyNoRates();
    void exposedAndHidden();
    void sequencesThatCouldBeOneKernel();
    void gapsWithoutCommunication();
    void roofs();
    void utilisationOfEveryStep();
    void aLaunchCostsWhatItsCallTakes();
};

void StepAnalysisTest::theStepOfMedianLengthIsLookedAt()
{
    Builder b(1);
    for (int i = 0; i < 4; ++i) b.step(0, i, i * 100 * kMs, (i * 100 + (i == 0 ? 90 : 10 * i)) * kMs, i == 0);
    InMemoryTraceQuery trace = b.finish();
    QCOMPARE(stepWindow(trace)->step, std::optional(StepIndex{2})); // of 10, 20 and 30 ms
    QCOMPARE(stepWindow(trace, StepIndex{0})->range.length(), Duration{90 * kMs});
    QCOMPARE(stepWindow(trace, StepIndex{9})->step, std::optional(StepIndex{2}));
    Builder none(2);
    none.work(1, "k", Phase::None, 5, 25);
    InMemoryTraceQuery bare = none.finish();
    const StepWindow whole = *stepWindow(bare);
    QVERIFY(!whole.step);
    QCOMPARE(whole.ranks.size(), std::size_t(2));
    QCOMPARE(whole.range.length(), Duration{20});
    // A step that is all of the trace has no number that anybody gave it.
    Builder unmarked(1);
    unmarked.step(0, 0, 5, 25);
    TraceClosing closing;
    closing.stepsBy = std::string(kWholeTrace);
    InMemoryTraceQuery all = unmarked.finish(closing);
    QVERIFY(!stepWindow(all)->step);
    QCOMPARE(stepWindow(all)->range.length(), Duration{20});
}

void StepAnalysisTest::aStepIsReadWholeOrInBins()
{
    Builder b(1);
    b.step(0, 0, 0, 10 * kMs);
    for (int i = 0; i < 5000; ++i) b.work(0, "k", Phase::Forward, i * 2000, i * 2000 + 1000);
    InMemoryTraceQuery trace = b.finish();
    const TimeRange range{Instant{0}, Instant{10 * kMs}};
    const auto rows = [](const BoundedSlices& slices) {
        std::size_t sum = 0;
        for (const LaneSlices& lane : slices.lanes) sum += lane.exact.size() + lane.bins.size();
        return sum;
    };
    const BoundedSlices all = *boundedSlices(trace, workTracks(trace, RankId{0}), range, 5000);
    QCOMPARE(rows(all), std::size_t(5000));
    QCOMPARE(all.shortest, Duration{0});
    const BoundedSlices some = *boundedSlices(trace, workTracks(trace, RankId{0}), range, 1000);
    QVERIFY(rows(some) <= 1000);
    QVERIFY(some.shortest > Duration{1000});
    Duration busy;
    for (const LaneSlices& lane : some.lanes)
        for (const SliceBin& bin : lane.bins) busy += bin.busy;
    QCOMPARE(busy, Duration{5 * kMs});
}

void StepAnalysisTest::lateness()
{
    Builder b(3);
    for (int rank = 0; rank < 3; ++rank) b.step(rank, 0, 0, 100);
    // Arrivals 0, 4, 10 and then 20, 30, 26; a message that waits does not count.
    const int first[] = {0, 4, 10}, second[] = {20, 30, 26};
    for (int rank = 0; rank < 3; ++rank) {
        b.collective(rank, first[rank], 10, 15, 0);
        b.collective(rank, second[rank], 30, 40, 1);
    }
    b.collective(0, 50, 90, 95, 2, CollectiveOp::Receive, RankId{1});
    InMemoryTraceQuery trace = b.finish();
    const auto operations = communicationStep(trace, {})->operations;
    QCOMPARE(operations.size(), std::size_t(3));
    QCOMPARE(operations[0].skew(), Duration{10});
    QCOMPARE(operations[0].late(), RankId{2});
    QCOMPARE(operations[0].transfer(), Duration{5});
    QCOMPARE(operations[0].wait(), Duration{16});
    QCOMPARE(operations[2].skew(), Duration{0});
    const ArrivalSkew skew = arrivalSkew(operations);
    QCOMPARE(skew.operations, std::int64_t(2));
    QCOMPARE(skew.medianSkew, Duration{10});
    QCOMPARE(skew.totalWait, Duration{16 + 14});
    QCOMPARE(skew.ranks.size(), std::size_t(3));
    QCOMPARE(skew.ranks[0].last, std::int64_t(0));
    QCOMPARE(skew.ranks[1].last, std::int64_t(1));
    QCOMPARE(skew.ranks[1].behind, Duration{4 + 10});
    QCOMPARE(skew.ranks[1].waited, Duration{6});
    QCOMPARE(skew.ranks[1].caused, Duration{14});
    QCOMPARE(skew.ranks[2].caused, Duration{16});
    QCOMPARE(skew.ranks[1].delayed, Duration{4});
    QCOMPARE(skew.ranks[2].delayed, Duration{6});
    QCOMPARE(skew.ranks[2].lastByChance, 2.0 / 3);
    // Last once of two among three: chance.
    QCOMPARE(skew.late(Duration{100}), nullptr);
    QCOMPARE(arrivalSkew({}).late(Duration{100}), nullptr);
}

void StepAnalysisTest::lateAboveChance()
{
    // 5 or more of 8 with 1/8 each: sum of C(8,k) 7^(8-k) / 8^8 = (56 343 + 28 49 + 8 7 + 1) / 16777216.
    QCOMPARE(binomialTail(8, 5, 0.125), (56.0 * 343 + 28 * 49 + 8 * 7 + 1) / 16777216);
    QCOMPARE(binomialTail(13, 13, 0.5), 1.0 / 8192);
    QCOMPARE(binomialTail(4, 0, 0.5), 1.0);
    QCOMPARE(binomialTail(4, 5, 0.5), 0.0);
    const auto recorded = [](int times, int late, int ranks = 2) {
        Builder b(ranks);
        for (int rank = 0; rank < ranks; ++rank) b.step(rank, 0, 0, 10'000);
        for (int i = 0; i < times; ++i)
            for (int rank = 0; rank < ranks; ++rank)
                b.collective(rank, i * 100 + (rank == 0 ? late : 0), i * 100 + late, i * 100 + 60, i);
        return b.finish();
    };
    // Rank 0 comes 30 later each time: of 10 operations p = 2 / 1024, and 300 of 10 000 is 3 %.
    InMemoryTraceQuery often = recorded(10, 30);
    const CommunicationStep step = *communicationStep(often, {});
    QVERIFY(step.late);
    QCOMPARE(step.late->rank, RankId{0});
    QCOMPARE(step.late->delayed, Duration{300});
    // As often, but 5 each: 0.5 % of the step.
    InMemoryTraceQuery cheap = recorded(10, 5);
    QVERIFY(!communicationStep(cheap, {})->late);
    // 7 of 7 between two: p = 2 / 128.
    InMemoryTraceQuery seldom = recorded(7, 50);
    QVERIFY(!communicationStep(seldom, {})->late);
}

void StepAnalysisTest::timingOfGroups()
{
    TraceInfo info;
    info.header.source = TraceSource::Imported;
    info.header.ranks.resize(2);
    info.header.ranks[0].rank = RankId{0};
    info.header.ranks[1].rank = RankId{1};
    const auto group = [&](const char* name, std::vector<int> ranks, const char* transport = "nccl") {
        ProcessGroupInfo one{name, {}, transport};
        for (const int rank : ranks) one.ranks.push_back(RankId{rank});
        info.groups.push_back(one);
        return GroupId{static_cast<int>(info.groups.size()) - 1};
    };
    const GroupId both = group("13", {0, 1}), four = group("TENSOR_MODEL_PARALLEL_GROUP (7)", {0, 1, 2, 3}),
                  unknown = group("unknown group", {}), asked = group("mesh_dp", {0, 1}, "requests only"),
                  one = group("4", {0});
    QCOMPARE(groupCoverage(info, both).timing, CollectiveTiming::Separated);
    QCOMPARE(groupCoverage(info, four).timing, CollectiveTiming::WaitAndTransfer);
    QCOMPARE(groupCoverage(info, four).present, std::size_t(2));
    QCOMPARE(groupCoverage(info, four).members, std::optional<std::size_t>(4));
    QCOMPARE(groupCoverage(info, unknown).timing, CollectiveTiming::WaitAndTransfer);
    QVERIFY(!groupCoverage(info, unknown).members);
    QCOMPARE(groupCoverage(info, asked).timing, CollectiveTiming::RequestsOnly);
    QCOMPARE(groupCoverage(info, one).timing, CollectiveTiming::Separated);
    QCOMPARE(collectiveTiming(info, both, CollectiveOp::Send), CollectiveTiming::WaitAndTransfer);
    info.audit.push_back({"clock_not_aligned", AuditSeverity::Info, 1, ""});
    QCOMPARE(groupCoverage(info, both).timing, CollectiveTiming::WaitAndTransfer);
    QCOMPARE(groupCoverage(info, one).timing, CollectiveTiming::Separated);
    QCOMPARE(jobRanks(info), std::optional<std::size_t>(4));
    info.header.worldSize = 8;
    QCOMPARE(jobRanks(info), std::optional<std::size_t>(8));

    QCOMPARE(groupLabel(info, both), std::string("ranks 0, 1"));
    QCOMPARE(groupLabel(info, four), std::string("tp"));
    QCOMPARE(groupLabel(info, unknown), std::string("unknown group"));
    QCOMPARE(groupLabel(info, asked), std::string("dp"));
    QCOMPARE(groupLabel(info, one), std::string("rank 0"));
    QCOMPARE(groupLabel(info, group("default_pg (0)", {0, 1, 2, 3})), std::string("world"));
    QCOMPARE(groupLabel(info, group("21", {0, 1, 2, 3})), std::string("ranks 0-3"));
    QCOMPARE(groupLabel(info, group("22", {0, 8, 16, 24, 32})), std::string("ranks 0, 8, ... 32"));
    QCOMPARE(groupLabel(info, GroupId{99}), std::string("99"));
}

void StepAnalysisTest::whyNoRates()
{
    Builder b(2);
    for (const int rank : {0, 1}) b.step(rank, 0, 0, 100);
    for (const int rank : {0, 1}) b.collective(rank, 10, 20, 40);
    InMemoryTraceQuery trace = b.finish();
    const CommunicationStep step = *communicationStep(trace, {});
    TraceInfo info = trace.info();
    TransferRates rates = transferRates(info, step);
    QCOMPARE(rates.why, NoRates::None);
    QCOMPARE(rates.inStep, std::int64_t(1));
    QCOMPARE(rates.inTrace, std::optional<std::int64_t>(1));
    // One of eight ranks.
    info.header.source = TraceSource::Imported;
    for (int rank = 2; rank < 8; ++rank) info.groups[0].ranks.push_back(RankId{rank});
    rates = transferRates(info, step);
    QCOMPARE(rates.why, NoRates::SomeRanks);
    QCOMPARE(rates.present, std::size_t(2));
    QCOMPARE(rates.members, std::optional<std::size_t>(8));
    info.groups[0].transport = "requests only";
    QCOMPARE(transferRates(info, step).why, NoRates::RequestsOnly);
    CommunicationStep silent = step;
    silent.operations[0].payloadBytes.reset();
    QCOMPARE(transferRates(trace.info(), silent).why, NoRates::UnknownBytes);
    silent.operations.clear();
    QCOMPARE(transferRates(trace.info(), silent).why, NoRates::NotInStep);
    info.counts.collectives = 0;
    QCOMPARE(transferRates(info, silent).why, NoRates::NoCollectives);
}

void StepAnalysisTest::exposedAndHidden()
{
    Builder b(2);
    for (const int rank : {0, 1}) b.step(rank, 0, 0, 100);
    // Rank 0 waits 10..20 and transfers 20..40; it computes until 15 and again 30..60.
    b.work(0, "a", Phase::Forward, 0, 15);
    b.work(0, "b", Phase::Forward, 30, 60);
    b.collective(0, 10, 20, 40);
    // Rank 1 computes all the time.
    b.work(1, "a", Phase::Forward, 0, 100);
    b.collective(1, 20, 20, 40);
    InMemoryTraceQuery trace = b.finish();
    const CommunicationStep step = *communicationStep(trace, {});
    QCOMPARE(step.kinds.size(), std::size_t(1));
    const KindOfStep& kind = step.kinds[0];
    QCOMPARE(kind.group, std::string("dp"));
    QCOMPARE(kind.operations, std::int64_t(1));
    QCOMPARE(kind.members, std::int64_t(2));
    QCOMPARE(kind.payloadBytes.value_or(-1), std::int64_t(4000));
    QCOMPARE(kind.wireBytes.value_or(-1), std::int64_t(12000));
    QCOMPARE(kind.transfer, Duration{40});
    QCOMPARE(kind.exposedTransfer, Duration{10});
    QCOMPARE(kind.wait, Duration{10});
    QCOMPARE(kind.exposedWait, Duration{5});
    QCOMPARE(kind.hidden(), Duration{35});
    QCOMPARE(*kind.hiddenShare(), 0.75); // of the transfers alone
    QCOMPARE(*step.hiddenShare(), 0.75);
    QVERIFY(!CommunicationStep{}.hiddenShare());
    // The figures of `metrics` for it.
    const TraceMetrics metrics = *computeMetrics(trace);
    QCOMPARE(metrics.collectives.size(), std::size_t(1));
    QCOMPARE(metrics.collectives[0].summary.payloadBytes, kind.payloadBytes);
    QCOMPARE(metrics.collectives[0].summary.wait, kind.wait);
}

void StepAnalysisTest::sequencesThatCouldBeOneKernel()
{
    // Twice: norm (12 us, 8 kB), gelu (10 us, 6 kB), add (11 us, 10 kB), 2 us apart, then a matrix product.
    Builder b(1);
    b.step(0, 0, 0, 300 * kUs);
    for (const std::int64_t at : {0 * kUs, 120 * kUs}) {
        b.work(0, "norm", Phase::Forward, at, at + 12 * kUs, 100, 8000);
        b.work(0, "gelu", Phase::Forward, at + 14 * kUs, at + 24 * kUs, 100, 6000);
        b.work(0, "add", Phase::Forward, at + 26 * kUs, at + 37 * kUs, 100, 10'000);
        b.work(0, "matmul", Phase::Forward, at + 39 * kUs, at + 119 * kUs, 80e3, 100);
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9; // 80 us for the product
    closing.memoryBytesPerSecond = 1e9;
    InMemoryTraceQuery trace = b.finish(closing);
    const LaunchAnalysis launches = *launchGaps(trace, RankId{0}, {});
    QCOMPARE(launches.operators, std::int64_t(8));
    QCOMPARE(launches.classes[2].count, std::int64_t(8)); // 10 to 100 us
    QCOMPARE(launches.medianGap, Duration{2 * kUs});      // six of 2 us and one of 1 us
    QVERIFY(launches.overheadFromGaps);
    QCOMPARE(launches.gaps, Duration{13 * kUs});
    QCOMPARE(launches.candidates.size(), std::size_t(1));
    const FusionCandidate& fusion = launches.candidates.front();
    QCOMPARE(fusion.names, (std::vector<std::string>{"norm", "gelu", "add"}));
    QCOMPARE(fusion.occurrences, std::int64_t(2));
    QCOMPARE(fusion.time, Duration{66 * kUs});
    QCOMPARE(fusion.gaps, Duration{8 * kUs});
    QCOMPARE(fusion.launchSaved, Duration{2 * 2 * 2 * kUs}); // two launches of 2 us, twice
    QCOMPARE(fusion.bytesSaved, 2 * (6000.0 + 6000.0));      // min(8, 6) and min(6, 10) kB
    QCOMPARE(fusion.memorySaved, Duration{24 * kUs});        // at 1 GB/s
    QCOMPARE(fusion.longest.length(), Duration{37 * kUs});
}

void StepAnalysisTest::gapsWithoutCommunication()
{
    // 0..10 work, a transfer 10..30 explains half of 10..50, work 50..60.
    Builder b(2);
    for (const int rank : {0, 1}) b.step(rank, 0, 0, 60);
    b.work(0, "a", Phase::Forward, 0, 10);
    b.collective(0, 10, 10, 30);
    b.work(0, "b", Phase::Forward, 50, 60);
    InMemoryTraceQuery trace = b.finish();
    const LaunchAnalysis launches = *launchGaps(trace, RankId{0}, {});
    QCOMPARE(launches.gaps, Duration{20});
    QCOMPARE(launches.gapCount, std::int64_t(1));
    QCOMPARE(launches.longestGapAt, (TimeRange{Instant{30}, Instant{50}}));
    QVERIFY(!launches.bandwidthKnown);
    QVERIFY(launchGaps(trace, RankId{7}, {}).ok()); // a rank that is not there has nothing
}

void StepAnalysisTest::roofs()
{
    Builder b(2);
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 100 * kMs);
        for (int layer = 0; layer < 2; ++layer)
            b.work(rank, "matmul", Phase::Forward, 20 * kMs * layer, (20 * layer + 10) * kMs, 8e6, 400'000,
                   LayerIndex{layer});
        b.work(rank, "gelu", Phase::Forward, 10 * kMs, 15 * kMs, 1e6, 4'000'000, LayerIndex{0});
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9;
    closing.memoryBytesPerSecond = 1e9;
    InMemoryTraceQuery trace = b.finish(closing);
    const OperatorRoofline roofline = *operatorRoofline(trace);
    QCOMPARE(roofline.points.size(), std::size_t(3));
    QCOMPARE(roofline.operators.size(), std::size_t(2));
    const RooflinePoint& product = roofline.operators[0];
    QCOMPARE(product.name, std::string("matmul"));
    QCOMPARE(product.count, std::int64_t(4));
    QCOMPARE(product.total, Duration{40 * kMs});
    QCOMPARE(*product.flopsPerSecond(), 8e8);
    QCOMPARE(*product.intensity(), 20.0);
    QCOMPARE(product.bound, BoundBy::Compute);
    QVERIFY(qAbs(product.share - 0.8) < 1e-12);
    QCOMPARE(roofline.operators[1].bound, BoundBy::Memory);
    QCOMPARE(roofline.memoryBound, Duration{10 * kMs});
    QCOMPARE(*roofline.attainable(0.5, 1e9), 5e8);
    QCOMPARE(*roofline.attainable(20, 1e9), 1e9);
    QVERIFY(*product.flopsPerSecond() <= *roofline.attainable(*product.intensity(), product.peak));
}

void StepAnalysisTest::aLaunchCostsWhatItsCallTakes()
{
    // Kernels of an imported trace that wait in a queue have gaps of 1 ns; the calls that launched them took 6 and 8 us.
    Builder b(1, test::headerOf(1, TraceSource::Imported));
    b.step(0, 0, 0, kMs);
    for (int i = 0; i < 3; ++i) b.work(0, "add", Phase::Forward, i * 10'001, i * 10'001 + 10'000);
    const TrackId thread = b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 2});
    OpInfo call;
    call.name = "cudaLaunchKernel";
    call.kind = SliceKind::HostCall;
    call.activity = Activity::Launch;
    const OpId launch = b.trace.defineOp(call);
    b.producer->slice({thread, launch, Instant{0}, Duration{6'000}, {}, {}});
    b.producer->slice({thread, launch, Instant{10'000}, Duration{8'000}, {}, {}});
    InMemoryTraceQuery trace = b.finish();
    const LaunchAnalysis launches = *launchGaps(trace, RankId{0}, std::nullopt);
    QCOMPARE(launches.medianGap, Duration{1});
    QCOMPARE(launches.launchOverhead, Duration{7'000});
    QVERIFY(launches.overheadFromCalls && !launches.overheadFromGaps);
}

void StepAnalysisTest::utilisationOfEveryStep()
{
    Builder b(1);
    for (int i = 0; i < 4; ++i) {
        b.step(0, i, i * 100 * kMs, (i * 100 + 20 + 10 * i) * kMs, i == 0);
        b.work(0, "matmul", Phase::Forward, i * 100 * kMs, (i * 100 + 10) * kMs, 6e6);
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9;
    InMemoryTraceQuery trace = b.finish(closing);
    const auto steps = *stepUtilisation(trace);
    QCOMPARE(steps.size(), std::size_t(4));
    QVERIFY(steps[0].state == StepState::Warmup && steps[1].state == StepState::Measured);
    QVERIFY(qAbs(*steps[1].mfu - 0.2) < 1e-12); // 6 MFLOP of 30 possible
    const TraceMetrics metrics = *computeMetrics(trace);
    QCOMPARE(*steps[2].mfu, *metrics.mfu);
    QCOMPARE(*steps[2].hfu, *metrics.hfu);
}

FOURWALLS_TEST(StepAnalysisTest, QCoreApplication)

} // namespace tst_step_analysis

#include "tst_step_analysis.moc"
