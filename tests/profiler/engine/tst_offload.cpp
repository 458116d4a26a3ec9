// SPDX-License-Identifier: Apache-2.0
// What a plan moves to the host's memory: the rank's own curve without it, the host's pool with it, and the copies on
// the modelled link. That the numbers stay the same is in tst_parity and, for weight files, here.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/run.h"
#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>

namespace tst_offload {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kSingle{DType::F32, DType::F32};
constexpr const char* kDeviceTrack = "copies";

struct Recorded {
    RunSpec spec;
    RunReport report;
    std::shared_ptr<const InMemoryTraceData> data;

    explicit Recorded(const std::string& plan, ClockKind clock = ClockKind::Device, double linkRate = 0)
    {
        spec = paritySpec(plan, 4, 8);
        spec.cluster = *loadCluster("dgx-a100");
        if (linkRate > 0) spec.cluster.device.hostBytesPerSecond = linkRate;
        spec.training.optimizer = Optimizer::AdamW;
        if (const Status status = resolve(spec); !status.ok()) qFatal("%s", status.error().message().c_str());
        RunOptions options;
        options.measurePeak = false;
        options.clock = clock;
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin, options.clock));
        options.sink = &trace;
        auto result = runTraining(spec, options);
        if (!result.ok()) qFatal("%s", result.error().message().c_str());
        report = std::move(*result);
        if (!trace.finish(report.closing).ok()) qFatal("finish");
        data = trace.data();
    }

    /// Calls f(slice, operator) for every copy.
    template <class F>
    void forEachCopy(F f) const
    {
        for (const SliceView& slice : data->slices) {
            const OpInfo& op = *data->ops[static_cast<std::size_t>(slice.op.value)];
            if (op.kind == SliceKind::Copy) f(slice, op);
        }
    }

    std::int64_t peak(MemoryCategory category) const
    {
        return report.ranks[0].peakBytesByCategory[static_cast<std::size_t>(category)];
    }

    double exposedCopy() const
    {
        InMemoryTraceQuery query(data);
        const auto metrics = computeMetrics(query);
        if (!metrics.ok()) qFatal("metrics");
        return metrics->waterfall[WaterfallPart::ExposedCopy];
    }
};

} // namespace

class Offload : public QObject {
    Q_OBJECT

private slots:
    void copiesTakeTheLinksTime()
    {
        const Recorded run("offload=optimizer,activations,parameters", ClockKind::Device, 2e9);
        std::int64_t out = 0, in = 0;
        Instant outFree{}, inFree{};
        run.forEachCopy([&](const SliceView& slice, const OpInfo& op) {
            const TrackView& track = run.data->tracks[static_cast<std::size_t>(slice.track.value)];
            QCOMPARE(track.info.kind, TrackKind::CopyStream);
            QCOMPARE(track.info.name, std::string(kDeviceTrack));
            QCOMPARE(op.activity, Activity::Copy);
            QCOMPARE(op.detail, std::string("modelled: a link of 2 GB/s"));
            QCOMPARE(slice.duration.ns, op.bytes / 2); // at 2 GB/s
            const bool leaves = op.name == "copy to host";
            QVERIFY(leaves || op.name == "copy from host");
            (leaves ? out : in) += op.bytes;
            // One copy at a time in each direction.
            Instant& free = leaves ? outFree : inFree;
            QVERIFY(slice.start >= free);
            free = slice.end();
        });
        QVERIFY(out > 0 && in > 0);
        QCOMPARE(run.report.ranks[0].peakHostBytes > 0, true);
    }

    void hostMemoryIsACounter()
    {
        const Recorded run("offload=optimizer");
        const auto& counters = run.data->info.counters;
        const auto found =
            std::find_if(counters.begin(), counters.end(), [](const CounterInfo& c) { return c.name == "host_bytes"; });
        QVERIFY(found != counters.end());
        QCOMPARE(found->unit, CounterUnit::Bytes);
        double most = 0;
        for (const CounterRecord& sample : run.data->counters[static_cast<std::size_t>(found - counters.begin())])
            most = std::max(most, sample.value);
        QCOMPARE(most, static_cast<double>(run.report.ranks[0].peakHostBytes));
        // Two moments and the weights that the update works on, and at most two pieces' gradients on their way.
        const auto parameters = static_cast<double>(run.report.parameters);
        QVERIFY(most >= 12 * parameters && most < 20 * parameters);
    }

