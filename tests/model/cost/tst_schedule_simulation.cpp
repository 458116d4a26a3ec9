// SPDX-License-Identifier: Apache-2.0
// The simulation of a step against closed forms, against a clock that ticks, and against published bubble rates.
#include <QtTest>

#include "model/cost/schedule_simulation.h"
#include "model/trace/metrics.h"
#include "tests/support/pipeline_rows.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

namespace tst_schedule_simulation {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

struct Times {
    double forward = 1, backwardInput = 1, backwardWeight = 1;
};

PassCost pass(double seconds)
{
    PassCost cost;
    cost.parts[CostPart::Gemm] = seconds;
    return cost;
}

ChunkCost chunkOf(const Times& times)
{
    ChunkCost chunk;
    chunk.forward = pass(times.forward);
    chunk.backwardInput = pass(times.backwardInput);
    chunk.backwardWeight = pass(times.backwardWeight);
    chunk.activationBytes = 10;
    chunk.weightGradientBytes = 4;
    return chunk;
}

/// A step whose positions cost `times` (one for all, or one each).
StepCost stepOf(const PipelineShape& shape, const std::vector<Times>& times, double transfer = 0)
{
    StepCost cost;
    cost.shape = shape;
    for (const Times& each : times) cost.kinds.push_back(chunkOf(each));
    for (int i = 0; i < shape.positions(); ++i)
        cost.kindOfPosition.push_back(times.size() == 1 ? 0U : static_cast<std::uint32_t>(i));
    cost.boundaries.assign(static_cast<std::size_t>(shape.positions() - 1), BoundaryCost{1, transfer});
    cost.stages.resize(static_cast<std::size_t>(shape.stages));
    return cost;
}

/// The same pipeline run by a clock of whole ticks: every tick each stage that is free looks whether what it needs is
/// there. Nothing of the simulation's code is used but the lists. Returns the ticks until all is done.
int tick(const PipelineShape& shape, const std::vector<std::vector<int>>& passTicks, int transfer)
{
    const auto lists = *pipelineActions(shape);
    struct Stage {
        std::size_t next = 0;
        int left = 0;
    };
    std::vector<Stage> stages(lists.size());
    std::map<std::tuple<PipelineTensor, int, int>, int> there; // from which tick on
    std::map<std::pair<int, int>, int> wayFree;
    for (int now = 0; now < 1'000'000; ++now) {
        bool allDone = true;
        // What ended at this tick is sent before anyone looks.
        for (std::size_t s = 0; s < lists.size(); ++s) {
            Stage& stage = stages[s];
            if (stage.left > 0 && --stage.left == 0) {
                if (const auto given = shape.gives(static_cast<int>(s), lists[s][stage.next])) {
                    int arrival = now;
                    if (!given->isLocal()) {
                        int& free = wayFree[{given->fromStage, given->toStage}];
                        free = std::max(free, now) + transfer;
                        arrival = free;
                    }
                    there[{given->tensor, given->microbatch, given->toPosition}] = arrival;
                }
                ++stage.next;
            }
        }
        for (std::size_t s = 0; s < lists.size(); ++s) {
            Stage& stage = stages[s];
            if (stage.left > 0 || stage.next == lists[s].size()) {
                allDone = allDone && stage.left == 0;
                continue;
            }
            allDone = false;
            const PipelineAction& action = lists[s][stage.next];
            if (const auto needed = shape.needs(static_cast<int>(s), action)) {
                const auto found = there.find({needed->tensor, needed->microbatch, needed->toPosition});
                if (found == there.end() || found->second > now) continue;
            }
            const auto position = static_cast<std::size_t>(shape.positionOf(static_cast<int>(s), action.chunk));
            const std::vector<int>& t = passTicks[position];
            switch (action.pass) {
            case PipelinePass::Forward: stage.left = t[0]; break;
            case PipelinePass::Backward: stage.left = t[1] + t[2]; break;
            case PipelinePass::BackwardInput: stage.left = t[1]; break;
            case PipelinePass::BackwardWeight: stage.left = t[2]; break;
            }
        }
        if (allDone) return now;
    }
    return -1;
}

} // namespace

class ScheduleSimulationTest : public QObject {
    Q_OBJECT

private slots:
    void closedForms_data();
    void closedForms();
    void unequalStages_data();
    void unequalStages();
    void blockingTransfersCostTwicePerMicrobatch();
    void memoryInFlight_data();
    void memoryInFlight();
    void afterTheBackward();
    void intervalsFillTheStep_data();
    void intervalsFillTheStep();
    void publishedBubbleRates_data();
    void publishedBubbleRates();
    void oneSimulationRunsManySteps();
    void refusesNonsense();
};

