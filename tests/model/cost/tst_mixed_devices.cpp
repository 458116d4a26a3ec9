// SPDX-License-Identifier: Apache-2.0
// Clusters whose nodes have devices of several kinds: each stage against the same stage where all devices are of its kind.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"
#include "model/cost/predicted_step.h"
#include "model/cost/step_cost.h"
#include "model/spec/rank_layout.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace tst_mixed_devices {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

RunSpec specOn(const ClusterSpec& cluster, const char* plan)
{
    RunSpec spec;
    spec.model = *loadModel("gpt3-6.7b");
    spec.cluster = cluster;
    spec.plan = *parsePlan(plan);
    spec.framework = "megatron-core";
    spec.training.batch = 64;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    return spec;
}

ClusterSpec clusterOf(const DeviceSpec& device)
{
    ClusterSpec cluster = *loadCluster("dgx-a100");
    cluster.device = device;
    return cluster;
}

/// The first nodes with one kind, those from `from` on with the other.
ClusterSpec mixed(const DeviceSpec& first, const DeviceSpec& others, int from = 1)
{
    ClusterSpec cluster = clusterOf(first);
    cluster.otherNodes.push_back({from, others});
    return cluster;
}

StepCost costOf(const ClusterSpec& cluster, const char* plan)
{
    CostModel model = *CostModel::create(specOn(cluster, plan));
    return *model.stepCost(*parsePlan(plan));
}

/// Of a stage's forward pass; links are the cluster's, measured with its first devices.
double computing(const StepCost& cost, int stage)
{
    const PartSeconds& parts = cost.chunk(stage).forward.parts;
    return parts[CostPart::Gemm] + parts[CostPart::Attention] + parts[CostPart::MemoryBound];
}

bool isNear(double a, double b)
{
    return std::abs(a - b) <= 1e-12 * std::abs(b);
}

} // namespace

class MixedDevicesTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_slow = loadCluster("dgx-a100")->device;
        m_quick = loadCluster("dgx-h100")->device;
    }

    /// Two nodes, a stage on each: what a stage takes is what it takes in a cluster of its devices alone.
    void aStageHasThePaceOfItsNode()
    {
        const char* plan = "dp=8 pp=2 microbatches=8";
        const StepCost both = costOf(mixed(m_slow, m_quick), plan), slow = costOf(clusterOf(m_slow), plan),
                       quick = costOf(clusterOf(m_quick), plan);
        const auto seconds = stageSeconds(both);
        QVERIFY(isNear(seconds[0], stageSeconds(slow)[0]));
        QVERIFY(isNear(seconds[1], stageSeconds(quick)[1]));
        QVERIFY(seconds[1] < 0.7 * seconds[0]);
        QVERIFY(isNear(both.stages[0].optimizerSeconds, slow.stages[0].optimizerSeconds));
        QVERIFY(isNear(both.stages[1].optimizerSeconds, quick.stages[1].optimizerSeconds));
        QVERIFY(isNear(both.peakFlops, (slow.peakFlops + quick.peakFlops) / 2));
    }

    /// Replicas of a stage on nodes of both kinds wait for the slower ones; so do stages that lie across both.
    void aStageOnBothWaitsForTheSlower()
    {
        for (const char* plan : {"dp=16 microbatches=4", "dp=8 pp=2 microbatches=8 order=tp-cp-ep-pp-dp"}) {
            const StepCost slow = costOf(clusterOf(m_slow), plan);
            for (const ClusterSpec& cluster : {mixed(m_slow, m_quick), mixed(m_quick, m_slow)}) {
                const StepCost both = costOf(cluster, plan);
                for (std::size_t i = 0; i < both.stages.size(); ++i)
                    QVERIFY(isNear(stageSeconds(both)[i], stageSeconds(slow)[i]));
            }
        }
        // Nodes that the plan does not reach play no part.
        const char* small = "tp=8 microbatches=64";
        QVERIFY(isNear(stageSeconds(costOf(mixed(m_quick, m_slow), small))[0],
                       stageSeconds(costOf(clusterOf(m_quick), small))[0]));
    }

    /// Against ranks looked at one by one, in both orders.
    void whichStagesHaveWhichDevices()
    {
        for (const char* text : {"dp=4 tp=2 pp=4 microbatches=4", "dp=4 tp=2 pp=4 microbatches=4 order=tp-cp-ep-pp-dp"})
            for (const int from : {1, 2, 3}) {
                const ClusterSpec cluster = mixed(m_quick, m_slow, from);
                const ParallelPlan plan = *parsePlan(text);
                const StepCost cost = costOf(cluster, text), slow = costOf(clusterOf(m_slow), text),
                               quick = costOf(clusterOf(m_quick), text);
                const RankLayout layout(plan);
                for (int stage = 0; stage < plan.pp; ++stage) {
                    bool hasSlow = false;
                    for (int rank = 0; rank < plan.worldSize(); ++rank)
                        hasSlow = hasSlow || (layout.coordinates(RankId{rank}).stage == stage &&
                                              cluster.deviceOfRank(rank).name == m_slow.name);
                    const double is = computing(cost, stage), expected = computing(hasSlow ? slow : quick, stage);
                    QVERIFY2(isNear(is, expected),
                             qPrintable(QStringLiteral("%1, from node %2, stage %3: %4 s, expected %5 s")
                                            .arg(text)
                                            .arg(from)
                                            .arg(stage)
                                            .arg(is)
                                            .arg(expected)));
                }
            }
    }

    /// A device that takes 1.5 times as long computes 1.5 times as long, and sends as quickly as before.
    void slowerOfTheSame()
    {
        DeviceSpec capped = m_quick;
        capped.slowdown = 1.5;
        const char* plan = "tp=8 pp=2 microbatches=8 sp=1";
        const StepCost both = costOf(mixed(m_quick, capped), plan), alone = costOf(clusterOf(m_quick), plan);
        const PartSeconds &parts = both.chunk(1).forward.parts, &usual = alone.chunk(1).forward.parts;
        for (const CostPart part : {CostPart::Gemm, CostPart::Attention, CostPart::MemoryBound})
            QVERIFY(isNear(parts[part], 1.5 * usual[part]));
        QVERIFY(usual[CostPart::TensorComm] > 0);
        QVERIFY(isNear(parts[CostPart::TensorComm], usual[CostPart::TensorComm]));
        QVERIFY(isNear(both.chunk(0).forward.seconds(), alone.chunk(0).forward.seconds()));
    }

    /// Every stage has to fit into its own devices, and what does not is named with their size.
    void everyStageFitsItsOwnDevice()
    {
        DeviceSpec small = m_slow;
        small.memoryBytes = 24'000'000'000;
        const RunSpec spec = specOn(mixed(m_slow, small), "tp=8 pp=2 microbatches=64 layers=8,24");
        const RunSpec turned = specOn(mixed(m_slow, small), "tp=8 pp=2 microbatches=64 layers=24,8");
        const auto tight = predictStep(spec), fits = predictStep(turned);
        QVERIFY(tight.ok() && fits.ok());
        QVERIFY(fits->feasible);
        if (tight->peakBytes > 24e9) {
            QVERIFY(!tight->feasible);
            QCOMPARE(tight->fullestStage, 1);
            QCOMPARE(tight->usableMemoryBytes, 24e9);
            QVERIFY2(tight->why.find("stage 1") != std::string::npos, tight->why.c_str());
        }
        // The stage that fills its device most is named, not the one with most bytes.
        QCOMPARE(tight->fullestStage, 1);
    }

    /// A device whose memory nobody knows takes everything, and hides no other that is too small.
    void unknownMemoryHidesNothing()
    {
        DeviceSpec small = m_slow, unknown = m_slow;
        small.memoryBytes = 4'000'000'000;
        unknown.memoryBytes = 0;
        const auto tight = predictStep(specOn(mixed(small, unknown), "tp=8 pp=2 microbatches=64"));
        QVERIFY(tight.ok() && tight->peakBytes > 4e9);
        QVERIFY(!tight->feasible);
        QCOMPARE(tight->fullestStage, 0);
        QVERIFY(predictStep(specOn(clusterOf(unknown), "tp=8 pp=2 microbatches=64"))->feasible);
    }

    /// Stages with equal work on devices of one pace have their own smallest device all the same.
    void stagesOfOnePaceHaveTheirOwnMemory()
    {
        DeviceSpec smaller = m_quick; // quicker, so it is no stage's pace
        smaller.memoryBytes = 48'000'000'000;
        const ClusterSpec cluster = mixed(m_slow, smaller, 5);
        // Of the stages between the ends the first lies on slow nodes, the second on one of each kind.
        const StepCost cost = costOf(cluster, "dp=16 pp=4 microbatches=4");
        QCOMPARE(cost.stages[1].usableMemoryBytes, static_cast<double>(m_slow.memoryBytes));
        QCOMPARE(cost.stages[2].usableMemoryBytes, 48e9);
        QCOMPARE(cluster.smallestMemoryBytes(40), m_slow.memoryBytes);
        QCOMPARE(cluster.smallestMemoryBytes(41), std::int64_t{48'000'000'000});
    }

    /// What one more layer takes has no part in it that a stage has once.
    void aLayersSecondsAreThoseOfOneMore()
    {
        const char* plans[] = {"tp=8 pp=2 microbatches=8 layers=16,16", "tp=8 pp=2 microbatches=8 layers=15,17"};
        for (const char* framework : {"megatron-core", "deepspeed-megatron"}) {
            RunSpec spec = specOn(mixed(m_slow, m_quick), plans[0]);
            spec.framework = framework;
            if (std::string(framework) == "deepspeed-megatron") spec.training.precision = Precision::F16;
            CostModel model = *CostModel::create(spec);
            const StepCost even = *model.stepCost(*parsePlan(plans[0])), uneven = *model.stepCost(*parsePlan(plans[1]));
            const auto passes = [](const StepCost& cost, int stage) {
                const ChunkCost& chunk = cost.chunk(stage);
                return chunk.forward.seconds() + chunk.recompute.seconds() + chunk.backwardSeconds();
            };
            QVERIFY(even.stages[1].layerSeconds > 0);
            QVERIFY(std::abs(passes(uneven, 1) - passes(even, 1) - even.stages[1].layerSeconds) <
                    1e-9 * even.stages[1].layerSeconds);
        }
    }

    /// Slow nodes get fewer layers, about as many fewer as they are slower.
    void theSearchGivesSlowNodesFewerLayers()
    {
        RunSpec spec = specOn(mixed(m_slow, m_quick), "tp=8 pp=2");
        SearchOptions options;
        options.devices = 16;
        options.limit = 1;
        options.threads = 1;
        options.fixed = FixedParts::of("tp=8 pp=2 microbatches=16", *parsePlan("tp=8 pp=2 microbatches=16"));
        const auto found = searchPlans(spec, *loadFramework(spec.framework), *loadCalibration("published"), options);
        QVERIFY(found.ok() && !found->best.empty());
        const std::vector<int>& layers = found->best.front().plan.stageLayers;
        QCOMPARE(layers.size(), std::size_t{2});
        QCOMPARE(std::accumulate(layers.begin(), layers.end(), 0), 32);
        QVERIFY2(layers[0] < layers[1] - 4, std::to_string(layers[0]).c_str());
    }

    void descriptionsRoundTrip()
    {
        DeviceSpec capped = m_quick;
        capped.slowdown = 1.25;
        const ClusterSpec cluster = mixed(m_slow, capped, 3);
        const auto read = clusterSpecFromJson(toJson(cluster), "test");
        QVERIFY(read.ok());
        QCOMPARE(toJson(*read), toJson(cluster));
        QCOMPARE(read->otherNodes[0].fromNode, 3);
        QCOMPARE(read->otherNodes[0].device.slowdown, 1.25);
        QCOMPARE(read->deviceOfRank(23).name, m_slow.name);
        QCOMPARE(read->deviceOfRank(24).name, m_quick.name);
        const auto named = clusterSpecFromJson(
            R"({"device": "a100-sxm-80gb", "other_nodes": [{"from_node": 1, "device": "h100-sxm-80gb"}]})", "test");
        QVERIFY(named.ok());
        QCOMPARE(named->otherNodes[0].device.name, m_quick.name);
    }

    void wrongDescriptions_data()
    {
        QTest::addColumn<QString>("others");
        QTest::addColumn<QString>("word");
        QTest::newRow("no list") << "7"
                                 << "other_nodes";
        QTest::newRow("empty") << "[]"
                               << "other_nodes";
        QTest::newRow("no number") << R"([{"device": "h100-sxm-80gb"}])"
                                   << "from_node";
        QTest::newRow("no device") << R"([{"from_node": 1}])"
                                   << "device";
        QTest::newRow("unknown device") << R"([{"from_node": 1, "device": "h9000"}])"
                                        << "h9000";
        QTest::newRow("descending")
            << R"([{"from_node": 2, "device": "h100-sxm-80gb"}, {"from_node": 1, "device": "a100-sxm-80gb"}])"
            << "other_nodes";
        QTest::newRow("faster than said")
            << R"([{"from_node": 1, "device": {"name": "x", "memory_bytes": 1, "slowdown": 0.5}}])"
            << "slowdown";
    }
    void wrongDescriptions()
    {
        QFETCH(QString, others);
        QFETCH(QString, word);
        const QString text = R"({"device": "a100-sxm-80gb", "other_nodes": )" + others + "}";
        const auto read = clusterSpecFromJson(text.toStdString(), "mixed.json");
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().message()).contains(word), read.error().message().c_str());
    }

private:
    DeviceSpec m_slow, m_quick;
};

FOURWALLS_TEST(MixedDevicesTest, QCoreApplication)

} // namespace tst_mixed_devices

#include "tst_mixed_devices.moc"
