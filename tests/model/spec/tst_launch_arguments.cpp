// SPDX-License-Identifier: Apache-2.0
// Plans in the words of the frameworks: what is there, what is refused.
#include <QTest>

#include "model/spec/launch_arguments.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/stage_split.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tst_launch_arguments {

using namespace fourwalls;

class LaunchArgumentsTest : public QObject {
    Q_OBJECT

private slots:
    void megatron();
    void experts();
    void adaptersAreRefused();
    void torchtitan();
    void stagesOfTorchtitan_data();
    void stagesOfTorchtitan();
    void deepSpeed();
    void precisions_data();
    void precisions();
    void refusals_data();
    void refusals();
};

namespace {

RunSpec specOf(const char* plan, std::int64_t batch = 64)
{
    RunSpec spec;
    spec.model = *loadModel("llama3-70b");
    spec.plan = *parsePlan(plan);
    spec.training.batch = batch;
    spec.training.sequence = 8192;
    spec.training.precision = Precision::Bf16;
    return spec;
}

/// As the preset of a target runs it.
Result<LaunchArguments> told(LaunchTarget target, const RunSpec& spec)
{
    return launchArguments(target, spec, *loadFramework(presetOf(target)));
}

/// Layers of each stage that torchtitan 0.2 makes of these arguments for a network of 80 layers: its own steps
/// (pipeline_llm, generate_llm_fqn_per_model_part of torchtitan/distributed/pipeline_parallel.py) one by one.
std::vector<int> stageCountsOf(const LaunchArguments& launch, int layers)
{
    const auto number = [&launch](const char* name, int standard) {
        const auto at = std::find(launch.arguments.begin(), launch.arguments.end(), name);
        return at == launch.arguments.end() ? standard : std::stoi(*(at + 1));
    };
    const auto schedule =
        std::find(launch.arguments.begin(), launch.arguments.end(), "--parallelism.pipeline_parallel_schedule");
    const bool isSingle = *(schedule + 1) == "1F1B" || *(schedule + 1) == "GPipe";
    const int pp = number("--parallelism.pipeline_parallel_degree", 1);
    const int input = number("--parallelism.pipeline_parallel_first_stage_less_layers", 1);
    const int output = number("--parallelism.pipeline_parallel_last_stage_less_layers", 1);
    const int perStage = number("--parallelism.pipeline_parallel_layers_per_stage", 0);
    int stages = pp * (isSingle ? 1 : 2);
    if (perStage > 0) {
        stages = 0;
        while (stages * perStage < layers + input + output) ++stages;
        if (stages % pp != 0 || isSingle != (stages == pp)) return {};
    }
    const int effective = layers + input + output, least = effective / stages;
    if (input > least || output > least) return {};
    std::vector<int> counts;
    int current = 0;
    for (int stage = 0; stage < stages; ++stage) {
        int room = least + (stage < effective % stages ? 1 : 0);
        if (stage == 0) room -= input;
        if (stage == stages - 1) room -= output;
        counts.push_back(0);
        for (int i = 0; i < room && current < layers; ++i, ++current) ++counts.back();
    }
    return counts;
}

/// The word behind a name; empty if the name is not there.
std::string valueOfName(const LaunchArguments& launch, const char* name)
{
    const auto found = std::find(launch.arguments.begin(), launch.arguments.end(), name);
    return found == launch.arguments.end() || found + 1 == launch.arguments.end() ? std::string() : *(found + 1);
}

bool hasWord(const LaunchArguments& launch, const char* name)
{
    return std::find(launch.arguments.begin(), launch.arguments.end(), name) != launch.arguments.end();
}

} // namespace

