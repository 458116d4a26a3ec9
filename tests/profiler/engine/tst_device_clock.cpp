// SPDX-License-Identifier: Apache-2.0
// Whole runs of several ranks on the device clock: steps repeat to the nanosecond once the operators are measured, a
// slow rank is slower by exactly its factor, and the traffic matrix adds up to the collectives.
#include <QtTest>

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#ifndef Q_MOC_RUN
#include <cmath>
#include <map>
#include <memory>
#endif

namespace tst_device_clock {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

constexpr TimeRange kAlways{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};

RunSpec smallSpec(const char* plan, std::int64_t steps)
{
    TransformerSpec t;
    t.layers = 4;
    t.hidden = 64;
    t.heads = 4;
    t.kvHeads = 4;
    t.ffnHidden = 128;
    t.vocabulary = 256;
    t.sequence = 32;
    RunSpec spec;
    spec.model = {"small", t};
    spec.plan = *parsePlan(plan);
    spec.training.steps = steps;
    spec.training.batch = 8;
    spec.cluster = *loadCluster("dgx-a100");
    const Status status = resolve(spec);
    if (!status.ok()) qFatal("%s", status.error().message().c_str());
    return spec;
}

struct DeviceRun {
    RunReport report;
    std::unique_ptr<InMemoryTraceQuery> query;

    explicit DeviceRun(const char* plan, RunOptions options = {}, std::int64_t steps = 6)
    {
        const RunSpec spec = smallSpec(plan, steps);
        options.measurePeak = false;
        options.clock = ClockKind::Device;
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin, options.clock));
        options.sink = &trace;
        auto result = runTraining(spec, options);
        if (!result.ok()) qFatal("%s", result.error().message().c_str());
        report = std::move(*result);
        if (!trace.finish(report.closing).ok()) qFatal("finish");
        query = std::make_unique<InMemoryTraceQuery>(trace.data());
    }
};

} // namespace

class DeviceClockTest : public QObject {
    Q_OBJECT

private slots:
    void stepsRepeatExactly_data();
    void stepsRepeatExactly();
    void slowRank();
    void unevenSequences();
    void trafficAddsUp();
    void rawTimesStay();
    void refusals();
};

void DeviceClockTest::stepsRepeatExactly_data()
{
    QTest::addColumn<QString>("plan");
    for (const char* plan : {"dp=2", "pp=2 microbatches=4", "dp=2 pp=2 microbatches=2 schedule=gpipe"})
        QTest::newRow(plan) << plan;
}

void DeviceClockTest::stepsRepeatExactly()
{
    QFETCH(QString, plan);
    const DeviceRun run(qPrintable(plan));
    QCOMPARE(run.query->info().header.clock, ClockKind::Device);
    QCOMPARE(run.query->info().header.computeLabel, std::string("measured"));
    QCOMPARE(run.query->info().header.communicationLabel, std::string("modelled"));
    QCOMPARE(run.report.steps.size(), std::size_t{6});
    for (std::size_t i = 0; i < 6; ++i) QCOMPARE(run.report.steps[i].warmup, i < 2);
    const Duration step = run.report.steps[3].duration;
    QVERIFY(step.ns > 0);
    for (std::size_t i = 4; i < 6; ++i) QCOMPARE(run.report.steps[i].duration.ns, step.ns);
    const auto metrics = computeMetrics(*run.query);
    QVERIFY(metrics.ok());
    double sum = 0;
    for (const auto& [name, share] : metrics->waterfall.parts()) sum += share;
    QVERIFY(std::abs(sum - 1) < 1e-6);
    if (plan.contains("pp")) QVERIFY(metrics->bubbleFraction && *metrics->bubbleFraction > 0.05);
}

