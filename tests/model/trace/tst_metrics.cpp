// SPDX-License-Identifier: Apache-2.0
// The figures of small traces whose answers are computed by hand or by the closed forms of the literature.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "tests/support/test_program.h"

namespace tst_metrics {

using namespace fourwalls;

namespace {

constexpr std::int64_t kMs = 1'000'000;

OpInfo computeOp(Phase phase, double flops = 0, std::int64_t bytes = 0)
{
    OpInfo info;
    info.name = "work";
    info.kind = SliceKind::Kernel;
    info.phase = phase;
    info.activity = Activity::Compute;
    info.flops = flops;
    info.bytes = bytes;
    return info;
}

/// A trace under construction with one operator track per rank.
struct Builder {
    InMemoryTrace trace;
    std::unique_ptr<TraceProducer> producer;

    explicit Builder(TraceHeader header) : trace(std::move(header)), producer(trace.openProducer()) {}

    void slice(int rank, const OpInfo& info, std::int64_t start, std::int64_t end)
    {
        const TrackId track = trace.defineTrack({RankId{rank}, TrackKind::Operators, "operators", 0});
        producer->slice({track, trace.defineOp(info), Instant{start}, Duration{end - start}, {}, {}});
    }

    void step(int rank, int index, std::int64_t begin, std::int64_t end, bool warmup = false,
              std::optional<double> loss = {})
    {
        StepRecord record;
        record.step = StepIndex{index};
        record.range = {Instant{begin}, Instant{end}};
        if (warmup) record.state = StepState::Warmup;
        record.loss = loss;
        record.samples = 4;
        record.tokens = 400;
        producer->step(RankId{rank}, record);
    }

