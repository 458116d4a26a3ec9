// SPDX-License-Identifier: Apache-2.0
// Which plans the search prices: all that differ, none twice, with what is fixed kept, and only those that the framework has
// and that can be started.
#include <QtTest>

#include "model/cost/cost_model.h"
#include "model/cost/plan_space.h"
#include "model/cost/predicted_step.h"
#include "model/spec/launch_arguments.h"
#include "model/spec/pipeline_schedule.h"
#include "tests/model/cost/searched_run.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tst_plan_space {

using namespace fourwalls;
using namespace fourwalls::cost;
using namespace fourwalls::cost::testing;

class PlanSpaceTest : public QObject {
    Q_OBJECT

private slots:
    void divisors();
    void leavesOutWhatChangesNothing_data();
    void leavesOutWhatChangesNothing();
    void fewMicrobatchesHaveFewSchedules();
    void keepsWhatIsFixed();
    void onlyWhatTheFrameworkHas();
    void everyPlanCanBeStarted_data();
    void everyPlanCanBeStarted();
};

void PlanSpaceTest::divisors()
{
    QCOMPARE(divisorsOf(12), (std::vector{1, 2, 3, 4, 6, 12}));
    QCOMPARE(divisorsOf(1), (std::vector{1}));
    QCOMPARE(divisorsOf(49), (std::vector{1, 7, 49}));
}

void PlanSpaceTest::leavesOutWhatChangesNothing_data()
{
    QTest::addColumn<QString>("framework");
    QTest::addColumn<bool>("fused");
    QTest::addColumn<bool>("selective"); // is something of its own
    QTest::addColumn<bool>("zero1");
    QTest::newRow("sharded optimizer") << "megatron-core" << true << false << false;
    QTest::newRow("scores in memory") << "megatron-core" << false << true << false;
    QTest::newRow("whole optimizer") << "megatron-2023" << true << false << true;
    QTest::newRow("runs fused attention again") << "fourwalls" << true << true << true;
    QTest::newRow("recomputes products") << "torchtitan" << true << true << true;
}

// Of plans that are the same computation the search has one: what it leaves out predicts what it keeps, to the byte.
void PlanSpaceTest::leavesOutWhatChangesNothing()
{
    QFETCH(QString, framework);
    QFETCH(bool, fused);
    QFETCH(bool, selective);
    QFETCH(bool, zero1);
    RunSpec spec = specOf("llama2-7b", "dgx-h100", 16);
    spec.framework = framework.toStdString();
    spec.plan.fusedAttention = fused;
    SearchOptions options;
    options.devices = 8;
    options.keepAll = true;
    const auto found = search(spec, options);
    QVERIFY(found.ok());
    int selectives = 0, ones = 0;
    for (const SearchedPlan& plan : found->all) {
        selectives += plan.plan.recompute == Recompute::Selective;
        ones += plan.plan.zero == 1;
    }
    QCOMPARE(selectives > 0, selective);
    const FrameworkPreset preset = *loadFramework(spec.framework);
    const bool starts = !preset.launch || canLaunch(*preset.launch, spec, *parsePlan("dp=8 zero=1"), preset).ok();
    QCOMPARE(ones > 0, zero1 && starts);
    auto model = CostModel::create(spec);
    QVERIFY(model.ok());
    const auto same = [&](const char* simple, const char* other) {
        spec.plan = *parsePlan(simple);
        spec.plan.fusedAttention = fused;
        const auto a = predictStep(*model, spec);
        spec.plan = *parsePlan(other);
        spec.plan.fusedAttention = fused;
        const auto b = predictStep(*model, spec);
        return a->seconds == b->seconds && a->peakBytes == b->peakBytes;
    };
    QCOMPARE(!same("dp=4 tp=2 microbatches=2", "dp=4 tp=2 microbatches=2 recompute=selective"), selective);
    QCOMPARE(!same("dp=4 pp=2 microbatches=4", "dp=4 pp=2 microbatches=4 zero=1"), zero1);
}

void PlanSpaceTest::fewMicrobatchesHaveFewSchedules()
{
    const auto actions = [](PipelineSchedule schedule, int stages, int microbatches) {
        PipelineShape shape;
        shape.schedule = schedule;
        shape.stages = stages;
        shape.microbatches = microbatches;
        return *pipelineActions(shape);
    };
    using enum PipelineSchedule;
    for (int stages = 2; stages <= 16; ++stages)
        for (int m = 1; m <= 4; ++m) {
            QCOMPARE(actions(GPipe, stages, m) == actions(OneFOneB, stages, m), m == 1);
            QCOMPARE(actions(ZeroBubble2p, stages, m) == actions(ZeroBubbleH1, stages, m), m <= 2);
        }
    RunSpec spec = specOf("gpt2-124m", "dgx-a100", 8);
    spec.framework = "fourwalls"; // it has all of them
    SearchOptions options;
    options.devices = 8;
    options.keepAll = true;
    const auto found = search(spec, options);
    QVERIFY(found.ok());
    std::set<PipelineSchedule> ofOne, ofTwo, ofFour;
    for (const SearchedPlan& each : found->all)
        if (const ParallelPlan& plan = each.plan; plan.pp > 1 && plan.vpp == 1)
            (plan.microbatches == 1 ? ofOne : plan.microbatches == 2 ? ofTwo : ofFour).insert(plan.schedule);
    QVERIFY(ofOne == (std::set{OneFOneB, ZeroBubbleH1}));
    QVERIFY(ofTwo == (std::set{OneFOneB, GPipe, ZeroBubbleH1}));
    QVERIFY(ofFour == (std::set{OneFOneB, GPipe, ZeroBubbleH1, ZeroBubble2p}));
}