void DeviceClockTest::slowRank()
{
    RunOptions options;
    options.disturbances = {{DisturbanceKind::SlowRank, 1, 3.0, 0}};
    const DeviceRun run("dp=2", options);
    const auto summaries = run.query->stepSummaries();
    QVERIFY(summaries.ok());
    // Forward and backward: the norm of the gradient is taken on one rank only. Within each rank's own marks: the job's
    // step, over which summaries share time out, begins where the slow rank ended the one before.
    std::map<int, std::vector<TimeRange>> measured;
    for (const int rank : {0, 1}) {
        const auto steps = run.query->steps(RankId{rank});
        for (const StepView& step : *steps)
            if (step.record.measured()) measured[rank].push_back(step.record.range);
    }
    std::map<int, double> compute;
    QVERIFY(run.query
                ->scanSlices([&](const SliceView& slice) {
                    const auto op = run.query->op(slice.op);
                    const Phase phase = (*op)->phase;
                    if ((*op)->activity != Activity::Compute) return true;
                    if (phase != Phase::Forward && phase != Phase::BackwardInput && phase != Phase::BackwardWeight)
                        return true;
                    const int rank = run.query->tracks()[static_cast<std::size_t>(slice.track.value)].info.rank.value;
                    for (const TimeRange& range : measured[rank])
                        if (range.contains(slice.start)) compute[rank] += static_cast<double>(slice.duration.ns);
                    return true;
                })
                .ok());
    QVERIFY(compute[0] > 0);
    // Both ranks run the same kernels, rounded to nanoseconds each.
    QVERIFY2(std::abs(compute[1] / compute[0] - 3.0) < 0.01, qPrintable(QString::number(compute[1] / compute[0])));
    // The fast rank waits for the slow one.
    double waiting = 0;
    for (const StepSummary& summary : *summaries)
        if (summary.state == StepState::Measured && summary.rank.value == 0)
            waiting += static_cast<double>(summary.collectiveWait.ns);
    QVERIFY(waiting > compute[0]);
}

void DeviceClockTest::unevenSequences()
{
    // However the micro-batches are shared out, the samples and their lengths are the same: so are losses and tokens.
    RunOptions options;
    options.disturbances = {{DisturbanceKind::SequenceImbalance, std::nullopt, 3.0, 0}};
    const std::vector<std::int64_t> lengths = engine::unevenSequences(smallSpec("microbatches=4", 6), 3.0);
    QCOMPARE(lengths, (std::vector<std::int64_t>{13, 19, 24, 29})); // of 32: 1/3 + 2/3 of 1, 3, 5, 7 eighths
    const DeviceRun one("microbatches=4", options);
    for (const char* plan : {"dp=2 microbatches=2", "pp=2 microbatches=4", "tp=1 pp=2 dp=2 microbatches=2"}) {
        const DeviceRun run(plan, options);
        QCOMPARE(run.report.steps.size(), one.report.steps.size());
        for (std::size_t i = 0; i < one.report.steps.size(); ++i)
            QVERIFY2(std::abs(run.report.steps[i].loss - one.report.steps[i].loss) < 1e-5, plan);
        const auto steps = run.query->steps(RankId{0});
        QVERIFY(steps.ok() && !steps->empty());
        for (const StepView& step : *steps) QCOMPARE(step.record.tokens, std::int64_t{2 * (13 + 19 + 24 + 29)});
    }
    // Whole multiples of the ranks that share the rows, and never longer than the run's.
    QCOMPARE(engine::unevenSequences(smallSpec("tp=4 microbatches=4", 6), 8.0),
             (std::vector<std::int64_t>{8, 16, 20, 28}));
    QCOMPARE(engine::unevenSequences(smallSpec("tp=2 microbatches=2", 6), 1.0), (std::vector<std::int64_t>{32, 32}));
    RunSpec odd = smallSpec("tp=4 microbatches=4", 6);
    odd.training.sequence = 30;
    const Status uneven = checkRunnable(odd, options);
    QVERIFY(!uneven.ok() && uneven.error().where == "sequence_imbalance");
    const auto refusal = [&](const char* plan, std::optional<int> place) {
        options.disturbances.front().place = place;
        const Status status = checkRunnable(smallSpec(plan, 6), options);
        return status.ok() ? std::string("none") : status.error().where;
    };
    QCOMPARE(refusal("dp=2", std::nullopt), std::string("none"));
    QCOMPARE(refusal("dp=2", 1), std::string("sequence_imbalance"));
    QCOMPARE(refusal("cp=2 microbatches=2", std::nullopt), std::string("sequence_imbalance"));
    QCOMPARE(refusal("tp=2", std::nullopt), std::string("sequence_imbalance"));
}

