// SPDX-License-Identifier: Apache-2.0
// The energy of a step against sums done by hand.
#include <QTest>

#include "model/cost/predicted_step.h"
#include "model/cost/step_energy.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_step_energy {

using namespace fourwalls;
using namespace fourwalls::cost;

class StepEnergyTest : public QObject {
    Q_OBJECT

private slots:
    void byHand();
    void ofAPrediction();
    void everyDeviceTellsItsPower();
};

/// Two stages of four ranks each, three micro-batches.
void StepEnergyTest::byHand()
{
    StepCost cost;
    cost.shape.stages = 2;
    cost.shape.microbatches = 3;
    cost.devices = 8;
    cost.deviceWatts = 400;
    cost.kinds.resize(2);
    cost.kindOfPosition.push_back(0);
    cost.kindOfPosition.push_back(1);
    cost.stages.resize(2);
    cost.kinds[0].forward.parts[CostPart::Gemm] = 1;
    cost.kinds[0].forward.parts[CostPart::TensorComm] = 5; // waits
    cost.kinds[0].backwardInput.parts[CostPart::Attention] = 0.5;
    cost.kinds[1].recompute.parts[CostPart::MemoryBound] = 0.25;
    cost.kinds[1].backwardWeight.parts[CostPart::Contention] = 0.75;
    cost.kinds[1].backwardWeight.parts[CostPart::Host] = 2; // waits, too
    cost.stages[0].optimizerSeconds = 0.5;
    cost.stages[1].optimizerSeconds = 1;
    const ComputingSeconds computing = computingSeconds(cost);
    QCOMPARE(computing.passes, 3 * (1 + 0.5) + 3 * (0.25 + 0.75));
    QCOMPARE(computing.optimizer, 1.5);
    // A rank of the first stage computes 5 of 30 s, one of the second 4 s; half of the power in the rest.
    QCOMPARE(kWaitingPower, 0.5);
    QCOMPARE(energyOf(cost, 30), 4 * 400.0 * (5 + 25 * 0.5) + 4 * 400.0 * (4 + 26 * 0.5));
    cost.deviceWatts = 0;
    QCOMPARE(energyOf(cost, 30), 0.0);
}

/// Between devices that only wait and devices that never do; twice the devices at the same work take more.
void StepEnergyTest::ofAPrediction()
{
    RunSpec spec;
    spec.model = *loadModel("llama2-7b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.framework = "megatron-core";
    spec.training.precision = Precision::Bf16;
    spec.training.batch = 64;
    double before = 0;
    for (const char* plan :
         {"tp=4 dp=2 sp=1 microbatches=8 recompute=full", "tp=4 dp=4 sp=1 microbatches=8 recompute=full",
          "tp=4 pp=4 sp=1 microbatches=8 recompute=full"}) {
        spec.plan = *parsePlan(plan);
        const auto step = predictStep(spec);
        QVERIFY2(step.ok(), step.ok() ? "" : step.error().message().c_str());
        const double most = 700.0 * spec.plan.worldSize() * step->seconds;
        QVERIFY(step->joules > kWaitingPower * most && step->joules < most);
        if (spec.plan.pp == 1) {
            QVERIFY(step->joules > before);
            before = step->joules;
        }
    }
    spec.cluster.device.powerWatts = 0;
    QCOMPARE(predictStep(spec)->joules, 0.0);
}

void StepEnergyTest::everyDeviceTellsItsPower()
{
    for (const std::string& name : clusterPresetNames()) {
        const DeviceSpec device = loadCluster(name)->device;
        const bool isMeasured = name == "this-machine"; // by calibrate, which cannot measure that
        QVERIFY2((device.powerWatts > 0) != isMeasured, name.c_str());
    }
}

FOURWALLS_TEST(StepEnergyTest, QCoreApplication)

} // namespace tst_step_energy

#include "tst_step_energy.moc"