void ScheduleSimulationTest::closedForms_data()
{
    test::addPipelineColumns();
    for (const auto& [p, m] : {std::pair{4, 8}, {8, 16}}) {
        QTest::addRow("naive %dx%d", p, m) << int(PipelineSchedule::Naive) << 1 << p << m;
        QTest::addRow("gpipe %dx%d", p, m) << int(PipelineSchedule::GPipe) << 1 << p << m;
        QTest::addRow("1f1b %dx%d", p, m) << int(PipelineSchedule::OneFOneB) << 1 << p << m;
        QTest::addRow("interleaved 2 %dx%d", p, m) << int(PipelineSchedule::Interleaved) << 2 << p << m;
        QTest::addRow("interleaved 4 %dx%d", p, m) << int(PipelineSchedule::Interleaved) << 4 << p << m;
        QTest::addRow("zb %dx%d", p, m) << int(PipelineSchedule::ZeroBubbleH1) << 1 << p << m;
    }
}

void ScheduleSimulationTest::closedForms()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    const PipelineShape shape{static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches};
    for (const Times& t : {Times{1, 1, 1}, {0.010, 0.012, 0.008}, {1, 1.2, 1.2}, {1, 0.9, 1}, {1, 1, 1.4}}) {
        const auto step = simulateSchedule(stepOf(shape, {t}));
        QVERIFY(step.ok());
        const double expected =
            shape.schedule == PipelineSchedule::ZeroBubbleH1
                ? zeroBubbleBubble(stages, microbatches, t.forward, t.backwardInput, t.backwardWeight)
                : pipelineBubble(shape.schedule, stages, microbatches, chunks);
        QVERIFY2(std::abs(step->bubbleFraction() - expected) < 1e-12,
                 qPrintable(QString("%1, expected %2").arg(step->bubbleFraction()).arg(expected)));
        // Every stage does the same work, so that the window says it too.
        const double work = chunks * microbatches * (t.forward + t.backwardInput + t.backwardWeight);
        QVERIFY(std::abs(step->seconds - work / (1 - expected)) < 1e-9);
    }
}

void ScheduleSimulationTest::unequalStages_data()
{
    test::addPipelineRows({{1, 3}, {2, 4}, {4, 8}, {8, 16}, {5, 20}});
}

/// Random whole times and transfers: the simulation agrees with the ticking clock exactly.
void ScheduleSimulationTest::unequalStages()
{
    const PipelineShape shape = test::pipelineOfRow();
    std::mt19937 random(7);
    std::uniform_int_distribution<int> time(1, 9), way(0, 4);
    for (int round = 0; round < 5; ++round) {
        std::vector<std::vector<int>> ticks;
        std::vector<Times> times;
        for (int i = 0; i < shape.positions(); ++i) {
            ticks.push_back({time(random), time(random), time(random)});
            times.push_back({double(ticks.back()[0]), double(ticks.back()[1]), double(ticks.back()[2])});
        }
        const int transfer = round == 0 ? 0 : way(random);
        const auto step = simulateSchedule(stepOf(shape, times, transfer));
        QVERIFY(step.ok());
        QCOMPARE(step->seconds, double(tick(shape, ticks, transfer)));
    }
}

/// In the steady state of 1F1B a stage sends twice per micro-batch and stands still for it each time.
void ScheduleSimulationTest::blockingTransfersCostTwicePerMicrobatch()
{
    const double t = 0.125;
    const auto seconds = [&](int microbatches) {
        StepCost cost = stepOf({PipelineSchedule::OneFOneB, 4, 1, microbatches}, {Times{1, 1, 1}}, t);
        cost.blockingTransfers = true;
        return simulateSchedule(cost)->seconds;
    };
    QVERIFY(std::abs((seconds(40) - seconds(20)) / 20 - (3 + 2 * t)) < 1e-9);
}

void ScheduleSimulationTest::memoryInFlight_data()
{
    closedForms_data();
}

void ScheduleSimulationTest::memoryInFlight()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    const PipelineShape shape{static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches};
    StepCost cost = stepOf(shape, {Times{}});
    cost.kinds[0].transientForwardBytes = 0.5;
    cost.kinds[0].transientBackwardBytes = 0.25;
    for (StageCost& stage : cost.stages) stage.memory.weights = 1000;
    const auto step = simulateSchedule(cost, true);
    QVERIFY(step.ok());
    const auto lists = *pipelineActions(shape);
    for (std::size_t s = 0; s < lists.size(); ++s) {
        const SimulatedStage& stage = step->stages[s];
        QCOMPARE(stage.mostInFlight, mostInFlight(lists[s]));
        QCOMPARE(stage.peakBytes, 1000 + stage.peakActivations + stage.peakTransient);
        if (!shape.splitsBackward()) {
            QCOMPARE(stage.peakActivations, 10.0 * mostInFlight(lists[s]));
            QCOMPARE(stage.peakTransient, 0.5); // the last forward before the first backward
        } else {
            // Between input and weight gradient a part is gone already.
            QVERIFY(stage.peakActivations <= 10.0 * mostInFlight(lists[s]));
            QVERIFY(stage.peakActivations >= 4.0 * mostInFlight(lists[s]));
        }
        QVERIFY(!stage.memory.empty());
        QVERIFY(std::abs(stage.memory.back().activations) < 1e-9);
        QVERIFY(std::is_sorted(stage.memory.begin(), stage.memory.end(),
                               [](const auto& a, const auto& b) { return a.at < b.at; }));
    }
}

