// SPDX-License-Identifier: Apache-2.0
// The memory of a residual network: the curve of a recorded ResNet-50, what is kept between the passes, and that everything
// is released.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/resnet_fixture.h"

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tst_resnet_memory {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

RunSpec resnet50(std::int64_t imageSize, std::int64_t batch, std::int64_t steps)
{
    RunSpec spec;
    spec.model = {"resnet50", ResNetSpec{50, imageSize, 1000}};
    spec.training.batch = batch;
    spec.training.steps = steps;
    spec.training.optimizer = Optimizer::Sgd;
    spec.cluster.name = "this-machine";
    const Status status = resolve(spec);
    Q_ASSERT(status.ok());
    return spec;
}

} // namespace

class ResNetMemoryTest : public QObject {
    Q_OBJECT

private slots:
    void memoryClimbsPeaksAndFalls()
    {
        const RunSpec spec = resnet50(64, 8, 3);
        RunOptions options;
        options.measurePeak = false;
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin));
        options.sink = &trace;
        auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QCOMPARE(report->parameters, std::int64_t{25557032});
        QVERIFY(trace.finish(report->closing).ok());
        InMemoryTraceQuery query(trace.data());
        const double stem = 2.0 * 8 * 32 * 32 * 64 * 3 * 49; // whose input gradient nobody needs
        const double expected = 3 * (trainingFlops(spec.model, 8, 0) - stem);
        QVERIFY2(std::abs(recordedFlops(query) - expected) < 1e-9 * expected, "FLOPs");
        checkCurve(query);
    }

    void whatIsKeptIsKnownBeforehand()
    {
        for (const ResNetShape& shape : {smallShape(16), ResNetShape{{1, 2, 1, 1}, 32, 32, 5}}) {
            ResNetRun run(DType::F32, shape, 3);
            const auto before = run.rank->allocator.statistics().current;
            const auto state = run.model->forward(*run.rank->context, run.batch, {});
            const auto activations = static_cast<std::size_t>(MemoryCategory::Activations);
            const auto kept =
                static_cast<double>(run.rank->allocator.statistics().current[activations] - before[activations]);
            const auto expected = 4.0 * 3 * static_cast<double>(shape.keptElements());
            QVERIFY2(kept >= expected && kept < 1.07 * expected,
                     qPrintable(QString("%1 of %2").arg(kept).arg(expected)));
        }
        RunSpec huge = resnet50(224, 1 << 20, 1);
        const Status status = checkRunnable(huge);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, ErrorCode::Unsupported);
    }

    void everythingIsReleased()
    {
        for (const DType type : {DType::F32, DType::Bf16}) {
            if (type == DType::Bf16 && !OneDnnMatmul::supportsBf16()) continue;
            for (const bool fuse : {true, false}) {
                ResNetRun run(type, smallShape(16), 2, fuse);
                const std::int64_t resident = run.rank->allocator.statistics().allocated;
                run.gradients();
                QCOMPARE(run.rank->allocator.statistics().allocated, resident);
                QVERIFY(run.rank->allocator.statistics().peakAllocated > resident);
            }
        }
    }

private:
    static double recordedFlops(InMemoryTraceQuery& query)
    {
        double flops = 0;
        (void)query.scanSlices([&](const SliceView& s) {
            const OpInfo op = **query.op(s.op);
            if (op.kind == SliceKind::Kernel) flops += op.flops;
            return true;
        });
        return flops;
    }

    // The last step: activations only grow in forward and only shrink in backward, layer by layer; the largest total
    // is reached as backward begins; what stays is weights, gradients and optimizer state.
    static void checkCurve(InMemoryTraceQuery& query)
    {
        struct Interval {
            std::int64_t begin = 0, end = 0;
        };
        Interval forward, backward;
        std::vector<std::pair<std::int64_t, bool>> layerEnds; // and whether in backward
        QVERIFY(query
                    .scanSlices([&](const SliceView& s) {
                        const OpInfo op = **query.op(s.op);
                        const Interval here{s.start.ns, s.end().ns};
                        if (op.kind == SliceKind::Phase && op.name == "forward" && here.begin > forward.begin)
                            forward = here;
                        if (op.kind == SliceKind::Phase && op.name == "backward" && here.begin > backward.begin)
                            backward = here;
                        if (op.kind == SliceKind::Layer && op.name.starts_with("layer"))
                            layerEnds.emplace_back(here.end, op.phase != Phase::Forward);
                        return true;
                    })
                    .ok());
        std::erase_if(layerEnds, [&](const auto& e) { return e.first < forward.begin; });
        std::sort(layerEnds.begin(), layerEnds.end());
        QCOMPARE(layerEnds.size(), std::size_t{2 * 16});

        std::map<std::int64_t, std::int64_t> changes, activationChanges;
        std::map<MemoryCategory, std::int64_t> resident;
        std::set<std::string> layers;
        QVERIFY(query
                    .scanAllocations([&](const AllocationView& a) {
                        const bool activation = a.category == MemoryCategory::Activations;
                        changes[a.start.ns] += a.bytes;
                        if (a.end) changes[a.end->ns] -= a.bytes;
                        if (activation) {
                            activationChanges[a.start.ns] += a.bytes;
                            if (a.end) activationChanges[a.end->ns] -= a.bytes;
                            layers.insert(std::to_string((**query.op(*a.op)).layer.value_or(LayerIndex{-1}).value));
                        }
                        if (!a.end) resident[a.category] += a.bytes;
                        return true;
                    })
                    .ok());
        QCOMPARE(layers.size(), std::size_t{18}); // stem, 16 blocks, head
        for (const MemoryCategory gone :
             {MemoryCategory::Activations, MemoryCategory::Temporaries, MemoryCategory::Workspace})
            QCOMPARE(resident[gone], 0);
        QCOMPARE(resident[MemoryCategory::Gradients], std::int64_t{4 * 25557032});
        QCOMPARE(resident[MemoryCategory::OptimizerState], std::int64_t{4 * 25557032});
        QCOMPARE(resident[MemoryCategory::Weights], std::int64_t{4 * (25557032 + 2 * 26560)}); // and running statistics

        std::int64_t total = 0, peak = 0, peakAt = 0;
        for (const auto& [at, change] : changes) {
            total += change;
            if (at < forward.begin || total <= peak) continue;
            peak = total;
            peakAt = at;
        }
        QVERIFY(peakAt > forward.end - (forward.end - forward.begin) / 4);
        QVERIFY(peakAt < backward.begin + (backward.end - backward.begin) / 4);

        std::int64_t activations = 0, previous = 0;
        bool wasBackward = false;
        auto next = activationChanges.begin();
        for (const auto& [at, inBackward] : layerEnds) {
            for (; next != activationChanges.end() && next->first <= at; ++next) activations += next->second;
            if (inBackward == wasBackward) QVERIFY(inBackward ? activations < previous : activations > previous);
            previous = activations;
            wasBackward = inBackward;
        }
    }
};

FOURWALLS_TEST(ResNetMemoryTest, QCoreApplication)

} // namespace tst_resnet_memory

#include "tst_resnet_memory.moc"
