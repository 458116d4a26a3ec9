// SPDX-License-Identifier: Apache-2.0
// Two small traces side by side.
#include <QtTest>

#include "model/compare/trace_compare.h"
#include "model/compare/trace_contrast.h"
#include "model/spec/run_spec.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <memory>

namespace tst_trace_compare {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

/// Steps of one rank in which each of `layers` layers computes for `layerNs` forward and backward.
std::unique_ptr<TraceQuery> traceOf(const std::vector<std::int64_t>& stepNs, int layers, std::int64_t layerNs,
                                    std::int64_t bytes)
{
    TraceHeader header;
    header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    const TrackId kernels = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "kernels", 0});
    {
        const auto producer = trace.openProducer();
        std::int64_t at = 0;
        for (std::size_t s = 0; s < stepNs.size(); ++s) {
            StepRecord step;
            step.step = StepIndex{static_cast<std::int32_t>(s)};
            step.range = {Instant{at}, Instant{at + stepNs[s]}};
            producer->step(RankId{0}, step);
            std::int64_t begin = at;
            for (const Phase phase : {Phase::Forward, Phase::BackwardInput}) {
                for (int layer = 0; layer < layers; ++layer) {
                    OpInfo op;
                    op.name = "mlp.up";
                    op.kind = SliceKind::Kernel;
                    op.phase = phase;
                    op.activity = Activity::Compute;
                    op.layer = LayerIndex{layer};
                    producer->slice({kernels, trace.defineOp(op), Instant{begin}, Duration{layerNs}, {}, {}});
                    begin += layerNs;
                }
            }
            at += stepNs[s];
        }
        AllocationRecord weights;
        weights.id = AllocationId{1};
        weights.bytes = bytes;
        weights.category = MemoryCategory::Weights;
        producer->allocated(RankId{0}, weights);
    }
    if (!trace.finish({}).ok()) return nullptr;
    return std::make_unique<InMemoryTraceQuery>(trace.data());
}

const ComparedFigure& figureOf(const TraceComparison& comparison, const std::string& name)
{
    for (const ComparedFigure& figure : comparison.figures)
        if (figure.name() == name) return figure;
    qFatal("no figure %s", name.c_str());
}

} // namespace

class TraceCompareTest : public QObject {
    Q_OBJECT

private slots:
    void figures();
    void stepsAndLayers();
    void equalTracesDoNotDiffer();
    void unknownStaysUnknown();
    void operatorsByNameAndShape();
    void whatTracesDifferIn();
};

void TraceCompareTest::figures()
{
    const auto a = traceOf({1000, 1000, 1000}, 2, 100, 500), b = traceOf({1100, 1100, 1100}, 2, 150, 400);
    const auto comparison = compareTraces(*a, *b);
    QVERIFY(comparison.ok());
    const ComparedFigure time = figureOf(*comparison, "step_time_ms");
    QVERIFY(std::abs(*time.percent() - 10) < 1e-9);
    QVERIFY(std::abs(*time.worsePercent() - 10) < 1e-9);
    const ComparedFigure memory = figureOf(*comparison, "peak_bytes");
    QVERIFY(std::abs(*memory.worsePercent() + 20) < 1e-9);
    QVERIFY(comparison->worst() != nullptr);
    QCOMPARE(QString::fromStdString(comparison->worst()->name()), QString("step_time_ms"));
}

void TraceCompareTest::stepsAndLayers()
{
    const auto a = traceOf({1000, 2000}, 2, 100, 500), b = traceOf({1000, 1500, 900}, 3, 150, 500);
    const auto comparison = compareTraces(*a, *b);
    QVERIFY(comparison.ok());
    QCOMPARE(comparison->steps.size(), std::size_t(3));
    QCOMPARE(comparison->steps[1].a->ns, 2000);
    QCOMPARE(comparison->steps[1].b->ns, 1500);
    QVERIFY(!comparison->steps[2].a);
    QCOMPARE(comparison->layers.size(), std::size_t(6));
    QCOMPARE(comparison->layers[0].phase, Phase::Forward);
    QCOMPARE(comparison->layers[0].a->ns, 100); // per step
    QCOMPARE(comparison->layers[0].b->ns, 150);
    QVERIFY(!comparison->layers[2].a && comparison->layers[2].b);
}

void TraceCompareTest::equalTracesDoNotDiffer()
{
    const auto a = traceOf({1000, 1000, 1000}, 2, 100, 500), b = traceOf({1000, 1000, 1000}, 2, 100, 500);
    const auto comparison = compareTraces(*a, *b);
    QVERIFY(comparison.ok());
    for (const ComparedFigure& figure : comparison->figures) QVERIFY(figure.difference().value_or(0) == 0);
    QCOMPARE(*comparison->worst()->worsePercent(), 0.0);
}

void TraceCompareTest::unknownStaysUnknown()
{
    const auto a = traceOf({}, 0, 0, 500), b = traceOf({1000}, 1, 100, 500);
    const auto comparison = compareTraces(*a, *b);
    QVERIFY(comparison.ok());
    QVERIFY(!figureOf(*comparison, "step_time_ms").a);
    QVERIFY(!figureOf(*comparison, "step_time_ms").worsePercent());
    QVERIFY(!figureOf(*comparison, "mfu").b);
}

