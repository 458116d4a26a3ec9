// SPDX-License-Identifier: Apache-2.0
// What requests for communication tell: of kernels that do not say what they do, and where there are no kernels.
#include "model/import/common/collective_detail.h"
#include "model/import/nsight/nsight_requests.h"
#include "model/trace/collective_timing.h"
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
