// SPDX-License-Identifier: Apache-2.0
// Profiles of Ascend's, XLA's and AMD's tools beyond what the golden cases show: older and newer schemas, damaged files,
// what must not count as computing.
#include "tests/model/import/database_file.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include "model/import/common/csv_rows.h"
#include "model/import/common/kernel_class.h"
#include "model/import/xspace/hlo_text.h"

#include <QTest>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace tst_vendor_profiles {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

std::string fileText(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
}

std::string seed(const char* name)
{
    return std::string(FOURWALLS_SOURCE_DIR) + "/tests/data/fuzz/" + name;
}

constexpr const char* kAscend =
    "CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "taskType INTEGER, streamId INTEGER);"
    "INSERT INTO STRING_IDS VALUES(1,'AI_CORE'),(2,'EVENT_WAIT'),(3,'SOMETHING_NEW'),(4,'hcom_allGather__9_0_1'),(5,'"
    "MatMulV3');";

/// Tables of schema 4 of rocpd for one process.
std::string rocpdFour(const std::string& id, int agent)
{
    const auto table = [&](const char* name, const char* columns) {
        return "CREATE TABLE \"" + std::string(name) + id + "\"(" + columns + ");";
    };
    return table("rocpd_string", "id INTEGER PRIMARY KEY, string TEXT") +
           table("rocpd_info_agent", "id INTEGER PRIMARY KEY, type TEXT, product_name TEXT") +
           table("rocpd_info_kernel_symbol", "id INTEGER PRIMARY KEY, display_name TEXT, kernel_name TEXT") +
           table("rocpd_track", "id INTEGER PRIMARY KEY, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id "
                                "INTEGER") +
           table("rocpd_event", "id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER") +
           table("rocpd_region", "id INTEGER PRIMARY KEY, track_id INTEGER, name_id INTEGER, start BIGINT, \"end\" "
                                 "BIGINT, event_id INTEGER") +
           table("rocpd_kernel_dispatch", "id INTEGER PRIMARY KEY, track_id INTEGER, kernel_id INTEGER, start BIGINT, "
                                          "\"end\" BIGINT, event_id INTEGER") +
           "INSERT INTO rocpd_string" + id + " VALUES(1,'hipLaunchKernel'),(2,'HIP_RUNTIME_API');" +
           "INSERT INTO rocpd_info_agent" + id + " VALUES(" + std::to_string(agent) + ",'GPU','AMD Instinct MI250X');" +
           "INSERT INTO rocpd_info_kernel_symbol" + id + " VALUES(1,'gemm" + id + "','_Z4gemm.kd');" +
           "INSERT INTO rocpd_track" + id + " VALUES(1,7,NULL,NULL,NULL),(2,NULL," + std::to_string(agent) + ",1,3);" +
           "INSERT INTO rocpd_event" + id + " VALUES(1,2,55),(2,NULL,55);" + "INSERT INTO rocpd_region" + id +
           " VALUES(1,1,1,1000,2000,1);" + "INSERT INTO rocpd_kernel_dispatch" + id + " VALUES(1,2,1,5000,9000,2);";
}

} // namespace

