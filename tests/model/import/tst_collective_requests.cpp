// SPDX-License-Identifier: Apache-2.0
// What requests for communication tell: of kernels that do not say what they do, and where there are no kernels.
#include "model/import/common/collective_detail.h"
#include "model/import/common/kernel_class.h"
#include "model/import/nsight/nsight_requests.h"
#include "model/trace/collective_timing.h"
#include "model/trace/summary_builder.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_collective_requests {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

const std::string kJob = "'distributedInfo':{'backend':'nccl','rank':0,'world_size':8}";
const std::string kRequest =
    "{'ph':'X','cat':'cpu_op','name':'c10d::alltoall_base_','pid':9,'tid':9,'ts':100,'dur':40},"
    "{'ph':'X','cat':'cpu_op','name':'record_param_comms','pid':9,'tid':9,'ts':104,'dur':34,'args':{'Input "
    "Dims':[[300]],'Input type':['float']}},"
    "{'ph':'X','cat':'user_annotation','name':'nccl:all_to_all','pid':9,'tid':9,'ts':108,'dur':28,'args':{'Input "
    "Dims':[[300]],'Input type':['float']}}";
const std::string kKernel = "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':110,'dur':5,"
                            "'args':{'correlation':7}},"
                            "{'ph':'X','cat':'kernel','name':'ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t','pid':0,'tid'"
                            ":20,'ts':120,'dur':50,'args':{'device':0,'stream':20,'correlation':7}}";
const std::string kCompute = "{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':7,'ts':90,'dur':100,'args':{'device'"
                             ":0,'stream':7,'correlation':1}}";

std::string trace(const std::string& events, const std::string& job = kJob)
{
    return js("{'schemaVersion':1,'traceEvents':[" + events + "]," + job + "}");
}

} // namespace

