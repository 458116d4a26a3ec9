// SPDX-License-Identifier: Apache-2.0
// A predicted step as a trace: its metrics are those of the simulation, with nothing added and nothing lost.
#include <QtTest>

#include "model/cost/cost_model.h"
#include "model/cost/drawn_prediction.h"
#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/stage_memory.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/support/equal_summaries.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace tst_predicted_trace {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

PassCost passOf(double gemm, double memory, double tensor, double flops)
{
    PassCost pass;
    pass.parts[CostPart::Gemm] = gemm;
    pass.parts[CostPart::MemoryBound] = memory;
    pass.parts[CostPart::TensorComm] = tensor;
    pass.flops = pass.modelFlops = flops;
    return pass;
}

RunSpec specOf(const char* plan)
{
    RunSpec spec;
    spec.plan = *parsePlan(plan);
    spec.model = *loadModel("gpt-tiny");
    spec.cluster = *loadCluster("dgx-a100");
    spec.training.batch = spec.plan.dp * spec.plan.microbatches * 2;
    spec.training.sequence = 128;
    spec.training.precision = Precision::Bf16;
    return spec;
}

StepCost costOf(const RunSpec& spec, double transfer)
{
    StepCost cost;
    cost.shape = pipelineShape(spec.plan);
    ChunkCost chunk;
    chunk.layers = 1;
    chunk.forward = passOf(0.010, 0.004, 0.002, 1e12);
    chunk.recompute = passOf(0.005, 0.001, 0.001, 0.5e12);
    chunk.backwardInput = passOf(0.011, 0.003, 0.002, 1e12);
    chunk.backwardWeight = passOf(0.009, 0.002, 0, 1e12);
    chunk.forward.wire.tensor = 1e6;
    chunk.recompute.wire.tensor = 1e6;
    chunk.backwardInput.wire.tensor = 3e6;
    chunk.activationBytes = 1e9;
    chunk.weightGradientBytes = 0.4e9;
    chunk.transientForwardBytes = 1e7;
    chunk.transientBackwardBytes = 2e7;
    cost.kinds = {chunk};
    cost.kindOfPosition.assign(static_cast<std::size_t>(cost.shape.positions()), 0);
    cost.boundaries.assign(cost.kindOfPosition.size() - 1, BoundaryCost{1e6, transfer});
    StageCost stage;
    stage.gradientCommSeconds = 0.030;
    stage.gradientCommExposed = 0.012;
    stage.gradientWireBytes = 3e8;
    stage.optimizerSeconds = 0.005;
    stage.memory.weights = 2e9;
    stage.memory.gradients = 4e9;
    stage.memory.optimizer = 12e9;
    cost.stages.assign(static_cast<std::size_t>(cost.shape.stages), stage);
    cost.peakFlops = 312e12;
    return cost;
}

/// Three operators per pass: two on the device, one collective.
std::vector<OperatorCost> threeOperators(int position, Phase phase)
{
    OperatorCost up;
    up.name = "mlp.up";
    up.layer = position;
    up.seconds = 0.010;
    up.flops = phase == Phase::Forward ? 1e12 : 0.5e12;
    OperatorCost norm;
    norm.name = "norm1";
    norm.layer = position;
    norm.part = CostPart::MemoryBound;
    norm.seconds = 0.002;
    norm.bytes = 1e9;
    OperatorCost reduce;
    reduce.name = "all_reduce";
    reduce.layer = position;
    reduce.part = CostPart::TensorComm;
    reduce.communication = true;
    reduce.seconds = 0.001;
    reduce.bytes = 1e6;
    return {norm, up, reduce};
}

double sumOf(const TraceMetrics& metrics)
{
    double sum = 0;
    for (const auto& [part, share] : metrics.waterfall.parts()) sum += share;
    return sum;
}

double shareOf(const TraceMetrics& metrics, WaterfallPart part)
{
    return metrics.waterfall.at(part).value_or(-1);
}

} // namespace