    TraceMetrics metrics(const TraceClosing& closing = {})
    {
        producer.reset();
        const Status finished = trace.finish(closing);
        Q_ASSERT(finished.ok());
        InMemoryTraceQuery query(trace.data());
        return *computeMetrics(query);
    }
};

TraceHeader header(int ranks, const std::string& plan = "")
{
    TraceHeader h;
    h.spec = RunSpec{};
    h.spec->model = *loadModel("gpt-tiny");
    h.spec->plan = *parsePlan(plan);
    for (int r = 0; r < ranks; ++r) {
        RankInfo info;
        info.rank = RankId{r};
        info.pipelineStage = r * h.spec->plan.pp / std::max(1, ranks);
        h.ranks.push_back(info);
    }
    return h;
}

double sum(const TraceMetrics& metrics)
{
    double total = 0;
    for (const auto& [part, share] : metrics.waterfall.parts()) total += share;
    return total;
}

double share(const TraceMetrics& metrics, WaterfallPart part)
{
    return metrics.waterfall.at(part).value_or(-1);
}

bool near(double a, double b)
{
    return qAbs(a - b) < 1e-9;
}

} // namespace

class MetricsTest : public QObject {
    Q_OBJECT

private slots:
    void oneRankByHand();
    void medianIgnoresWarmupAndOutliers();
    void evenNumberOfSteps();
    void unknownStaysUnknown();
    void withoutPeakThereIsOneComputeShare();
    void flopsOfAKnownRunAreThoseOfItsModel();
    void recordedFlopsAgreeWithTheFormula();
    void ranksThatEndEarlyAreIdle();
    void incompleteStepsAreLeftOut();
    void multiplicityWeighsRanks();
    void busBandwidth();
    void collectivesOfATrace();
    void closedFormsOfTheBubble();
    void bubbleOfAGPipeTrace_data();
    void bubbleOfAGPipeTrace();
    void droppedAndOverhead();
    void memoryOfMeasuredSteps();
};

void MetricsTest::oneRankByHand()
{
    // A step of 10 ms at a peak of 1 GFLOP/s (10 MFLOP possible), 1 GB/s.
    // 4 ms with 3 MFLOP, 2 ms of recomputation with 1 MFLOP, 2 ms that move 2 MB with 0.5 MFLOP, 2 ms of nothing.
    TraceHeader h = header(1);
    h.spec.reset(); // what was recorded counts
    Builder builder(h);
    builder.step(0, 0, 0, 10 * kMs, false, 2.5);
    builder.slice(0, computeOp(Phase::Forward, 3e6), 0, 4 * kMs);
    builder.slice(0, computeOp(Phase::Recompute, 1e6), 4 * kMs, 6 * kMs);
    builder.slice(0, computeOp(Phase::Optimizer, 0.5e6, 2'000'000), 6 * kMs, 8 * kMs);
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9;
    closing.memoryBytesPerSecond = 1e9;
    const TraceMetrics m = builder.metrics(closing);
    QCOMPARE(m.stepTime->ns, 10 * kMs);
    QVERIFY(near(*m.tokensPerSecond, 40'000));
    QVERIFY(near(*m.samplesPerSecond, 400));
    QVERIFY(near(*m.mfu, 0.35));
    QVERIFY(near(*m.hfu, 0.45));
    QVERIFY(near(share(m, WaterfallPart::Achieved), 0.35));
    QVERIFY(near(share(m, WaterfallPart::Recompute), 0.1));
    QVERIFY(near(share(m, WaterfallPart::MemoryBound), 0.15)); // 2 ms - 0.5 ms of arithmetic
    QVERIFY(near(share(m, WaterfallPart::Inefficiency), 0.2)); // 1 ms + 1 ms
    QVERIFY(near(share(m, WaterfallPart::Idle), 0.2));
    QVERIFY(near(share(m, WaterfallPart::Bubble), 0));
    QVERIFY(near(sum(m), 1));
    QVERIFY(near(*m.idleFraction, 0.2));
    QCOMPARE(m.loss.size(), std::size_t{1});
    QCOMPARE(*m.loss[0], 2.5);
}

void MetricsTest::medianIgnoresWarmupAndOutliers()
{
    Builder builder(header(1));
    std::int64_t at = 0;
    int index = 0;
    for (const std::int64_t ms : {500, 11, 10, 900, 12, 13}) {
        builder.step(0, index, at, at + ms * kMs, index == 0, index == 2 ? std::nullopt : std::optional(5.0 - index));
        builder.slice(0, computeOp(Phase::Forward), at, at + 6 * kMs);
        at += ms * kMs + kMs;
        ++index;
    }
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.stepTime->ns, 12 * kMs);
    QVERIFY(near(*m.idleFraction, 0.5));
    QCOMPARE(m.loss.size(), std::size_t{6}); // warm-up steps have a loss, too
    QCOMPARE(*m.loss[0], 5.0);
    QVERIFY(!m.loss[2]);
}

void MetricsTest::evenNumberOfSteps()
{
    Builder builder(header(1));
    std::int64_t at = 0;
    int index = 0;
    for (const std::int64_t ms : {8, 10, 14, 90}) {
        builder.step(0, index++, at, at + ms * kMs);
        builder.slice(0, computeOp(Phase::Forward), at, at + 6 * kMs);
        at += ms * kMs;
    }
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.stepTime->ns, 10 * kMs); // of 10 and 14 the lower one: a figure is always one that a step had
    QVERIFY(near(*m.idleFraction, 0.4));
    QVERIFY(near(*m.tokensPerSecond, 400 / 0.010));
}

void MetricsTest::unknownStaysUnknown()
{
    TraceHeader empty;
    empty.source = TraceSource::Imported;
    const TraceMetrics m = Builder(empty).metrics();
    QCOMPARE(m.source, TraceSource::Imported);
    QVERIFY(!m.stepTime && !m.mfu && !m.hfu && !m.mfuFullAttention && !m.tokensPerSecond && !m.bubbleFraction);
    QVERIFY(!m.idleFraction && !m.exposedCommFraction && !m.recorderOverheadFraction);
    QVERIFY(m.loss.empty() && m.waterfall.empty() && m.memory.empty() && m.collectives.empty());
}

void MetricsTest::withoutPeakThereIsOneComputeShare()
{
    Builder builder(TraceHeader{});
    builder.step(0, 0, 0, 10 * kMs);
    builder.slice(0, computeOp(Phase::Forward, 1e6), 0, 7 * kMs);
    const TraceMetrics m = builder.metrics();
    QVERIFY(!m.mfu);
    QVERIFY(near(share(m, WaterfallPart::Compute), 0.7));
    QCOMPARE(share(m, WaterfallPart::Achieved), -1.0);
    QVERIFY(near(sum(m), 1));
    QVERIFY(!m.bubbleFraction); // without a plan nobody knows whether there is a pipeline
}

void MetricsTest::flopsOfAKnownRunAreThoseOfItsModel()
{
    TraceHeader h = header(1);
    h.spec->training.batch = 2;
    h.spec->training.sequence = 64;
    const double flops = trainingFlops(h.spec->model, 2, 64);
    // Nothing recorded, or more than the model needs (whole attention matrices): the same MFU.
    for (const double recorded : {0.0, 3 * flops}) {
        Builder builder(h);
        builder.step(0, 0, 0, 10 * kMs);
        builder.slice(0, computeOp(Phase::Forward, recorded), 0, 9 * kMs);
        TraceClosing closing;
        closing.peakFlopsPerDevice = 1e12;
        const TraceMetrics m = builder.metrics(closing);
        QVERIFY(near(*m.mfu, flops / (1e12 * 0.01)));
        QVERIFY(near(*m.mfuFullAttention / *m.mfu, trainingFlops(h.spec->model, 2, 64, true) / flops));
        QVERIFY(near(share(m, WaterfallPart::Inefficiency), 0.9 - *m.mfu));
        QVERIFY(near(sum(m), 1));
        QCOMPARE(*m.bubbleFraction, 0.0);
    }
}

void MetricsTest::recordedFlopsAgreeWithTheFormula()
{
    // The matrix products of gpt-tiny as an engine would record them, one slice each: forward, and backward with one
    // product for the inputs and one for the weights.
    TraceHeader h = header(1);
    h.spec->training.batch = 2;
    h.spec->training.sequence = 64;
    const TransformerSpec t = *h.spec->model.transformer();
    const double tokens = 2 * 64;
    const auto product = [&](double in, double out) { return 2 * tokens * in * out; };
    const double hidden = double(t.hidden), ffn = double(t.ffnHidden);
    const double perLayer = 4 * product(hidden, hidden) + 2 * product(hidden, ffn) +
                            2 * (2.0 * 2 * 64 * 64 * hidden) / 2; // scores and values, causal half
    const double forward = 8 * perLayer + product(hidden, double(t.vocabulary));
    const double formula = trainingFlops(h.spec->model, 2, 64);
    h.spec.reset(); // so that what was recorded counts
    Builder builder(h);
    builder.step(0, 0, 0, 10 * kMs);
    builder.slice(0, computeOp(Phase::Forward, forward), 0, 3 * kMs);
    builder.slice(0, computeOp(Phase::BackwardInput, forward), 3 * kMs, 6 * kMs);
    builder.slice(0, computeOp(Phase::BackwardWeight, forward), 6 * kMs, 9 * kMs);
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e12;
    const TraceMetrics m = builder.metrics(closing);
    QVERIFY(qAbs(*m.mfu / (formula / (1e12 * 0.01)) - 1) < 1e-12);
}

void MetricsTest::ranksThatEndEarlyAreIdle()
{
    Builder builder(header(2, "dp=2"));
    builder.step(0, 0, 0, 10 * kMs);
    builder.step(1, 0, 2 * kMs, 8 * kMs);
    builder.slice(0, computeOp(Phase::Forward), 0, 10 * kMs);
    builder.slice(1, computeOp(Phase::Forward), 2 * kMs, 8 * kMs);
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.stepTime->ns, 8 * kMs);     // from where the last of them began: what lies before is skew of the start
    QVERIFY(near(*m.idleFraction, 0.125)); // 2 of 16 ms
    QVERIFY(near(sum(m), 1));
}