class CollectiveRequestsTest : public QObject {
    Q_OBJECT

private slots:
    void aKernelIsWhatItsRequestSays()
    {
        const Imported imported = importText(trace(kRequest + "," + kKernel));
        QCOMPARE(imported.data->collectives.size(), std::size_t{1});
        const CollectiveRecord& record = imported.data->collectives[0].record;
        QCOMPARE(record.operation, CollectiveOp::AllToAll);
        QCOMPARE(record.payloadBytes, std::optional<std::int64_t>(1200));
        QCOMPARE((record.end - record.start).ns, std::int64_t{50'000});
        // Nobody names the group, and one rank of eight is here.
        QCOMPARE(imported.data->info.groups[0].name, std::string("unknown group"));
        QVERIFY(imported.data->info.groups[0].ranks.empty());
        QCOMPARE(collectiveTiming(imported.data->info, record.group, record.operation),
                 CollectiveTiming::WaitAndTransfer);
    }

    /// batch_isend_irecv and coalescing managers: requests that launch nothing, then one kernel for all of them.
    void aKernelOfGroupedRequestsHasThemAll()
    {
        const auto request = [](const std::string& name, int at, int elements, int peer) {
            return "{'ph':'X','cat':'cpu_op','name':'record_param_comms','pid':9,'tid':9,'ts':" + std::to_string(at) +
                   ",'dur':4,'args':{'Collective name':'" + name + "','In msg nelems':" + std::to_string(elements) +
                   ",'Out msg nelems':" + std::to_string(elements) +
                   ",'dtype':'Float','Group size':8,'Process Group Name':'3','Src Rank':" + std::to_string(peer) +
                   ",'Dst Rank':" + std::to_string(peer) + "}},";
        };
        const std::string kernel = "{'ph':'X','cat':'user_annotation','name':'nccl:coalesced','pid':9,'tid':9,'ts':108,"
                                   "'dur':28}," +
                                   kKernel;
        const auto recordsOf = [&](const std::string& requests) {
            return importText(trace(requests + kernel)).data->collectives;
        };
        auto records = recordsOf(request("send", 90, 100, 1) + request("recv", 95, 300, 7));
        QCOMPARE(records.size(), std::size_t{1});
        QCOMPARE(records[0].record.payloadBytes, std::optional<std::int64_t>(1200)); // both ways at once
        records = recordsOf(request("send", 90, 100, 5) + request("send", 95, 300, 5));
        QCOMPARE(records[0].record.operation, CollectiveOp::Send);
        QCOMPARE(records[0].record.payloadBytes, std::optional<std::int64_t>(1600));
        QCOMPARE(records[0].record.peer, std::optional(RankId{5}));
        records = recordsOf(request("allreduce", 90, 100, 0) + request("allreduce", 95, 300, 0));
        QCOMPARE(records[0].record.operation, CollectiveOp::AllReduce);
        QCOMPARE(records[0].record.payloadBytes, std::optional<std::int64_t>(1600));
        // What was asked for before another kernel is that kernel's.
        const std::string earlier =
            "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':96,'dur':1,'args':{"
            "'correlation':3}},{'ph':'X','cat':'kernel','name':'ncclDevKernel_AllReduce_Sum_f32_RING_LL','pid':0,'tid'"
            ":20,'ts':97,'dur':9,'args':{'device':0,'stream':20,'correlation':3}},";
        records = recordsOf(request("allreduce", 90, 100, 0) + earlier);
        QCOMPARE(records.size(), std::size_t{2});
        const bool firstIsEarlier = records[0].record.start < records[1].record.start;
        QCOMPARE(records[firstIsEarlier ? 0 : 1].record.payloadBytes, std::optional<std::int64_t>(400));
        QVERIFY(!records[firstIsEarlier ? 1 : 0].record.payloadBytes);
    }

    void kernelsThatCommunicate_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("communicates");
        const std::pair<const char*, bool> rows[] = {
            {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", true},
            {"mscclKernel_Sum_half_Simple_false", true},
            {"hcom_allReduce__586_0_1", true},
            {"oneccl_allreduce_small_sycl", true},
            {"void ccl::sycl_reduce_kernel<float>", true},
            {"void nvshmemi_barrier_threadgroup<1>", true},
            {"void deep_ep::intranode::dispatch<8, 768>", true},
            {"void vllm::cross_device_reduce_1stage<__half, 8>", true},
            {"multimem_one_shot_reduce_kernel", true},
            {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8", true},
            {"triton_poi_fused_add_all_reduce_wait_tensor_3", false},
            {"triton_red_fused_all_gather_into_tensor_1", false},
            {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn", false},
        };
        for (const auto& [name, communicates] : rows) QTest::newRow(name) << QString(name) << communicates;
    }
    void kernelsThatCommunicate()
    {
        QFETCH(QString, name);
        QFETCH(bool, communicates);
        QCOMPARE(isCommunicationKernel(name.toStdString()), communicates);
    }

    void withoutARequestNothingIsMadeUp()
    {
        const Imported imported = importText(trace(kKernel));
        const CollectiveRecord& record = imported.data->collectives.at(0).record;
        QCOMPARE(record.operation, CollectiveOp::Other);
        QVERIFY(!record.payloadBytes);
        QVERIFY(!record.wireBytes);
    }

    void requestsWithoutKernelsAreCollectives()
    {
        const Imported imported = importText(trace(kRequest + "," + kCompute));
        QCOMPARE(imported.data->collectives.size(), std::size_t{1}); // one, though three events ask
        const CollectiveRecord& record = imported.data->collectives[0].record;
        QCOMPARE(record.operation, CollectiveOp::AllToAll);
        QCOMPARE(record.start, record.end);
        QCOMPARE(record.payloadBytes, std::optional<std::int64_t>(1200));
        QCOMPARE(collectiveTiming(imported.data->info, record.group, record.operation), CollectiveTiming::RequestsOnly);
    }

    /// Two steps whose work is done at 300 and 500 us; one request in each mark. By those ends both are of the first.
    void aRequestIsOfTheStepWhoseMarkHoldsIt()
    {
        std::string events;
        for (const int step : {0, 1}) {
            const auto text = [step](int first, int more) { return std::to_string(first + more * step); };
            events += (step == 0 ? "" : ",") +
                      ("{'ph':'X','cat':'user_annotation','name':'ProfilerStep#" + text(3, 1) +
                       "','pid':9,'tid':9,'ts':" + text(0, 100) +
                       ",'dur':100},{'ph':'X','cat':'user_annotation','name':'nccl:all_reduce','pid':9,'tid':9,'ts':" +
                       text(50, 100) + ",'dur':5,'args':{'Input Dims':[[" + text(100, 200) +
                       "]],'Input type':['float']}},"
                       "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':" +
                       text(10, 100) + ",'dur':5,'args':{'correlation':" + text(1, 1) +
                       "}},"
                       "{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':7,'ts':" +
                       text(20, 280) + ",'dur':" + text(280, -80) +
                       ",'args':{'device':0,'stream':7,'correlation':" + text(1, 1) + "}}");
        }
        const Imported imported = importText(trace(events));
        auto data = std::make_shared<InMemoryTraceData>(*imported.data);
        const std::vector<StepView>& steps = data->steps.at(RankId{0});
        QCOMPARE(steps.size(), std::size_t{2});
        QCOMPARE(steps[0].record.range.end.ns, std::int64_t{300'000});
        QCOMPARE(steps[0].record.state, StepState::Measured);
        StepMarks marks;
        for (const SliceView& slice : data->slices)
            if (imported.op(slice).kind == SliceKind::Step) marks.add(slice.op, slice.start, slice.duration);
        std::vector<StepRecord> records{steps[0].record, steps[1].record};
        const std::vector<StepRecord> marked = marks.marked(records);
        QCOMPARE(marked.size(), std::size_t{2});
        QCOMPARE(marked[0].range, (TimeRange{Instant{0}, Instant{100'000}}));
        QCOMPARE(marked[1].range, (TimeRange{Instant{100'000}, Instant{200'000}}));
        // Marks that are not those of the steps.
        records[0].range.end = Instant{90'000};
        QVERIFY(marks.marked(records).empty());
        records.pop_back();
        QVERIFY(marks.marked(records).empty());
        // Both are counted, in their measured steps.
        QCOMPARE(data->collectiveSummaries.at(0).payloadBytes, std::optional<std::int64_t>(400 + 1200));
    }

    void theHostsOwnCollectivesHaveTime()
    {
        const Imported imported =
            importText(trace("{'ph':'X','cat':'cpu_op','name':'gloo:all_reduce','pid':9,'tid':9,'ts':100,'dur':40}",
                             "'distributedInfo':{'backend':'gloo','rank':0,'world_size':2}"));
        const CollectiveRecord& record = imported.data->collectives.at(0).record;
        QCOMPARE((record.end - record.start).ns, std::int64_t{40'000});
        QCOMPARE(collectiveTiming(imported.data->info, record.group, record.operation),
                 CollectiveTiming::WaitAndTransfer);
        QCOMPARE(imported.op(*imported.slice("gloo:all_reduce")).activity, Activity::Transfer);
    }

    /// Eight files of old PyTorch name no group: all take part in all operations, so that it is the world.
    void everybodyTogetherIsTheWorld()
    {
        const QTemporaryDir folder;
        std::vector<std::string> paths;
        for (int rank = 0; rank < 2; ++rank)
            paths.push_back(writeFile(folder, "rank" + std::to_string(rank) + ".json",
                                      trace(kRequest + "," + kKernel, "'distributedInfo':{'backend':'nccl','rank':" +
                                                                          std::to_string(rank) + ",'world_size':2}")));
        const Imported imported = importPaths(paths);
        QCOMPARE(imported.data->info.groups.at(0).name, std::string("world"));
        QCOMPARE(imported.data->info.groups[0].ranks.size(), std::size_t{2});
        QCOMPARE(imported.data->collectives[0].record.sequence, imported.data->collectives[1].record.sequence);
    }

    void kindsOfRequests()
    {
        QCOMPARE(requestKind("nccl:all_reduce"), RequestKind::Annotation);
        QCOMPARE(requestKind("hccl:allGather"), RequestKind::Annotation);
        QCOMPARE(requestKind("c10d::allreduce_"), RequestKind::Operator);
        QCOMPARE(requestKind("c10d::work_wait"), RequestKind::None);
        QCOMPARE(requestKind("All2All_Pooled_Req"), RequestKind::Hint);
        QCOMPARE(requestKind("All2All_Pooled_Wait"), RequestKind::None);
        QCOMPARE(requestKind("aten::add"), RequestKind::None);
        CollectiveDetail detail;
        detail.inputBytes = 100;
        QCOMPARE(payloadOf(detail, CollectiveOp::AllReduce), std::optional<std::int64_t>(100));
        QVERIFY(!payloadOf(detail, CollectiveOp::AllGather)); // one input per member, and nobody says how many
        detail.groupSize = 4;
        QCOMPARE(payloadOf(detail, CollectiveOp::AllGather), std::optional<std::int64_t>(400));
        QVERIFY(!wireBytes(CollectiveOp::AllReduce, 100, 0));
        QCOMPARE(wireBytes(CollectiveOp::AllReduce, 100, 4), std::optional<std::int64_t>(150));
        QCOMPARE(wireBytes(CollectiveOp::AllReduce, 100, 1), std::optional<std::int64_t>(0));
    }

    void rangesOfNsight()
    {
        NsightRequests requests;
        QCOMPARE(requests.add(1, 100, 200, "aten::add"), -1);
        const int all = requests.add(1, 100, 200, "nccl:all_to_all, op_id = 7");
        for (const int at : {110, 120, 130}) QVERIFY(requests.add(1, at, at + 5, "ncclSend") >= 0);
        QVERIFY(requests.add(2, 110, 115, "ncclSend") >= 0); // another thread's
        requests.settle();
        Launch launch;
        launch.collective = all;
        const CollectiveDetail* detail = requests.find(launch);
        QVERIFY(detail);
        QCOMPARE(detail->operation, std::optional(CollectiveOp::AllToAll));
        QCOMPARE(detail->groupSize, 3);
        QCOMPARE(requests.onlyAllToAll(), detail);
        QCOMPARE(blockingMpi("MPI_Allreduce"), std::optional(CollectiveOp::AllReduce));
        QCOMPARE(blockingMpi("MPI_Bcast"), std::optional(CollectiveOp::Broadcast));
        QVERIFY(!blockingMpi("MPI_Iallreduce"));
        QVERIFY(!blockingMpi("MPI_Comm_rank"));
    }
};

FOURWALLS_TEST(CollectiveRequestsTest, QCoreApplication)

} // namespace tst_collective_requests

#include "tst_collective_requests.moc"
