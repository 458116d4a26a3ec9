// SPDX-License-Identifier: Apache-2.0
// What a framework of a year cannot do is not searched, and refused where it is named; what it waits for is not hidden.
#include <QtTest>

#include "model/cost/collective_time.h"
#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"
#include "model/cost/step_cost.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tst_framework_limits {

using namespace fourwalls;
using namespace fourwalls::cost;

class FrameworkLimitsTest : public QObject {
    Q_OBJECT

private slots:
    void nothingThatCameLater_data();
    void nothingThatCameLater();
    void whatIsNamedIsRefused_data();
    void whatIsNamedIsRefused();
    void blockingGathersAreSeen();
    void gatheredContext();
};

void FrameworkLimitsTest::nothingThatCameLater_data()
{
    QTest::addColumn<QString>("framework");
    QTest::addColumn<int>("tp"); // the largest degrees that the search offers of four devices
    QTest::addColumn<int>("pp");
    QTest::addColumn<int>("cp");
    QTest::addColumn<int>("cpInPipeline");
    QTest::addColumn<int>("ep");
    QTest::addColumn<bool>("sp");
    QTest::addColumn<bool>("selective");
    // Sequence parallelism and selective recomputation are arXiv:2205.05198's, of May 2022; context parallelism is of
    // Megatron-Core 0.5. DeepSpeed-Ulysses (arXiv:2309.14509) stands beside ZeRO, not in a pipeline. MPT was trained
    // with FSDP alone.
    QTest::newRow("2021") << "megatron-2021" << 4 << 4 << 1 << 1 << 1 << false << false;
    QTest::newRow("2022") << "megatron-2022" << 4 << 4 << 1 << 1 << 1 << true << true;
    QTest::newRow("2023") << "megatron-2023" << 4 << 4 << 1 << 1 << 4 << true << false; // fused attention
    QTest::newRow("core") << "megatron-core" << 4 << 4 << 4 << 2 << 4 << true << false;
    QTest::newRow("bloom") << "deepspeed-megatron" << 4 << 4 << 1 << 1 << 1 << false << false;
    QTest::newRow("deepspeed") << "deepspeed" << 4 << 4 << 4 << 1 << 4 << false << false;
    QTest::newRow("deepspeed of 2021") << "deepspeed-2021" << 4 << 4 << 1 << 1 << 1 << false << false;
    QTest::newRow("mpt") << "llm-foundry" << 1 << 1 << 1 << 1 << 1 << false << false;
}

void FrameworkLimitsTest::nothingThatCameLater()
{
    QFETCH(QString, framework);
    RunSpec spec;
    spec.model = *loadModel("mixtral-8x7b");
    spec.cluster = *loadCluster("dgx-h100");
    auto& network = std::get<TransformerSpec>(spec.model.architecture);
    network.layers = 4; // any plan of it fits
    network.sequence = spec.training.sequence = 4096;
    spec.training.batch = 8;
    spec.training.precision = Precision::Bf16;
    spec.framework = framework.toStdString();
    const FrameworkPreset preset = *loadFramework(spec.framework);
    SearchOptions options;
    options.devices = 4;
    options.keepAll = true;
    const auto found = searchPlans(spec, preset, *loadCalibration("published"), options);
    QVERIFY(found.ok() && !found->all.empty());
    ParallelPlan most;
    int cpInPipeline = 1;
    bool selective = false;
    for (const SearchedPlan& each : found->all) {
        const Status can = canRun(preset, each.plan);
        QVERIFY2(can.ok(), can.ok() ? "" : (formatPlan(each.plan) + ": " + can.error().what).c_str());
        for (const auto degree : {&ParallelPlan::tp, &ParallelPlan::pp, &ParallelPlan::cp, &ParallelPlan::ep})
            most.*degree = std::max(most.*degree, each.plan.*degree);
        if (each.plan.pp > 1) cpInPipeline = std::max(cpInPipeline, each.plan.cp);
        most.sequenceParallel = most.sequenceParallel || each.plan.sequenceParallel;
        selective = selective || each.plan.recompute == Recompute::Selective;
    }
    QTEST(most.tp, "tp");
    QTEST(most.pp, "pp");
    QTEST(most.cp, "cp");
    QTEST(cpInPipeline, "cpInPipeline");
    QTEST(most.ep, "ep");
    QTEST(most.sequenceParallel, "sp");
    QTEST(selective, "selective");
}

