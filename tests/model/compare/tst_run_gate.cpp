// SPDX-License-Identifier: Apache-2.0
// Several runs against several others: intervals that hold the truth as often as they say, and what carries a difference.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/compare/run_gate.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <memory>
#include <random>

namespace tst_run_gate {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

/// Normal values by Box and Muller: those of std::normal_distribution differ between libraries.
class Noise {
public:
    explicit Noise(std::uint64_t seed) : m_random(seed) {}
    double operator()(double deviation)
    {
        const auto unit = [this] { return (static_cast<double>(m_random() >> 11) + 0.5) * 0x1p-53; };
        const double radius = std::sqrt(-2 * std::log(unit()));
        return deviation * radius * std::cos(6.283185307179586 * unit());
    }

private:
    std::mt19937_64 m_random;
};

/// Runs whose steps are `mean` with a spread from run to run and one from step to step.
RunValues runsOf(int runs, int steps, double mean, double ofRuns, double ofSteps, Noise& noise)
{
    RunValues values;
    for (int r = 0; r < runs; ++r) {
        const double own = mean + noise(ofRuns);
        std::vector<double>& run = values.emplace_back();
        for (int s = 0; s < steps; ++s) run.push_back(own + noise(ofSteps));
    }
    return values;
}

/// Steps of one rank: a product of that length, then a gap, then a norm of 100 ns. deviation: of the product [ns].
std::unique_ptr<TraceQuery> traceOf(std::int64_t product, std::int64_t gap, std::uint64_t seed)
{
    TraceHeader header;
    header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    const TrackId kernels = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "kernels", 0});
    const auto opOf = [&](const char* name, Phase phase) {
        OpInfo op;
        op.name = name;
        op.kind = SliceKind::Kernel;
        op.phase = phase;
        op.activity = Activity::Compute;
        return trace.defineOp(op);
    };
    Noise noise(seed);
    {
        const auto producer = trace.openProducer();
        std::int64_t at = 0;
        for (int s = 0; s < 12; ++s) {
            const std::int64_t length = product + std::llround(noise(10)), begin = at;
            producer->slice({kernels, opOf("mlp.up", Phase::Forward), Instant{at}, Duration{length}, {}, {}});
            at += length + gap;
            producer->slice({kernels, opOf("norm", Phase::BackwardInput), Instant{at}, Duration{100'000}, {}, {}});
            at += 100'000;
            StepRecord step;
            step.step = StepIndex{s};
            step.range = {Instant{begin}, Instant{at}};
            producer->step(RankId{0}, step);
        }
    }
    if (!trace.finish({}).ok()) return nullptr;
    return std::make_unique<InMemoryTraceQuery>(trace.data());
}

std::vector<GateRun> gateRunsOf(std::int64_t product, std::int64_t gap, std::uint64_t seed, int count)
{
    std::vector<GateRun> runs;
    for (int i = 0; i < count; ++i) {
        const auto trace = traceOf(product, gap, seed + static_cast<std::uint64_t>(i));
        auto run = trace ? readGateRun(*trace, "run" + std::to_string(i))
                         : Result<GateRun>(Error{ErrorCode::Internal, "no trace", "", ""});
        if (!run.ok()) qFatal("%s", run.error().message().c_str());
        runs.push_back(std::move(*run));
    }
    return runs;
}

} // namespace

class RunGateTest : public QObject {
    Q_OBJECT

private slots:
    void quantiles_data();
    void quantiles();
    void intervalsHoldTheTruth();
    void spreadBetweenRunsCounts();
    void equalRunsDoNotDiffer();
    void oneRunASide();
    void carriersAddUp();
    void gapsAreWaits();
    void equalJobsPass();
    void missingFiguresAreUnknown();
};

void RunGateTest::quantiles_data()
{
    // Source: any table of Student's distribution.
    QTest::addColumn<double>("p");
    QTest::addColumn<double>("degrees");
    QTest::addColumn<double>("t");
    QTest::newRow("1") << 0.975 << 1.0 << 12.7062;
    QTest::newRow("2") << 0.995 << 2.0 << 9.9248;
    QTest::newRow("4") << 0.995 << 4.0 << 4.6041;
    QTest::newRow("8") << 0.995 << 8.0 << 3.3554;
    QTest::newRow("8, low") << 0.005 << 8.0 << -3.3554;
    QTest::newRow("30") << 0.90 << 30.0 << 1.3104;
    QTest::newRow("many") << 0.975 << 100000.0 << 1.9600;
    QTest::newRow("middle") << 0.5 << 3.0 << 0.0;
}

void RunGateTest::quantiles()
{
    QFETCH(double, p);
    QFETCH(double, degrees);
    QFETCH(double, t);
    QVERIFY2(std::abs(studentQuantile(p, degrees) - t) < 1e-4,
             qPrintable(QString::number(studentQuantile(p, degrees))));
}

void RunGateTest::intervalsHoldTheTruth()
{
    constexpr int kPairs = 400;
    constexpr double kTruth = 1.5;
    Noise noise(7);
    int held = 0, said = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const RunValues a = runsOf(5, 10, 100 + kTruth, 0.5, 1, noise), b = runsOf(5, 10, 100, 0.5, 1, noise),
                        c = runsOf(5, 10, 100, 0.5, 1, noise);
        const RunDifference with = differenceOfRuns(a, b, RunMiddle::Median, 0.9, static_cast<std::uint64_t>(pair));
        held += *with.low <= kTruth && kTruth <= *with.high;
        const RunDifference without = differenceOfRuns(b, c, RunMiddle::Median, 0.9, static_cast<std::uint64_t>(pair));
        said += *without.low > 0 || *without.high < 0;
    }
    // 90 % +- three deviations of 400 draws, and up to what drawing steps anew widens them by.
    QVERIFY2(held >= 0.855 * kPairs && held < 0.99 * kPairs, qPrintable(QString::number(held)));
    QVERIFY2(said <= 0.145 * kPairs && said > 0, qPrintable(QString::number(said)));
}

