// SPDX-License-Identifier: Apache-2.0
// Whole steps: the closed form against the simulation, physics that must not turn round, nonsense that must not crash.
#include <QTest>

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/replica_groups.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/spec/rank_layout.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>

namespace tst_cost_model {

using namespace fourwalls;
using namespace fourwalls::cost;

class CostModelTest : public QObject {
    Q_OBJECT

private slots:
    void closedFormAgreesWithTheSimulation();
    void everyModelIsPriced();
    void moreOfAnythingIsNeverWorse();
    void randomPlansAreFiniteOrRefused();
    void nonsenseNamesTheField();
    void offloadAndServers();
    void shardingSavesMemory();
    void operatorsAddUpToThePass();
    void laterGradientsAreAdded();
    void aBusyNodeIsSlower();
    void shardingGroupsStayInTheNode();
    void expertsOverTheTensorGroup();
    void groupsOfExpertsReachFewerNodes();
    void adaptersAreTrainedAlone();
    void theBandWidensForAReason();
    void stagesRecomputeByThemselves();
    void placesFollowTheOrder();
};

namespace {

RunSpec llama(const char* cluster = "dgx-h100")
{
    RunSpec spec;
    spec.model = *loadModel("llama3-70b");
    spec.cluster = *loadCluster(cluster);
    spec.framework = "megatron-core";
    spec.training.precision = Precision::Bf16;
    spec.training.batch = 1024;
    return spec;
}

ParallelPlan plan(const char* text)
{
    return *parsePlan(text);
}

Prediction predict(const RunSpec& spec, const ParallelPlan& p)
{
    auto model = *CostModel::create(spec);
    const StepCost cost = *model.stepCost(p);
    return closedForm(cost, model.calibration());
}

} // namespace

void CostModelTest::closedFormAgreesWithTheSimulation()
{
    CostModel model = *CostModel::create(llama());
    for (const char* schedule : {"naive", "gpipe", "1f1b", "interleaved vpp=2", "zb", "zb2p", "zbv"})
        for (const int stages : {1, 2, 4, 8})
            for (const int rounds : {1, 2, 8}) {
                ParallelPlan p = plan((std::string("tp=8 dp=4 sp=1 schedule=") + schedule).c_str());
                p.pp = stages;
                p.microbatches = stages * rounds;
                if (stages == 1 && (p.vpp > 1 || p.schedule != PipelineSchedule::OneFOneB)) continue;
                const auto cost = model.stepCost(p, std::int64_t{4} * p.microbatches);
                QVERIFY2(cost.ok(), cost.ok() ? "" : cost.error().message().c_str());
                const auto simulated = simulateSchedule(*cost);
                QVERIFY(simulated.ok());
                QCOMPARE(model.simulate(*cost)->seconds, simulated->seconds); // with what it kept of other plans
                const Prediction closed = closedForm(*cost, model.calibration());
                const double off = closed.seconds / simulated->seconds - 1;
                // Exact where the schedule has a closed form, within 4 % for the zero-bubble family.
                const bool zeroBubble = std::string(schedule).starts_with("zb");
                QVERIFY2(std::abs(off) < (zeroBubble ? 0.04 : 0.01), schedule);
                QVERIFY(closed.low <= closed.seconds && closed.seconds <= closed.high);
                QVERIFY(std::abs(closed.parts.total() + closed.bubbleSeconds - closed.seconds) < 1e-9);
            }
}

void CostModelTest::everyModelIsPriced()
{
    for (const std::string& name : modelPresetNames()) {
        RunSpec spec;
        spec.model = *loadModel(name);
        spec.cluster = *loadCluster("dgx-a100");
        spec.framework = "megatron-core";
        spec.training.precision = Precision::Bf16;
        spec.training.batch = 8;
        auto model = CostModel::create(spec);
        QVERIFY(model.ok());
        const auto cost = model->stepCost({});
        QVERIFY2(cost.ok(), (name + (cost.ok() ? "" : ": " + cost.error().message())).c_str());
        const Prediction step = closedForm(*cost, model->calibration());
        QVERIFY2(std::isfinite(step.seconds) && step.seconds > 0, name.c_str());
        QVERIFY2(step.mfu > 0 && step.mfu < 1, name.c_str());
        // What the operators need is what the model's formula says.
        double flops = 0;
        for (const ChunkCost& kind : cost->kinds)
            flops += kind.forward.modelFlops + kind.backwardInput.modelFlops + kind.backwardWeight.modelFlops;
        const double formula = trainingFlops(spec.model, 8, model->spec().training.sequence);
        QVERIFY2(std::abs(flops / formula - 1) < 0.06, name.c_str());
    }
}

void CostModelTest::moreOfAnythingIsNeverWorse()
{
    const ParallelPlan p = plan("tp=8 pp=4 dp=8 sp=1 microbatches=16 zero=1");
    const RunSpec base = llama();
    const double seconds = predict(base, p).seconds;
    const auto quicker = [&](auto&& change) {
        RunSpec spec = base;
        change(spec.cluster);
        return predict(spec, p).seconds <= seconds * (1 + 1e-9);
    };
    QVERIFY(quicker([](ClusterSpec& c) { c.device.memoryBytesPerSecond *= 2; }));
    QVERIFY(quicker([](ClusterSpec& c) { c.device.peakFlops[Precision::Bf16] *= 2; }));
    QVERIFY(quicker([](ClusterSpec& c) { c.nicLink.bytesPerSecond *= 2; }));
    QVERIFY(quicker([](ClusterSpec& c) { c.nodeLink.bytesPerSecond *= 2; }));
    QVERIFY(quicker([](ClusterSpec& c) { c.nicLink.latencySeconds = 0; }));
    // More memory never makes a plan infeasible.
    bool fitted = false;
    for (double gigabytes = 1; gigabytes < 1000; gigabytes *= 1.5) {
        RunSpec spec = base;
        spec.cluster.device.memoryBytes = static_cast<std::int64_t>(gigabytes * 1e9);
        const bool fits = predict(spec, p).feasible;
        QVERIFY(fits || !fitted);
        fitted = fits;
    }
    QVERIFY(fitted);
}

void CostModelTest::randomPlansAreFiniteOrRefused()
{
    std::mt19937 random(4);
    const auto pick = [&](std::initializer_list<int> values) { return *(values.begin() + random() % values.size()); };
    int priced = 0;
    for (const char* name : {"gpt3-175b", "mixtral-8x7b", "deepseek-v3", "bert-large", "resnet50", "dlrm-criteo"}) {
        RunSpec spec = llama("dgx-a100");
        spec.model = *loadModel(name);
        CostModel model = *CostModel::create(spec);
        for (int i = 0; i < 300; ++i) {
            ParallelPlan p;
            p.dp = pick({1, 2, 3, 8, 64});
            p.tp = pick({1, 1, 2, 8, 7});
            p.pp = pick({1, 1, 2, 4, 100});
            p.cp = pick({1, 1, 2});
            p.ep = pick({1, 1, 2, 8});
            p.vpp = pick({1, 1, 2});
            p.microbatches = pick({1, 2, 8, 1000});
            p.zero = pick({0, 1, 2, 3});
            p.sequenceParallel = pick({0, 1}) == 1;
            p.recompute = static_cast<Recompute>(pick({0, 1, 2}));
            p.offloadOptimizer = pick({0, 1}) == 1;
            p.offloadActivations = pick({0, 1}) == 1;
            p.offloadParameters = pick({0, 0, 1}) == 1;
            p.schedule = static_cast<PipelineSchedule>(pick({0, 1, 2, 3, 4, 5, 6}));
            p.fusedAttention = pick({0, 1}) == 1;
            p.overlap = pick({0, 1}) == 1;
            const auto cost = model.stepCost(p, pick({1, 64, 1024, 1'000'000}));
            if (!cost) {
                QVERIFY(!cost.error().where.empty() && !cost.error().what.empty());
                continue;
            }
            ++priced;
            const Prediction step = closedForm(*cost, model.calibration());
            QVERIFY(std::isfinite(step.seconds) && step.seconds > 0);
            QVERIFY(std::isfinite(step.peakBytes) && step.peakBytes > 0);
            QVERIFY(step.low <= step.seconds && step.seconds <= step.high);
            QVERIFY(step.feasible || !whyInfeasible(*cost, step).empty());
        }
    }
    QVERIFY(priced > 100);
}

void CostModelTest::nonsenseNamesTheField()
{
    CostModel model = *CostModel::create(llama());
    const auto refused = [&](const char* text, std::int64_t batch, const char* field) {
        const auto cost = model.stepCost(plan(text), batch);
        return !cost.ok() && cost.error().message().find(field) != std::string::npos;
    };
    QVERIFY(refused("tp=7", 8, "tp"));
    QVERIFY(refused("pp=200 microbatches=200", 200, "pp"));
    QVERIFY(refused("dp=3", 8, "batch"));
    QVERIFY(refused("ep=2 dp=2", 8, "ep"));
    QVERIFY(refused("cp=3", 8, "cp"));
    QVERIFY(refused("pp=4 vpp=2 schedule=interleaved microbatches=6", 6, "microbatches"));
    RunSpec lonely = llama();
    lonely.cluster.nicsPerNode = 0;
    CostModel node = *CostModel::create(lonely);
    const auto cost = node.stepCost(plan("dp=16"), 16);
    QVERIFY(!cost.ok());
    QVERIFY(cost.error().message().find("network") != std::string::npos);
    RunSpec endless = llama();
    endless.training.batch = 0;
    CostModel empty = *CostModel::create(endless);
    QVERIFY(!empty.stepCost(plan("")).ok());
}

void CostModelTest::offloadAndServers()
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

void CostModelTest::shardingSavesMemory()
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

void CostModelTest::operatorsAddUpToThePass()
{
    CostModel model = *CostModel::create(llama());
    const ParallelPlan p = plan("tp=8 pp=4 dp=8 sp=1 microbatches=16");
    const StepCost cost = *model.stepCost(p);
    for (int position = 0; position < 4; ++position) {
        const auto list = *model.operators(p, position, PipelinePass::Forward);
        double flops = 0;
        for (const OperatorCost& item : list) flops += item.flops;
        QVERIFY(std::abs(flops / cost.chunk(position).forward.flops - 1) < 1e-9);
        QVERIFY(!list.empty());
    }
    QVERIFY(!model.operators(p, 4, PipelinePass::Forward).ok());
}

// The first micro-batch writes the gradient of a weight, the others add to it, which also reads it.
void CostModelTest::laterGradientsAreAdded()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.cluster = *loadCluster("dgx-a100");
    spec.framework = "fourwalls";
    spec.training.precision = Precision::F32;
    spec.training.batch = 8;
    const auto framework = loadFramework(spec.framework);
    QVERIFY(framework.ok());
    // [s] per FLOP of the products in a pass over the weights' gradients.
    const auto secondsPerFlop = [&](const char* words, bool measuresAdding) {
        Calibration calibration = *loadCalibration("published");
        OperatorRates& rates = calibration.families[spec.cluster.device.family].operators[Precision::F32];
        rates["gemm.weight_gradient"] = {{{64}, {64}, {64}}, {1e12}};
        if (measuresAdding) rates["gemm.weight_gradient.added"] = {{{64}, {64}, {64}}, {5e11}};
        CostModel model = *CostModel::create(spec, *framework, calibration);
        const ParallelPlan p = plan(words);
        const auto operators = model.operators(p, p.pp - 1, PipelinePass::BackwardWeight);
        double seconds = 0, flops = 0;
        for (const OperatorCost& each : *operators)
            if (each.part == CostPart::Gemm) {
                seconds += each.seconds;
                flops += each.flops;
            }
        return seconds / flops;
    };
    const auto agree = [](double a, double b) { return std::abs(a / b - 1) < 1e-9; };
    QVERIFY(agree(secondsPerFlop("pp=2 schedule=zb microbatches=4", true), 0.25 / 1e12 + 0.75 / 5e11));
    QVERIFY(agree(secondsPerFlop("pp=2 schedule=zb microbatches=4", false), 1 / 1e12));
    QVERIFY(agree(secondsPerFlop("microbatches=1", true), 1 / 1e12));
    // Cut gradients leave a rank's buffer after every micro-batch: there is nothing to add to.
    QVERIFY(agree(secondsPerFlop("dp=2 zero=3 microbatches=4", true), 1 / 1e12));
}

