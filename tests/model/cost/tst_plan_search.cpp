// SPDX-License-Identifier: Apache-2.0
// The search over plans: what it finds is sound, repeatable and the best of what it priced.
#include <QtTest>

#include "model/cost/cost_model.h"
#include "model/cost/plan_reasons.h"
#include "model/cost/plan_search.h"
#include "model/cost/plan_space.h"
#include "model/cost/predicted_step.h"
#include "model/spec/launch_arguments.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace tst_plan_search {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

RunSpec specOf(const char* model, const char* cluster, std::int64_t batch)
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.cluster = *loadCluster(cluster);
    spec.framework = "megatron-core";
    spec.training.batch = batch;
    if (const TransformerSpec* t = spec.model.transformer()) spec.training.sequence = t->sequence;
    spec.training.precision = Precision::Bf16;
    return spec;
}

Result<PlanSearchResult> search(const RunSpec& spec, const SearchOptions& options)
{
    return searchPlans(spec, *loadFramework(spec.framework), *loadCalibration("published"), options);
}

} // namespace

class PlanSearchTest : public QObject {
    Q_OBJECT

private slots:
    void divisors();
    void bestOfAll();
    void sameWhateverTheThreads();
    void agreesWithPredict();
    void objectives();
    void reasons_data();
    void reasons();
    void nothingFitsIsSaid();
    void leavesOutWhatChangesNothing_data();
    void leavesOutWhatChangesNothing();
    void fewMicrobatchesHaveFewSchedules();
    void keepsWhatIsFixed();
    void onlyWhatTheFrameworkHas();
    void everyPlanCanBeStarted_data();
    void everyPlanCanBeStarted();
    void reasonsAgreeWithTheList_data();
    void reasonsAgreeWithTheList();
    void stops();
    void refuses_data();
    void refuses();
};

void PlanSearchTest::divisors()
{
    QCOMPARE(divisorsOf(12), (std::vector{1, 2, 3, 4, 6, 12}));
    QCOMPARE(divisorsOf(1), (std::vector{1}));
    QCOMPARE(divisorsOf(49), (std::vector{1, 7, 49}));
}

void PlanSearchTest::bestOfAll()
{
    const RunSpec spec = specOf("llama2-7b", "dgx-a100", 64);
    SearchOptions options;
    options.devices = 16;
    options.limit = 5;
    options.keepAll = true;
    const auto found = search(spec, options);
    QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
    QCOMPARE(found->best.size(), std::size_t(5));
    QCOMPARE(found->counts.evaluated, std::int64_t(found->all.size()));
    QVERIFY(found->counts.considered >= found->counts.evaluated);
    QVERIFY(found->counts.evaluated >= found->counts.feasible);
    QVERIFY(found->counts.feasible > 0);
    double quickest = 1e300;
    for (const SearchedPlan& plan : found->all) {
        QVERIFY(std::isfinite(plan.seconds) && plan.seconds > 0);
        QCOMPARE(plan.plan.worldSize(), 16);
        QCOMPARE(spec.training.batch % (plan.plan.dp * plan.plan.microbatches), std::int64_t(0));
        if (plan.feasible) quickest = std::min(quickest, plan.seconds);
    }
    // The simulated time of the winner is near the closed form's best.
    QVERIFY(std::abs(found->best.front().seconds / quickest - 1) < 0.1);
    for (std::size_t i = 1; i < found->best.size(); ++i)
        QVERIFY(found->best[i].seconds >= found->best[i - 1].seconds || !found->best[i].feasible);
}

void PlanSearchTest::sameWhateverTheThreads()
{
    const RunSpec spec = specOf("gpt2-124m", "dgx-a100", 32);
    std::vector<std::string> plans[2];
    for (const int threads : {1, 3}) {
        SearchOptions options;
        options.devices = 8;
        options.threads = threads;
        const auto found = search(spec, options);
        QVERIFY(found.ok());
        for (const SearchedPlan& plan : found->best) plans[threads == 1 ? 0 : 1].push_back(formatPlan(plan.plan));
    }
    QVERIFY(plans[0] == plans[1]);
    QVERIFY(std::set<std::string>(plans[0].begin(), plans[0].end()).size() == plans[0].size());
}

void PlanSearchTest::agreesWithPredict()
{
    RunSpec spec = specOf("llama2-7b", "dgx-h100", 64);
    SearchOptions options;
    options.devices = 8;
    options.limit = 3;
    const auto found = search(spec, options);
    QVERIFY(found.ok());
    for (const SearchedPlan& plan : found->best) {
        spec.plan = plan.plan;
        const auto predicted = predictStep(spec);
        QVERIFY2(predicted.ok(), predicted.ok() ? "" : predicted.error().message().c_str());
        QCOMPARE(predicted->seconds, plan.seconds);
        QCOMPARE(predicted->peakBytes, plan.peakBytes);
        QCOMPARE(predicted->feasible, plan.feasible);
    }
}

