// SPDX-License-Identifier: Apache-2.0
// Whole runs through the engine's front door: the loss falls on the real text, runs repeat bit by bit, what is recorded
// is complete and nested, and what cannot run is refused with a reason.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/job_time.h"
#include "model/trace/metrics.h"
#include "profiler/engine/device/onednn_matmul.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tst_training {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

RunSpec smallSpec(std::int64_t steps, const char* plan = "")
{
    TransformerSpec t;
    t.layers = 2;
    t.hidden = 32;
    t.heads = 4;
    t.kvHeads = 4;
    t.ffnHidden = 64;
    t.vocabulary = 256;
    t.sequence = 32;
    RunSpec spec;
    spec.model = {"small", t};
    spec.plan = *parsePlan(plan);
    spec.training.steps = steps;
    spec.training.batch = 4;
    spec.training.learningRate = 3e-3;
    spec.cluster.name = "this-machine";
    const Status status = resolve(spec);
    Q_ASSERT(status.ok());
    return spec;
}

std::vector<double> losses(const RunReport& report)
{
    std::vector<double> values;
    for (const auto& s : report.steps) values.push_back(s.loss);
    return values;
}

RunOptions quick()
{
    RunOptions options;
    options.measurePeak = false;
    return options;
}

} // namespace

class Training : public QObject {
    Q_OBJECT

private slots:
    void lossFallsOnTheRealText_data()
    {
        QTest::addColumn<bool>("bf16");
        QTest::addColumn<bool>("sgd");
        QTest::newRow("f32 adamw") << false << false;
        QTest::newRow("f32 sgd") << false << true;
        QTest::newRow("bf16 adamw") << true << false;
    }

    void lossFallsOnTheRealText()
    {
        QFETCH(bool, bf16);
        QFETCH(bool, sgd);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        RunSpec spec = smallSpec(60);
        if (bf16) spec.training.precision = Precision::Bf16;
        if (sgd) {
            spec.training.optimizer = Optimizer::Sgd;
            spec.training.learningRate = 0.1;
        }
        auto report = runTraining(spec, quick());
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        const std::vector<double> loss = losses(*report);
        QCOMPARE(loss.size(), std::size_t{60});
        QVERIFY(std::abs(loss.front() - std::log(256.0)) < 0.5); // nothing is known about 256 bytes
        const double end = (loss[57] + loss[58] + loss[59]) / 3;
        QVERIFY2(end < 3.6, qPrintable(QString("ends at %1").arg(end)));
    }

    void runsRepeatBitByBit()
    {
        for (const char* plan : {"", "microbatches=2 attention=unfused fuse=0"}) {
            const RunSpec spec = smallSpec(5, plan);
            auto first = runTraining(spec, quick()), second = runTraining(spec, quick());
            QVERIFY(first.ok() && second.ok());
            QVERIFY(losses(*first) == losses(*second));
            for (std::size_t i = 0; i < 5; ++i) QCOMPARE(first->steps[i].gradientNorm, second->steps[i].gradientNorm);
            RunSpec other = spec;
            other.training.seed = 2;
            auto third = runTraining(other, quick());
            QVERIFY(third.ok());
            QVERIFY(losses(*first) != losses(*third));
        }
    }

    void plansComputeTheSame()
    {
        // Same numbers up to rounding however the step is cut: attention, fusion and micro-batches change nothing.
        auto base = runTraining(smallSpec(4), quick());
        QVERIFY(base.ok());
        for (const char* plan :
             {"attention=unfused", "fuse=0", "microbatches=2", "microbatches=4 fuse=0 attention=unfused"}) {
            auto other = runTraining(smallSpec(4, plan), quick());
            QVERIFY(other.ok());
            for (std::size_t i = 0; i < 4; ++i)
                QVERIFY2(std::abs(other->steps[i].loss - base->steps[i].loss) < 1e-5 * base->steps[i].loss, plan);
        }
    }

    void weightsTravelThroughFiles()
    {
        QTemporaryDir directory;
        RunSpec spec = smallSpec(3);
        RunOptions save = quick();
        save.saveWeightsDirectory = directory.path().toStdString();
        QVERIFY(runTraining(spec, save).ok());
        RunOptions load = quick();
        load.loadWeightsDirectory = directory.path().toStdString();
        spec.training.steps = 1;
        auto trained = runTraining(spec, load), fresh = runTraining(spec, quick());
        QVERIFY(trained.ok() && fresh.ok());
        QVERIFY(trained->steps[0].loss < fresh->steps[0].loss - 0.1);

        load.loadWeightsDirectory = directory.path().toStdString() + "/nothing";
        auto missing = runTraining(spec, load);
        QVERIFY(!missing.ok());
        QCOMPARE(missing.error().code, ErrorCode::Io);
    }