void MetricsTest::incompleteStepsAreLeftOut()
{
    Builder builder(header(2, "dp=2"));
    for (const int rank : {0, 1}) builder.step(rank, 0, 0, 10 * kMs);
    builder.step(0, 1, 10 * kMs, 99 * kMs); // the other rank never got there
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.stepTime->ns, 10 * kMs);
}

void MetricsTest::multiplicityWeighsRanks()
{
    TraceHeader h = header(2, "dp=2");
    h.ranks[1].multiplicity = 3;
    Builder builder(h);
    for (const int rank : {0, 1}) builder.step(rank, 0, 0, 10 * kMs);
    builder.slice(1, computeOp(Phase::Forward, 1e6), 0, 10 * kMs);
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9;
    const TraceMetrics m = builder.metrics(closing);
    QVERIFY(near(*m.idleFraction, 0.25));
    QVERIFY(near(*m.mfu, 3e6 / (4 * 10e6)));
}

void MetricsTest::busBandwidth()
{
    QCOMPARE(busBandwidthFactor(CollectiveOp::AllReduce, 4), 1.5);
    QCOMPARE(busBandwidthFactor(CollectiveOp::AllGather, 4), 0.75);
    QCOMPARE(busBandwidthFactor(CollectiveOp::ReduceScatter, 8), 0.875);
    QCOMPARE(busBandwidthFactor(CollectiveOp::Broadcast, 8), 1.0);
    QCOMPARE(busBandwidthFactor(CollectiveOp::AllReduce, 1), 1.0);
}