void PlanSpaceTest::keepsWhatIsFixed()
{
    RunSpec spec = specOf("llama2-7b", "dgx-a100", 64);
    const char* text = "tp=2 pp=4 schedule=1f1b recompute=full overlap=0";
    spec.plan = *parsePlan(text);
    SearchOptions options;
    options.devices = 16;
    options.keepAll = true;
    options.fixed = FixedParts::of(text, spec.plan);
    const auto found = search(spec, options);
    QVERIFY(found.ok() && !found->all.empty());
    for (const SearchedPlan& each : found->all) {
        QVERIFY(each.plan.tp == 2 && each.plan.pp == 4 && each.plan.schedule == PipelineSchedule::OneFOneB);
        QVERIFY(each.plan.recompute == Recompute::Full && !each.plan.overlap && each.plan.dp * each.plan.cp == 2);
    }
    QVERIFY(!FixedParts::of("dp=2", {}).tp && FixedParts::of(" sp=0  zero=1 ", {}).sequenceParallel);
    // What the plan of a trace says beside that is not kept.
    spec.plan = *parsePlan("dp=8 zero=3 shard=8 offload=optimizer");
    options.fixed = {};
    spec.framework = "fsdp";
    const auto free = search(spec, options);
    QVERIFY(free.ok() && !free->all.empty());
    const auto any = [&](auto&& has) { return std::any_of(free->all.begin(), free->all.end(), has); };
    QVERIFY(any([](const SearchedPlan& each) { return each.plan.zero == 3 && each.plan.shard == 0; }));
    QVERIFY(!any([](const SearchedPlan& each) { return each.plan.offloadOptimizer; }));
}

void PlanSpaceTest::onlyWhatTheFrameworkHas()
{
    RunSpec spec = specOf("llama2-7b", "dgx-h100", 64);
    SearchOptions options;
    options.devices = 16;
    options.keepAll = true;
    for (const char* name : {"megatron-core", "fsdp", "zero-bubble", "deepspeed"}) {
        spec.framework = name;
        const FrameworkPreset framework = *loadFramework(name);
        const auto found = search(spec, options);
        QVERIFY(found.ok() && !found->all.empty());
        bool groups = false;
        for (const SearchedPlan& each : found->all) groups = groups || each.plan.shard == 8;
        QCOMPARE(groups, framework.shardsParameters); // FSDP over a node, with copies on the other
    }
}

void PlanSpaceTest::everyPlanCanBeStarted_data()
{
    QTest::addColumn<QString>("framework");
    QTest::addColumn<int>("target");
    QTest::addColumn<QString>("model");
    for (const std::string& name : frameworkPresetNames())
        if (const auto target = loadFramework(name)->launch)
            for (const char* model : {"llama2-7b", "mixtral-8x7b"})
                QTest::addRow("%s, %s", name.c_str(), model)
                    << QString::fromStdString(name) << static_cast<int>(*target) << model;
    // Whose arguments are named finds only what they say, whatever the framework can do beside.
    for (const auto& [target, word] : kLaunchWords)
        QTest::addRow("fsdp for %s", word.data()) << "fsdp" << static_cast<int>(target) << "llama2-7b";
    QTest::addRow("fourwalls for torchtitan")
        << "fourwalls" << static_cast<int>(LaunchTarget::Torchtitan) << "llama2-7b";
    QTest::addRow("deepspeed") << "deepspeed" << static_cast<int>(LaunchTarget::DeepSpeed) << "llama2-7b";
}

/// All plans that a search prices can be said in the launch arguments that it is for; so can the few with the optimizer
/// on the host, where nothing else fits.
void PlanSpaceTest::everyPlanCanBeStarted()
{
    QFETCH(QString, framework);
    QFETCH(int, target);
    QFETCH(QString, model);
    for (const char* cluster : {"dgx-h100", "rtx4090"}) {
        RunSpec spec = specOf(model.toUtf8().constData(), cluster, 16);
        spec.framework = framework.toStdString();
        const FrameworkPreset preset = *loadFramework(spec.framework);
        SearchOptions options;
        options.devices = 8;
        options.keepAll = true;
        options.limit = 300;
        if (!preset.launch) options.launch = static_cast<LaunchTarget>(target);
        const auto found = search(spec, options);
        QVERIFY(found.ok());
        if (std::string_view(cluster) == "dgx-h100") QVERIFY(!found->best.empty());
        for (const auto& list : {found->all, found->best})
            for (const SearchedPlan& each : list) {
                spec.plan = each.plan;
                QVERIFY2(canRun(preset, each.plan).ok(), formatPlan(each.plan).c_str());
                const auto words = launchArguments(static_cast<LaunchTarget>(target), spec, preset);
                QVERIFY2(words.ok(), (formatPlan(each.plan) + (words ? "" : ": " + words.error().what)).c_str());
            }
    }
}

FOURWALLS_TEST(PlanSpaceTest, QCoreApplication)

} // namespace tst_plan_space

#include "tst_plan_space.moc"