void PlanSearchTest::objectives()
{
    RunSpec spec = specOf("gpt2-124m", "dgx-a100", 32);
    spec.framework = "fourwalls"; // with every ZeRO stage
    SearchOptions options;
    options.devices = 8;
    options.limit = 50;
    const std::vector<SearchedPlan> plans = search(spec, options)->best;
    int equallyQuick = 0, ofLessMemory = 0;
    for (std::size_t i = 1; i < plans.size(); ++i) {
        if (plans[i - 1].seconds != plans[i].seconds) continue;
        QVERIFY(plans[i - 1].peakBytes <= plans[i].peakBytes);
        ++equallyQuick;
        ofLessMemory += plans[i - 1].peakBytes < plans[i].peakBytes;
    }
    QVERIFY2(ofLessMemory > 0, qPrintable(QString::number(equallyQuick)));
    options.limit = 1;
    const double quickest = search(spec, options)->best.front().seconds;
    options.objective = SearchObjective::Memory;
    const auto smallest = search(spec, options);
    QVERIFY(smallest->best.front().seconds >= quickest);
    options.objective = SearchObjective::Cost;
    const SearchedPlan cheapest = search(spec, options)->best.front();
    QVERIFY(cheapest.seconds * cheapest.plan.worldSize() <= quickest * 8 * 1.0001);
    options.objective = SearchObjective::Energy;
    options.keepAll = true;
    const auto leanest = search(spec, options);
    const SearchedPlan& lean = leanest->best.front();
    RunSpec same = spec;
    same.plan = lean.plan;
    QVERIFY(lean.joules > 0);
    QCOMPARE(predictStep(same)->joules, lean.joules);
    for (const SearchedPlan& each : leanest->all) // in closed form, a little off what is simulated
        QVERIFY(!each.feasible || each.joules > 0.95 * lean.joules);
    spec.cluster.device.powerWatts = 0;
    const auto refused = search(spec, options);
    QVERIFY(!refused.ok() && refused.error().code == ErrorCode::Unsupported);
}

void PlanSearchTest::reasons_data()
{
    QTest::addColumn<int>("objective");
    QTest::newRow("time") << static_cast<int>(SearchObjective::Time);
    QTest::newRow("memory") << static_cast<int>(SearchObjective::Memory);
    QTest::newRow("cost") << static_cast<int>(SearchObjective::Cost);
    QTest::newRow("energy") << static_cast<int>(SearchObjective::Energy);
}

/// What stands beside the best plan is the best of all plans with that value, found here by looking at each of them.
void PlanSearchTest::reasons()
{
    QFETCH(int, objective);
    const RunSpec spec = specOf("llama3-70b", "dgx-h100", 64);
    SearchOptions options;
    options.devices = 32;
    options.objective = static_cast<SearchObjective>(objective);
    options.keepAll = true;
    options.explains = true;
    const auto found = search(spec, options);
    QVERIFY(found.ok() && found->best.front().feasible);
    const SearchedPlan& best = found->best.front();
    const auto less = [&](const SearchedPlan& a, const SearchedPlan& b) {
        if (a.feasible != b.feasible) return a.feasible;
        return a.feasible ? valueOf(a, options.objective) < valueOf(b, options.objective) : a.peakBytes < b.peakBytes;
    };
    std::map<std::string, const SearchedPlan*> expected; // by "tp=4"
    for (const PlanPart& part : searchedParts()) {
        const int own = part.valueOf(best.plan);
        std::map<int, const SearchedPlan*> byValue;
        for (const SearchedPlan& plan : found->all) {
            const SearchedPlan*& kept = byValue[part.valueOf(plan.plan)];
            if (!kept || less(plan, *kept)) kept = &plan;
        }
        for (const auto& [value, plan] : byValue) {
            const auto isBetween = [&, v = value](const auto& other) {
                return std::min(own, v) < other.first && other.first < std::max(own, v);
            };
            if (value == own || (part.isOrdered && std::any_of(byValue.begin(), byValue.end(), isBetween))) continue;
            expected[std::string(part.key) + '=' + part.wordOf(plan->plan)] = plan;
        }
    }
    QVERIFY(expected.size() > 5);
    const std::vector<PlanReason>& reasons = found->reasons;
    QCOMPARE(reasons.size(), expected.size());
    for (const PlanReason& reason : reasons) {
        const auto at = expected.find(reason.key + '=' + reason.instead);
        QVERIFY2(at != expected.end(), reason.key.c_str());
        const auto same = std::find_if(found->all.begin(), found->all.end(), [&reason](const SearchedPlan& plan) {
            return formatPlan(plan.plan) == formatPlan(reason.plan);
        });
        QVERIFY(same != found->all.end());
        RunSpec other = spec;
        other.plan = reason.plan;
        const auto predicted = predictStep(other);
        QVERIFY(predicted.ok());
        QCOMPARE(reason.seconds, predicted->seconds);
        QCOMPARE(reason.feasible, predicted->feasible);
        // The best by closed form, or one that the simulation likes as much.
        other.plan = at->second->plan;
        const auto expectedStep = predictStep(other);
        QVERIFY(expectedStep.ok());
        QVERIFY(!less(
            {other.plan, expectedStep->seconds, expectedStep->peakBytes, expectedStep->feasible, expectedStep->joules},
            {reason.plan, reason.seconds, reason.peakBytes, reason.feasible, predicted->joules}));
        const double change =
            valueOf({reason.plan, reason.seconds, reason.peakBytes, true, predicted->joules}, options.objective) /
                valueOf(best, options.objective) -
            1;
        QVERIFY(std::abs(reason.change - change) < 1e-9);
        QVERIFY(reason.sentence.find(reason.feasible ? "at best with" : "does not fit") != std::string::npos);
    }
}