class PredictedTraceTest : public QObject {
    Q_OBJECT

private slots:
    void metricsAreThoseOfTheSimulation_data();
    void metricsAreThoseOfTheSimulation();
    void summariesAloneAreTheSame_data();
    void summariesAloneAreTheSame();
    void operatorsOnDemand();
    void memoryClimbsLayerByLayer();
    void noCollectiveExceedsItsLink_data();
    void noCollectiveExceedsItsLink();
    void collectivesAreBookedAsWhatTheyAre_data();
    void collectivesAreBookedAsWhatTheyAre();
    void saysWhatItIs();
    void outOfMemoryIsAnEvent();
};

void PredictedTraceTest::metricsAreThoseOfTheSimulation_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<bool>("blocking");
    for (const bool blocking : {false, true}) {
        const char* suffix = blocking ? " blocking" : "";
        for (const char* plan : {"pp=4 microbatches=8", "dp=4 tp=2 pp=4 microbatches=8 schedule=gpipe",
                                 "pp=2 vpp=2 microbatches=4 tp=2", "pp=4 microbatches=8 schedule=zb tp=2",
                                 "pp=2 microbatches=8 schedule=zbv", "pp=4 microbatches=3 schedule=naive"})
            QTest::addRow("%s%s", plan, suffix) << plan << blocking;
    }
    QTest::newRow("one stage") << "dp=8 microbatches=2" << false;
}

void PredictedTraceTest::metricsAreThoseOfTheSimulation()
{
    QFETCH(QString, plan);
    QFETCH(bool, blocking);
    const RunSpec spec = specOf(plan.toUtf8().constData());
    StepCost cost = costOf(spec, 0.0005);
    cost.blockingTransfers = blocking;
    const auto step = simulateSchedule(cost, true);
    QVERIFY(step.ok());
    const DrawnStep drawn = drawnStep(spec.plan, cost, *step);
    const auto data = predictedTrace(spec, cost, drawn);
    QVERIFY(data.ok());
    InMemoryTraceQuery query(*data);
    const auto metrics = computeMetrics(query);
    QVERIFY(metrics.ok());

    constexpr double kRounding = 1e-5; // nanoseconds of tens of milliseconds
    QVERIFY(std::abs(metrics->stepTime->seconds() / step->seconds - 1) < kRounding);
    QVERIFY(std::abs(sumOf(*metrics) - 1) < 1e-9);
    const auto stages = static_cast<std::size_t>(spec.plan.pp);
    QCOMPARE(metrics->bubbleByStage.size(), stages);
    if (spec.plan.pp > 1) {
        QVERIFY(std::abs(*metrics->bubbleFraction - step->bubbleFraction()) < kRounding);
        for (std::size_t s = 0; s < stages; ++s)
            QVERIFY(std::abs(metrics->bubbleByStage[s] - step->bubbleFraction(s)) < kRounding);
    }
    // Memory: one summary per rank class, the simulation's peak at the simulation's time.
    QCOMPARE(metrics->memory.size(), stages);
    for (std::size_t s = 0; s < stages; ++s) {
        QVERIFY(std::abs(double(metrics->memory[s].peakBytes) / step->stages[s].peakBytes - 1) < 1e-6);
        QVERIFY(std::abs(metrics->memory[s].peakAt.ns * 1e-9 - step->stages[s].peakAt) < 1e-6);
        QCOMPARE(metrics->memory[s].residentBytes, std::int64_t(18e9));
        // The curve that is drawn before the trace is there: the same levels at the same instants.
        const std::vector<MemorySample> curve = memoryCurve(drawn.lanes[s]);
        const std::vector<MemorySample>& written = data.value()->memory.at(drawn.lanes[s].rank);
        const auto levelAt = [&written](Instant at) {
            const auto after =
                std::upper_bound(written.begin(), written.end(), at,
                                 [](Instant value, const MemorySample& sample) { return value < sample.at; });
            return after == written.begin() ? std::int64_t{0} : std::prev(after)->total();
        };
        for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
            if (curve[i + 1].at - curve[i].at <= Duration{4}) continue; // times are rounded
            QVERIFY(std::abs(levelAt(curve[i].at + Duration{2}) - curve[i].total()) <= 16);
        }
    }
    // Recomputation is counted in hfu, not in mfu.
    QVERIFY(metrics->mfu && metrics->hfu);
    const double recompute = 0.5e12 * spec.plan.microbatches * cost.shape.chunks / (312e12 * step->seconds);
    QVERIFY2(std::abs(*metrics->hfu - *metrics->mfu - recompute) < kRounding,
             qPrintable(QString("%1 %2").arg(*metrics->hfu - *metrics->mfu).arg(recompute)));
    QVERIFY(std::abs(shareOf(*metrics, WaterfallPart::Recompute) - recompute) < kRounding);
    QVERIFY(shareOf(*metrics, WaterfallPart::MemoryBound) > 0);
    QCOMPARE(metrics->tokensPerSecond.has_value(), true);

    double tensorWire = 0;
    for (const CollectiveMetrics& collective : metrics->collectives)
        if (collective.group == "tp") tensorWire += double(collective.summary.wireBytes.value());
    QVERIFY(std::abs(tensorWire / (5e6 * spec.plan.microbatches * cost.shape.positions()) - 1) < 1e-5);
    for (const AuditRecord& record : data.value()->info.audit) QVERIFY(record.name != "invalid_records");
}

