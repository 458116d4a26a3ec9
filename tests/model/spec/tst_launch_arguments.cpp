// SPDX-License-Identifier: Apache-2.0
// Plans in the words of the frameworks: what is there, what is refused.
#include <QTest>

#include "model/spec/launch_arguments.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tst_launch_arguments {

using namespace fourwalls;

class LaunchArgumentsTest : public QObject {
    Q_OBJECT

private slots:
    void megatron();
    void torchtitan();
    void deepSpeed();
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
    const auto launch = launchArguments(
        LaunchTarget::Megatron, specOf("dp=4 tp=8 pp=2 vpp=2 cp=2 microbatches=8 sp=1 recompute=full etp=1", 64));
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
    const auto plain = launchArguments(LaunchTarget::Megatron, specOf("tp=2", 1));
    const auto uneven = launchArguments(LaunchTarget::Megatron, specOf("pp=4 vpp=2 layers=3,4,4,5,4,4,4,4", 8));
    QCOMPARE(valueOfName(*uneven, "--pipeline-model-parallel-layout"),
             std::string("Et*3|t*4|t*4|t*5|t*4|t*4|t*4|t*4L"));
    QVERIFY(!hasWord(*uneven, "--num-virtual-stages-per-pipeline-rank")); // the layout says it
    QVERIFY(!launchArguments(LaunchTarget::Torchtitan, specOf("pp=2 layers=15,17", 8)).ok());
    QVERIFY(!hasWord(*plain, "--use-distributed-optimizer") && !hasWord(*plain, "--context-parallel-size"));
}

void LaunchArgumentsTest::torchtitan()
{
    const auto groups = launchArguments(LaunchTarget::Torchtitan,
                                        specOf("dp=16 cp=2 zero=3 shard=8 microbatches=2 recompute=selective", 64));
    QVERIFY2(groups.ok(), groups.ok() ? "" : groups.error().message().c_str());
    QCOMPARE(valueOfName(*groups, "--parallelism.data_parallel_shard_degree"),
             std::string("4")); // with cp: groups of 8
    QCOMPARE(valueOfName(*groups, "--parallelism.data_parallel_replicate_degree"), std::string("4"));
    QCOMPARE(valueOfName(*groups, "--training.local_batch_size"), std::string("2"));
    QCOMPARE(valueOfName(*groups, "--parallelism.fsdp_reshard_after_forward"), std::string("always"));
    const auto pipe =
        launchArguments(LaunchTarget::Torchtitan, specOf("dp=2 tp=4 sp=1 pp=4 vpp=2 zero=2 microbatches=8", 64));
    QVERIFY2(pipe.ok(), pipe.ok() ? "" : pipe.error().message().c_str());
    QCOMPARE(valueOfName(*pipe, "--training.local_batch_size"), std::string("32"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.pipeline_parallel_microbatch_size"), std::string("4"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.pipeline_parallel_schedule"), std::string("Interleaved1F1B"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.pipeline_parallel_layers_per_stage"), std::string("10"));
    QCOMPARE(valueOfName(*pipe, "--parallelism.fsdp_reshard_after_forward"), std::string("never"));
}

void LaunchArgumentsTest::deepSpeed()
{
    const auto launch = launchArguments(LaunchTarget::DeepSpeed,
                                        specOf("dp=16 zero=3 shard=8 microbatches=2 offload=optimizer recompute=full"));
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
    const auto launch = launchArguments(LaunchTarget(target), specOf(plan.toUtf8().constData()));
    QVERIFY(!launch.ok());
    QVERIFY2(launch.error().message().find(names.toStdString()) != std::string::npos, launch.error().message().c_str());
}

FOURWALLS_TEST(LaunchArgumentsTest, QCoreApplication)

} // namespace tst_launch_arguments

#include "tst_launch_arguments.moc"
