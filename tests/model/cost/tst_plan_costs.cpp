// SPDX-License-Identifier: Apache-2.0
// What a plan changes in the cost of a step: sharding, offloading, servers, experts, adapters, recomputation by stage, and
// which ranks share a node.
#include <QtTest>

#include "model/cost/collective_time.h"
#include "model/cost/replica_groups.h"
#include "model/cost/step_cost.h"
#include "model/spec/rank_layout.h"
#include "tests/model/cost/priced_run.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace tst_plan_costs {

using namespace fourwalls;
using namespace fourwalls::cost;
using namespace fourwalls::cost::testing;

class PlanCostsTest : public QObject {
    Q_OBJECT

private slots:
    void offloadAndServers();
    void shardingSavesMemory();
    void shardingGroupsStayInTheNode();
    void expertsOverTheTensorGroup();
    void groupsOfExpertsReachFewerNodes();
    void adaptersAreTrainedAlone();
    void stagesRecomputeByThemselves();
    void placesFollowTheOrder();
};

void PlanCostsTest::offloadAndServers()
{
    const RunSpec spec = llama();
    const ParallelPlan plain = plan("tp=8 dp=4 microbatches=4 zero=1");
    ParallelPlan offloaded = plain;
    offloaded.offloadOptimizer = true;
    QVERIFY(predict(spec, offloaded).peakBytes < predict(spec, plain).peakBytes);
    QVERIFY(predict(spec, offloaded).seconds > predict(spec, plain).seconds);
    offloaded = plain;
    offloaded.offloadActivations = true;
    QVERIFY(predict(spec, offloaded).peakBytes < predict(spec, plain).peakBytes);
    QVERIFY(predict(spec, offloaded).seconds >= predict(spec, plain).seconds);
    // Servers: half of them take twice as long, and waiting for them asynchronously costs less.
    const auto server = [&](const char* text) { return predict(spec, plan(text)).parts[CostPart::GradientComm]; };
    const double two = server("tp=8 dp=8 ps=sync servers=2"), four = server("tp=8 dp=8 ps=sync servers=4");
    QVERIFY(std::abs(two / four - 2) < 1e-9);
    QVERIFY(server("tp=8 dp=8 ps=async servers=4") < four);
}

void PlanCostsTest::shardingSavesMemory()
{
    double last = 1e300;
    for (const char* zero : {"zero=0", "zero=1", "zero=2", "zero=3"}) {
        RunSpec spec = llama();
        spec.framework = "deepspeed";
        const double bytes = predict(spec, plan((std::string("dp=64 ") + zero).c_str())).peakBytes;
        QVERIFY(bytes < last);
        last = bytes;
    }
}

void PlanCostsTest::shardingGroupsStayInTheNode()
{
    RunSpec spec = llama();
    spec.model = *loadModel("llama2-7b");
    spec.framework = "fsdp";
    CostModel model = *CostModel::create(spec);
    const StepCost whole = *model.stepCost(plan("dp=64 zero=3"), 64);
    const StepCost groups = *model.stepCost(plan("dp=64 zero=3 shard=8"), 64);
    // Weights and states are cut by eight instead of 64.
    QVERIFY(std::abs(groups.stages[0].memory.weights / whole.stages[0].memory.weights - 8) < 1e-9);
    QVERIFY(std::abs(groups.stages[0].memory.optimizer / whole.stages[0].memory.optimizer - 8) < 1e-9);
    // They are brought together inside the node: less time, and 7/8 instead of 63/64 of the bytes.
    const auto gathers = [](const StepCost& cost) { return cost.kinds[0].forward.wire.ofParameter.gathers; };
    QVERIFY(std::abs(gathers(groups) / gathers(whole) - (7.0 / 8) / (63.0 / 64)) < 1e-9);
    const auto waits = [](const StepCost& cost) {
        const PassCost& pass = cost.kinds[0].forward;
        return pass.parts[CostPart::ParameterComm] + pass.hidden[CostPart::ParameterComm];
    };
    QVERIFY(waits(groups) < waits(whole));
    // All replicas in one group is no group.
    const StepCost same = *model.stepCost(plan("dp=64 zero=3 shard=64"), 64);
    QCOMPARE(closedForm(same, model.calibration()).seconds, closedForm(whole, model.calibration()).seconds);
    const auto refused = model.stepCost(plan("dp=64 zero=3 shard=7"), 64);
    QVERIFY(!refused && refused.error().where == "shard");
    QVERIFY(!model.stepCost(plan("dp=64 shard=8"), 64).ok());
}