void PredictedTraceTest::summariesAloneAreTheSame_data()
{
    metricsAreThoseOfTheSimulation_data();
}

void PredictedTraceTest::summariesAloneAreTheSame()
{
    QFETCH(QString, plan);
    QFETCH(bool, blocking);
    const RunSpec spec = specOf(plan.toUtf8().constData());
    StepCost cost = costOf(spec, 0.0005);
    cost.blockingTransfers = blocking;
    cost.agreementSeconds = 0.001; // of all ranks: the one collective that several stages take part in
    cost.agreementWireBytes = 64;
    for (StageCost& stage : cost.stages) stage.usableMemoryBytes = 10e9;
    const auto step = simulateSchedule(cost, true);
    const auto trace = *predictedTrace(spec, cost, drawnStep(spec.plan, cost, *step));
    const auto summary = *predictedSummary(spec, cost, drawnStep(spec.plan, cost, *step));
    QVERIFY(summary->slices.empty() && summary->collectives.empty() && summary->allocations.empty());
    QCOMPARE(summary->info.range.begin.ns, trace->info.range.begin.ns);
    QCOMPARE(summary->info.range.end.ns, trace->info.range.end.ns);
    QCOMPARE(summary->info.counts.slices, trace->info.counts.slices);
    QCOMPARE(summary->info.counts.allocations, trace->info.counts.allocations);
    QCOMPARE(summary->info.counts.collectives, trace->info.counts.collectives);
    QCOMPARE(summary->info.stepCount, trace->info.stepCount);
    QCOMPARE(summary->events.size(), trace->events.size());
    QVERIFY(summary->info.groups == trace->info.groups);
    QVERIFY(summary->jobSteps == trace->jobSteps);
    QVERIFY(summary->memorySummaries == trace->memorySummaries);
    QVERIFY(summary->collectiveSummaries == trace->collectiveSummaries);
    QCOMPARE(summary->opSummaries.size(), trace->opSummaries.size());
    for (std::size_t i = 0; i < trace->opSummaries.size(); ++i) {
        QCOMPARE(summary->opSummaries[i].op.value, trace->opSummaries[i].op.value);
        QCOMPARE(summary->opSummaries[i].count, trace->opSummaries[i].count);
        QCOMPARE(summary->opSummaries[i].total.ns, trace->opSummaries[i].total.ns);
    }
    QCOMPARE(summary->memory.size(), trace->memory.size());
    for (const auto& [rank, curve] : trace->memory) {
        const auto& same = summary->memory.at(rank);
        QCOMPARE(same.size(), curve.size());
        for (std::size_t i = 0; i < curve.size(); ++i)
            QVERIFY(same[i].at == curve[i].at && same[i].bytes == curve[i].bytes);
    }
    QCOMPARE(summary->stepSummaries.size(), trace->stepSummaries.size());
    for (std::size_t i = 0; i < trace->stepSummaries.size(); ++i)
        QVERIFY(test::equalUpToRounding(summary->stepSummaries[i], trace->stepSummaries[i], 1e-12));
}

