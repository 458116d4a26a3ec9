// SPDX-License-Identifier: Apache-2.0
// Fused operators against the same apart, and results in place against results in buffers of their own: equal numbers
// within rounding, other kernels and other temporaries in the recording.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/device/update_operators.h"
#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/image_data.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <map>

namespace tst_operator_variants {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

struct Variant {
    RunReport report;
    std::map<std::string, int> kernels; // of the last step, by name
    int count = 0, temporaries = 0;     // of that step

    int of(const char* name) const
    {
        const auto found = kernels.find(name);
        return found == kernels.end() ? 0 : found->second;
    }
    std::int64_t peak(MemoryCategory category) const
    {
        return report.peakBytesByCategory[static_cast<std::size_t>(category)];
    }
};

Variant record(RunSpec spec, const char* plan)
{
    spec.plan = *parsePlan(plan);
    spec.training.steps = 2;
    spec.training.warmupFraction = 0;
    if (const Status status = resolve(spec); !status.ok()) qFatal("%s", status.error().message().c_str());
    RunOptions options;
    options.measurePeak = false;
    options.origin = ClockOrigin::now();
    InMemoryTrace trace(describeRun(spec, options.origin));
    options.sink = &trace;
    auto result = runTraining(spec, options);
    if (!result.ok()) qFatal("%s", result.error().message().c_str());
    if (!trace.finish(result->closing).ok()) qFatal("finish");
    Variant variant;
    variant.report = std::move(*result);
    const auto data = trace.data();
    const TimeRange last = data->steps.at(RankId{0}).back().record.range;
    for (const SliceView& slice : data->slices) {
        const OpInfo& op = *data->ops[static_cast<std::size_t>(slice.op.value)];
        if (op.kind != SliceKind::Kernel || !last.contains(slice.start)) continue;
        ++variant.kernels[op.name];
        ++variant.count;
    }
    for (const AllocationView& buffer : data->allocations.at(RankId{0}))
        if (buffer.category == MemoryCategory::Temporaries && last.contains(buffer.start)) ++variant.temporaries;
    return variant;
}

RunSpec transformer(bool encoder)
{
    TransformerSpec t;
    t.layers = 2;
    t.hidden = 64;
    t.heads = t.kvHeads = 4;
    t.ffnHidden = 256;
    t.vocabulary = 512;
    t.sequence = 64;
    t.causal = !encoder;
    t.postNorm = encoder;
    RunSpec spec;
    spec.model = {"variants", t};
    spec.training.batch = 4;
    return spec;
}

} // namespace

class OperatorVariants : public QObject {
    Q_OBJECT

private slots:
    void updatesApartEqualTheFusedOnes_data()
    {
        QTest::addColumn<bool>("adamw");
        QTest::addColumn<bool>("reference");
        for (const bool adamw : {true, false})
            for (const bool reference : {true, false})
                QTest::addRow("%s %s", adamw ? "adamw" : "sgd", reference ? "double" : "f32") << adamw << reference;
    }
    void updatesApartEqualTheFusedOnes()
    {
        QFETCH(bool, adamw);
        QFETCH(bool, reference);
        const DType type = reference ? DType::F64 : DType::F32;
        TestRank rank(type);
        const auto tensors = [&] {
            UpdateTensors t;
            t.weight = rank.random({1, 1000}, type, 1);
            t.gradient = rank.random({1, 1000}, type, 2);
            t.first = rank.random({1, 1000}, type, 3, 0.1);
            t.second = rank.random({1, 1000}, type, 4, 0.1);
            for (std::int64_t i = 0; i < 1000; ++i) setElement(t.second, i, std::abs(element(t.second, i)));
            t.weightDecay = 0.1;
            return t;
        };
        UpdateTensors fused[] = {tensors(), tensors()};
        const UpdateTensors apart = tensors();
        if (adamw) {
            const AdamWStep step{0.01, 0.9, 0.95, 1e-8, 0, 0.7, 3};
            rank.device->adamw(fused, step);
            UpdateOperators(*rank.device).adamw(apart, step);
            QVERIFY(relativeDifference(apart.second, fused[0].second) < 8 * unitRoundoff(type));
        } else {
            const SgdStep step{0.01, 0.9, 0, 0.7};
            rank.device->sgd(fused, step);
            UpdateOperators(*rank.device).sgd(apart, step);
        }
        for (const UpdateTensors& each : fused) { // all tensors of a list
            QVERIFY(relativeDifference(apart.weight, each.weight) < 8 * unitRoundoff(type));
            QVERIFY(relativeDifference(apart.first, each.first) < 8 * unitRoundoff(type));
        }
        const Tensor before = rank.random({1, 1000}, type, 1);
        QVERIFY(relativeDifference(apart.weight, before) > 1e-3); // it moved
    }

    void geluGradientWithTheBias_data()
    {
        QTest::addColumn<bool>("bf16");
        QTest::newRow("f32") << false;
        QTest::newRow("bf16") << true;
    }
    void geluGradientWithTheBias()
    {
        QFETCH(bool, bf16);
        const DType type = bf16 ? DType::Bf16 : DType::F32;
        TestRank rank(type);
        const Tensor x = rank.random({37, 50}, type, 1, 3.0), dy = rank.random({37, 50}, type, 2);
        const Tensor dx = rank.tensor({37, 50}, type), own = rank.tensor({37, 50}, type);
        for (const bool accumulate : {false, true}) {
            const Tensor bias = rank.random({50}, DType::F32, 3), expected = rank.copy(bias, DType::F32);
            rank.device->geluBackward(x, dy, dx);
            rank.device->columnSum(dx, expected, accumulate);
            rank.device->geluBackwardBias(x, dy, own, bias, accumulate);
            QVERIFY(relativeDifference(own, dx) <= unitRoundoff(type)); // rows may end in other vector lengths
            QVERIFY(relativeDifference(bias, expected) < 64 * unitRoundoff(type));
        }
    }