void PlanCostsTest::expertsOverTheTensorGroup()
{
    RunSpec spec = llama();
    spec.model = *loadModel("qwen3-30b-a3b");
    CostModel model = *CostModel::create(spec);
    const auto refused = model.stepCost(plan("tp=4 dp=2 sp=1 ep=8"), 64);
    QVERIFY(!refused && refused.error().where == "ep" && refused.error().hint.find("etp=1") != std::string::npos);
    const StepCost folded = *model.stepCost(plan("tp=4 dp=2 sp=1 ep=8 etp=1"), 64);
    const StepCost cut = *model.stepCost(plan("tp=4 dp=2 sp=1 ep=2"), 64);
    // The same work and the same weights on a rank: a quarter of a fourth of the experts, or whole ones.
    QVERIFY(std::abs(folded.kinds[0].forward.flops / cut.kinds[0].forward.flops - 1) < 1e-9);
    QVERIFY(std::abs(folded.stages[0].parameters / cut.stages[0].parameters - 1) < 1e-9);
    // Every rank sends its own rows, 7/8 instead of 1/2 of them, but brings none together over the tensor group.
    QVERIFY(std::abs(folded.kinds[0].forward.wire.expert / cut.kinds[0].forward.wire.expert - 1.75) < 0.01);
    QVERIFY(folded.kinds[0].forward.wire.tensor < cut.kinds[0].forward.wire.tensor);
    // Eight neighbours are in one node; eight groups of four devices are in four.
    const StepCost wide = *model.stepCost(plan("tp=4 dp=8 sp=1 ep=8"), 64);
    const StepCost near = *model.stepCost(plan("tp=4 dp=8 sp=1 ep=8 etp=1"), 64);
    QVERIFY(near.kinds[0].forward.parts[CostPart::ExpertComm] < wide.kinds[0].forward.parts[CostPart::ExpertComm]);
}

/// A router that picks four of eight groups of experts sends a token to fewer nodes; by trying all choices.
void PlanCostsTest::groupsOfExpertsReachFewerNodes()
{
    RunSpec spec;
    spec.model = *loadModel("deepseek-v3");
    spec.cluster = *loadCluster("dgx-h100");
    spec.training.batch = 32;
    spec.training.sequence = 4096;
    spec.training.precision = Precision::Bf16;
    spec.framework = "megatron-core";
    const CollectiveTimes times(spec.cluster, *loadCalibration("published"));
    const double beside = loadCalibration("published")->besideFraction;
    const auto exchange = [&](int groups, const ParallelPlan& degrees) {
        TransformerSpec& t = std::get<TransformerSpec>(spec.model.architecture);
        t.mixture.groups = groups;
        t.mixture.topGroups = groups > 1 ? 4 : 1;
        t.layers = 1;
        t.mixture.denseLayers = 0;
        CostModel model = *CostModel::create(spec);
        return model.stepCost(degrees, degrees.dp)->kinds[0].forward.parts[CostPart::ExpertComm];
    };
    for (const int nodes : {4, 8}) { // two groups a node, and one
        ParallelPlan degrees = plan("dispatch=once");
        degrees.dp = degrees.ep = 8 * nodes;
        const int here = 8 / nodes; // groups of the first node: the lowest bits
        double missed = 0, choices = 0;
        for (unsigned picked = 0; picked < 256; ++picked) {
            if (std::popcount(picked) != 4) continue;
            choices += 1;
            missed += std::pow(1 - std::popcount(picked & ((1U << here) - 1)) / 4.0, 8);
        }
        const double row = 2.0 * 4096 * 7168;
        const double ofGroups = (nodes - 1) * (1 - missed / choices);
        const double ofAll = (nodes - 1) * (1 - std::pow(1 - 1.0 / nodes, 8));
        QVERIFY(ofGroups < ofAll);
        // Inside a node to each rank once: of all ranks, or two experts in each of four groups over as many ranks.
        const double allRanks = degrees.ep * (1 - std::pow(1 - 1.0 / degrees.ep, 8));
        const double ofGroup = 4.0 * nodes * (1 - std::pow(1 - 1.0 / nodes, 2));
        const auto inside = [&](double visits) { return times.seconds(Collective::AllToAll, row * visits, {8, 8}); };
        const double less = 2 * (times.pointToPoint(row * ofAll, false) - times.pointToPoint(row * ofGroups, false) +
                                 inside(allRanks) - inside(ofGroup));
        const double priced = exchange(1, degrees) - exchange(8, degrees);
        QVERIFY2(std::abs(priced / (less / beside) - 1) < 1e-9, std::to_string(priced / less).c_str());
    }
}