    void theRanksOwnMemoryIsWithoutIt()
    {
        const Recorded plain(""), optimizer("offload=optimizer"), activations("offload=activations"),
            parameters("offload=parameters");
        const std::int64_t weights = plain.peak(MemoryCategory::Weights);
        QCOMPARE(plain.report.ranks[0].peakHostBytes, std::int64_t{0});
        QCOMPARE(optimizer.peak(MemoryCategory::OptimizerState), std::int64_t{0});
        QCOMPARE(optimizer.peak(MemoryCategory::Weights), weights);
        QCOMPARE(optimizer.peak(MemoryCategory::Gradients), plain.peak(MemoryCategory::Gradients));
        // The unit at work and the next one; the table (256 of 16, and positions) is the largest.
        const std::int64_t table = 4 * (256 + 8) * 16, layer = (weights - table) / 4;
        QVERIFY(parameters.peak(MemoryCategory::Weights) < table + layer + layer / 2);
        QVERIFY(parameters.report.ranks[0].peakHostBytes >= weights);
        QCOMPARE(parameters.peak(MemoryCategory::OptimizerState), plain.peak(MemoryCategory::OptimizerState));
        // Two layers' activations instead of four's.
        const double share = static_cast<double>(activations.peak(MemoryCategory::Activations)) /
                             static_cast<double>(plain.peak(MemoryCategory::Activations));
        QVERIFY2(share < 0.8, qPrintable(QString::number(share)));
        qInfo("activations on the rank: %.0f %%, in the pool: %lld bytes", 100 * share,
              static_cast<long long>(activations.report.ranks[0].peakHostBytes));
    }

    void copiesHideBehindComputation()
    {
        // A link that is fast enough for a layer's activations while the next layer computes.
        const Recorded beside("offload=activations", ClockKind::Device, 20e9),
            apart("offload=activations overlap=0", ClockKind::Device, 20e9),
            slow("offload=activations", ClockKind::Device, 1e6); // slow for a sanitizer's computation, too
        qInfo("exposed copies: %.2f %% overlapped, %.2f %% apart, %.1f %% on a slow link", 100 * beside.exposedCopy(),
              100 * apart.exposedCopy(), 100 * slow.exposedCopy());
        QVERIFY(beside.exposedCopy() < apart.exposedCopy());
        QVERIFY(slow.exposedCopy() > 0.5);
    }

    void wallClockCopiesAreReal()
    {
        const Recorded run("offload=activations", ClockKind::Wall);
        std::int64_t copies = 0, bytes = 0;
        run.forEachCopy([&](const SliceView& slice, const OpInfo& op) {
            QVERIFY(slice.duration.ns >= 0);
            QVERIFY(op.detail.find("modelled") == std::string::npos);
            ++copies;
            bytes += op.bytes;
        });
        QVERIFY(copies > 0 && bytes > 0);
    }

