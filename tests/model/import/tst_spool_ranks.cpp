// SPDX-License-Identifier: Apache-2.0
// Spools of several processes as one trace: ranks on machines with clocks of their own, and processes that did nothing on
// a GPU.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#endif

namespace tst_spool_ranks {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class SpoolRanksTest : public QObject {
    Q_OBJECT

private slots:
    void twoRanksOnTwoMachines()
    {
        const QTemporaryDir folder;
        std::vector<std::string> paths;
        for (int rank = 0; rank < 2; ++rank) {
            paths.push_back(pathIn(folder, rank == 0 ? "node0-1-rank0.fwspool" : "node1-1-rank1.fwspool"));
            // The second machine's clock is 5 ms ahead.
            SpoolSample spool(paths.back(), rank, 2, 1, static_cast<std::uint64_t>(rank + 1), 0, rank * 5000);
            spool.communicator(1, 0x77, 2, rank);
            for (int i = 0; i < 5; ++i) {
                // Rank 1 arrives 30 us later, both end together.
                const std::int64_t end = 1000 + i * 700 + i * i * 13;
                const std::int64_t length = rank == 0 ? 80 : 50;
                spool.collective("AllReduce", 1, static_cast<std::uint64_t>(i), 1000, end - 200, end - length, length);
            }
            spool.end(9000);
        }
        const Imported imported = importPaths(paths);
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.data->info.header.ranks.size(), std::size_t{2});
        QCOMPARE(imported.audit("clock_offset_ns_rank_1"), std::int64_t{-5'000'000});
        QCOMPARE(imported.audit("clock_residual_ns_rank_1"), std::int64_t{0});
        QCOMPARE(imported.audit("collectives_matched"), std::int64_t{5});
        QCOMPARE(imported.audit("collectives_unnumbered"), std::int64_t{0});
        int waits = 0;
        for (const CollectiveView& view : imported.data->collectives) {
            const Duration wait = view.record.lastArrival - view.record.start;
            QCOMPARE(wait.ns, std::int64_t{view.rank == RankId{0} ? 30'000 : 0});
            QCOMPARE((view.record.end - view.record.lastArrival).ns, std::int64_t{50'000});
            ++waits;
        }
        QCOMPARE(waits, 10);
        QCOMPARE(imported.data->info.groups.front().name, std::string("world"));
    }

    void processesWithoutGpuWork()
    {
        const QTemporaryDir folder;
        const std::vector<std::string> paths{pathIn(folder, "a.fwspool"), pathIn(folder, "b.fwspool"),
                                             pathIn(folder, "c.fwspool"), pathIn(folder, "d.fwspool")};
        {
            SpoolSample worked(paths[0], 0, 3), failed(paths[1], 1, 3), replayed(paths[2], 2, 3),
                launcher(paths[3], -1, -1);
            worked.launch("gemm", 10, 20, 5);
            failed.message(5, collect::MessageCode::CuptiBusy, collect::Severity::Error,
                           "another profiler holds CUPTI");
            // Graphs as a whole, on the second device.
            collect::Device device{};
            device.id = 1;
            device.name = replayed.text("the other one");
            replayed.add(collect::RecordKind::Device, device);
            replayed.add(collect::RecordKind::Context, collect::Context{2, 1, 7, 0});
            collect::GraphTrace graph{};
            graph.start = replayed.at(10);
            graph.end = replayed.at(30);
            graph.device = 1;
            graph.context = 2;
            replayed.add(collect::RecordKind::GraphTrace, graph);
            launcher.push("waits", 10);
            launcher.pop(20);
        }
        const Imported job = importPaths(paths);
        QVERIFY2(job.data && job.error.empty(), job.error.c_str());
        const std::vector<RankInfo>& ranks = job.data->info.header.ranks;
        QCOMPARE(ranks.size(), std::size_t{3});
        QCOMPARE(ranks[2].device, std::string("the other one"));
        QCOMPARE(job.audit("collector_message_2"), std::int64_t{1});
        QCOMPARE(job.audit("processes_without_gpu"), std::int64_t{1});
        QVERIFY(!job.auditRecord("no_gpu_work"));
        const Imported alone = importPaths({paths[3]});
        QVERIFY2(alone.data && alone.error.empty(), alone.error.c_str());
        QVERIFY(alone.slice("waits"));
        QCOMPARE(alone.audit("no_gpu_work"), std::int64_t{1});
        QVERIFY(!importPaths({paths[2]}).auditRecord("no_gpu_work"));
    }

    /// Of all processes of its machine, the one with most operations in common says how well the clocks agree.
    void clocksOfOneMachine()
    {
        const QTemporaryDir folder;
        std::vector<std::string> paths;
        const std::pair<std::uint64_t, int> common[] = {
            {0xa, 3}, {0xb, 10}, {0xc, 4}}; // with rank 3: communicator, operations
        for (int rank = 0; rank < 4; ++rank) {
            paths.push_back(pathIn(folder, ("n-" + std::to_string(rank) + ".fwspool").c_str()));
            SpoolSample spool(paths.back(), rank, 4, 100 + rank);
            std::int64_t now = 100;
            for (int other = 0; other < 3; ++other) {
                const auto [id, operations] = common[other];
                if (rank == 3 || rank == other) spool.communicator(id, id, 2, rank == 3 ? 1 : 0);
                for (int i = 0; i < operations; ++i, now += 100)
                    if (rank == 3 || rank == other)
                        spool.collective("AllReduce", id, static_cast<std::uint64_t>(i), 100, now, now + 20, 50);
            }
            spool.end(now);
        }
        const Imported imported = importPaths(paths);
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const AuditRecord* offset = imported.auditRecord("clock_offset_ns_rank_3");
        QVERIFY(offset);
        QCOMPARE(offset->count, std::int64_t{0});
        QVERIFY2(offset->detail.find("from 10 collectives") != std::string::npos, offset->detail.c_str());
    }
};

FOURWALLS_TEST(SpoolRanksTest, QCoreApplication)

} // namespace tst_spool_ranks

#include "tst_spool_ranks.moc"