void MetricsTest::collectivesOfATrace()
{
    Builder builder(header(2, "dp=2"));
    const GroupId group = builder.trace.defineGroup({"dp", {RankId{0}, RankId{1}}, "local"});
    for (const int rank : {0, 1}) {
        builder.step(rank, 0, 0, 10 * kMs, true);
        builder.step(rank, 1, 10 * kMs, 20 * kMs);
        const TrackId track = builder.trace.defineTrack({RankId{rank}, TrackKind::CommStream, "dp", 1});
        for (int s = 0; s < 2; ++s) {
            CollectiveRecord record;
            record.track = track;
            record.start = Instant{(10 * s + rank) * kMs};
            record.lastArrival = Instant{(10 * s + 1) * kMs};
            record.end = Instant{(10 * s + 3) * kMs};
            record.group = group;
            record.sequence = s;
            record.payloadBytes = 4'000'000;
            record.wireBytes = 4'000'000;
            builder.producer->collective(record);
        }
    }
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.collectives.size(), std::size_t{1});
    const CollectiveMetrics& c = m.collectives[0];
    QCOMPARE(QString::fromStdString(c.group), QString("dp"));
    QCOMPARE(c.summary.count, 1); // the warm-up step is left out
    QCOMPARE(qint64{c.summary.time.ns}, qint64{2 * kMs});
    QCOMPARE(qint64{c.summary.wait.ns}, qint64{1 * kMs});
    QVERIFY(near(*c.algorithmBytesPerSecond / 1e9, 2.0));
    QVERIFY(near(*c.busBytesPerSecond / 1e9, 2.0)); // 2(n-1)/n = 1 for two ranks
}

void MetricsTest::closedFormsOfTheBubble()
{
    QVERIFY(near(pipelineBubble(PipelineSchedule::Naive, 4, 8), 0.75));
    QVERIFY(near(pipelineBubble(PipelineSchedule::GPipe, 4, 8), 3.0 / 11)); // 27.3 %; papers print 3/8 of ideal time
    QVERIFY(near(pipelineBubble(PipelineSchedule::OneFOneB, 1, 8), 0));
    QVERIFY(near(pipelineBubble(PipelineSchedule::Interleaved, 4, 8, 2), 3.0 / 19));
    QVERIFY(near(zeroBubbleBubble(4, 8, 1, 1, 1), 3.0 / (24 + 3)));
    // Longer than a forward pass: 0.2 of it only delays.
    QVERIFY(near(zeroBubbleBubble(4, 8, 1, 1.2, 1.2), 3.6 / (8 * 3.4 + 3.6)));
}