    void fusedTransformersRunFewerKernels()
    {
        const Variant fused = record(transformer(false), ""), apart = record(transformer(false), "fuse=0");
        qInfo("GPT: %d kernels a step fused, %d apart; peak %lld and %lld bytes", fused.count, apart.count,
              static_cast<long long>(fused.report.peakBytes), static_cast<long long>(apart.report.peakBytes));
        QCOMPARE(fused.of("adamw multi-tensor"), 1);
        QCOMPARE(apart.of("adamw multi-tensor"), 0);
        QVERIFY(apart.of("first moment") > 10);
        QCOMPARE(apart.of("first moment"), apart.of("weight step"));
        // Two layers: the feed-forward's bias apart from GELU; four biases; residuals forward and backward.
        QCOMPARE(fused.of("gelu and bias gradient"), 2);
        QCOMPARE(apart.of("gelu and bias gradient"), 0);
        QCOMPARE(apart.of("gelu gradient"), 2);
        QCOMPARE(fused.of("bias"), 0);
        QCOMPARE(apart.of("bias"), 8);
        QCOMPARE(fused.of("add"), 0);
        QCOMPARE(apart.of("add"), 8);
        for (std::size_t i = 0; i < 2; ++i)
            QVERIFY(std::abs(fused.report.steps[i].loss - apart.report.steps[i].loss) < 1e-5);
        QVERIFY(apart.temporaries > fused.temporaries);
    }

    void ownBuffersCostMemory_data()
    {
        QTest::addColumn<bool>("encoder");
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"", "fuse=0", "recompute=full", "attention=unfused"})
            for (const bool encoder : {false, true})
                QTest::addRow("%s %s", encoder ? "encoder" : "decoder", plan) << encoder << QString(plan);
    }
    void ownBuffersCostMemory()
    {
        QFETCH(bool, encoder);
        QFETCH(QString, plan);
        const std::string text = plan.toStdString();
        const Variant shared = record(transformer(encoder), text.c_str()),
                      own = record(transformer(encoder), (text + " inplace=0").c_str());
        qInfo("temporaries at most: %lld bytes in place, %lld in buffers of their own",
              static_cast<long long>(shared.peak(MemoryCategory::Temporaries)),
              static_cast<long long>(own.peak(MemoryCategory::Temporaries)));
        QVERIFY(own.peak(MemoryCategory::Temporaries) > shared.peak(MemoryCategory::Temporaries));
        // The numbers are the same to the last bit: only addresses differ.
        for (std::size_t i = 0; i < 2; ++i) {
            QCOMPARE(own.report.steps[i].loss, shared.report.steps[i].loss);
            QCOMPARE(own.report.steps[i].gradientNorm, shared.report.steps[i].gradientNorm);
        }
    }

    void images()
    {
        struct Outcome {
            double loss = 0, squares = 0;
            MemoryStatistics memory;
        };
        // One step of a small residual network, from the same weights.
        const auto step = [](bool fuse, bool inPlace, bool offload) {
            const ResNetShape shape{{2, 1, 1, 1}, 8, 64, 10};
            TestRank rank(DType::F32);
            HostPool pool(rank.recorder, rank.allocator, 0, true);
            rank.context->inPlace = inPlace;
            if (offload) rank.context->offloaded = &pool;
            ResNet model(*rank.context, shape, 1, fuse);
            const Batch batch = ImageData(64, 10, 1).batch(*rank.context, 0, 4, 0, 4);
            auto state = model.forward(*rank.context, batch, {});
            Outcome outcome;
            outcome.loss = model.loss(*rank.context, batch, *state, 1.0);
            model.backward(*rank.context, batch, *state, {});
            for (const auto& p : model.parameters().all()) outcome.squares += dot(p->gradient, p->gradient);
            outcome.memory = rank.allocator.statistics();
            return outcome;
        };
        const auto peak = [](const Outcome& outcome) {
            return outcome.memory.categoryPeaks[static_cast<std::size_t>(MemoryCategory::Activations)];
        };
        const Outcome fused = step(true, true, false), apart = step(false, true, false),
                      own = step(false, false, false), away = step(true, true, true);
        qInfo("residual network: activations %lld bytes, apart %lld, in buffers of their own %lld, offloaded %lld",
              static_cast<long long>(peak(fused)), static_cast<long long>(peak(apart)),
              static_cast<long long>(peak(own)), static_cast<long long>(peak(away)));
        QVERIFY(peak(own) > peak(apart));
        QVERIFY(peak(away) < peak(fused));
        QCOMPARE(own.loss, apart.loss);
        QCOMPARE(own.squares, apart.squares);
        QCOMPARE(away.loss, fused.loss);
        QCOMPARE(away.squares, fused.squares);
        QVERIFY(std::abs(apart.loss / fused.loss - 1) < 1e-4);
        QVERIFY(std::abs(apart.squares / fused.squares - 1) < 1e-2);
    }
};

FOURWALLS_TEST(OperatorVariants, QCoreApplication)

} // namespace tst_operator_variants

#include "tst_operator_variants.moc"