void PlanSearchTest::nothingFitsIsSaid()
{
    SearchOptions options;
    options.devices = 1;
    const auto found = search(specOf("llama2-7b", "rtx4090", 1), options);
    QVERIFY(found.ok());
    QCOMPARE(found->counts.feasible, std::int64_t(0));
    for (const SearchedPlan& plan : found->best) QVERIFY(!plan.feasible);
}

void PlanSearchTest::leavesOutWhatChangesNothing_data()
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
void PlanSearchTest::leavesOutWhatChangesNothing()
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

void PlanSearchTest::fewMicrobatchesHaveFewSchedules()
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

void PlanSearchTest::keepsWhatIsFixed()
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

void PlanSearchTest::onlyWhatTheFrameworkHas()
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

void PlanSearchTest::everyPlanCanBeStarted_data()
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
void PlanSearchTest::everyPlanCanBeStarted()
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

void PlanSearchTest::reasonsAgreeWithTheList_data()
{
    QTest::addColumn<QString>("framework");
    for (const char* name : {"zero-bubble", "fourwalls", "torchtitan", "fsdp"}) QTest::newRow(name) << name;
}

/// What is said of another value is no worse than a plan of the list that has it.
void PlanSearchTest::reasonsAgreeWithTheList()
{
    QFETCH(QString, framework);
    for (const auto& [model, devices, batch] :
         {std::tuple{"llama2-7b", 16, 32}, {"llama2-7b", 8, 16}, {"llama3-70b", 32, 64}, {"gpt2-124m", 8, 24}}) {
        RunSpec spec = specOf(model, "dgx-h100", batch);
        spec.framework = framework.toStdString();
        SearchOptions options;
        options.devices = devices;
        options.limit = 60;
        options.explains = true;
        const auto found = search(spec, options);
        QVERIFY(found.ok());
        for (const PlanReason& reason : found->reasons)
            for (const SearchedPlan& plan : found->best)
                for (const PlanPart& part : searchedParts()) {
                    if (reason.key != part.key || part.valueOf(plan.plan) != part.valueOf(reason.plan)) continue;
                    QVERIFY2(!plan.feasible || (reason.feasible && reason.seconds <= plan.seconds * (1 + 1e-9)),
                             (reason.key + '=' + reason.instead + ": " + reason.sentence + "; but " +
                              formatPlan(plan.plan) + ' ' + std::to_string(plan.seconds))
                                 .c_str());
                }
    }
}

void PlanSearchTest::stops()
{
    SearchOptions options;
    options.devices = 64;
    options.mostPlans = 100;
    options.threads = 1;
    const auto found = search(specOf("llama2-7b", "dgx-a100", 64), options);
    QVERIFY(found.ok());
    QVERIFY(found->stopped);
    QCOMPARE(found->counts.evaluated, std::int64_t(100));
}

void PlanSearchTest::refuses_data()
{
    QTest::addColumn<int>("devices");
    QTest::addColumn<int>("limit");
    QTest::addColumn<qlonglong>("batch");
    QTest::addColumn<QString>("field");
    QTest::newRow("no devices") << 0 << 1 << 8LL << "gpus";
    QTest::newRow("fewer than none") << -4 << 1 << 8LL << "gpus";
    QTest::newRow("too many") << 2'000'000'000 << 1 << 8LL << "gpus";
    QTest::newRow("no plans") << 8 << 0 << 8LL << "limit";
    QTest::newRow("no batch") << 8 << 1 << 0LL << "batch";
}

void PlanSearchTest::refuses()
{
    QFETCH(int, devices);
    QFETCH(int, limit);
    QFETCH(qlonglong, batch);
    QFETCH(QString, field);
    SearchOptions options;
    options.devices = devices;
    options.limit = limit;
    const auto found = search(specOf("gpt2-124m", "dgx-a100", batch), options);
    QVERIFY(!found.ok());
    QCOMPARE(QString::fromStdString(found.error().where), field);
}

FOURWALLS_TEST(PlanSearchTest, QCoreApplication)

} // namespace tst_plan_search

#include "tst_plan_search.moc"