void PredictedTraceTest::operatorsOnDemand()
{
    const RunSpec spec = specOf("pp=2 tp=2 microbatches=4");
    StepCost cost = costOf(spec, 0.0005);
    // What a pass waits for its launches is work of no operator. No reduction of gradients lies beside it here.
    for (StageCost& stage : cost.stages) stage.gradientCommSeconds = stage.gradientCommExposed;
    cost.kinds.front().forward.parts[CostPart::Host] = 0.004;
    cost.kinds.front().backwardInput.parts[CostPart::Host] = 0.006;
    const auto step = simulateSchedule(cost, true);
    const auto coarse = predictedTrace(spec, cost, drawnStep(spec.plan, cost, *step));
    const auto fine = predictedTrace(spec, cost, drawnStep(spec.plan, cost, *step), threeOperators);
    QVERIFY(coarse.ok() && fine.ok());
    InMemoryTraceQuery coarseQuery(*coarse), fineQuery(*fine);
    const auto a = computeMetrics(coarseQuery), b = computeMetrics(fineQuery);
    QCOMPARE(a->stepTime->ns, b->stepTime->ns);
    QVERIFY(std::abs(*a->bubbleFraction - *b->bubbleFraction) < 1e-5);
    QVERIFY(std::abs(*a->bubbleFraction - step->bubbleFraction()) < 1e-5);
    QVERIFY(std::abs(shareOf(*a, WaterfallPart::Bubble) - shareOf(*b, WaterfallPart::Bubble)) < 1e-5);
    QCOMPARE(a->memory.front().peakBytes, b->memory.front().peakBytes);
    // Layers and operators have names and places as in a recording.
    const auto found = fineQuery.search({"mlp.up", false, fine.value()->info.range, {}, 1000});
    QVERIFY(found.ok());
    QVERIFY(!found->slices.empty());
    bool hasLayer = false;
    for (const auto& [id, op] : found->ops) hasLayer = hasLayer || (op->layer && op->layer->value == 1);
    QVERIFY(hasLayer);
}

// Within one pass: a step up at every layer's begin in forward, one down at every layer's end in backward.
void PredictedTraceTest::memoryClimbsLayerByLayer()
{
    const RunSpec spec = specOf("");
    StepCost cost = costOf(spec, 0);
    cost.kinds.front().layers = 8;
    cost.kinds.front().transientForwardBytes = cost.kinds.front().transientBackwardBytes = 0;
    const auto step = simulateSchedule(cost, true);
    const auto data = *predictedSummary(spec, cost, drawnStep(spec.plan, cost, *step));
    const auto& curve = data->memory.at(RankId{0});
    const auto activations = [](const auto& point) {
        return point.bytes[static_cast<std::size_t>(MemoryCategory::Activations)];
    };
    std::vector<std::int64_t> steps;
    for (const auto& point : curve)
        if (steps.empty() || activations(point) != steps.back()) steps.push_back(activations(point));
    // 0 (with what stays), then up in eight steps and down in eight.
    std::erase(steps, 0);
    QCOMPARE(steps.size(), std::size_t(15));
    for (std::size_t i = 0; i < steps.size(); ++i)
        QCOMPARE(steps[i], std::int64_t(1e9) / 8 * std::int64_t(i < 8 ? i + 1 : 15 - i));
    QVERIFY(std::abs(step->stages.front().peakAt - 7.0 / 8 * cost.kinds.front().forward.seconds()) < 1e-9);
    // The simulation's own samples, of which views draw, are the same curve.
    std::vector<std::int64_t> samples;
    for (const SimulatedBytes& live : step->stages.front().memory)
        if (const auto bytes = std::llround(live.activations);
            bytes > 0 && (samples.empty() || samples.back() != bytes))
            samples.push_back(bytes);
    QVERIFY(samples == (std::vector<std::int64_t>(steps.begin(), steps.end())));
    // Where a stage has many passes they are the steps.
    PipelineShape shape = cost.shape;
    shape.microbatches = 1000;
    QCOMPARE(activationSteps(shape, cost.kinds.front()), 1);
}