void TraceCompareTest::whatTracesDifferIn()
{
    const auto traceOn = [](const char* network, std::int64_t batch, const char* device, int devices) {
        TraceInfo trace;
        trace.header.clock = ClockKind::Device;
        trace.header.ranks.push_back({RankId{0}, device, "host", 0, 0, devices});
        if (!network) return trace;
        trace.header.spec.emplace();
        trace.header.spec->model = *loadModel(network);
        trace.header.spec->training.batch = batch;
        trace.header.spec->plan.dp = devices;
        return trace;
    };
    const TraceInfo one = traceOn("gpt3-1.3b", 8, "H100", 2);
    QVERIFY(!contrastOf(one, one).any());
    QVERIFY(contrastOf(one, one).isOfOneThing());
    QVERIFY(contrastOf(one, traceOn("gpt3-175b", 8, "H100", 2)).network);
    QVERIFY(contrastOf(one, traceOn("gpt3-1.3b", 16, "H100", 2)).batch);
    QVERIFY(contrastOf(one, traceOn("gpt3-1.3b", 8, "A100", 2)).devices);
    QVERIFY(contrastOf(one, traceOn("gpt3-1.3b", 8, "H100", 4)).devices); // twice as many
    TraceInfo other = one;
    other.header.spec->plan.tp = 2;
    QVERIFY(contrastOf(one, other).plan && contrastOf(one, other).isOfOneThing()); // what is compared
    other = one;
    other.header.clock = ClockKind::Predicted;
    QVERIFY(contrastOf(one, other).clock && !contrastOf(one, other).isOfOneThing());
    // An edited network keeps its name.
    other = one;
    ++std::get<TransformerSpec>(other.header.spec->model.architecture).layers;
    QVERIFY(contrastOf(one, other).network);
    // What is not known differs in nothing.
    QVERIFY(!contrastOf(one, traceOn(nullptr, 0, "H100", 2)).any());
    QVERIFY(!contrastOf(one, traceOn("gpt3-1.3b", 8, "", 2)).devices);
}

void TraceCompareTest::operatorsByNameAndShape()
{
    struct Ran {
        const char *name, *shape;
        SliceKind kind;
        std::int64_t ns;
        int times; ///< in each of two steps
    };
    const auto trace = [](const std::vector<Ran>& ran) -> std::unique_ptr<TraceQuery> {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
        InMemoryTrace memory(header);
        const TrackId kernels = memory.defineTrack({RankId{0}, TrackKind::ComputeStream, "kernels", 0});
        {
            const auto producer = memory.openProducer();
            for (int s = 0; s < 2; ++s) {
                std::int64_t at = s * 1'000'000;
                StepRecord step;
                step.step = StepIndex{s};
                step.range = {Instant{at}, Instant{at + 1'000'000}};
                producer->step(RankId{0}, step);
                for (const Ran& each : ran)
                    for (int i = 0; i < each.times; ++i, at += each.ns) {
                        OpInfo op;
                        op.name = each.name;
                        op.detail = each.shape;
                        op.kind = each.kind;
                        op.activity = Activity::Compute;
                        op.layer = LayerIndex{i}; // rows of one name and shape are one
                        producer->slice({kernels, memory.defineOp(op), Instant{at}, Duration{each.ns}, {}, {}});
                    }
            }
        }
        if (!memory.finish({}).ok()) return nullptr;
        return std::make_unique<InMemoryTraceQuery>(memory.data());
    };
    const auto a = trace({{"gemm", "8x8", SliceKind::Kernel, 100, 3},
                          {"gemm", "16x16", SliceKind::Kernel, 400, 1},
                          {"add", "4", SliceKind::Kernel, 50, 2},
                          {"old", "", SliceKind::Kernel, 70, 1},
                          {"aten::mm", "", SliceKind::Operator, 900, 1}});
    const auto b = trace({{"gemm", "8x8", SliceKind::Kernel, 150, 3},
                          {"gemm", "32x32", SliceKind::Kernel, 500, 1},
                          {"add", "4", SliceKind::Kernel, 50, 2},
                          {"new", "", SliceKind::Kernel, 30, 2}});
    const auto rows = compareOperators(*a, *b);
    QVERIFY(rows.ok());
    const auto row = [&](const std::string& name, const std::string& shape) {
        for (const ComparedOperator& each : *rows)
            if (each.name == name && each.shape == shape) return each;
        qFatal("no row %s %s", name.c_str(), shape.c_str());
    };
    QCOMPARE(rows->size(), std::size_t{5}); // the operator of the host is left out: both have kernels
    const ComparedOperator same = row("gemm", "8x8");
    QCOMPARE(same.match, OperatorMatch::Shape);
    QCOMPARE(same.a->count, 3.0); // per step
    QCOMPARE(same.a->time.ns, 300);
    QCOMPARE(same.b->time.ns, 450);
    QCOMPARE(same.b->longest.ns, 150);
    QVERIFY(std::abs(*same.percent() - 50) < 1e-9);
    const ComparedOperator other = row("gemm", "");
    QCOMPARE(other.match, OperatorMatch::Name);
    QCOMPARE(other.difference().ns, 100);
    QCOMPARE(row("add", "4").difference().ns, 0);
    QCOMPARE(row("old", "").match, OperatorMatch::Alone);
    QVERIFY(!row("old", "").b && !row("new", "").a && !row("new", "").percent());
    QCOMPARE(row("new", "").b->time.ns, 60);
    QCOMPARE(rows->front().name, std::string("gemm"));
    QCOMPARE(rows->front().difference().ns, 150); // what changed most comes first
    QCOMPARE(rows->back().name, std::string("add"));
}

FOURWALLS_TEST(TraceCompareTest, QCoreApplication)

} // namespace tst_trace_compare

#include "tst_trace_compare.moc"
