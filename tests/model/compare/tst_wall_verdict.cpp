// SPDX-License-Identifier: Apache-2.0
// Which wall binds, and which changes of a plan are suggested.
#include <QtTest>

#include "model/compare/plan_suggestions.h"
#include "model/compare/wall_verdict.h"
#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "tests/support/test_program.h"

namespace tst_wall_verdict {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

RunSpec specOf(const char* model, const char* plan, std::int64_t batch)
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.cluster = *loadCluster("dgx-a100");
    spec.plan = *parsePlan(plan);
    spec.training.batch = batch;
    spec.training.precision = Precision::Bf16;
    spec.framework = "megatron-core";
    return resolve(spec).ok() ? spec : RunSpec{};
}

} // namespace

class WallVerdictTest : public QObject {
    Q_OBJECT

private slots:
    void aFullMemoryBarsEverythingElse()
    {
        WallFacts facts;
        facts.peakBytes = 76e9;
        facts.capacityBytes = 80e9;
        facts.shares.set(WaterfallPart::Bubble, 0.3);
        const WallVerdict verdict = judgeWalls(facts);
        QCOMPARE(*verdict.binding, Wall::Memory);
        QCOMPARE(verdict.reason[0], WallReason::MemoryFull);
        QCOMPARE(*verdict.next, Wall::Tuning);
    }

    void elseTheCostliestBinds()
    {
        WallFacts facts;
        facts.peakBytes = 40e9;
        facts.capacityBytes = 80e9;
        facts.shares.set(WaterfallPart::Achieved, 0.4);
        facts.shares.set(WaterfallPart::ExposedComm, 0.25);
        facts.shares.set(WaterfallPart::Bubble, 0.1);
        facts.shares.set(WaterfallPart::Inefficiency, 0.12); // 0.1 of it is what no matrix product reaches
        facts.shares.set(WaterfallPart::MemoryBound, 0.08);
        facts.shares.set(WaterfallPart::Idle, 0.05);
        WallVerdict verdict = judgeWalls(facts);
        QCOMPARE(*verdict.binding, Wall::Communication);
        QCOMPARE(*verdict.next, Wall::Performance);
        QVERIFY(std::abs(verdict.loss[2] - 0.15) < 1e-12);
        QCOMPARE(verdict.reason[2], WallReason::MemoryBound);
        QCOMPARE(verdict.reason[3], WallReason::Bubble);
        facts.planGain = 0.3; // a better plan counts instead of the bubble, not on top of it
        verdict = judgeWalls(facts);
        QCOMPARE(*verdict.binding, Wall::Tuning);
        QCOMPARE(verdict.reason[3], WallReason::BetterPlan);
        QVERIFY(std::abs(verdict.loss[3] - 0.3) < 1e-12);
    }

    /// 90 % idle, of which the start of the program makes 74 or all but 4: that costs later steps nothing.
    void theStartOfTheProgramIsNotAvoidable()
    {
        WallFacts facts;
        facts.shares.set(WaterfallPart::Compute, 0.1);
        facts.shares.set(WaterfallPart::Idle, 0.9);
        facts.startUp = 0.74;
        WallVerdict verdict = judgeWalls(facts);
        QCOMPARE(*verdict.binding, Wall::Performance);
        QCOMPARE(verdict.reason[2], WallReason::Idle);
        QVERIFY(std::abs(verdict.loss[2] - 0.16) < 1e-12);
        facts.startUp = 0.86;
        verdict = judgeWalls(facts);
        QVERIFY(!verdict.binding);
    }

    void nothingKnownBindsNothing()
    {
        const WallVerdict verdict = judgeWalls({});
        QVERIFY(!verdict.binding && !verdict.next);
        for (const WallReason reason : verdict.reason) QCOMPARE(reason, WallReason::Nothing);
    }

    void theFullestRankIsNearestToItsCapacity()
    {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "large", "", 0, 100, 1});
        header.ranks.push_back({RankId{1}, "small", "", 0, 50, 1});
        TraceMetrics metrics;
        MemorySummary memory;
        memory.rank = RankId{0};
        memory.peakBytes = 45;
        metrics.memory.push_back(memory);
        memory.rank = RankId{1};
        memory.peakBytes = 40;
        metrics.memory.push_back(memory);
        const auto fullest = fullestRank(metrics, header);
        QVERIFY(fullest && fullest->rank == RankId{1} && *fullest->capacityBytes == 50);
        header.ranks.clear(); // without capacities the largest
        QCOMPARE(fullestRank(metrics, header)->rank, RankId{0});
    }

    void suggestionsAreNeighboursThatFitAndAreQuicker()
    {
        // Few micro-batches: the bubble of 3 / (4 + 3) can be made smaller in several ways.
        const RunSpec spec = specOf("gpt3-13b", "tp=2 pp=4 microbatches=4 recompute=full", 64);
        QVERIFY(spec.training.batch == 64);
        auto model = cost::CostModel::create(spec);
        QVERIFY(model.ok());
        const auto found = suggestChanges(*model, spec, 3);
        QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
        QVERIFY(found->evaluated > 8);
        QCOMPARE(found->best.size(), std::size_t{3});
        const double capacity = static_cast<double>(spec.cluster.device.memoryBytes);
        double last = 0;
        for (const PlanSuggestion& each : found->best) {
            QVERIFY(each.timeChange <= -kLeastGain);
            QVERIFY(each.peakBytes <= capacity);
            QVERIFY(each.seconds >= last); // quickest first
            last = each.seconds;
            QCOMPARE(each.plan.worldSize(), spec.plan.worldSize());
            // What was promised is what a prediction of that plan says.
            RunSpec next = spec;
            next.plan = each.plan;
            const auto predicted = cost::predictStep(*model, next);
            QVERIFY(predicted.ok() && predicted->feasible);
            QCOMPARE(predicted->seconds, each.seconds);
            QCOMPARE(predicted->peakBytes - found->peakBytes, each.memoryChange);
        }
        QVERIFY(found->best[0].change != found->best[1].change && found->best[1].change != found->best[2].change);
    }

    void aPlanThatDoesNotFitIsOfferedOnesThatDo()
    {
        const RunSpec spec = specOf("gpt3-13b", "dp=8 microbatches=1", 8);
        auto model = cost::CostModel::create(spec);
        QVERIFY(model.ok());
        const auto found = suggestChanges(*model, spec, 3);
        QVERIFY(found.ok());
        QVERIFY(!found->feasible);
        QVERIFY(!found->best.empty());
        const double capacity = static_cast<double>(spec.cluster.device.memoryBytes);
        for (const PlanSuggestion& each : found->best) QVERIFY(each.peakBytes <= capacity);
    }

    void aRequestedStopIsKept()
    {
        const RunSpec spec = specOf("gpt3-1.3b", "dp=2 tp=2", 8);
        auto model = cost::CostModel::create(spec);
        QVERIFY(model.ok());
        std::stop_source stop;
        stop.request_stop();
        const auto found = suggestChanges(*model, spec, 3, stop.get_token());
        QVERIFY(!found.ok() && found.error().code == ErrorCode::Cancelled);
    }
};

FOURWALLS_TEST(WallVerdictTest, QCoreApplication)

} // namespace tst_wall_verdict

#include "tst_wall_verdict.moc"