/// Only adapters have gradients and optimizer states, by hand; the weights below are still held and worked through.
void PlanCostsTest::adaptersAreTrainedAlone()
{
    RunSpec spec = llama(); // tp=1: whole layers
    constexpr double kRank = 16;
    CostModel whole = *CostModel::create(spec);
    spec.training.loraRank = static_cast<std::int64_t>(kRank);
    CostModel model = *CostModel::create(spec);
    const TransformerSpec& t = *spec.model.transformer();
    const auto h = static_cast<double>(t.hidden), f = static_cast<double>(t.ffnHidden);
    const double keys = h / static_cast<double>(t.heads) * static_cast<double>(t.kvHeads);
    const double ofLayer = kRank * ((h + h + 2 * keys) + (h + h) + (h + 2 * f) + (f + h));
    const double adapters = static_cast<double>(t.layers) * ofLayer;
    const StepCost cost = *model.stepCost(plan("dp=1"), 1), all = *whole.stepCost(plan("dp=1"), 1);
    const FrameworkPreset& framework = model.framework();
    const auto near = [](double a, double b) { return std::abs(a / b - 1) < 1e-9; };
    QVERIFY(near(cost.stages[0].memory.gradients, framework.gradientBytes * adapters));
    QVERIFY(near(cost.stages[0].memory.optimizer, framework.stateBytes * adapters));
    QVERIFY(near(cost.stages[0].memory.weights - all.stages[0].memory.weights, framework.weightBytes * adapters));
    // Two products a layer and adapter, of so many rows; nothing for the table and the head.
    const auto rows = static_cast<double>(t.sequence);
    QVERIFY(near(cost.kinds[0].backwardWeight.flops, 2 * rows * adapters));
    QVERIFY(near(cost.kinds[0].forward.flops - all.kinds[0].forward.flops, 2 * rows * adapters));
    QVERIFY(near(cost.modelFlopsPerStep, all.modelFlopsPerStep - weightGradientFlops(spec.model, rows)));
    const double time = closedForm(cost, model.calibration()).seconds;
    QVERIFY(time > 0.6 * closedForm(all, model.calibration()).seconds);
    QVERIFY(time < 0.9 * closedForm(all, model.calibration()).seconds);
    spec.model = *loadModel("qwen3-30b-a3b");
    const auto refused = CostModel::create(spec)->stepCost(plan("dp=1"), 1);
    QVERIFY(!refused && refused.error().where == "lora_rank");
}

