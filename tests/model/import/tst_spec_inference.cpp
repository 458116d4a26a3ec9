// SPDX-License-Identifier: Apache-2.0
// What imports tell of the network and the plan behind them, on real files and on a pipeline made for the purpose; and
// the pipeline's bubble against arithmetic on the same intervals.
#include "model/import/common/parallel_groups.h"
#include "model/import/common/spec_inference.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <filesystem>
#include <map>

namespace tst_spec_inference {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

/// "value confidence" of every field.
std::map<std::string, std::string> inferred(const InMemoryTraceData& data)
{
    std::map<std::string, std::string> fields;
    for (const InferredField& field : inferredFields(data.info.audit))
        fields[field.field] = field.value + " " + std::string(name(field.confidence));
    return fields;
}

std::vector<InferredField> fieldsOf(const importers::SpecEvidence& evidence)
{
    return evidence.infer();
}

std::string valueOf(const std::vector<InferredField>& fields, const std::string& name)
{
    for (const InferredField& field : fields)
        if (field.field == name) return field.value + " " + std::string(fourwalls::name(field.confidence));
    return {};
}

/// An event of a Kineto file with times in whole microseconds.
std::string slice(const char* category, const std::string& name, int tid, int begin, int length,
                  const std::string& args)
{
    return "{'ph':'X','cat':'" + std::string(category) + "','name':'" + name +
           "','pid':0,'tid':" + std::to_string(tid) + ",'ts':" + std::to_string(begin) +
           ",'dur':" + std::to_string(length) + ",'args':{" + args + "}},";
}

struct Work {
    bool backward = false;
    int begin = 0, length = 0;
};

/// One rank of a pipeline of two: its forward and backward work, and receives that last until the work begins.
std::string pipelineRank(int rank, const std::vector<Work>& works, int stepEnd)
{
    std::string text = "{'distributedInfo':{'backend':'nccl','rank':" + std::to_string(rank) +
                       ",'world_size':2,'pg_config':[{'pg_name':'0','pg_desc':'default_pg','pg_size':2,'ranks':[0,1]},"
                       "{'pg_name':'3','pg_desc':'PIPELINE_MODEL_PARALLEL_GROUP','pg_size':2,'ranks':[0,1]}]},'"
                       "baseTimeNanoseconds':1700000000000000000,'traceEvents':[";
    text += slice("user_annotation", "ProfilerStep#1", 1, 0, stepEnd, "");
    int correlation = 1, idleFrom = 0;
    for (const Work& work : works) {
        // The operator launches a kernel; a receive fills the time before it on another stream.
        const int thread = work.backward ? 2 : 1; // autograd has a thread of its own
        text += slice("cpu_op", work.backward ? "autograd::engine::evaluate_function: MmBackward0" : "aten::mm", thread,
                      work.begin, 2, "");
        text += slice("cuda_runtime", "cudaLaunchKernel", thread, work.begin + 1, 1,
                      "'correlation':" + std::to_string(correlation));
        text += slice("kernel", "gemm", 7, work.begin, work.length,
                      "'stream':7,'device':0,'correlation':" + std::to_string(correlation++));
        if (work.begin > idleFrom)
            text += slice(
                "kernel", "ncclDevKernel_SendRecv", 20, idleFrom, work.begin - idleFrom,
                "'stream':20,'device':0,'Collective name':'recv','Process Group Name':'3','Group size':2,'Src Rank':" +
                    std::to_string(1 - rank));
        idleFrom = work.begin + work.length;
    }
    text.pop_back();
    return js(text + "]}");
}

} // namespace

class SpecInferenceTest : public QObject {
    Q_OBJECT

private slots:
    void groupNames()
    {
        QCOMPARE(purposeOfGroup("TENSOR_MODEL_PARALLEL_GROUP"), GroupPurpose::Tensor);
        QCOMPARE(purposeOfGroup("mesh_pp"), GroupPurpose::Pipeline);
        QCOMPARE(purposeOfGroup("DATA_PARALLEL_GROUP"), GroupPurpose::Data);
        QCOMPARE(purposeOfGroup("dp_cp"), GroupPurpose::Other);
        QCOMPARE(purposeOfGroup("TENSOR_AND_DATA_PARALLEL_GROUP"), GroupPurpose::Other);
        QCOMPARE(purposeOfGroup("POSITION_EMBEDDING_GROUP"), GroupPurpose::Other);
        QCOMPARE(purposeOfGroup("default_pg"), GroupPurpose::Other);
        QCOMPARE(purposeOfGroup(""), GroupPurpose::Other);
    }