    void stopsBetweenSteps()
    {
        std::stop_source source;
        RunOptions options = quick();
        options.stop = source.get_token();
        RunCallbacks callbacks;
        callbacks.onStep = [&](const StepProgress& s) {
            if (s.step == 2) source.request_stop();
        };
        auto report = runTraining(smallSpec(50), options, callbacks);
        QVERIFY(report.ok());
        QVERIFY(report->stopped);
        QCOMPARE(report->steps.size(), std::size_t{3});
    }

    void recordsEverything()
    {
        const RunSpec spec = smallSpec(3, "microbatches=2 attention=unfused");
        RunOptions options;
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin));
        options.sink = &trace;
        auto report = runTraining(spec, options);
        QVERIFY(report.ok());
        QVERIFY(report->closing.peakFlopsPerDevice.value_or(0) > 1e8);
        QVERIFY(report->closing.memoryBytesPerSecond.value_or(0) > 1e8);
        QVERIFY(report->closing.recorderOverheadFraction.value_or(-1) > 0);
        QVERIFY(trace.finish(report->closing).ok());
        InMemoryTraceQuery query(trace.data());
        for (const auto& audit : query.info().audit)
            QVERIFY2(audit.severity == AuditSeverity::Info, audit.name.c_str());

        // Every slice of a deeper kind lies inside one of the kind above it, and every kind is there.
        struct Interval {
            std::int64_t begin, end;
            Phase phase;
        };
        std::map<SliceKind, std::vector<Interval>> slices;
        double flops = 0;
        std::set<Phase> kernelPhases;
        QVERIFY(query
                    .scanSlices([&](const SliceView& s) {
                        const OpInfo op = **query.op(s.op);
                        if (op.name == kBetweenStepsName) return true;
                        slices[op.kind].push_back({s.start.ns, s.end().ns, op.phase});
                        if (op.kind == SliceKind::Kernel) {
                            flops += op.flops;
                            kernelPhases.insert(op.phase);
                        }
                        return true;
                    })
                    .ok());
        QCOMPARE(slices[SliceKind::Step].size(), std::size_t{3});
        QCOMPARE(slices[SliceKind::DataLoading].size(), std::size_t{6});
        QCOMPARE(slices[SliceKind::Layer].size(),
                 std::size_t{3 * 2 * 2 * 2}); // steps, micro-batches, layers, directions
        const auto inside = [&](SliceKind inner, SliceKind outer) {
            return std::all_of(slices[inner].begin(), slices[inner].end(), [&](const Interval& i) {
                return i.phase == Phase::Setup ||
                       std::any_of(slices[outer].begin(), slices[outer].end(),
                                   [&](const Interval& o) { return o.begin <= i.begin && i.end <= o.end; });
            });
        };
        QVERIFY(inside(SliceKind::Phase, SliceKind::Step));
        QVERIFY(inside(SliceKind::Layer, SliceKind::Phase));
        QVERIFY(inside(SliceKind::Operator, SliceKind::Phase));
        QVERIFY(inside(SliceKind::Kernel, SliceKind::Operator));
        for (const Phase phase : {Phase::Forward, Phase::BackwardInput, Phase::BackwardWeight, Phase::Optimizer})
            QVERIFY(kernelPhases.count(phase));
        // Unfused attention computes all scores, so the recorded FLOPs are those of full attention.
        const double expected = 3 * trainingFlops(spec.model, spec.training.batch, spec.training.sequence, true);
        QVERIFY2(std::abs(flops - expected) < 1e-9 * expected, qPrintable(QString("%1 %2").arg(flops).arg(expected)));

        // One arrow per layer, micro-batch and step, from its forward slice to its backward slice.
        int arrows = 0;
        QVERIFY(query
                    .scanFlows([&](const FlowRecord& f) {
                        const auto over = [&](Instant t, Phase phase) {
                            return std::any_of(
                                slices[SliceKind::Layer].begin(), slices[SliceKind::Layer].end(),
                                [&](const Interval& i) { return i.begin <= t.ns && t.ns < i.end && i.phase == phase; });
                        };
                        ++arrows;
                        return over(f.from, Phase::Forward) && over(f.to, Phase::BackwardInput);
                    })
                    .ok());
        QCOMPARE(arrows, 3 * 2 * 2);

        // Memory: what the allocator counted is what the trace says; weights, gradients and optimizer state stay.
        auto summaries = query.memorySummaries();
        QVERIFY(summaries.ok() && !summaries->empty());
        std::int64_t peak = 0;
        for (const auto& m : *summaries) peak = std::max(peak, m.peakBytes);
        QCOMPARE(peak, report->peakBytes);
        auto alive = query.aliveAt(RankId{0}, query.info().range.end, 10000);
        QVERIFY(alive.ok());
        std::map<MemoryCategory, std::int64_t> resident;
        for (const auto& a : alive->items) resident[a.category] += a.bytes;
        QCOMPARE(resident[MemoryCategory::Weights], 4 * report->parameters);
        QCOMPARE(resident[MemoryCategory::Gradients], 4 * report->parameters);
        QCOMPARE(resident[MemoryCategory::OptimizerState], 8 * report->parameters);
        QCOMPARE(resident[MemoryCategory::Activations], 0);
        QCOMPARE(resident[MemoryCategory::Temporaries], 0);
        bool named = false;
        QVERIFY(query
                    .scanAllocations([&](const AllocationView& a) {
                        if (a.category == MemoryCategory::Activations) {
                            const OpInfo op = **query.op(*a.op);
                            named |= op.layer == LayerIndex{1} && op.name == "mlp.up" && op.phase == Phase::Forward &&
                                     a.microbatch == Microbatch{1};
                        }
                        return true;
                    })
                    .ok());
        QVERIFY(named);

        auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QCOMPARE(metrics->loss.size(), std::size_t{3});
        QCOMPARE(*metrics->loss[1], report->steps[1].loss);
        // Of the peak that was measured, which a busy machine may find too low: then it is no peak, and that is said.
        QVERIFY(metrics->flopsPerSecond.value_or(0) > 0);
        if (metrics->mfu)
            QVERIFY(*metrics->mfu > 0 && *metrics->mfu <= 1);
        else
            QVERIFY(metrics->mfuAbsent == NoMfu::AboveRoof);
    }

    void tracedAndUntracedRunsComputeTheSame()
    {
        const RunSpec spec = smallSpec(4);
        RunOptions options = quick();
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin));
        options.sink = &trace;
        auto traced = runTraining(spec, options), untraced = runTraining(spec, quick());
        QVERIFY(traced.ok() && untraced.ok());
        QVERIFY(losses(*traced) == losses(*untraced));
    }

    void refusesWithAReason_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"sp=1", "dp=2 zero=1 offload=parameters", "zero=1", "recompute=layernorm",
                                 "documents=32 attention=unfused", "cp=2 documents=32"})
            QTest::newRow(plan) << plan;
    }

    void refusesWithAReason()
    {
        QFETCH(QString, plan);
        const Status status = checkRunnable(smallSpec(1, plan.toStdString().c_str()));
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, ErrorCode::Unsupported);
        QVERIFY(!status.error().what.empty() && !status.error().hint.empty());
        QVERIFY(!runTraining(smallSpec(1, plan.toStdString().c_str()), quick()).ok());
    }

    void aDivergedRunSaysSo()
    {
        RunSpec spec = smallSpec(4);
        spec.training.optimizer = Optimizer::Sgd;
        spec.training.learningRate = 1e30;
        spec.training.clipNorm = 0;
        RunOptions options = quick();
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin));
        options.sink = &trace;
        auto report = runTraining(spec, options);
        QVERIFY(report.ok());
        QVERIFY(!std::isfinite(report->steps.back().loss));
        QVERIFY(trace.finish(report->closing).ok());
        InMemoryTraceQuery query(trace.data());
        auto steps = query.steps(RankId{0});
        QVERIFY(steps.ok() && steps->front().record.loss && !steps->back().record.loss);
        auto events = query.events(query.info().range, 10, std::nullopt);
        QVERIFY(events.ok() && !events->empty());
        QCOMPARE(events->front().kind, EventKind::LossSpike);
    }

    void refusesWhatCannotFit()
    {
        RunSpec spec = smallSpec(1);
        spec.training.batch = std::int64_t{1} << 40;
        const Status status = checkRunnable(spec);
        QVERIFY(!status.ok());
        QVERIFY(status.error().what.find("GB") != std::string::npos);
        RunSpec deep = smallSpec(1);
        std::get<TransformerSpec>(deep.model.architecture).layers = std::int64_t{1} << 50;
        QVERIFY(!checkRunnable(deep).ok());

        // A device smaller than the machine is a wall, too: the run ends with an error that names what did not fit.
        RunSpec small = smallSpec(1);
        small.cluster.device.memoryBytes = 48 << 20;
        small.training.batch = 512;
        auto report = runTraining(small, quick());
        QVERIFY(!report.ok());
        QVERIFY2(report.error().what.find("out of memory") != std::string::npos, report.error().message().c_str());
    }

    void refusesOtherMisfits()
    {
        RunSpec cuda = smallSpec(1);
        cuda.training.device = DeviceKind::Cuda;
        QCOMPARE(checkRunnable(cuda).ok(), describeGpu().ok()); // where there is no GPU, it says what is missing
        RunSpec half = smallSpec(1);
        half.training.precision = Precision::F16;
        QVERIFY(!checkRunnable(half).ok());
        RunSpec tiny = smallSpec(1);
        std::get<TransformerSpec>(tiny.model.architecture).vocabulary = 100;
        QVERIFY(!checkRunnable(tiny).ok());
        RunSpec noText = smallSpec(1);
        noText.training.dataFile = "/does/not/exist";
        auto report = runTraining(noText, quick());
        QVERIFY(!report.ok());
        QCOMPARE(report.error().code, ErrorCode::Io);
    }
};

FOURWALLS_TEST(Training, QCoreApplication)

} // namespace tst_training

#include "tst_training.moc"