/// A stage of a plan that recomputes by stage is that stage of a plan that recomputes so everywhere.
void PlanCostsTest::stagesRecomputeByThemselves()
{
    RunSpec spec = llama();
    spec.framework = "fourwalls";
    spec.training.batch = 64;
    CostModel model = *CostModel::create(spec);
    const char* words[] = {"full", "none", "selective", "full"};
    for (const std::string pipeline : {"tp=8 pp=4 microbatches=8", "tp=8 pp=4 vpp=2 microbatches=8",
                                       "tp=8 pp=4 microbatches=8 schedule=zb layers=19,21,21,19"}) {
        const auto mixed = model.stepCost(plan((pipeline + " recompute=full,none,selective,full").c_str()));
        QVERIFY2(mixed.ok(), mixed.ok() ? "" : mixed.error().message().c_str());
        double seconds = 0, quickest = 1e300;
        for (int stage = 0; stage < 4; ++stage) {
            const auto same = model.stepCost(plan((pipeline + " recompute=" + words[stage]).c_str()));
            for (int chunk = 0; chunk < mixed->shape.chunks; ++chunk) {
                const ChunkCost& a = mixed->chunk(mixed->shape.positionOf(stage, chunk));
                const ChunkCost& b = same->chunk(same->shape.positionOf(stage, chunk));
                QCOMPARE(a.layers, b.layers);
                QCOMPARE(a.recompute.seconds(), b.recompute.seconds());
                QCOMPARE(a.forward.seconds(), b.forward.seconds());
                QCOMPARE(a.activationBytes, b.activationBytes);
            }
            const auto at = static_cast<std::size_t>(stage);
            QCOMPARE(mixed->stages[at].memory.total(), same->stages[at].memory.total());
            QCOMPARE(mixed->stages[at].optimizerSeconds, same->stages[at].optimizerSeconds);
            seconds = std::max(seconds, closedForm(*same, model.calibration()).seconds);
            quickest = std::min(quickest, closedForm(*same, model.calibration()).seconds);
        }
        const double between = closedForm(*mixed, model.calibration()).seconds;
        QVERIFY(between < seconds && between > quickest);
    }
}

/// What is priced inside a node and between nodes is what the ranks of the groups say, member by member.
void PlanCostsTest::placesFollowTheOrder()
{
    RunSpec spec = llama();
    spec.framework = "fourwalls";
    spec.training.batch = 64;
    for (const int node : {2, 4, 8}) {
        spec.cluster.devicesPerNode = node;
        CostModel model = *CostModel::create(spec);
        const CollectiveTimes times(spec.cluster, model.calibration());
        for (const std::string degrees : {"dp=4 pp=2", "dp=2 pp=4", "dp=4 cp=2 pp=2", "dp=2 tp=2 pp=8"})
            for (const char* order : {"", " order=tp-cp-ep-pp-dp"}) {
                const ParallelPlan each = plan((degrees + " microbatches=8" + order).c_str());
                const RankLayout layout(each);
                const auto nodeOf = [node](RankId rank) { return rank.value / node; };
                const auto group = layout.groupMembers(GroupKind::DataContext, RankId{0});
                const auto here = std::count_if(group.begin(), group.end(), [&](RankId r) { return nodeOf(r) == 0; });
                QCOMPARE(denseReplicas(each, node).all.perNode, int(here));
                const auto cost = model.stepCost(each);
                QVERIFY2(cost.ok(), cost.ok() ? "" : cost.error().message().c_str());
                for (int stage = 0; stage + 1 < each.pp; ++stage) {
                    bool isNear = true;
                    for (int r = 0; r < layout.worldSize(); ++r)
                        if (layout.coordinates(RankId{r}).stage == stage)
                            isNear = isNear && nodeOf(RankId{r}) == nodeOf(layout.onStage(RankId{r}, stage + 1));
                    const BoundaryCost& boundary = cost->boundaries[static_cast<std::size_t>(stage)];
                    QCOMPARE(boundary.seconds, times.pointToPoint(boundary.bytes, isNear));
                }
            }
    }
}

FOURWALLS_TEST(PlanCostsTest, QCoreApplication)

} // namespace tst_plan_costs

#include "tst_plan_costs.moc"