void RunGateTest::spreadBetweenRunsCounts()
{
    // Steps hardly differ within a run: hundreds of them say no more than five runs do.
    Noise noise(3);
    const RunValues a = runsOf(5, 200, 100, 1, 0.01, noise), b = runsOf(5, 200, 100, 1, 0.01, noise);
    const RunDifference difference = differenceOfRuns(a, b, RunMiddle::Mean, 0.99);
    // t(8) * sqrt(2/5) = 2.1 for a spread of exactly 1; five draws of it are between 0.4 and 1.6.
    QVERIFY(*difference.high - *difference.low > 2 * 2.1 * 0.4);
    QVERIFY(*difference.high - *difference.low < 2 * 2.1 * 1.8);
}

void RunGateTest::equalRunsDoNotDiffer()
{
    const RunValues runs{{5, 5}, {5, 5}};
    const RunDifference difference = differenceOfRuns(runs, runs, RunMiddle::Median, 0.99);
    QCOMPARE(difference.difference(), 0.0);
    QCOMPARE(*difference.low, 0.0);
    QCOMPARE(*difference.high, 0.0);
    const RunDifference larger = differenceOfRuns({{6}, {6}}, {{5}, {5}}, RunMiddle::Median, 0.99);
    QCOMPARE(*larger.low, 1.0); // what never differs is certain
}

void RunGateTest::oneRunASide()
{
    Noise noise(5);
    const RunValues a = runsOf(1, 30, 110, 0, 1, noise), b = runsOf(1, 30, 100, 0, 1, noise);
    const RunDifference difference = differenceOfRuns(a, b, RunMiddle::Median, 0.99);
    QVERIFY(difference.stepsOnly && difference.low && *difference.low > 8 && *difference.high < 12);
    QVERIFY(!differenceOfRuns({{6}}, {{5}}, RunMiddle::Median, 0.99).low);
}

void RunGateTest::carriersAddUp()
{
    const auto now = gateRunsOf(1'050'000, 20'000, 100, 4), before = gateRunsOf(1'000'000, 20'000, 200, 4);
    const GateReport report = gateRuns(now, before);
    const GateFigure* const step = report.find(Figure::StepTime);
    QVERIFY(step && step->verdict() == Verdict::Worse);
    QVERIFY(std::abs(*step->percent() - 100 * 0.05 / 1.12) < 0.05);
    QVERIFY(*step->leastWorsePercent() > 4 && *step->leastWorsePercent() < *step->percent());
    // The step is longer, so the rate of nothing else than steps is lower; nothing else is worse by more.
    QCOMPARE(QString::fromStdString(report.worst()->name()), QString("step_time_ms"));
    QVERIFY(!report.carriers.empty());
    const GateCarrier& first = report.carriers.front();
    QVERIFY(first.of.kind == CarrierKind::Operator && first.of.phase == Phase::Forward);
    QCOMPARE(QString::fromStdString(first.of.name), QString("mlp.up"));
    QVERIFY(std::abs(first.values.difference() - 0.05) < 0.001 && *first.values.low > 0.045);
    double sum = report.rest;
    for (const GateCarrier& each : report.carriers) sum += each.values.difference();
    QVERIFY(std::abs(sum - report.meanStep.difference()) < 1e-9);
    QVERIFY(std::abs(report.meanStep.difference() - 0.05) < 0.001);
}

void RunGateTest::gapsAreWaits()
{
    const auto now = gateRunsOf(1'000'000, 80'000, 100, 3), before = gateRunsOf(1'000'000, 20'000, 200, 3);
    const GateReport report = gateRuns(now, before);
    QVERIFY(!report.carriers.empty());
    QVERIFY(report.carriers.front().of.kind == CarrierKind::Wait);
    QVERIFY(std::abs(report.carriers.front().values.difference() - 0.06) < 0.001);
}

void RunGateTest::equalJobsPass()
{
    const auto now = gateRunsOf(1'000'000, 20'000, 300, 4), before = gateRunsOf(1'000'000, 20'000, 400, 4);
    const GateReport report = gateRuns(now, before);
    QVERIFY(report.find(Figure::StepTime)->verdict() == Verdict::NotShown);
    QVERIFY(report.worst() == nullptr);
}

void RunGateTest::missingFiguresAreUnknown()
{
    auto now = gateRunsOf(1'000'000, 20'000, 300, 2), before = gateRunsOf(1'000'000, 20'000, 400, 2);
    for (GateRun& run : before) run.metrics.mfu = 0.4;
    now.front().parts.clear();
    now.front().whyNoParts = "too large";
    const GateReport report = gateRuns(now, before);
    const GateFigure* const mfu = report.find(Figure::Mfu);
    QVERIFY(mfu && mfu->isMissing && mfu->verdict() == Verdict::Unknown);
    QVERIFY(report.carriers.empty() && !report.notes.empty());
}

FOURWALLS_TEST(RunGateTest, QCoreApplication)

} // namespace tst_run_gate

#include "tst_run_gate.moc"