void LaunchArgumentsTest::megatron()
{
    const auto launch =
        told(LaunchTarget::Megatron, specOf("dp=4 tp=8 pp=2 vpp=2 cp=2 microbatches=8 sp=1 recompute=full etp=1", 64));
    QVERIFY2(launch.ok(), launch.ok() ? "" : launch.error().message().c_str());
    const std::pair<const char*, const char*> values[] = {{"--tensor-model-parallel-size", "8"},
                                                          {"--pipeline-model-parallel-size", "2"},
                                                          {"--num-virtual-stages-per-pipeline-rank", "2"},
                                                          {"--context-parallel-size", "2"},
                                                          {"--expert-tensor-parallel-size", "1"},
                                                          {"--micro-batch-size", "2"},
                                                          {"--global-batch-size", "64"},
                                                          {"--seq-length", "8192"},
                                                          {"--recompute-granularity", "full"},
                                                          {"--recompute-num-layers", "1"}};
    for (const auto& [name, value] : values) QCOMPARE(valueOfName(*launch, name), std::string(value));
    for (const char* flag :
         {"--sequence-parallel", "--bf16", "--use-distributed-optimizer", "--overlap-grad-reduce", "--tp-comm-overlap"})
        QVERIFY2(hasWord(*launch, flag), flag);
    const auto plain = told(LaunchTarget::Megatron, specOf("tp=2", 1));
    const auto uneven = told(LaunchTarget::Megatron, specOf("pp=4 vpp=2 layers=3,4,4,5,4,4,4,4", 8));
    QCOMPARE(valueOfName(*uneven, "--pipeline-model-parallel-layout"),
             std::string("Et*3|t*4|t*4|t*5|t*4|t*4|t*4|t*4L"));
    QVERIFY(!hasWord(*uneven, "--num-virtual-stages-per-pipeline-rank")); // the layout says it
    // Without a layout Megatron refuses layers that do not divide; the plan's split is said.
    QCOMPARE(valueOfName(*told(LaunchTarget::Megatron, specOf("pp=3 microbatches=8", 8)),
                         "--pipeline-model-parallel-layout"),
             std::string("Et*27|t*27|t*26L"));
    QVERIFY(!told(LaunchTarget::Torchtitan, specOf("pp=4 layers=15,25,15,25", 8)).ok());
    // Only Megatron lays stages side by side (initialize_model_parallel's order in megatron/training/initialize.py).
    const RunSpec stagesFirst = specOf("dp=2 pp=4 order=tp-cp-ep-pp-dp microbatches=4", 8);
    QVERIFY(hasWord(*told(LaunchTarget::Megatron, stagesFirst), "--use-tp-pp-dp-mapping"));
    QVERIFY(!hasWord(*plain, "--use-tp-pp-dp-mapping"));
    const auto withContexts =
        told(LaunchTarget::Megatron, specOf("dp=2 pp=2 cp=2 order=tp-cp-ep-pp-dp microbatches=4", 8));
    QVERIFY(!withContexts.ok() && withContexts.error().what.find("cp with order") != std::string::npos);
    for (const LaunchTarget target : {LaunchTarget::Torchtitan, LaunchTarget::DeepSpeed}) {
        const auto refused = told(target, specOf("dp=4 order=tp-cp-ep-pp-dp zero=3", 8));
        QVERIFY(!refused.ok() && refused.error().what.find("order") != std::string::npos);
    }
    // None has a switch of recomputation for single stages.
    for (const LaunchTarget target : {LaunchTarget::Megatron, LaunchTarget::Torchtitan, LaunchTarget::DeepSpeed}) {
        const auto staged = told(target, specOf("pp=2 microbatches=8 recompute=full,none", 8));
        QVERIFY(!staged.ok() && staged.error().what.find("recomputation by stage") != std::string::npos);
    }
    for (const LaunchTarget target : {LaunchTarget::Torchtitan, LaunchTarget::DeepSpeed}) {
        const auto named = told(target, specOf("dp=8 zero=3 recompute=layernorm", 8));
        QVERIFY(!named.ok() && named.error().what.find("recompute=layernorm") != std::string::npos);
    }
    QVERIFY(!hasWord(*plain, "--use-distributed-optimizer") && !hasWord(*plain, "--context-parallel-size"));
    // How keys and tokens travel is said as it was priced, also where the plan leaves it to the framework.
    QCOMPARE(valueOfName(*launch, "--cp-comm-type"), std::string("p2p"));
    QVERIFY(!hasWord(*launch, "--moe-token-dispatcher-type") && !hasWord(*plain, "--cp-comm-type"));
    const auto gathered = told(LaunchTarget::Megatron, specOf("cp=2 context=gather", 2));
    QCOMPARE(valueOfName(*gathered, "--cp-comm-type"), std::string("all_gather"));
}