void PredictedTraceTest::noCollectiveExceedsItsLink_data()
{
    QTest::addColumn<QString>("plan");
    // With and without a weight-gradient pass of its own to hide behind; gathers and scatters.
    for (const char* plan :
         {"tp=8 pp=4 dp=4 microbatches=8", "tp=8 pp=4 dp=4 microbatches=8 schedule=zb", "tp=4 dp=2 microbatches=2",
          "tp=8 pp=2 dp=2 microbatches=4 sp=1 recompute=full", "dp=16 zero=3 microbatches=1"})
        QTest::newRow(plan) << plan;
}

void PredictedTraceTest::noCollectiveExceedsItsLink()
{
    QFETCH(QString, plan);
    RunSpec spec = specOf(plan.toUtf8().constData());
    spec.model = *loadModel("gpt3-1.3b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.training.sequence = 2048;
    spec.framework = "megatron-core";
    QVERIFY(resolve(spec).ok());
    auto model = CostModel::create(spec);
    QVERIFY(model.ok());
    const auto step = predictStep(*model, spec);
    QVERIFY(step.ok());
    for (CostModel* detail : {&*model, static_cast<CostModel*>(nullptr)}) {
        const auto data = traceOf(*step, detail);
        QVERIFY(data.ok());
        InMemoryTraceQuery query(*data);
        const auto records = query.collectives(std::nullopt, data.value()->info.range, 100'000);
        QVERIFY(records.ok() && !records->empty());
        const double link = spec.cluster.nodeLink.bytesPerSecond;
        std::int64_t empty = 0;
        for (const CollectiveView& view : *records) {
            const CollectiveRecord& record = view.record;
            const double rate = double(record.wireBytes.value()) / (record.end - record.lastArrival).seconds();
            QVERIFY2(rate <= link, qPrintable(QString("%1 of %2 bytes/s").arg(rate).arg(link)));
            empty += record.payloadBytes <= 0 && spec.plan.tp > 1;
        }
        QCOMPARE(empty, std::int64_t(0)); // what is waited for and what is hidden are one operation
    }
}

void PredictedTraceTest::collectivesAreBookedAsWhatTheyAre_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("framework");
    QTest::addColumn<double>("gathers"); // of all parameters, in a step
    QTest::addColumn<double>("scatters");
    QTest::newRow("whole") << "dp=8"
                           << "fsdp" << 0.0 << 0.0;
    QTest::newRow("zero 1") << "dp=8 zero=1"
                            << "megatron-core" << 1.0 << 1.0;
    QTest::newRow("zero 2") << "dp=8 zero=2 microbatches=2"
                            << "megatron-core" << 1.0 << 2.0;
    // Table and head (2 % each) once, the layers again for the backward pass.
    QTest::newRow("zero 3") << "dp=8 zero=3"
                            << "fsdp" << 2.0 << 1.0;
    QTest::newRow("zero 3, two micro-batches") << "dp=8 zero=3 microbatches=2"
                                               << "fsdp" << 4.0 << 2.0;
    QTest::newRow("zero 3 of the engine") << "dp=8 zero=3"
                                          << "fourwalls" << 2.0 << 1.0;
}

// What ZeRO sends: the reduction of gradients is no gather of parameters, and the other way round. Every parameter is
// handed over as often as the framework does it, in its bytes.
void PredictedTraceTest::collectivesAreBookedAsWhatTheyAre()
{
    QFETCH(QString, plan);
    QFETCH(QString, framework);
    QFETCH(double, gathers);
    QFETCH(double, scatters);
    RunSpec spec = specOf(plan.toUtf8().constData());
    spec.model = *loadModel("llama2-7b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.training.sequence = 4096;
    spec.framework = framework.toStdString();
    auto model = CostModel::create(spec);
    QVERIFY(model.ok());
    const auto step = predictStep(*model, spec);
    QVERIFY(step.ok());
    const auto parameters = double(parameterCount(spec.model));
    const FrameworkPreset& preset = model->framework();
    for (CostModel* detail : {static_cast<CostModel*>(nullptr), &*model}) {
        const auto data = traceOf(*step, detail);
        QVERIFY(data.ok());
        InMemoryTraceQuery query(*data);
        std::map<CollectiveOp, double> payload;
        const auto records = query.collectives(std::nullopt, data.value()->info.range, 100'000);
        QVERIFY(records.ok());
        for (const CollectiveView& view : *records) {
            QVERIFY(view.record.payloadBytes > 0);
            payload[view.record.operation] += double(view.record.payloadBytes.value());
        }
        const double weights = std::min(preset.weightBytes, 2.0);
        const double gathered = payload[CollectiveOp::AllGather] / (weights * parameters);
        const double scattered = payload[CollectiveOp::ReduceScatter] / (preset.reduceBytes * parameters);
        const double headShare = spec.plan.zero == 3 ? spec.plan.microbatches * 0.04 : 0;
        QVERIFY2(gathered <= gathers * 1.001 && gathered >= gathers * 0.999 - headShare,
                 qPrintable(QString::number(gathered)));
        QVERIFY2(std::abs(scattered - scatters) <= 0.001 * scatters, qPrintable(QString::number(scattered)));
        QCOMPARE(payload[CollectiveOp::AllReduce] > parameters, spec.plan.zero == 0);
    }
}

void PredictedTraceTest::saysWhatItIs()
{
    const RunSpec spec = specOf("dp=4 tp=2 pp=2 microbatches=2");
    const StepCost cost = costOf(spec, 0.0005);
    const auto data = predictedTrace(spec, cost, drawnStep(spec.plan, cost, *simulateSchedule(cost, true)));
    QVERIFY(data.ok());
    const TraceInfo& info = data.value()->info;
    QCOMPARE(info.header.source, TraceSource::Predicted);
    QCOMPARE(info.header.clock, ClockKind::Predicted);
    QCOMPARE(info.header.ranks.size(), std::size_t(2));
    QCOMPARE(info.header.ranks[1].rank.value, 8);
    QCOMPARE(info.header.ranks[1].multiplicity, 8);
    QVERIFY(!info.groups.empty());
    for (const ProcessGroupInfo& group : info.groups)
        QCOMPARE(QString::fromStdString(group.transport), QString("modelled"));
}

void PredictedTraceTest::outOfMemoryIsAnEvent()
{
    const RunSpec spec = specOf("pp=2 microbatches=2");
    StepCost cost = costOf(spec, 0);
    for (StageCost& stage : cost.stages) stage.usableMemoryBytes = 18.5e9;
    const auto data = predictedTrace(spec, cost, drawnStep(spec.plan, cost, *simulateSchedule(cost, true)));
    QVERIFY(data.ok());
    QVERIFY(!data.value()->events.empty());
    QCOMPARE(data.value()->events.front().kind, EventKind::OutOfMemory);
}

FOURWALLS_TEST(PredictedTraceTest, QCoreApplication)

} // namespace tst_predicted_trace

#include "tst_predicted_trace.moc"