    void transformer()
    {
        importers::SpecEvidence evidence;
        evidence.setSteps(2);
        evidence.setWorld(8, 1);
        evidence.addGroups({{"1", "mesh_tp", "", {0, 1}, 2}, {"2", "mesh_pp", "", {0, 2}, 2}});
        // Two steps of three micro-batches, six layers on this stage.
        evidence.addOperator("aten::embedding", "[[16000, 1024], [4, 512], [], [], []]", 6);
        evidence.addOperator("aten::embedding", "[[512, 1024], [4, 512], [], [], []]", 6);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 8, 512, 64], [4, 8, 512, 64]]", 36);
        evidence.addOperator("aten::native_layer_norm", "[[4, 512, 1024], [], [1024], [1024], []]", 72);
        evidence.addOperator("aten::nll_loss_forward", "[[2048, 16000], [2048]]", 6);
        evidence.addName("Optimizer.step#AdamW.step");
        evidence.addName("DistributedDataParallel.forward");
        evidence.setFlops({{Precision::Bf16, 5.0}, {Precision::F32, 1.0}});
        const auto fields = fieldsOf(evidence);
        QCOMPARE(valueOf(fields, "hidden"), std::string("1024 high"));
        QCOMPARE(valueOf(fields, "vocabulary"), std::string()); // 16000, or 32000 in two halves: both fit
        QCOMPARE(valueOf(fields, "heads"), std::string("16 high"));
        QCOMPARE(valueOf(fields, "sequence"), std::string("512 high"));
        QCOMPARE(valueOf(fields, "microbatches"), std::string("3 high"));
        QCOMPARE(valueOf(fields, "layers"), std::string("12 medium"));
        QCOMPARE(valueOf(fields, "tp"), std::string("2 high"));
        QCOMPARE(valueOf(fields, "pp"), std::string("2 high"));
        QCOMPARE(valueOf(fields, "dp"), std::string("2 medium"));
        QCOMPARE(valueOf(fields, "optimizer"), std::string("AdamW high"));
        QCOMPARE(valueOf(fields, "precision"), std::string("bf16 high"));
        // Through the audit and back.
        std::vector<AuditRecord> audit;
        for (const InferredField& field : fields) audit.push_back(toAudit(field));
        QCOMPARE(inferredFields(audit).size(), fields.size());
        QCOMPARE(audit[0].name.substr(0, 9), std::string("inferred_"));
        QCOMPARE(valueOf(inferredFields(audit), "layers"), std::string("12 medium"));
        audit[0].detail = "no structure";
        QCOMPARE(inferredFields(audit).size(), fields.size() - 1);
    }

    void nothingIsSaidWithoutEvidence()
    {
        importers::SpecEvidence evidence;
        evidence.addOperator("aten::embedding", "[[", 3);
        evidence.addOperator("aten::embedding", "", 3);
        evidence.addOperator("aten::native_layer_norm", "[[-1, 99999999999999999999]]", 1);
        evidence.addName("nn.Module: Block_");
        evidence.addName("nn.Module: ");
        QVERIFY(fieldsOf(evidence).empty());
    }

    void realTensorParallelRun()
    {
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(committedFolder() + "/Megatron-LM"))
            if (entry.is_regular_file()) files.push_back(entry.path().string());
        const auto fields = inferred(*importPaths(files).data);
        QCOMPARE(fields.at("world_size"), std::string("2 high"));
        QCOMPARE(fields.at("tp"), std::string("2 medium"));
        QCOMPARE(fields.at("optimizer"), std::string("Adam high"));
        QVERIFY(!fields.contains("layers")); // twice attention: two layers, or one in two micro-batches
        QVERIFY(!fields.contains("hidden") && !fields.contains("microbatches")); // the file has no shapes
    }

    void largerFiles()
    {
        if (largerFolder().empty()) QSKIP("FOURWALLS_TRACES does not name the larger set of files");
        const auto fields = inferred(*importPaths({largerFolder() + "/TraceLens/b200/eager_trace.json.gz"}).data);
        QCOMPARE(fields.at("layers"), std::string("36 high"));
        QCOMPARE(fields.at("hidden"), std::string("2880 high"));
    }

    /// Two stages, three micro-batches, forward 100 us and backward 200 us: 1F1B.
    void pipelineBubble()
    {
        const std::vector<Work> first{{false, 0, 100},   {false, 100, 100}, {true, 400, 200},
                                      {false, 600, 100}, {true, 700, 200},  {true, 1000, 200}};
        const std::vector<Work> second{{false, 100, 100}, {true, 200, 200},  {false, 400, 100},
                                       {true, 500, 200},  {false, 700, 100}, {true, 800, 200}};
        const QTemporaryDir folder;
        const Imported trace = importPaths({writeFile(folder, "rank0.json", pipelineRank(0, first, 1300)),
                                            writeFile(folder, "rank1.json", pipelineRank(1, second, 1300))});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks[1].pipelineStage, 1);
        QCOMPARE(inferred(*trace.data).at("pp"), std::string("2 high"));
        InMemoryTraceQuery query(trace.data);
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());

        // Independently: from the first forward to the last backward over both stages, the share without own work.
        double window = 0;
        for (const auto& works : {first, second})
            for (const Work& work : works) window = std::max(window, double(work.begin + work.length));
        std::vector<double> expected;
        for (const auto& works : {first, second}) {
            double busy = 0;
            for (const Work& work : works) busy += work.length;
            expected.push_back((window - busy) / window);
        }
        QCOMPARE(metrics->bubbleByStage.size(), std::size_t{2});
        for (std::size_t stage = 0; stage < 2; ++stage)
            QVERIFY(std::abs(metrics->bubbleByStage[stage] - expected[stage]) < 1e-9);
        QVERIFY(metrics->bubbleFraction && std::abs(*metrics->bubbleFraction - (expected[0] + expected[1]) / 2) < 1e-9);
        double sum = 0;
        for (const auto& [name, share] : metrics->waterfall.parts()) sum += share;
        QVERIFY(std::abs(sum - 1) < 1e-9);
    }
};

FOURWALLS_TEST(SpecInferenceTest, QCoreApplication)

} // namespace tst_spec_inference

#include "tst_spec_inference.moc"