// Two ranks that fill their node compute at the pace that was measured with all of it at work; communication stays.
void CostModelTest::aBusyNodeIsSlower()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.cluster = *loadCluster("dgx-a100");
    spec.cluster.devicesPerNode = 2;
    spec.framework = "fourwalls";
    spec.training.batch = 8;
    const auto framework = loadFramework(spec.framework);
    QVERIFY(framework.ok());
    const auto chunk = [&](const char* words, double slowdown) {
        Calibration calibration = *loadCalibration("published");
        calibration.deviceSpread = 0;
        calibration.busySlowdown = slowdown;
        CostModel model = *CostModel::create(spec, *framework, calibration);
        return model.stepCost(plan(words))->chunk(0);
    };
    for (const char* words : {"dp=2", "tp=2"}) {
        const ChunkCost quick = chunk(words, 1), slow = chunk(words, 1.5);
        for (const CostPart part : {CostPart::Gemm, CostPart::Attention, CostPart::MemoryBound}) {
            QVERIFY(quick.forward.parts[part] > 0);
            QCOMPARE(slow.forward.parts[part], 1.5 * quick.forward.parts[part]);
            QCOMPARE(slow.backwardInput.parts[part], 1.5 * quick.backwardInput.parts[part]);
        }
        QCOMPARE(slow.forward.parts[CostPart::TensorComm], quick.forward.parts[CostPart::TensorComm]);
    }
    QCOMPARE(chunk("dp=1", 1.5).forward.seconds(), chunk("dp=1", 1).forward.seconds());
}