void LaunchArgumentsTest::experts()
{
    const auto of = [](const char* plan) {
        RunSpec spec = specOf(plan, 64);
        spec.model = *loadModel("deepseek-v3");
        return told(LaunchTarget::Megatron, spec);
    };
    const auto usual = of("dp=8 ep=8"), once = of("dp=8 ep=8 dispatch=once epoverlap=1");
    QCOMPARE(valueOfName(*usual, "--moe-token-dispatcher-type"), std::string("alltoall"));
    QVERIFY(!hasWord(*usual, "--moe-enable-deepep") && !hasWord(*usual, "--overlap-moe-expert-parallel-comm"));
    QCOMPARE(valueOfName(*once, "--moe-token-dispatcher-type"), std::string("flex"));
    QVERIFY(hasWord(*once, "--moe-enable-deepep") && hasWord(*once, "--overlap-moe-expert-parallel-comm"));
    const auto modules = of("dp=8 ep=8 recompute=mla_up_proj+moe_act");
    QVERIFY(modules.ok());
    QCOMPARE(valueOfName(*modules, "--recompute-granularity"), std::string("selective"));
    const auto& words = modules->arguments;
    const auto at = std::find(words.begin(), words.end(), "--recompute-modules");
    QVERIFY(words.end() - at > 2 && at[1] == "mla_up_proj" && at[2] == "moe_act");
    QVERIFY(!hasWord(*usual, "--recompute-modules"));
    // Megatron-LM asserts both.
    QVERIFY(!of("dp=8 ep=8 epoverlap=1 recompute=full").ok());
    QVERIFY(!of("dp=8 ep=8 pp=2 microbatches=4 epoverlap=1").ok());
}

void LaunchArgumentsTest::adaptersAreRefused()
{
    RunSpec spec = specOf("tp=2", 1);
    spec.training.loraRank = 16;
    for (const LaunchTarget target : {LaunchTarget::Megatron, LaunchTarget::DeepSpeed}) {
        const auto launch = told(target, spec);
        QVERIFY(!launch.ok() && launch.error().message().find("low-rank adapters") != std::string::npos);
    }
}

void LaunchArgumentsTest::torchtitan()
{
    const auto groups =
        told(LaunchTarget::Torchtitan, specOf("dp=16 cp=2 zero=3 shard=8 microbatches=2 recompute=selective", 64));
    QVERIFY2(groups.ok(), groups.ok() ? "" : groups.error().message().c_str());
    QCOMPARE(valueOfName(*groups, "--parallelism.data_parallel_shard_degree"),
             std::string("4")); // with cp: groups of 8
    QCOMPARE(valueOfName(*groups, "--parallelism.data_parallel_replicate_degree"), std::string("4"));
    QCOMPARE(valueOfName(*groups, "--training.local_batch_size"), std::string("2"));
    QCOMPARE(valueOfName(*groups, "--parallelism.fsdp_reshard_after_forward"), std::string("always"));
    const auto pipe = told(LaunchTarget::Torchtitan, specOf("dp=2 tp=4 sp=1 pp=4 vpp=2 zero=2 microbatches=8", 64));
    QVERIFY2(pipe.ok(), pipe.ok() ? "" : pipe.error().message().c_str());
    QCOMPARE(valueOfName(*pipe, "--training.local_batch_size"), std::string("32"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.pipeline_parallel_microbatch_size"), std::string("4"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.pipeline_parallel_schedule"), std::string("Interleaved1F1B"));
    QVERIFY(
        !hasWord(*pipe, "--parallelism.pipeline_parallel_layers_per_stage")); // two stages a rank are its own choice
    QCOMPARE(valueOfName(*pipe, "--parallelism.fsdp_reshard_after_forward"), std::string("never"));
}

void LaunchArgumentsTest::stagesOfTorchtitan_data()
{
    QTest::addColumn<QString>("framework");
    QTest::addColumn<QString>("plan");
    QTest::addColumn<std::vector<int>>("counts"); // none: refused
    using Counts = std::vector<int>;
    QTest::newRow("1f1b") << "torchtitan"
                          << "pp=4 microbatches=8" << Counts{20, 21, 20, 19};
    QTest::newRow("two stages a rank") << "torchtitan"
                                       << "pp=4 vpp=2 microbatches=8" << Counts{10, 11, 10, 10, 10, 10, 10, 9};
    QTest::newRow("v") << "torchtitan"
                       << "pp=2 vpp=2 microbatches=8 schedule=zbv" << Counts{20, 21, 20, 19};
    QTest::newRow("five stages a rank") << "torchtitan"
                                        << "pp=2 vpp=5 microbatches=8" << Counts{8, 9, 8, 8, 8, 8, 8, 8, 8, 7};
    QTest::newRow("cannot be said") << "torchtitan"
                                    << "pp=4 vpp=4 microbatches=8" << Counts{};
    QTest::newRow("equal numbers of layers") << "fourwalls"
                                             << "pp=4 vpp=4 microbatches=8" << Counts(16, 5);
    QTest::newRow("equal numbers, one stage") << "fourwalls"
                                              << "pp=4 microbatches=8" << Counts(4, 20);
    QTest::newRow("counts that fit its rule") << "torchtitan"
                                              << "pp=4 microbatches=8 layers=18,22,22,18" << Counts{18, 22, 22, 18};
    QTest::newRow("counts that do not") << "torchtitan"
                                        << "pp=4 microbatches=8 layers=18,22,18,22" << Counts{};
}