void ScheduleSimulationTest::afterTheBackward()
{
    StepCost cost = stepOf({PipelineSchedule::OneFOneB, 2, 1, 2}, {Times{}});
    cost.fixedSeconds = 0.5;
    cost.stages[0].gradientCommExposed = 0.25;
    cost.stages[1].gradientCommExposed = 4;
    cost.stages[0].optimizerSeconds = 0.125;
    const auto step = simulateSchedule(cost, true);
    QVERIFY(step.ok());
    // Passes of stage 0 end at 0.5 + 9, of stage 1 one backward earlier; stage 1's reduction ends last.
    QCOMPARE(step->windowBegin, 0.5);
    QCOMPARE(step->stages[0].lastBackward, 9.5);
    QCOMPARE(step->stages[1].lastBackward, 7.5);
    QCOMPARE(step->seconds, 7.5 + 4 + 0.125);
    QCOMPARE(step->stages[1].end, 7.5 + 4);
    // Its reduction is busy time as far as stage 0 still works.
    QCOMPARE(step->stages[1].busy, 6.0 + 2.0);
}

void ScheduleSimulationTest::intervalsFillTheStep_data()
{
    unequalStages_data();
}

void ScheduleSimulationTest::intervalsFillTheStep()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    const PipelineShape shape{static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches};
    for (const bool blocking : {false, true}) {
        StepCost cost = stepOf(shape, {Times{0.3, 0.4, 0.2}}, 0.05);
        cost.blockingTransfers = blocking;
        cost.stages.back().gradientCommExposed = 1;
        cost.stages.front().optimizerSeconds = 0.1;
        const auto step = simulateSchedule(cost, true);
        QVERIFY(step.ok());
        QCOMPARE(step->seconds, simulateSchedule(cost)->seconds);
        for (const SimulatedStage& stage : step->stages) {
            double at = 0;
            for (const SimulatedInterval& interval : stage.intervals) {
                QVERIFY(std::abs(interval.start - at) < 1e-9);
                at = interval.end;
            }
            QVERIFY(std::abs(at - stage.end) < 1e-9);
        }
    }
}

void ScheduleSimulationTest::publishedBubbleRates_data()
{
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("microbatches");
    QTest::addColumn<QList<double>>("profiled"); // F, B, W, transfer [ms]
    QTest::addColumn<double>("rate1F1B");
    QTest::addColumn<double>("rateZb1p");
    // arXiv:2401.10241: profiled times of its table 4 (recalled) and rates of its table 5.
    QTest::newRow("1.5B 24") << 8 << 24 << QList<double>{18.522, 18.086, 9.337, 0.601} << 0.2431 << 0.1585;
    QTest::newRow("1.5B 32") << 8 << 32 << QList<double>{18.513, 18.086, 9.331, 0.626} << 0.1985 << 0.1242;
    QTest::newRow("1.5B 64") << 8 << 64 << QList<double>{18.546, 18.097, 9.321, 0.762} << 0.124 << 0.0674;
    QTest::newRow("6.2B 24") << 8 << 24 << QList<double>{29.718, 29.444, 19.927, 0.527} << 0.2347 << 0.1323;
    QTest::newRow("6.2B 32") << 8 << 32 << QList<double>{29.802, 29.428, 19.530, 0.577} << 0.1898 << 0.1045;
    QTest::newRow("6.2B 64") << 8 << 64 << QList<double>{29.935, 29.621, 19.388, 0.535} << 0.1091 << 0.0554;
    QTest::newRow("14.6B 48") << 16 << 48 << QList<double>{11.347, 11.248, 8.132, 0.377} << 0.2552 << 0.1397;
    QTest::newRow("14.6B 64") << 16 << 64 << QList<double>{11.307, 11.254, 8.101, 0.379} << 0.2082 << 0.1088;
    QTest::newRow("14.6B 128") << 16 << 128 << QList<double>{11.325, 11.308, 8.109, 0.378} << 0.1251 << 0.0576;
    QTest::newRow("28.3B 96") << 32 << 96 << QList<double>{10.419, 10.207, 7.715, 0.408} << 0.2646 << 0.1421;
    QTest::newRow("28.3B 128") << 32 << 128 << QList<double>{10.408, 10.204, 7.703, 0.408} << 0.2168 << 0.1106;
    QTest::newRow("28.3B 256") << 32 << 256 << QList<double>{10.402, 10.248, 7.698, 0.460} << 0.1352 << 0.0594;
}