void DeviceClockTest::trafficAddsUp()
{
    const DeviceRun run("dp=2 pp=2 microbatches=2");
    const auto collectives = run.query->collectives(std::nullopt, kAlways, 1'000'000);
    QVERIFY(collectives.ok());
    std::map<int, std::int64_t> sent, recorded;
    for (const CollectiveView& view : *collectives) recorded[view.rank.value] += view.record.wireBytes.value();
    QVERIFY(!run.query->info().closing.traffic.empty());
    for (const TrafficRecord& record : run.query->info().closing.traffic) {
        QVERIFY(record.from != record.to && record.messages > 0 && record.wireBytes > 0 && !record.group.empty());
        sent[record.from.value] += record.wireBytes;
    }
    QCOMPARE(sent.size(), std::size_t{4});
    QVERIFY(sent == recorded);
}

void DeviceClockTest::rawTimesStay()
{
    const DeviceRun run("dp=2");
    int found = 0;
    const auto& counters = run.query->info().counters;
    for (std::size_t i = 0; i < counters.size(); ++i) {
        if (counters[i].name != "step_wall_ms" && counters[i].name != "step_cpu_ms") continue;
        ++found;
        const auto samples =
            run.query->counter(CounterId(static_cast<std::int32_t>(i)), run.query->info().range, 100'000);
        QVERIFY(samples.ok() && !samples->empty());
        for (const CounterSample& sample : *samples) QVERIFY(sample.last > 0);
        // One for each step, and inside of it.
        const auto steps = run.query->steps(counters[i].rank.value_or(RankId{0}));
        QVERIFY(steps.ok());
        QCOMPARE(samples->size(), steps->size());
        for (std::size_t k = 0; k < steps->size(); ++k) {
            const TimeRange range = (*steps)[k].record.range;
            QVERIFY((*samples)[k].at >= range.begin && (*samples)[k].at < range.end);
        }
    }
    QCOMPARE(found, 4); // two of each rank
    for (const RankReport& rank : run.report.ranks) QVERIFY(rank.stepWall.ns > 0 && rank.stepCpu.ns > 0);
}

void DeviceClockTest::refusals()
{
    RunOptions options;
    options.clock = ClockKind::Device;
    const auto refused = [&](const RunOptions& asked, std::int64_t steps, const char* field) {
        const Status status = checkRunnable(smallSpec("dp=2", steps), asked);
        return !status.ok() && status.error().code == ErrorCode::InvalidArgument && status.error().where == field;
    };
    QVERIFY(refused(options, 2, "clock"));
    QVERIFY(checkRunnable(smallSpec("dp=2", 3), options).ok());
    options.disturbances = {{DisturbanceKind::SlowRank, 2, 2.0, 0}};
    QVERIFY(refused(options, 3, "slow_rank"));
    options.disturbances = {{DisturbanceKind::SlowRank, 1, 0.5, 0}};
    QVERIFY(refused(options, 3, "slow_rank"));
    options.disturbances.clear();
    LinkFault fault;
    fault.a = RankId{0};
    fault.b = RankId{1};
    options.linkFaults = {fault};
    QVERIFY(checkRunnable(smallSpec("dp=2", 3), options).ok());
    options.clock = ClockKind::Wall;
    QVERIFY(refused(options, 3, "link"));
    options.clock = ClockKind::Device;
    options.linkFaults.front().loss = 1;
    QVERIFY(refused(options, 3, "link"));
    options.linkFaults.front() = fault;
    options.linkFaults.front().a = RankId{1};
    QVERIFY(refused(options, 3, "link"));
}

FOURWALLS_TEST(DeviceClockTest, QCoreApplication)

} // namespace tst_device_clock

#include "tst_device_clock.moc"