    void filesAreTheSame_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"offload=optimizer", "offload=optimizer,activations,parameters",
                                 "dp=2 zero=3 offload=parameters", "dp=2 offload=optimizer,parameters"})
            QTest::newRow(plan) << plan;
    }
    void filesAreTheSame()
    {
        QFETCH(QString, plan);
        QTemporaryDir directory;
        const auto train = [&](const std::string& text, const QString& load, const QString& save, double rate) {
            RunSpec spec = paritySpec(text);
            spec.training.steps = 2;
            spec.training.learningRate = rate;
            if (!resolve(spec).ok()) return QByteArray();
            RunOptions options;
            options.measurePeak = false;
            if (!load.isEmpty()) options.loadWeightsDirectory = (directory.path() + load).toStdString();
            options.saveWeightsDirectory = (directory.path() + save).toStdString();
            if (!runTraining(spec, options).ok()) return QByteArray();
            QFile file(directory.path() + save + "/model.safetensors");
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        const QByteArray one = train("", {}, "/one", 0.05);
        QVERIFY(!one.isEmpty());
        // What is loaded is what is saved, wherever it was in between and whatever the update read.
        QCOMPARE(train(plan.toStdString(), "/one", "/again", 0), one);
    }

    void refusals()
    {
        const auto refused = [](const char* plan) {
            RunSpec spec = paritySpec(plan);
            if (!resolve(spec).ok()) return std::string("resolve");
            const Status status = checkRunnable(spec);
            return status.ok() ? std::string() : status.error().where;
        };
        QCOMPARE(refused("dp=2 zero=1 offload=parameters"), std::string("offload"));
        QCOMPARE(refused("dp=2 ps=sync servers=1 offload=optimizer"), std::string("offload"));
        QCOMPARE(refused("dp=2 zero=1 offload=optimizer"), std::string());
        QCOMPARE(refused("dp=2 zero=3 offload=optimizer,activations,parameters"), std::string());
    }

    void mixedPrecisionTravelsInBothTypes()
    {
        if (!OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        constexpr NumberFormat kMixed{DType::Bf16, DType::F32};
        const PlanOutcome plain = runPlan(paritySpec(""), kMixed);
        for (const char* plan :
             {"offload=optimizer,activations,parameters", "offload=optimizer", "offload=parameters"}) {
            const PlanOutcome outcome = runPlan(paritySpec(plan), kMixed);
            QVERIFY2(outcome.error.empty(), outcome.error.c_str());
            QVERIFY(outcome.losses == plain.losses); // the same kernels on the same numbers
            QVERIFY(outcome.weights == plain.weights);
        }
    }

    void evaluationIsAPhase()
    {
        RunSpec spec = paritySpec("");
        QVERIFY(resolve(spec).ok());
        RunOptions options;
        options.measurePeak = false;
        options.evaluateEvery = 2;
        options.evaluateBatches = 2;
        options.origin = ClockOrigin::now();
        QTemporaryDir directory;
        options.saveWeightsDirectory = directory.path().toStdString();
        InMemoryTrace trace(describeRun(spec, options.origin, options.clock));
        options.sink = &trace;
        const auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(trace.finish(report->closing).ok());
        for (std::size_t i = 0; i < report->steps.size(); ++i)
            QCOMPARE(report->steps[i].evaluationLoss.has_value(), i % 2 == 1);
        QVERIFY(*report->steps[3].evaluationLoss <
                *report->steps[1].evaluationLoss); // the same batches, trained longer

        const auto data = trace.data();
        int phases = 0, kernels = 0;
        std::int64_t loaded = 0, saved = 0;
        for (const SliceView& slice : data->slices) {
            const OpInfo& op = *data->ops[static_cast<std::size_t>(slice.op.value)];
            if (op.kind == SliceKind::Phase && op.phase == Phase::Evaluation) ++phases;
            if (op.kind == SliceKind::Kernel && op.phase == Phase::Evaluation) {
                ++kernels;
                QVERIFY2(op.name.find("gradient") == std::string::npos, op.name.c_str()); // forward only
            }
            if (op.kind == SliceKind::DataLoading) loaded += op.bytes;
            if (op.phase == Phase::CheckpointSave && op.kind == SliceKind::Checkpoint) saved += op.bytes;
        }
        QCOMPARE(phases, 2);
        QVERIFY(kernels > 0);
        QVERIFY(loaded > 0);
        QCOMPARE(saved, 4 * report->parameters);
        const auto& counters = data->info.counters;
        const auto found = std::find_if(counters.begin(), counters.end(),
                                        [](const CounterInfo& c) { return c.name == "evaluation_loss"; });
        QVERIFY(found != counters.end());
        QCOMPARE(data->counters[static_cast<std::size_t>(found - counters.begin())].size(), std::size_t{2});
    }
};

FOURWALLS_TEST(Offload, QCoreApplication)

} // namespace tst_offload

#include "tst_offload.moc"