void FrameworkLimitsTest::whatIsNamedIsRefused_data()
{
    QTest::addColumn<QString>("framework");
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("says"); // empty: nothing
    QTest::newRow("context") << "megatron-2021"
                             << "cp=2"
                             << "megatron-2021 has no cp=2";
    QTest::newRow("sequence") << "megatron-2021"
                              << "tp=2 sp=1"
                              << "megatron-2021 has no sp=1";
    QTest::newRow("selective") << "megatron-2021"
                               << "recompute=selective"
                               << "megatron-2021 has no recompute=selective";
    QTest::newRow("later") << "megatron-2022"
                           << "tp=2 sp=1 recompute=selective"
                           << "";
    QTest::newRow("zero") << "megatron-core"
                          << "zero=3"
                          << "megatron-core has no zero=3";
    QTest::newRow("pipeline") << "deepspeed"
                              << "pp=2 zero=3"
                              << "deepspeed has no zero=3 in a pipeline";
    QTest::newRow("gathered keys") << "megatron-core"
                                   << "cp=2 context=gather"
                                   << "";
    QTest::newRow("ring only") << "fourwalls"
                               << "cp=2 context=gather"
                               << "fourwalls has no context=gather";
    QTest::newRow("gather only") << "llama3-2024"
                                 << "cp=2 context=ring"
                                 << "llama3-2024 has no context=ring";
    QTest::newRow("dispatch") << "torchtitan"
                              << "ep=2 dispatch=once"
                              << "torchtitan has no dispatch=once";
    QTest::newRow("overlap of experts") << "torchtitan"
                                        << "ep=2 epoverlap=1"
                                        << "torchtitan has no epoverlap=1";
    QTest::newRow("ulysses") << "deepspeed"
                             << "pp=2 cp=2"
                             << "deepspeed has no cp=2 in a pipeline";
    QTest::newRow("schedule") << "megatron-2021"
                              << "schedule=zbv"
                              << "megatron-2021 has no schedule zbv";
    QTest::newRow("fsdp alone") << "llm-foundry"
                                << "tp=2"
                                << "llm-foundry has no tp=2";
    QTest::newRow("one switch") << "megatron-core"
                                << "pp=2 recompute=full,none"
                                << "megatron-core has no recomputation by stage";
    QTest::newRow("no switch") << "deepspeed"
                               << "pp=2 recompute=full,none"
                               << "deepspeed has no recomputation by stage";
    QTest::newRow("stages first") << "megatron-core"
                                  << "dp=2 pp=2 order=tp-cp-ep-pp-dp"
                                  << "";
    QTest::newRow("stages first with contexts") << "megatron-core"
                                                << "dp=2 pp=2 cp=2 order=tp-cp-ep-pp-dp"
                                                << "megatron-core has no cp=2 with order=tp-cp-ep-pp-dp";
    QTest::newRow("one order") << "megatron-2021"
                               << "dp=2 pp=2 order=tp-cp-ep-pp-dp"
                               << "megatron-2021 has no order=tp-cp-ep-pp-dp";
    QTest::newRow("not named") << "llm-foundry"
                               << "microbatches=4"
                               << "";
}

void FrameworkLimitsTest::whatIsNamedIsRefused()
{
    QFETCH(QString, framework);
    QFETCH(QString, plan);
    QFETCH(QString, says);
    // Of a plan that a trace had, and of which nothing is named, nothing is refused.
    ParallelPlan traced = *parsePlan("tp=8 pp=2 cp=2 zero=3 microbatches=8 sp=1");
    QVERIFY(FixedParts::of("", traced).named() == ParallelPlan());
    const std::string text = plan.toStdString();
    const Status can = canRun(*loadFramework(framework.toStdString()), FixedParts::of(text, *parsePlan(text)).named());
    QCOMPARE(can.ok() ? QString() : QString::fromStdString(can.error().what), says);
}