/// What torchtitan makes of the arguments is the split that was priced.
void LaunchArgumentsTest::stagesOfTorchtitan()
{
    QFETCH(QString, framework);
    QFETCH(QString, plan);
    QFETCH(std::vector<int>, counts);
    const RunSpec spec = specOf(plan.toUtf8().constData(), 8);
    const FrameworkPreset preset = *loadFramework(framework.toStdString());
    const auto launch = launchArguments(LaunchTarget::Torchtitan, spec, preset);
    QCOMPARE(launch.ok(), !counts.empty());
    if (!launch) return;
    QCOMPARE(stageCountsOf(*launch, 80), counts);
    const auto priced = splitLayers(80, pipelineShape(spec.plan).positions(), preset.stageSplit);
    if (spec.plan.stageLayers.empty()) QVERIFY(std::equal(counts.begin(), counts.end(), priced.begin(), priced.end()));
}

void LaunchArgumentsTest::deepSpeed()
{
    const auto launch =
        told(LaunchTarget::DeepSpeed, specOf("dp=16 zero=3 shard=8 microbatches=2 offload=optimizer recompute=full"));
    QVERIFY2(launch.ok(), launch.ok() ? "" : launch.error().message().c_str());
    const auto read = nlohmann::json::parse(launch->configuration);
    QCOMPARE(read["train_batch_size"].get<int>(), 64);
    QCOMPARE(read["train_micro_batch_size_per_gpu"].get<int>(), 2);
    QCOMPARE(read["gradient_accumulation_steps"].get<int>(), 2);
    QCOMPARE(read["zero_optimization"]["stage"].get<int>(), 3);
    QCOMPARE(read["zero_optimization"]["mics_shard_size"].get<int>(), 8);
    QCOMPARE(read["zero_optimization"]["offload_optimizer"]["device"].get<std::string>(), std::string("cpu"));
    QVERIFY(read["bf16"]["enabled"].get<bool>());
    QCOMPARE(launch->notes.size(), std::size_t{1}); // recomputation is said in code
    for (const LaunchTarget target : {LaunchTarget::Megatron, LaunchTarget::Torchtitan, LaunchTarget::DeepSpeed}) {
        const auto packed = told(target, specOf("dp=16 zero=0 documents=3x512,2048"));
        QVERIFY2(packed.ok(), packed.ok() ? "" : packed.error().message().c_str());
        QCOMPARE(packed->notes.size(), std::size_t{1}); // and so are documents
        QVERIFY(packed->notes[0].starts_with("documents"));
    }
}

void LaunchArgumentsTest::precisions_data()
{
    QTest::addColumn<int>("target");
    QTest::addColumn<int>("precision");
    QTest::addColumn<QString>("words"); // in this order; empty: refused
    const int megatron = int(LaunchTarget::Megatron), titan = int(LaunchTarget::Torchtitan);
    const int deepSpeed = int(LaunchTarget::DeepSpeed);
    QTest::newRow("megatron f32") << megatron << int(Precision::F32) << "--seq-length 8192";
    QTest::newRow("megatron tf32") << megatron << int(Precision::Tf32) << "";
    QTest::newRow("megatron f16") << megatron << int(Precision::F16) << "--fp16";
    QTest::newRow("megatron fp8") << megatron << int(Precision::Fp8) << "--bf16 --fp8-format hybrid";
    QTest::newRow("megatron mxfp8") << megatron << int(Precision::Mxfp8)
                                    << "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8";
    QTest::newRow("megatron fp4") << megatron << int(Precision::Fp4) << "--bf16 --fp4-format e2m1";
    // torchtitan/config/job_config.py and components/quantization of 0.2
    QTest::newRow("titan f32") << titan << int(Precision::F32) << "--training.mixed_precision_param float32";
    QTest::newRow("titan tf32") << titan << int(Precision::Tf32) << "";
    QTest::newRow("titan f16") << titan << int(Precision::F16) << "";
    QTest::newRow("titan bf16") << titan << int(Precision::Bf16) << "--training.mixed_precision_param bfloat16";
    QTest::newRow("titan fp8") << titan << int(Precision::Fp8)
                               << "--model.converters quantize.linear.float8 --quantize.linear.float8.recipe_name "
                                  "tensorwise";
    QTest::newRow("titan mxfp8") << titan << int(Precision::Mxfp8) << "--model.converters quantize.linear.mx";
    QTest::newRow("titan fp4") << titan << int(Precision::Fp4) << "";
    QTest::newRow("deepspeed f32") << deepSpeed << int(Precision::F32) << "{";
    QTest::newRow("deepspeed f16") << deepSpeed << int(Precision::F16) << "\"fp16\"";
    QTest::newRow("deepspeed bf16") << deepSpeed << int(Precision::Bf16) << "\"bf16\"";
    QTest::newRow("deepspeed fp8") << deepSpeed << int(Precision::Fp8) << "";
    QTest::newRow("deepspeed mxfp8") << deepSpeed << int(Precision::Mxfp8) << "";
}

