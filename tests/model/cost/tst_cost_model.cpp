// SPDX-License-Identifier: Apache-2.0
// Whole steps: the closed form against the simulation, physics that must not turn round, nonsense that must not crash.
#include <QTest>

#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "tests/model/cost/priced_run.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace tst_cost_model {

using namespace fourwalls;
using namespace fourwalls::cost;
using namespace fourwalls::cost::testing;

class CostModelTest : public QObject {
    Q_OBJECT

private slots:
    void closedFormAgreesWithTheSimulation();
    void everyModelIsPriced();
    void moreOfAnythingIsNeverWorse();
    void randomPlansAreFiniteOrRefused();
    void nonsenseNamesTheField();
    void operatorsAddUpToThePass();
    void laterGradientsAreAdded();
    void aBusyNodeIsSlower();
    void theBandWidensForAReason();
};

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

FOURWALLS_TEST(CostModelTest, QCoreApplication)

} // namespace tst_cost_model

#include "tst_cost_model.moc"