/// ZeRO-3 of spring 2021, by hand: four gathers of a layer before its forward pass; its backward pass gathers again, with
/// two thirds of it once more after recomputation, and scatters twelve tensors. Each call copies a piece for each member.
void FrameworkLimitsTest::blockingGathersAreSeen()
{
    RunSpec spec;
    spec.model = *loadModel("gpt3-175b");
    spec.cluster = *loadCluster("dgx-a100");
    spec.framework = "deepspeed-2021";
    spec.training.batch = 384;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::F16;
    spec.plan = *parsePlan("dp=384 zero=3 recompute=full");
    const FrameworkPreset framework = *loadFramework(spec.framework);
    const Calibration calibration = *loadCalibration("published");
    // A layer more: what the step has on top is one layer's.
    RunSpec longer = spec;
    std::get<TransformerSpec>(longer.model.architecture).layers += 1;
    const auto cost = [&](const RunSpec& of) {
        return *CostModel::create(of, framework, calibration)->stepCost(of.plan, of.training.batch);
    };
    const StepCost some = cost(spec), more = cost(longer);
    const auto added = [&](PassCost ChunkCost::*pass) {
        return (more.kinds.front().*pass).parts[CostPart::ParameterComm] -
               (some.kinds.front().*pass).parts[CostPart::ParameterComm];
    };
    const double hidden = 12'288, weights = 12 * hidden * hidden + 13 * hidden; // four matrices, biases, two norms
    const CollectiveTimes times(spec.cluster, calibration);
    const GroupPlacement group{384, 8};
    const double copy = std::max(calibration.kernelSeconds, framework.launchSeconds);
    const double gather = 4 * (times.seconds(Collective::AllGather, 2 * weights / 4, group) + 384 * copy);
    const double scatter = 12 * (times.seconds(Collective::ReduceScatter, 2 * weights / 12, group) + 384 * copy);
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6 * b; };
    QVERIFY2(near(added(&ChunkCost::forward), gather), std::to_string(added(&ChunkCost::forward) / gather).c_str());
    const double backward = (1 + framework.recomputeGathers) * gather + scatter;
    QVERIFY2(near(added(&ChunkCost::backwardInput), backward),
             std::to_string(added(&ChunkCost::backwardInput) / backward).c_str());
    QCOMPARE(more.kinds.front().forward.hidden[CostPart::ParameterComm], 0.0);
    // Today's hides most of it.
    const FrameworkPreset later = *loadFramework("deepspeed");
    const StepCost now = *CostModel::create(spec, later, calibration)->stepCost(spec.plan, spec.training.batch);
    QVERIFY(now.kinds.front().forward.hidden[CostPart::ParameterComm] > 0);
}

/// Keys and values of all sixteen context ranks before attention, by hand: gathered in either pass, their gradients
/// scattered; attention then sees whole sequences, of which its kernel is quicker than of stretches.
void FrameworkLimitsTest::gatheredContext()
{
    RunSpec spec;
    spec.model = *loadModel("llama3-405b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.training.batch = 1;
    spec.training.sequence = 131'072;
    spec.training.precision = Precision::Bf16;
    spec.plan = *parsePlan("tp=8 cp=16 recompute=full");
    const Calibration calibration = *loadCalibration("published");
    const auto chunk = [&](const char* framework) {
        spec.framework = framework;
        const FrameworkPreset preset = *loadFramework(framework);
        return CostModel::create(spec, preset, calibration)->stepCost(spec.plan, spec.training.batch)->kinds.front();
    };
    const ChunkCost gathered = chunk("llama3-2024"), ring = chunk("megatron-core");
    // 8 heads of keys and of values, 128 wide, cut over tp; 2 bytes.
    const double all = 131'072 * 2.0 * (8 * 128 / 8) * 2, layers = 126;
    const CollectiveTimes times(spec.cluster, calibration);
    const GroupPlacement group{16, 1};
    const double gather = times.seconds(Collective::AllGather, all, group);
    const double scatter = times.seconds(Collective::ReduceScatter, all, group);
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6 * b; };
    const auto comm = [](const PassCost& pass) { return pass.parts[CostPart::ContextComm]; };
    QVERIFY2(near(comm(gathered.forward), layers * gather), std::to_string(comm(gathered.forward)).c_str());
    QVERIFY2(near(comm(gathered.backwardInput), layers * (gather + scatter)),
             std::to_string(comm(gathered.backwardInput)).c_str());
    QCOMPARE(gathered.forward.hidden[CostPart::ContextComm], 0.0);
    QVERIFY(ring.forward.hidden[CostPart::ContextComm] > 0);
    const auto attention = [](const ChunkCost& of) {
        return of.forward.parts[CostPart::Attention] + of.backwardInput.parts[CostPart::Attention];
    };
    QVERIFY(attention(gathered) < attention(ring));
}

FOURWALLS_TEST(FrameworkLimitsTest, QCoreApplication)

} // namespace tst_framework_limits

#include "tst_framework_limits.moc"
