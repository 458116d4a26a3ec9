// SPDX-License-Identifier: Apache-2.0
// Nsight Systems exports: two processes with repeating correlation ids, missing tables and columns, and secrets beside
// the events that must never surface.
#include "tests/model/import/database_file.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_nsight_import {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr std::int64_t kFirst = 0x0001'000065'000000; ///< process 0x65 of VM 1
constexpr std::int64_t kSecond = 0x0001'000066'000000;

std::string exported(const QTemporaryDir& folder, const std::string& sql)
{
    return database(folder, "export.sqlite", sql);
}

std::string twoProcesses()
{
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    std::string sql =
        "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
        "CREATE TABLE META_DATA_CAPTURE(name TEXT, value TEXT);"
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV(name TEXT, value TEXT);"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT);"
        "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, totalMemory INTEGER, cuDevice INTEGER);"
        "CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT "
        "NULL, streamId INTEGER NOT NULL,"
        " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX "
        "INTEGER, gridY INTEGER, gridZ INTEGER,"
        " blockX INTEGER, blockY INTEGER, blockZ INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
        "correlationId INTEGER, nameId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
        "correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
        "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, "
        "globalTid INTEGER, textId INTEGER, domainId INTEGER);"
        "INSERT INTO StringIds VALUES(1,'void "
        "gemm<float>(int)'),(2,'gemm'),(3,'cudaLaunchKernel_v7000'),(4,'ncclDevKernel_SendRecv'),(5,'registered "
        "range'),"
        "(6,'pt_main_thread'),(7,'AWS_SECRET=top-secret-value');"
        "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2026.2.1'),('EXPORT_USER','nobody-we-know');"
        "INSERT INTO META_DATA_CAPTURE VALUES('X:ENVIRONMENT_VARIABLE','TOKEN=top-secret-value');"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES('Command','python --key top-secret-value');"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1779782330176752435,'2026');"
        "INSERT INTO TARGET_INFO_GPU VALUES(3,'NVIDIA H100',85028372480,0),(0,'Some display adapter',0,0),(1,'NVIDIA "
        "H200',141000000000,1);";
    int device = 0;
    for (const std::int64_t process : {kFirst, kSecond}) {
        const std::string p = number(process), t = number(process + 7), d = number(device++);
        sql += "INSERT INTO ThreadNames VALUES(6,20," + t +
               ");"
               "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000,3000," +
               d + ",7,11," + p + ",1,2,4,1,1,128,1,1),(3500,4500," + d + ",20,12," + p +
               ",4,4,1,1,1,32,1,1),"
               "(9000,9100," +
               d + ",8,99," + p +
               ",1,2,1,1,1,1,1,1);"
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000,1100,0," +
               t + ",11,3),(1200,1300,0," + t +
               ",12,3);"
               "INSERT INTO NVTX_EVENTS VALUES(900,1150,59,'autograd::engine::evaluate_function: MmBackward0, seq = 9, "
               "op_id = 3, sizes = [[2, 3], []], input_op_ids = [(1,0)]'," +
               t + ",NULL,0),(800,5000,59,NULL," + t +
               ",5,0),"
               "(700,5000,59,'step 4'," +
               t + ",NULL,0),(850,NULL,60,'open'," + t + ",NULL,0),(860,NULL,34,'a mark'," + t +
               ",NULL,0),(0,NULL,75,'a domain',NULL,NULL,1);";
    }
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(6000,7000,0,7,50," + number(kFirst) +
           ",2);"
           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10,5,0,7,1," +
           number(kFirst) + ",1,2,1,1,1,1,1,1),('x',5,0,7,1," + number(kFirst) + ",1,2,1,1,1,1,1,1);";
    return sql;
}

/// One process of a two-node run: all-reduces that both end at the same moments, on a clock that shows `wrong` ns.
std::string oneNode(std::int64_t epochNs, std::int64_t wrong, int late)
{
    std::string sql =
        "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT "
        "NULL, streamId INTEGER NOT NULL,"
        " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);"
        "INSERT INTO StringIds VALUES(1,'ncclDevKernel_AllReduce_Sum_f16_RING_LL');"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(" +
        std::to_string(epochNs) + ");";
    for (int i = 0; i < 6; ++i) {
        const std::int64_t end = 10'000'000 + i * i * 3'000'000 + wrong;
        sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(end - 1'000'000 + late) + "," +
               std::to_string(end) + ",0,7," + std::to_string(i) + "," + std::to_string(kFirst) + ",1,1);";
    }
    return sql;
}

} // namespace

class NsightImportTest : public QObject {
    Q_OBJECT

private slots:
    /// Two nodes: the sessions began at different times, and one clock is 5 ms ahead.
    void clocksOfTwoNodes()
    {
        const QTemporaryDir first, second;
        constexpr std::int64_t kEpoch = 1'779'782'330'000'000'000;
        const Imported trace = importPaths({exported(first, oneNode(kEpoch, 0, 0)),
                                            exported(second, oneNode(kEpoch + 2'000'000, 3'000'000, 250'000))});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
        QCOMPARE(trace.audit("clock_offset_ns_rank_1"), std::int64_t{-5'000'000});
        QCOMPARE(trace.audit("clock_residual_ns_rank_1"), std::int64_t{0});
        QCOMPARE(trace.audit("collectives_matched"), std::int64_t{6});
        for (const CollectiveView& view : trace.data->collectives)
            QCOMPARE((view.record.lastArrival - view.record.start).ns,
                     view.rank.value == 0 ? std::int64_t{250'000} : std::int64_t{0});
    }

    /// Found by fuzzing: ends within what an instant can hold, and a length beyond it.
    void longestRows()
    {
        const QTemporaryDir folder;
        const std::string large = std::to_string(std::int64_t{1} << 61);
        const Imported trace = importPaths(
            {exported(folder, "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
                              "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT "
                              "NULL, text TEXT, globalTid INTEGER);"
                              "INSERT INTO NVTX_EVENTS VALUES(-" +
                                  large + "," + large + ",59,'whole',1),(-" + large + ",NULL,59,'open',1),(0," + large +
                                  ",59,'half',1),(" + large + ",NULL,34,'mark',1);")});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.audit("invalid_records"), std::int64_t{0});
        QCOMPARE(trace.audit("unreadable_rows"), std::int64_t{1});
        QCOMPARE(trace.audit("time_out_of_range"), std::int64_t{1});
        QCOMPARE(trace.data->slices.size(), std::size_t{1});
        QCOMPARE(trace.data->events.size(), std::size_t{1});
    }

    void processesAreRanks()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(folder, twoProcesses())});
        QCOMPARE(trace.error, std::string());
        const TraceHeader& header = trace.data->info.header;
        QCOMPARE(header.ranks.size(), std::size_t{2});
        QCOMPARE(header.ranks[0].device, std::string("NVIDIA H100"));
        QCOMPARE(header.ranks[1].device, std::string("NVIDIA H200"));
        QCOMPARE(header.originUnixNs, std::int64_t{1779782330176752435});
        QCOMPARE(header.producer, std::string("Nsight Systems 2026.2.1"));
        // Per rank: 3 kernels, 2 calls, 4 ranges; one graph.
        QCOMPARE(trace.data->slices.size(), std::size_t{2 * 9 + 1});
        QCOMPARE(trace.data->collectives.size(), std::size_t{2});
        QCOMPARE(trace.data->collectives[0].record.sequence, trace.data->collectives[1].record.sequence);
        QCOMPARE(trace.data->flows.size(), std::size_t{4});
        QCOMPARE(trace.data->events.size(), std::size_t{2});
        QCOMPARE(trace.data->steps.at(RankId{1}).front().record.step, StepIndex{4});
    }

    /// Samples go to the rank on that GPU (numbered 3 and 1, CUDA calls them 0 and 1), buffers to their process.
    void besideTheWork()
    {
        const QTemporaryDir folder;
        const std::string first = std::to_string(kFirst), thread = std::to_string(kSecond + 7);
        const Imported trace = importPaths({exported(
            folder,
            twoProcesses() +
                "CREATE TABLE TARGET_INFO_GPU_METRICS(typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId "
                "INTEGER, "
                "metricName TEXT);"
                "CREATE TABLE GPU_METRICS(timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);"
                "INSERT INTO TARGET_INFO_GPU_METRICS VALUES(515,1,'GH100',4,'SMs Active [Throughput %]'),"
                "(515,1,'GH100',1,'GPC Clock Frequency [MHz]'),(514,1,'GH100',4,'SMs Active [Throughput %]');"
                "INSERT INTO GPU_METRICS VALUES(2000,515,4,93),(2000,515,1,1980),(2100,514,4,7),(2200,515,99,1);"
                "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, address INTEGER, bytes "
                "INTEGER, memKind INTEGER, memoryOperationType INTEGER);"
                "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(1000," +
                first + ",4096,512,2,0),(1500," + first + ",8192,64,1,0),(3000," + first + ",4096,512,2,1),(3500," +
                first +
                ",16384,8,2,1);"
                "CREATE TABLE MPI_COLLECTIVES_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER);"
                "INSERT INTO StringIds VALUES(50,'MPI_Allreduce');"
                "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES(5100,5900," +
                thread + ",50);")});
        QCOMPARE(trace.error, std::string());
        const auto& counters = trace.data->info.counters;
        QCOMPARE(counters.size(), std::size_t{3});
        QCOMPARE(counters[0].name, std::string("SMs Active [Throughput %]"));
        QCOMPARE(counters[0].unit, CounterUnit::Percent);
        QVERIFY(counters[0].rank && counters[1].rank && !counters[2].rank);
        QCOMPARE(*counters[0].rank, RankId{0});
        QCOMPARE(counters[1].unit, CounterUnit::Hertz);
        QCOMPARE(counters[2].name, std::string("GPU 2: SMs Active [Throughput %]"));
        QCOMPARE(trace.audit("import_counter_events"), std::int64_t{3});
        QCOMPARE(trace.audit("import_memory_events"), std::int64_t{1});
        QCOMPARE(trace.audit("free_without_buffer"), std::int64_t{1});
        QCOMPARE(trace.audit("unreadable_rows"), std::int64_t{3}); // a sample without a name is one
        QCOMPARE(trace.data->collectives.size(), std::size_t{3});
        const auto mpi = std::find_if(trace.data->collectives.begin(), trace.data->collectives.end(),
                                      [](const CollectiveView& view) { return view.record.start == Instant{5100}; });
        QVERIFY(mpi != trace.data->collectives.end());
        QCOMPARE(mpi->record.operation, CollectiveOp::AllReduce);
        QCOMPARE(mpi->rank, RankId{1});
    }

    void linksStayWithinAProcess()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(folder, twoProcesses())});
        for (const FlowRecord& flow : trace.data->flows)
            QCOMPARE(trace.data->tracks[static_cast<std::size_t>(flow.fromTrack.value)].info.rank,
                     trace.data->tracks[static_cast<std::size_t>(flow.toTrack.value)].info.rank);
        QCOMPARE(trace.op(*trace.slice("void gemm<float>(int)")).phase, Phase::BackwardInput);
        QCOMPARE(trace.op(*trace.slice("void gemm<float>(int)")).detail,
                 std::string("grid [4, 1, 1] block [128, 1, 1]"));
        // Numbers of calls are no part of a name.
        const SliceView* backward = trace.slice("autograd::engine::evaluate_function: MmBackward0");
        QVERIFY(backward);
        QCOMPARE(trace.op(*backward).detail, std::string("[[2, 3], []]"));
        QCOMPARE(trace.audit("operator_numbers_left_out"), std::int64_t{2});
        QVERIFY(trace.slice("cudaLaunchKernel"));
        QVERIFY(trace.slice("registered range"));
        QVERIFY(trace.slice("CUDA graph 2"));
        QCOMPARE(trace.slice("open")->end(), Instant{9100});
        QCOMPARE(trace.track(*trace.slice("registered range")).name, std::string("pt_main_thread"));
    }

    void whatIsLeftOutIsCounted()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(folder, twoProcesses())});
        QCOMPARE(trace.audit("unreadable_rows"), std::int64_t{2});
        QCOMPARE(trace.audit("begin_without_end"), std::int64_t{2});
        QCOMPARE(trace.audit("work_without_launch"), std::int64_t{3});
    }

    void secretsNeverSurface()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(folder, twoProcesses())});
        std::string all = trace.data->info.header.producer;
        for (const auto& rank : trace.data->info.header.ranks) all += rank.device + rank.host;
        for (const auto& op : trace.data->ops) all += op->name + op->detail;
        for (const auto& track : trace.data->tracks) all += track.info.name;
        for (const auto& event : trace.data->events) all += event.text;
        for (const auto& record : trace.data->info.audit) all += record.name + record.detail;
        QVERIFY(all.find("secret") == std::string::npos);
        QVERIFY(all.find("nobody") == std::string::npos);
    }

    void tablesMayBeMissing()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(
            folder,
            "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE EXPORT_META_DATA(name TEXT, value TEXT);"
            "INSERT INTO EXPORT_META_DATA VALUES('EXPORT_PRODUCT_VERSION','2022.2');"
            "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
            "INSERT INTO NVTX_EVENTS VALUES(1,2,59,'only',1);")});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->slices.size(), std::size_t{1});
        QCOMPARE(trace.data->info.header.producer, std::string("Nsight Systems 2022.2"));
    }

    /// A view is never run. Where it stands for a table, leaving it out would lose that silently; others do not matter.
    void viewsInPlaceOfTables()
    {
        for (const QString table : {"StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME",
                                    "NVTX_EVENTS", "ThreadNames", "TARGET_INFO_GPU"}) {
            const QTemporaryDir folder;
            const QString sql =
                QStringLiteral("ALTER TABLE %1 RENAME TO kept; CREATE VIEW %1 AS SELECT * FROM kept;").arg(table);
            const Imported trace = importPaths({exported(folder, twoProcesses() + sql.toStdString())});
            QVERIFY2(!trace.data, qPrintable(table));
            for (const QString& word : {table + " is a view", QStringLiteral("nsys export")})
                QVERIFY2(trace.error.find(word.toStdString()) != std::string::npos, trace.error.c_str());
        }
        const QTemporaryDir folder;
        const std::string path = exported(
            folder, twoProcesses() + "CREATE VIEW longest_kernels AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL;");
        const Imported trace = importPaths({path});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->slices.size(), std::size_t{2 * 9 + 1});
    }

    void otherDatabasesAreRefused_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("says");
        QTest::newRow("nvprof") << "CREATE TABLE StringTable(a); CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(a)"
                                << "nvprof";
        QTest::newRow("rocprof") << "CREATE TABLE rocpd_kernelapi(a)"
                                 << "rocprof";
        QTest::newRow("memory snapshot") << "CREATE TABLE device_traces(a); CREATE TABLE segments(a)"
                                         << "memory snapshot in a database";
        QTest::newRow("our own") << "CREATE TABLE slice(id); CREATE TABLE track(id)"
                                 << "Fourwalls trace already";
        QTest::newRow("a schema that repeats the file's bytes")
            << "PRAGMA writable_schema=ON; CREATE TABLE a(b); UPDATE sqlite_master SET sql='CREATE TABLE a([' || "
               "char(10) || 'x'"
            << "damaged";
        QTest::newRow("any other") << "CREATE TABLE a(b)"
                                   << "nsys export";
    }
    void otherDatabasesAreRefused()
    {
        QFETCH(QString, sql);
        QFETCH(QString, says);
        const QTemporaryDir folder;
        const Imported trace = importPaths({exported(folder, sql.toStdString())});
        QVERIFY(!trace.data);
        QVERIFY2(trace.error.find(says.toStdString()) != std::string::npos, trace.error.c_str());
        QVERIFY(trace.error.find('\n') == std::string::npos);
    }

    /// Calls of 50 us, for a copy within the device, from pageable and from page-locked memory.
    void aCopyThatKeepsNobodyIsALaunch()
    {
        QTemporaryDir folder;
        const std::string thread = std::to_string(kFirst + 7), process = std::to_string(kFirst);
        std::string sql =
            "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId "
            "INTEGER, nameId INTEGER);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
            "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind "
            "INTEGER);"
            "INSERT INTO StringIds VALUES(1,'cudaMemcpyAsync_v3020');";
        const char* const kinds[] = {"8,2,2", "1,0,2", "1,1,2"};
        for (int i = 0; i < 3; ++i) {
            const std::string at = std::to_string(100'000 * i), id = std::to_string(i + 1);
            sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" + at + "," + std::to_string(100'000 * i + 50'000) +
                   "," + thread + "," + id + ",1);INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(" +
                   std::to_string(100'000 * i + 40'000) + "," + std::to_string(100'000 * i + 45'000) + ",0,7," + id +
                   "," + process + ",64," + kinds[i] + ");";
        }
        const Imported trace = importPaths({exported(folder, sql)});
        QVERIFY2(trace.data, trace.error.c_str());
        std::vector<Activity> activities;
        for (const SliceView& slice : trace.data->slices)
            if (trace.op(slice).kind == SliceKind::HostCall) activities.push_back(trace.op(slice).activity);
        QCOMPARE(activities, (std::vector<Activity>{Activity::Launch, Activity::Synchronisation, Activity::Launch}));
    }
};

FOURWALLS_TEST(NsightImportTest, QCoreApplication)

} // namespace tst_nsight_import

#include "tst_nsight_import.moc"