void MetricsTest::bubbleOfAGPipeTrace_data()
{
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("microbatches");
    QTest::newRow("4 x 8") << 4 << 8;
    QTest::newRow("2 x 2") << 2 << 2;
    QTest::newRow("8 x 3") << 8 << 3;
    QTest::newRow("3 x 1") << 3 << 1;
}

void MetricsTest::bubbleOfAGPipeTrace()
{
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    const std::int64_t f = 2 * kMs, b = 3 * kMs;
    Builder builder(header(stages, "pp=" + std::to_string(stages)));
    const std::int64_t turn = (stages + microbatches - 1) * f;
    const std::int64_t end = turn + (stages + microbatches - 1) * b;
    for (int s = 0; s < stages; ++s) {
        for (int i = 0; i < microbatches; ++i) {
            const std::int64_t forward = (s + i) * f;
            const std::int64_t backward = turn + (stages - 1 - s + i) * b;
            builder.slice(s, computeOp(Phase::Forward), forward, forward + f);
            builder.slice(s, computeOp(Phase::BackwardInput), backward, backward + b);
        }
        builder.step(s, 0, -kMs, end + kMs); // some time around the window
    }
    const TraceMetrics m = builder.metrics();
    const double expected = pipelineBubble(PipelineSchedule::GPipe, stages, microbatches);
    QVERIFY(near(*m.bubbleFraction, expected));
    QCOMPARE(m.bubbleByStage.size(), std::size_t(stages));
    for (const double stage : m.bubbleByStage) QVERIFY(near(stage, expected));
    // Of the whole step, with its 2 ms around the window, the bubble is a little less.
    QVERIFY(near(share(m, WaterfallPart::Bubble), expected * double(end) / double(end + 2 * kMs)));
    QVERIFY(near(sum(m), 1));
}

void MetricsTest::droppedAndOverhead()
{
    Builder builder(header(1));
    builder.trace.audit({"queue_full", AuditSeverity::Dropped, 3, ""});
    builder.trace.audit({"queue_full", AuditSeverity::Dropped, 4, ""});
    builder.trace.audit({"waits", AuditSeverity::Info, 100, ""});
    TraceClosing closing;
    closing.recorderOverheadFraction = 0.004;
    const TraceMetrics m = builder.metrics(closing);
    QCOMPARE(m.dropped, 7);
    QCOMPARE(*m.recorderOverheadFraction, 0.004);
    QVERIFY(!m.recorderOverheadMeasured);
}

void MetricsTest::memoryOfMeasuredSteps()
{
    Builder builder(header(1));
    builder.step(0, 0, 0, 10, true);
    builder.step(0, 1, 10, 20);
    builder.producer->allocated(RankId{0}, {AllocationId{1}, Instant{0}, 100, 0, MemoryCategory::Weights, {}, {}});
    builder.producer->allocated(RankId{0}, {AllocationId{2}, Instant{2}, 900, 0, MemoryCategory::Workspace, {}, {}});
    builder.producer->freed(RankId{0}, AllocationId{2}, Instant{4});
    builder.producer->allocated(RankId{0}, {AllocationId{3}, Instant{12}, 50, 0, MemoryCategory::Activations, {}, {}});
    builder.producer->freed(RankId{0}, AllocationId{3}, Instant{15});
    const TraceMetrics m = builder.metrics();
    QCOMPARE(m.memory.size(), std::size_t{1});
    QCOMPARE(m.memory[0].peakBytes, 150);
    QCOMPARE(m.memory[0].residentBytes, 100);
}

FOURWALLS_TEST(MetricsTest, QCoreApplication)

} // namespace tst_metrics

#include "tst_metrics.moc"