void CostModelTest::shardingGroupsStayInTheNode()
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

void CostModelTest::expertsOverTheTensorGroup()
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
void CostModelTest::groupsOfExpertsReachFewerNodes()
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
        const double less = 2 * (times.pointToPoint(row * ofAll, false) - times.pointToPoint(row * ofGroups, false));
        const double priced = exchange(1, degrees) - exchange(8, degrees);
        QVERIFY2(std::abs(priced / (less / beside) - 1) < 1e-9, std::to_string(priced / less).c_str());
    }
}

/// Only adapters have gradients and optimizer states, by hand; the weights below are still held and worked through.
void CostModelTest::adaptersAreTrainedAlone()
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

void CostModelTest::theBandWidensForAReason()
{
    const auto width = [](RunSpec spec, const char* text) {
        CostModel model = *CostModel::create(spec);
        const Prediction step = closedForm(*model.stepCost(plan(text), 1024), model.calibration());
        return std::log(step.high / step.low) / 2;
    };
    const Calibration::Band band = loadCalibration("published")->band;
    QVERIFY(std::abs(width(llama(), "tp=8") - band.dense) < 1e-9);
    RunSpec narrow = llama();
    narrow.training.precision = Precision::Fp8;
    QVERIFY(std::abs(width(narrow, "tp=8") - band.narrow) < 1e-9);
    // Ten doublings of a node, and a device of a family that nobody measured.
    const double scale = 7 * band.perDoubling;
    QVERIFY(std::abs(width(llama(), "tp=8 dp=128") - std::hypot(band.dense, scale)) < 1e-9);
    QVERIFY(std::abs(width(llama("dgx-1-v100"), "tp=8") - std::hypot(band.dense, band.unmeasured)) < 1e-9);
}

/// A stage of a plan that recomputes by stage is that stage of a plan that recomputes so everywhere.
void CostModelTest::stagesRecomputeByThemselves()
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
void CostModelTest::placesFollowTheOrder()
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

FOURWALLS_TEST(CostModelTest, QCoreApplication)

} // namespace tst_cost_model

#include "tst_cost_model.moc"