void ScheduleSimulationTest::publishedBubbleRates()
{
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    QFETCH(QList<double>, profiled);
    QFETCH(double, rate1F1B);
    QFETCH(double, rateZb1p);
    const Times times{profiled[0], profiled[1], profiled[2]};
    const double work = microbatches * (profiled[0] + profiled[1] + profiled[2]);
    const auto rate = [&](PipelineSchedule schedule) {
        const auto step = simulateSchedule(stepOf({schedule, stages, 1, microbatches}, {times}, profiled[3]));
        double longest = 0; // the paper counts from a stage's first to its last pass
        for (const SimulatedStage& stage : step->stages)
            longest = std::max(longest, stage.lastBackward - stage.firstForward);
        return 1 - work / longest;
    };
    const double fused = rate(PipelineSchedule::OneFOneB), split = rate(PipelineSchedule::ZeroBubbleH1);
    QVERIFY2(std::abs(fused - rate1F1B) < 0.0001, qPrintable(QString::number(fused)));
    QVERIFY2(std::abs(split - rateZb1p) < 0.0001, qPrintable(QString::number(split)));
}

/// What a simulation keeps from one step to the next changes nothing: neither its graph nor its times.
void ScheduleSimulationTest::oneSimulationRunsManySteps()
{
    const PipelineShape shape{PipelineSchedule::OneFOneB, 4, 1, 8};
    StepCost even = stepOf(shape, {Times{1, 1, 1}}, 0.25),
             uneven = stepOf(shape, {{1, 2, 3}, {2, 1, 1}, {1, 1, 4}, {3, 2, 1}});
    uneven.stages[2].gradientCommExposed = 5;
    StepCost blocking = even;
    blocking.blockingTransfers = true;
    StepCost deferred = stepOf({PipelineSchedule::ZeroBubbleH1, 4, 1, 8}, {Times{1, 1, 1}}, 0.25);
    StepCost wrong = even;
    wrong.fixedSeconds = -1;
    ScheduleSimulation simulation;
    for (const StepCost* cost : {&even, &uneven, &even, &blocking, &wrong, &deferred, &even}) {
        const auto kept = simulation.run(*cost, true), fresh = simulateSchedule(*cost, true);
        QCOMPARE(kept.ok(), fresh.ok());
        if (!fresh.ok()) continue;
        QCOMPARE(kept->seconds, fresh->seconds);
        QCOMPARE(kept->windowEnd, fresh->windowEnd);
        for (std::size_t s = 0; s < fresh->stages.size(); ++s) {
            QCOMPARE(kept->stages[s].busy, fresh->stages[s].busy);
            QCOMPARE(kept->stages[s].wait, fresh->stages[s].wait);
            QCOMPARE(kept->stages[s].peakAt, fresh->stages[s].peakAt);
            QCOMPARE(kept->stages[s].intervals.size(), fresh->stages[s].intervals.size());
        }
    }
    QVERIFY(simulateSchedule(even)->seconds < simulateSchedule(blocking)->seconds);
    QVERIFY(simulateSchedule(deferred)->seconds < simulateSchedule(even)->seconds);
}

void ScheduleSimulationTest::refusesNonsense()
{
    const PipelineShape shape{PipelineSchedule::OneFOneB, 2, 1, 4};
    StepCost cost = stepOf(shape, {Times{}});
    cost.stages.pop_back();
    QVERIFY(!simulateSchedule(cost).ok());
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        cost = stepOf(shape, {Times{bad, 1, 1}});
        const auto step = simulateSchedule(cost);
        QVERIFY(!step.ok());
        QCOMPARE(QString::fromStdString(step.error().where), QString("pass"));
        cost = stepOf(shape, {Times{}}, bad);
        QVERIFY(!simulateSchedule(cost).ok());
    }
    cost = stepOf({PipelineSchedule::Interleaved, 4, 2, 6}, {Times{}});
    QCOMPARE(QString::fromStdString(simulateSchedule(cost).error().where), QString("microbatches"));
}

FOURWALLS_TEST(ScheduleSimulationTest, QCoreApplication)

} // namespace tst_schedule_simulation

#include "tst_schedule_simulation.moc"
