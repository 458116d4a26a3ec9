// SPDX-License-Identifier: Apache-2.0
// What must not open as if all were well: empty and cut files, bytes behind the end, tables that are not read, files of
// different runs, forward and backward on one thread.
#include "tests/model/import/database_file.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include "model/import/chrome/chrome_header.h"
#include "model/import/common/one_run.h"
#include "model/import/merge_traces.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/trace_completeness.h"

#include <QDir>
#include <QTest>

namespace tst_wrong_successes {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string kineto(const std::string& head, const std::string& events)
{
    return js("{'schemaVersion': 1, " + head + "'traceEvents': [" + events + "]}");
}

/// One CPU operator at so many seconds after a day in 2023.
std::string at(std::int64_t seconds)
{
    return "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':1,'tid':1,'ts':" +
           std::to_string((1'700'000'000 + seconds) * 1'000'000) + ",'dur':5}";
}

constexpr const char* kKernels =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);";

} // namespace

class WrongSuccessesTest : public QObject {
    Q_OBJECT

private slots:
    void nothingUsable_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("cut in the first event") << QByteArray("{\"traceEvents\":[{\"ph\":\"X\"") << "ends early";
        QTest::newRow("cut before it") << QByteArray("{\"traceEvents\":[") << "ends early";
        QTest::newRow("cut in the header") << QByteArray("{\"schemaVersion\":1,\"trace") << "ends early";
        QTest::newRow("a bracket") << QByteArray("[") << "ends early";
        QTest::newRow("an empty list") << QByteArray("[]") << "no events";
        QTest::newRow("an empty trace") << QByteArray("{\"traceEvents\":[]}") << "no events";
        QTest::newRow("an empty object") << QByteArray("{}") << "without traceEvents";
        QTest::newRow("names only")
            << QByteArray("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"x\"}}]")
            << "none of its 1 events";
        QTest::newRow("objects only")
            << QByteArray("[{\"ph\":\"N\",\"name\":\"a\",\"ts\":1},{\"ph\":\"D\",\"name\":\"a\",\"ts\":2}]")
            << "none of its 2 events";
        QTest::newRow("no times") << QByteArray("[{\"ph\":\"X\",\"name\":\"a\",\"dur\":2}]") << "none of its 1 events";
    }
    void nothingUsable()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const Imported trace = importText(text.toStdString());
        QVERIFY(!trace.data);
        QVERIFY2(QString::fromStdString(trace.error).contains(says), trace.error.c_str());
    }

    void whatIsCutOrBehindTheEndIsSaid()
    {
        const std::string whole = js("{'traceEvents':[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2},{'ph':'X','"
                                     "name':'b','pid':1,'tid':1,'ts':4,'dur':2}]}");
        QCOMPARE(completenessOf(importText(whole).data->info).state, Completeness::Complete);
        const Imported cut = importText(whole.substr(0, whole.size() - 12));
        const TraceCompleteness less = completenessOf(cut.data->info);
        QCOMPARE(less.state, Completeness::Cut);
        QCOMPARE(less.entriesRead, std::int64_t{1});
        QVERIFY(sentenceOf(less).find("the file ends early: 1 events read") == 0);
        // Only the brackets are missing: all events are there, and who knows what else was.
        QCOMPARE(completenessOf(importText(whole.substr(0, whole.size() - 2)).data->info).state, Completeness::Cut);
        // A list may lack its bracket; nobody can tell.
        const Imported open = importText(js("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2},"));
        QCOMPARE(open.audit("event_array_left_open"), std::int64_t{1});
        QCOMPARE(completenessOf(open.data->info).state, Completeness::Partial);
        const Imported more = importText(whole + "\n{ 'x' }  ");
        QCOMPARE(more.audit("text_behind_the_trace"), std::int64_t{5});
        QCOMPARE(completenessOf(more.data->info).state, Completeness::Partial);
    }

    void bytesBehindGzip()
    {
        // gzip of [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}], stored and uncompressed.
        const std::string text = js("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2}]");
        std::uint32_t crc = 0xffffffffU;
        for (const char c : text) {
            crc ^= static_cast<unsigned char>(c);
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0U);
        }
        std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
        const auto put = [&packed](std::uint32_t value, int bytes) {
            for (int i = 0; i < bytes; ++i) packed += static_cast<char>(value >> (8 * i) & 0xff);
        };
        const auto size = static_cast<std::uint32_t>(text.size());
        put(size, 2);
        put(~size, 2);
        packed += text;
        put(~crc, 4);
        put(size, 4);
        QCOMPARE(completenessOf(importText(packed).data->info).state, Completeness::Complete);
        QCOMPARE(completenessOf(importText(packed + std::string(512, '\0')).data->info).state,
                 Completeness::Complete); // padding
        const Imported garbage = importText(packed + "garbage");
        QCOMPARE(garbage.data->slices.size(), std::size_t{1});
        QCOMPARE(garbage.audit("bytes_behind_gzip"), std::int64_t{7});
        QCOMPARE(completenessOf(garbage.data->info).state, Completeness::Partial);
        std::string wrong = packed;
        wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 1);
        const Imported damaged = importText(wrong);
        QCOMPARE(damaged.audit("packed_stream_damaged"), std::int64_t{1});
        QCOMPARE(completenessOf(damaged.data->info).state, Completeness::Partial);
    }

    void launchesWithoutTheirWork()
    {
        const std::string launch = "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':1,'tid':1,'ts':1,'"
                                   "dur':2,'args':{'correlation':7}}";
        const Imported stripped = importText(kineto("", launch));
        QCOMPARE(stripped.audit("launches_without_work"), std::int64_t{1});
        QCOMPARE(completenessOf(stripped.data->info).state, Completeness::Partial);
        const std::string kernel =
            ",{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':5,'dur':2,'args':{'correlation':7,'stream':7}}";
        QCOMPARE(importText(kineto("", launch + kernel)).audit("launches_without_work"), std::int64_t{0});
    }

    void nsightWithoutEvents()
    {
        const QTemporaryDir folder;
        const std::string none =
            importPaths(
                {database(
                    folder, "none.sqlite",
                    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                    "CREATE TABLE OSRT_API(start INTEGER, end INTEGER); INSERT INTO OSRT_API VALUES(1,2),(3,4);")})
                .error;
        for (const char* word : {"no CUDA work", "OS runtime calls (2 rows)", "nsys profile --trace=cuda,nvtx"})
            QVERIFY2(none.find(word) != std::string::npos, none.c_str());
        const std::string empty = importPaths({database(folder, "empty.sqlite", kKernels)}).error;
        QVERIFY2(empty.find("no rows") != std::string::npos, empty.c_str());
    }

    void nsightTablesLeftUnread()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({database(
            folder, "a.sqlite",
            std::string(kKernels) +
                "CREATE TABLE OSRT_API(start INTEGER, end INTEGER); INSERT INTO OSRT_API VALUES(1,2),(3,4),(5,6);"
                "CREATE TABLE PROFILER_OVERHEAD(start INTEGER, end INTEGER); INSERT INTO PROFILER_OVERHEAD VALUES(1,2);"
                "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, totalMemory INTEGER);"
                "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
                "INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA A',10),(3,'NVIDIA B',20);"
                "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(3,0,5);"
                "INSERT INTO StringIds VALUES(1,'k');"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2,0,7,1," +
                std::to_string(5 << 24) +
                ",1);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(3,4,0,7,2," +
                std::to_string(5 << 24) + ",4096,1),(5,6,0,7,3," + std::to_string(5 << 24) + ",8192,1);")});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.audit("unread_osrt_api"), std::int64_t{3});
        QCOMPARE(trace.audit("unread_profiler_overhead"), std::int64_t{0});
        QCOMPARE(completenessOf(trace.data->info).state, Completeness::Partial);
        // The process sees the machine's fourth device as its first.
        QCOMPARE(trace.data->info.header.ranks.front().device, std::string("NVIDIA B"));
        QCOMPARE(trace.op(*trace.slice("Memcpy HtoD")).bytes, std::int64_t{4096});
        QCOMPARE(trace.op(trace.data->slices.back()).detail, std::string("8192 bytes"));
    }

    void devicesThatAreNotNamed()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({database(
            folder, "a.sqlite",
            std::string(kKernels) +
                "INSERT INTO StringIds VALUES(1,'k');"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2,0,7,1,16777216,1),(1,2,1,7,2,33554432,1);")});
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
        for (const RankInfo& rank : trace.data->info.header.ranks) QCOMPARE(rank.device, std::string());
    }

    void bytesOfCopies()
    {
        const Imported trace = importText(
            kineto("", "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy "
                       "HtoD','pid':0,'tid':7,'ts':5,'dur':2,'args':{'correlation':7,'stream':7,'bytes':602112}}"));
        QCOMPARE(trace.op(*trace.slice("Memcpy HtoD")).bytes, std::int64_t{602112});
        QCOMPARE(trace.op(*trace.slice("Memcpy HtoD")).detail, std::string("602112 bytes"));
    }

    void differentRuns_data()
    {
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("second");
        QTest::addColumn<QString>("says");
        const auto text = [](const std::string& head, std::int64_t seconds) {
            return QString::fromStdString(kineto(head, at(seconds)));
        };
        const std::string rank0 = "'distributedInfo': {'rank': 0, 'world_size': 8}, ",
                          rank1 = "'distributedInfo': {'rank': 1, 'world_size': 8}, ",
                          small = "'distributedInfo': {'rank': 1, 'world_size': 2}, ";
        QTest::newRow("ranks of one run") << text(rank0, 0) << text(rank1, 1) << QString();
        QTest::newRow("nobody says which ranks") << text("", 0) << text("", 0) << QString();
        QTest::newRow("one after the other") << text("", 0) << text("", 1) << "recorded after the other";
        QTest::newRow("one rank twice") << text(rank0, 0) << text(rank0, 1) << "both are rank 0";
        QTest::newRow("of different jobs") << text(rank0, 0) << text(small, 1) << "of a job of 8 ranks, the other of 2";
        QTest::newRow("hours apart") << text(rank0, 0) << text(rank1, 3 * 3600) << "3 hours apart";
        QTest::newRow("years apart") << text(rank0, 0) << text(rank1, 3 * 31'557'600) << "3 years apart";
        QTest::newRow("times of different kinds") << text(rank0, 0) << text(rank1, -1'700'000'000) << "times of day";
        QTest::newRow("nothing joins them") << text("", -1'700'000'000) << text("", -1'699'999'000) << "neither ranks";
    }
    void differentRuns()
    {
        QFETCH(QString, first);
        QFETCH(QString, second);
        QFETCH(QString, says);
        const QTemporaryDir folder;
        const Imported trace = importPaths(
            {writeFile(folder, "a.json", first.toStdString()), writeFile(folder, "b.json", second.toStdString())});
        if (says.isEmpty()) {
            QCOMPARE(trace.error, std::string());
            QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
            if (first.contains(QStringLiteral("world_size")))
                QCOMPARE(trace.data->info.header.worldSize, std::optional(8));
            return;
        }
        for (const QString& word :
             {says, QStringLiteral("a.json"), QStringLiteral("b.json"), QStringLiteral("one by one")})
            QVERIFY2(QString::fromStdString(trace.error).contains(word), trace.error.c_str());
    }

    void timesApart()
    {
        QCOMPARE(timeApart(40 * kSecond), std::string("40 seconds"));
        QCOMPARE(timeApart(9000 * kSecond), std::string("2.5 hours"));
        QCOMPARE(timeApart(3 * 86400 * kSecond), std::string("3 days"));
        QCOMPARE(timeApart(std::int64_t{4} * 31'557'600 * kSecond), std::string("4 years"));
    }

    void mergingTracesOfDifferentDays()
    {
        const auto trace = [](std::int64_t unixNs, int rank) {
            TraceHeader header;
            header.clock = ClockKind::Wall;
            header.originUnixNs = unixNs;
            RankInfo info;
            info.rank = RankId{rank};
            header.ranks.push_back(info);
            InMemoryTrace made(header);
            const TrackId track = made.defineTrack({RankId{rank}, TrackKind::Operators, "operators", 0});
            OpInfo op;
            op.name = "op";
            const OpId id = made.defineOp(op);
            auto producer = made.openProducer();
            producer->slice({track, id, Instant{0}, Duration{1000}, {}, {}});
            producer.reset();
            if (!made.finish({}).ok()) qFatal("finish");
            return std::make_unique<InMemoryTraceQuery>(made.data());
        };
        constexpr std::int64_t kDay = 86400 * kSecond, kNow = 1'700'000'000 * kSecond;
        const auto first = trace(kNow, 0), same = trace(kNow + kSecond, 1), later = trace(kNow + 5 * kDay, 1);
        const auto merged = [](TraceQuery& a, TraceQuery& b) {
            std::vector<MergeInput> inputs(2);
            inputs[0].name = "a", inputs[0].trace = &a;
            inputs[1].name = "b", inputs[1].trace = &b;
            return TraceMerge::create(std::move(inputs));
        };
        QVERIFY(merged(*first, *same).ok());
        const auto refused = merged(*first, *later);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message().find("5 days apart") != std::string::npos,
                 refused.error().message().c_str());
    }

    /// Two kernels launched on the thread that runs the backward pass: one by a node of it, one by nobody knows what. A
    /// third one on a thread that does not.
    void forwardAndBackwardOnOneThread()
    {
        const auto launch = [](int tid, int ts, int id) {
            return ",{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':1,'tid':" + std::to_string(tid) +
                   ",'ts':" + std::to_string(ts) + ",'dur':1,'args':{'correlation':" + std::to_string(id) +
                   "}},{'ph':'X','cat':'kernel','name':'k" + std::to_string(id) +
                   "','pid':0,'tid':7,'ts':" + std::to_string(ts + 50) +
                   ",'dur':1,'args':{'correlation':" + std::to_string(id) + ",'stream':7}}";
        };
        const Imported trace = importText(kineto("", "{'ph':'X','cat':'cpu_op','name':'autograd::engine::evaluate_"
                                                     "function: MmBackward0','pid':1,'tid':2,'ts':10,'dur':10}" +
                                                         launch(2, 12, 1) + launch(2, 25, 2) + launch(3, 30, 3)));
        QCOMPARE(trace.op(*trace.slice("k1")).phase, Phase::BackwardInput);
        QCOMPARE(trace.op(*trace.slice("k2")).phase, Phase::None);
        QCOMPARE(trace.op(*trace.slice("k3")).phase, Phase::Forward);
    }

    void ascend()
    {
        const QTemporaryDir folder;
        const std::string text =
            js("[{'ph':'X','name':'ProfilerStep#5','pid':1,'tid':1,'ts':'100.000','dur':90,'cat':'cpu_op'},"
               "{'ph':'X','name':'MmBackward0','pid':1,'tid':1,'ts':'101.000','dur':10,'cat':'cpu_op'},"
               "{'ph':'s','name':'torch_to_npu','id':120500,'pid':1,'tid':1,'ts':'102.000','cat':'async_npu'},"
               "{'ph':'X','name':'MatMulV3','pid':2,'tid':4,'ts':'120.500','dur':10,'args':{'Task Type':'AI_CORE'}},"
               "{'ph':'X','name':'EVENT_WAIT','pid':2,'tid':4,'ts':'140.000','dur':7,'args':{'Task "
               "Type':'EVENT_WAIT_SQE'}},"
               "{'ph':'X','name':'MEMCPY_ASYNC','pid':2,'tid':4,'ts':'150.000','dur':3,'args':{'Task "
               "Type':'PCIE_DMA_SQE'}},"
               "{'ph':'X','name':'hcom_allReduce__586_0_1','pid':3,'tid':0,'ts':'160.000','dur':5,'args':{'data_type':'"
               "FP32','count':100}},"
               "{'ph':'X','name':'Notify_Wait','pid':3,'tid':1,'ts':'161.000','dur':4},"
               "{'ph':'X','name':'Node@launch','pid':4,'tid':9,'ts':'110.000','dur':2},"
               "{'ph':'X','name':'Computing','pid':5,'tid':0,'ts':'120.500','dur':10},"
               "{'ph':'M','name':'process_name','pid':1,'args':{'name':'Python'}},{'ph':'M','name':'process_name','pid'"
               ":2,'args':{'name':'Ascend Hardware'}},"
               "{'ph':'M','name':'thread_name','pid':2,'tid':4,'args':{'name':'Stream "
               "4'}},{'ph':'M','name':'process_name','pid':3,'args':{'name':'HCCL'}},"
               "{'ph':'M','name':'process_name','pid':4,'args':{'name':'CANN'}},{'ph':'M','name':'process_name','pid':"
               "5,'args':{'name':'Overlap Analysis'}}]");
        QVERIFY(QDir(folder.path()).mkpath("rank3_ascend_pt/OUTPUT"));
        const Imported trace = importPaths({writeFile(folder, "rank3_ascend_pt/OUTPUT/trace_view.json", text)});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.front().rank, RankId{3});
        QCOMPARE(trace.data->info.header.producer, std::string("Ascend PyTorch Profiler"));
        QCOMPARE(trace.op(*trace.slice("MatMulV3")).activity, Activity::Compute);
        QCOMPARE(trace.op(*trace.slice("MatMulV3")).phase, Phase::BackwardInput);
        QCOMPARE(trace.track(*trace.slice("MatMulV3")).name, std::string("Stream 4"));
        QCOMPARE(trace.op(*trace.slice("MEMCPY_ASYNC")).activity, Activity::Copy);
        for (const char* name : {"EVENT_WAIT", "Notify_Wait", "Computing"})
            QCOMPARE(trace.op(*trace.slice(name)).activity, Activity::None);
        QCOMPARE(trace.op(*trace.slice("Node@launch")).activity, Activity::Launch);
        QCOMPARE(trace.data->collectives.size(), std::size_t{1});
        QCOMPARE(trace.data->collectives.front().record.operation, CollectiveOp::AllReduce);
        QCOMPARE(trace.data->collectives.front().record.payloadBytes, std::optional<std::int64_t>(400));
        QCOMPARE(trace.data->info.stepCount, 1);
    }

    void whatOtherFilesAre_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        QTest::newRow("xplane") << "host.xplane.pb" << QByteArray("\n\x12\x01\x02", 4) << "XSpace profile";
        QTest::newRow("csv") << "step_trace_time.csv" << QByteArray("Step,Computing\n1,2\n") << "trace_view.json";
        QTest::newRow("ascend tables") << "communication.json" << QByteArray("{\"step50\": {\"p2p\": {}}}")
                                       << "trace_view.json";
    }
    void whatOtherFilesAre()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        const Imported refused = importText(bytes.toStdString(), name.toStdString());
        QVERIFY2(QString::fromStdString(refused.error).contains(says), refused.error.c_str());
    }

    void ascendsDatabase()
    {
        const QTemporaryDir folder;
        const std::string error =
            importPaths({database(folder, "ascend_pytorch_profiler_0.db",
                                  "CREATE TABLE PYTORCH_API(startNs INTEGER); CREATE TABLE STRING_IDS(id INTEGER)")})
                .error;
        QVERIFY2(error.find("Ascend") != std::string::npos && error.find("torch_npu") != std::string::npos &&
                     error.find("nsys") == std::string::npos,
                 error.c_str());
    }

    void sizesOfJobs()
    {
        ChromeHeader header;
        QCOMPARE(worldSizeOf(header), std::optional<int>());
        header.groups = {{"a", {}, {}, {0, 4}, 0}, {"b", {}, {}, {}, 3}};
        QCOMPARE(worldSizeOf(header), std::optional(5));
        header.worldSize = 16;
        QCOMPARE(worldSizeOf(header), std::optional(16));
    }

    void clocksOfRanks()
    {
        TraceInfo info;
        info.header.ranks.resize(3);
        info.audit = {{"clock_residual_ns_rank_1", AuditSeverity::Info, 2900, {}},
                      {"clock_residual_ns_rank_2", AuditSeverity::Info, 900, {}}};
        QCOMPARE(clockErrorOf(info), std::optional<std::int64_t>(2900));
        QCOMPARE(completenessOf(info).state, Completeness::Complete);
        info.audit.push_back({"clock_not_aligned", AuditSeverity::Info, 1, {}});
        QCOMPARE(clockErrorOf(info), std::optional<std::int64_t>());
        QCOMPARE(completenessOf(info).state, Completeness::Partial);
        info.complete = false;
        QCOMPARE(completenessOf(info).state, Completeness::Interrupted);
    }
};

FOURWALLS_TEST(WrongSuccessesTest, QCoreApplication)

} // namespace tst_wrong_successes

#include "tst_wrong_successes.moc"