class VendorProfilesTest : public QObject {
    Q_OBJECT

private slots:
    /// Profiles of the lowest level do not say what their tasks compute.
    void ascendWithoutTaskInfo()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({database(
            folder, "msprof_3.db",
            std::string(kAscend) +
                "CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER);"
                "INSERT INTO COMMUNICATION_OP VALUES(4,2000,6000,9);"
                "INSERT INTO TASK VALUES(1000,2000,0,5,1,1,2),(2000,6000,0,9,2,1,4),(6000,7000,0,6,3,2,2),(7000,8000,0,"
                "7,4,3,2)")});
        QCOMPARE(trace.error, std::string());
        std::map<std::string, std::int64_t> computing;
        for (const SliceView& slice : trace.data->slices)
            if (trace.op(slice).activity == Activity::Compute) computing[trace.op(slice).name] += slice.duration.ns;
        QCOMPARE(computing, (std::map<std::string, std::int64_t>{{"AI_CORE", 1000}}));
        QCOMPARE(trace.data->collectives.size(), std::size_t{1});
        QCOMPARE(trace.data->collectives.front().record.operation, CollectiveOp::AllGather);
        QCOMPARE(trace.op(*trace.slice("SOMETHING_NEW")).activity, Activity::None);
        QCOMPARE(trace.audit("tasks_not_counted"), std::int64_t{2});
    }

    void viewsAreRefused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("says");
        QTest::newRow("ascend")
            << "a.db"
            << "CREATE TABLE STRING_IDS(id INTEGER, value TEXT); CREATE TABLE RANK_DEVICE_MAP(rankId "
               "INTEGER); CREATE VIEW TASK AS SELECT 1 startNs, 2 endNs"
            << "TASK is a view";
        QTest::newRow("rocpd") << "r.db"
                               << "CREATE TABLE rocpd_kernel_dispatch_1(start INTEGER); CREATE VIEW rocpd_string_1 AS "
                                  "SELECT 1 id, 'x' string; CREATE VIEW rocpd_info_agent_1 AS SELECT 1 id"
                               << "rocpd_info_agent_1 is a view";
    }
    void viewsAreRefused()
    {
        QFETCH(QString, name);
        QFETCH(QString, sql);
        QFETCH(QString, says);
        const QTemporaryDir folder;
        const Imported refused = importPaths({database(folder, name.toStdString(), sql.toStdString())});
        QVERIFY2(QString::fromStdString(refused.error).contains(says), refused.error.c_str());
    }

    void rocpdOfSeveralProcesses()
    {
        const QTemporaryDir folder;
        const Imported trace = importPaths({database(folder, "results.db", rocpdFour("_a", 2) + rocpdFour("_b", 5))});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
        QCOMPARE(trace.data->info.header.ranks[1].device, std::string("AMD Instinct MI250X"));
        // Ids are those of each process: both kernels have their own launch.
        QCOMPARE(trace.data->flows.size(), std::size_t{2});
        QCOMPARE(trace.track(*trace.slice("gemm_a")).rank, RankId{0});
        QCOMPARE(trace.track(*trace.slice("gemm_b")).rank, RankId{1});
        QCOMPARE(trace.track(*trace.slice("gemm_b")).name, std::string("stream 3"));
    }

    void xspaceCutAnywhere()
    {
        const QTemporaryDir folder;
        const std::string whole = fileText(seed("xspace_tpu.xplane.pb"));
        QVERIFY(importPaths({seed("xspace_tpu.xplane.pb")}).error.empty());
        int refused = 0;
        for (std::size_t size = 1; size < whole.size(); size += 7) {
            const Imported cut = importPaths({writeFile(folder, "cut.xplane.pb", whole.substr(0, size))});
            if (!cut.error.empty()) {
                ++refused;
                QVERIFY2(cut.error.find("byte ") != std::string::npos || cut.error.find("XSpace") != std::string::npos,
                         cut.error.c_str());
            }
        }
        // Between two planes a file may end.
        QVERIFY(refused >= static_cast<int>(whole.size() / 7) - 1);
    }

    /// A length that reaches far behind the end of the file, and one that reaches out of its message.
    void xspaceLengths()
    {
        const QTemporaryDir folder;
        const std::string name = "\x12\x0d/device:TPU:0";
        for (const std::string& lie : {std::string("\x0a\xff\xff\xff\xff\x07"), std::string("\x0a\x20")}) {
            const Imported refused = importPaths({writeFile(folder, "lie.xplane.pb", lie + name + "\x1a\x7f\x0a")});
            QVERIFY2(refused.error.find("damaged at byte ") != std::string::npos, refused.error.c_str());
        }
    }

    void xspaceBusyTimeOfDevices()
    {
        const Imported trace =
            importPaths({std::string(FOURWALLS_SOURCE_DIR) + "/tests/data/import/TraceLens/mi300/tw003.xplane.pb"});
        QCOMPARE(trace.error, std::string());
        // As tests/model/import/golden/xspace_reading.py reads the file.
        const std::vector<std::int64_t> expected{3995965, 3345845, 3524285, 3403364,
                                                 3493365, 3464884, 3403004, 3502165};
        std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> work(expected.size());
        for (const SliceView& slice : trace.data->slices)
            if (const Activity activity = trace.op(slice).activity;
                activity == Activity::Compute || activity == Activity::Copy) // kernels that copy
                work[static_cast<std::size_t>(trace.track(slice).rank.value)].emplace_back(
                    slice.start.ns, slice.start.ns + slice.duration.ns);
        for (std::size_t rank = 0; rank < expected.size(); ++rank) {
            std::sort(work[rank].begin(), work[rank].end());
            std::int64_t busy = 0, end = INT64_MIN;
            for (const auto& [from, to] : work[rank]) {
                busy += std::max<std::int64_t>(0, to - std::max(from, end));
                end = std::max(end, to);
            }
            QCOMPARE(busy, expected[rank]);
        }
        QCOMPARE(trace.data->slices.size(), std::size_t{3650});
    }

    /// The inner slice is on the writer's own clock, whose times add up; what is cut is said.
    void perfettoClocks()
    {
        const Imported trace = importPaths({seed("program.pftrace")});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QCOMPARE(trace.slice("forward")->start.ns, std::int64_t{50'000});
        QCOMPARE(trace.slice("forward")->duration.ns, std::int64_t{20'000});
        QCOMPARE(trace.op(*trace.slice("gemm")).activity, Activity::Compute);
        QCOMPARE(trace.op(*trace.slice("step 1")).activity, Activity::None);
        const QTemporaryDir folder;
        const std::string whole = fileText(seed("program.pftrace"));
        const Imported cut = importPaths({writeFile(folder, "cut.pftrace", whole.substr(0, whole.size() - 3))});
        QCOMPARE(cut.audit("file_cut"), std::int64_t{1});
        QVERIFY(cut.slice("forward") && !cut.slice("cut off"));
    }

    void hloTexts()
    {
        QCOMPARE(hloWork("fusion.12", "convolution fusion"), HloWork::Compute);
        QCOMPARE(hloWork("%while.1 = (f32[]) while(%t)", ""), HloWork::Control);
        QCOMPARE(hloWork("copy-start.3", ""), HloWork::Copy);
        QCOMPARE(hloWork("reduce.3", ""), HloWork::Compute);
        QCOMPARE(hloWork("fusion.7", "all-reduce fusion"), HloWork::Communication);
        QCOMPARE(hloWork("send-done.2", ""), HloWork::Communication);
        const auto payload = [](const char* text) { return hloCollective(text).payloadBytes.value_or(-1); };
        QCOMPARE(payload("%all-reduce.1 = bf16[8,16]{1,0:T(8,128)} all-reduce(%x), replica_groups={{0,1}}"), 256);
        QCOMPARE(payload("%all-reduce.1 = (f32[4]{0}, bf16[2]{0}) all-reduce(%x, %y)"), 20);
        QCOMPARE(payload("%all-gather-start.1 = (f32[4]{0}, f32[16]{0}) all-gather-start(%x)"), 64);
        QCOMPARE(payload("%reduce-scatter.1 = f32[4]{0} reduce-scatter(%x), replica_groups=[2,4]<=[8]"), 64);
        QCOMPARE(payload("%all-reduce.1 = f32[99999999999999,99999999999999]{0} all-reduce(%x)"), -1);
        QCOMPARE(payload("%all-reduce.1 = f32[] all-reduce(%x)"), 4);
        QCOMPARE(payload("%all-reduce.1 = "), -1);
        QCOMPARE(hloCollective("%a = f32[2] all-reduce(), replica_groups=[2,4]<=[8]").groupSize, 4);
        QCOMPARE(hloCollective("%a = f32[2] all-reduce(), replica_groups={{0,1,2},{3,4,5}}").groupSize, 3);
        QCOMPARE(hloCollective("%a = f32[2] all-reduce(), replica_groups={{").groupSize, 0);
    }

    void tables()
    {
        const QTemporaryDir folder;
        auto rows = CsvRows::open(
            writeFile(folder, "t.csv", "\xef\xbb\xbf\"Name\",Size\r\n\"a, \"\"b\"\"\",1\r\n\r\nc\r\n,\"x\ny\""));
        QVERIFY(rows.ok());
        const auto next = [&] {
            const auto more = rows->next();
            return more.ok() && *more;
        };
        QCOMPARE(rows->column("name"), 0);
        QCOMPARE(rows->column("none"), -1);
        QVERIFY(next());
        QCOMPARE(rows->text(0), std::string_view("a, \"b\""));
        QCOMPARE(rows->text(1), std::string_view("1"));
        QVERIFY(next());
        QCOMPARE(rows->text(0), std::string_view("c"));
        QCOMPARE(rows->text(1), std::string_view());
        QVERIFY(next());
        QCOMPARE(rows->text(1), std::string_view("x\ny"));
        QVERIFY(!next());
        QVERIFY(!rows->damaged());
        auto endless = CsvRows::open(writeFile(folder, "e.csv", "a\n\"" + std::string(3 << 20, 'x')));
        QVERIFY(endless.ok());
        const auto more = endless->next();
        QVERIFY(more.ok() && !*more && endless->damaged());
    }

    void elementsOfRccl()
    {
        QCOMPARE(elementBytes("ncclBfloat16").value(), 2);
        QCOMPARE(elementBytes("ncclFloat32").value(), 4);
        QCOMPARE(elementBytes("ncclUint8").value(), 1);
        QCOMPARE(elementBytes("ncclInt64").value(), 8);
        QCOMPARE(elementBytes("ncclFp8E4M3").value(), 1);
        QCOMPARE(elementBytes("ncclInt32").value(), 4);
    }
};

FOURWALLS_TEST(VendorProfilesTest, QCoreApplication)

} // namespace tst_vendor_profiles

#include "tst_vendor_profiles.moc"