void LaunchArgumentsTest::precisions()
{
    QFETCH(int, target);
    QFETCH(int, precision);
    QFETCH(QString, words);
    RunSpec spec = specOf("dp=4 zero=1");
    if (LaunchTarget(target) == LaunchTarget::Torchtitan) spec.plan.zero = 3;
    spec.training.precision = Precision(precision);
    const auto launch = told(LaunchTarget(target), spec);
    QCOMPARE(launch.ok(), !words.isEmpty());
    if (!launch) {
        QVERIFY(launch.error().message().find(name(spec.training.precision)) != std::string::npos);
        return;
    }
    std::string all = launch->configuration;
    for (const std::string& word : launch->arguments) all += (all.empty() ? "" : " ") + word;
    QVERIFY2(all.find(words.toStdString()) != std::string::npos, all.c_str());
    // No other one is named.
    for (const char* other : {"fp16", "bf16", "fp8", "float8", "fp4", "linear.mx"})
        if (!words.contains(other)) QVERIFY2(all.find(other) == std::string::npos, all.c_str());
    // Compiled layers are started so.
    const auto compiled = launchArguments(LaunchTarget::Torchtitan, spec, *loadFramework("torchtitan-compiled"));
    if (LaunchTarget(target) == LaunchTarget::Torchtitan)
        QVERIFY(hasWord(*compiled, "--compile.enable") && !hasWord(*launch, "--compile.enable"));
}

void LaunchArgumentsTest::refusals_data()
{
    QTest::addColumn<int>("target");
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("names");
    QTest::newRow("megatron zero") << int(LaunchTarget::Megatron) << "dp=4 zero=3"
                                   << "zero=3";
    QTest::newRow("megatron schedule") << int(LaunchTarget::Megatron) << "pp=4 microbatches=8 schedule=zb2p"
                                       << "zb2p";
    QTest::newRow("titan zero") << int(LaunchTarget::Torchtitan) << "dp=4 zero=1"
                                << "zero=1";
    QTest::newRow("titan copies") << int(LaunchTarget::Torchtitan) << "dp=4 tp=2 sp=1"
                                  << "zero=0";
    QTest::newRow("titan offload") << int(LaunchTarget::Torchtitan) << "dp=4 zero=3 offload=optimizer"
                                   << "offload";
    QTest::newRow("deepspeed sequence") << int(LaunchTarget::DeepSpeed) << "dp=2 tp=4 sp=1"
                                        << "sp=1";
    QTest::newRow("titan tensor") << int(LaunchTarget::Torchtitan) << "tp=4"
                                  << "sp=1";
    QTest::newRow("titan schedule") << int(LaunchTarget::Torchtitan) << "pp=4 microbatches=4 schedule=naive"
                                    << "naive";
    QTest::newRow("deepspeed pipeline") << int(LaunchTarget::DeepSpeed) << "pp=4 microbatches=4"
                                        << "pp=4";
    QTest::newRow("servers") << int(LaunchTarget::DeepSpeed) << "dp=4 ps=sync servers=2"
                             << "parameter servers";
}

void LaunchArgumentsTest::refusals()
{
    QFETCH(int, target);
    QFETCH(QString, plan);
    QFETCH(QString, names);
    const auto launch = told(LaunchTarget(target), specOf(plan.toUtf8().constData()));
    QVERIFY(!launch.ok());
    QVERIFY2(launch.error().message().find(names.toStdString()) != std::string::npos, launch.error().message().c_str());
}

FOURWALLS_TEST(LaunchArgumentsTest, QCoreApplication)

} // namespace tst_launch_arguments

#include "tst_launch_arguments.moc"
