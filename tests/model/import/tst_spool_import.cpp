// SPDX-License-Identifier: Apache-2.0
// Spools of the collector as traces: tracks, launches, ranges, NCCL, memory, and cut files.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "model/import/common/demangled_name.h"
#include "model/import/spool/spool_beside.h"
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#endif

namespace tst_spool_import {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

const CollectiveView* collectiveOfRank(const Imported& imported, int rank, CollectiveOp operation)
{
    for (const CollectiveView& view : imported.data->collectives)
        if (view.rank == RankId{rank} && view.record.operation == operation) return &view;
    return nullptr;
}

} // namespace

class SpoolImportTest : public QObject {
    Q_OBJECT

private slots:
    void everyKindOfRecord()
    {
        const QTemporaryDir folder;
        std::string path;
        {
            SpoolSample spool(pathIn(folder, "node0-100-rank0.fwspool"), 0, 2);
            QVERIFY(spool.created());
            addEveryKind(spool);
            path = spool.path();
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const TraceHeader& header = imported.data->info.header;
        QCOMPARE(header.source, TraceSource::Recorded);
        QCOMPARE(header.ranks.front().device, std::string("NVIDIA H100 80GB HBM3"));
        QCOMPARE(header.ranks.front().host, std::string("node0"));

        const SliceView* added = imported.slice("void at::native::vectorized_elementwise_kernel<4, "
                                                "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
                                                "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
        QVERIFY(added);
        QCOMPARE(imported.track(*added).name, std::string("stream 7"));
        QCOMPARE(imported.op(*added).phase, Phase::Forward);
        QCOMPARE(imported.op(*imported.slice("ampere_sgemm_128x64_nt")).phase, Phase::BackwardInput);
        QCOMPARE(imported.op(*imported.slice("multi_tensor_apply_kernel<adam>")).phase, Phase::Optimizer);
        QCOMPARE(imported.op(*imported.slice("Memcpy HtoD")).bytes, std::int64_t{4096});
        for (const char* name : {"Memset", "CUDA graph 3", "stream wait", "buffer flush", "step 2", "started", "open",
                                 "cudaMemcpyAsync", "cudaLaunchKernel"})
            QVERIFY2(imported.slice(name), name);
        QCOMPARE(imported.track(*imported.slice("buffer flush")).name, std::string("profiler"));

        QCOMPARE(imported.data->steps.at(RankId{0}).size(), std::size_t{4});
        QVERIFY(imported.auditRecord("steps_from_NVTX_ranges"));
        // 14 kernels and an all-reduce per step, and the copy: each has its arrow.
        QCOMPARE(imported.data->flows.size(), std::size_t{4 * 15 + 1});
        QCOMPARE(imported.data->collectives.size(), std::size_t{4});
        const CollectiveView* reduced = collectiveOfRank(imported, 0, CollectiveOp::AllReduce);
        QVERIFY(reduced);
        QCOMPARE(reduced->record.payloadBytes.value_or(-1), std::int64_t{4'000'000});
        QCOMPARE(reduced->record.wireBytes.value_or(-1), std::int64_t{4'000'000});
        QCOMPARE(reduced->record.algorithm, std::string("ring"));
        QCOMPARE(reduced->record.protocol, std::string("LL128"));
        QCOMPARE(imported.audit("nccl_kernels_paired"), std::int64_t{4});

        std::int64_t atStart = 0, alive = 0;
        for (const AllocationView& view : imported.data->allocations.at(RankId{0})) {
            alive += view.end ? 0 : view.bytes;
            atStart += view.bytes == 250'000 ? 1 : 0;
        }
        QCOMPARE(alive, std::int64_t{3'000'000});
        QCOMPARE(atStart, std::int64_t{1});
        QCOMPARE(imported.audit("memory_peak_allocated_rank_0"), std::int64_t{3'750'000});
        // 12 MB in use, 3 of them the collector's.
        QCOMPARE(imported.audit("memory_peak_used_rank_0"), std::int64_t{9'000'000});
        QCOMPARE(imported.audit("collector_message_2"), std::int64_t{1});
        QCOMPARE(imported.audit("cupti_dropped"), std::int64_t{5});
        QCOMPARE(imported.audit("unknown_records"), std::int64_t{1});
        QCOMPARE(imported.audit("invalid_records"), std::int64_t{0});
        QVERIFY(imported.data->info.closing.recorderOverheadFraction.has_value());
    }

    /// What ends outside windows is not recorded: ranges open at a window's end end there.
    void rangesOpenAtTheEndOfAWindow()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "w.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            spool.push("outer", 100);
            spool.window(500, false);
            spool.window(1000, true);
            spool.push("inner", 1100);
            spool.pop(1200);
            spool.pop(1300); // of a range that was begun in between
            spool.push("last", 1500);
            spool.window(2000, false);
            spool.used(9000, 1);
            spool.end(9000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        for (const auto& [name, length] : {std::pair("outer", 400), std::pair("inner", 100), std::pair("last", 500)}) {
            const SliceView* range = imported.slice(name);
            QVERIFY2(range, name);
            QCOMPARE(range->duration.ns, std::int64_t{length} * 1000);
        }
    }

    /// Where the driver tells what the process uses, other users of the device are no part of its gap.
    void memoryOfAProcessOnASharedDevice()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "m.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            spool.memory(5, 0x1000, 5'000'000, true);
            for (const std::int64_t time : {10, 30}) {
                spool.add(collect::RecordKind::MemoryInfo,
                          collect::MemoryInfo{spool.at(time), 10'000'000'000, 80'000'000'000, 3'000'000, 0, 0});
                spool.used(time + 10, 70'000'000'000, 12'000'000);
            }
            spool.end(50);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("memory_peak_used_rank_0"), std::int64_t{9'000'000});
        QCOMPARE(imported.audit("memory_gap_rank_0"), std::int64_t{4'000'000});
    }

    void waitsBeforeTheirContext()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "s.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            spool.launch("gemm", 10, 20, 5);
            for (std::int64_t time = 30; time < 60; time += 10) {
                collect::Synchronization wait{};
                wait.start = spool.at(time);
                wait.end = spool.at(time + 5);
                wait.type = static_cast<std::uint32_t>(collect::SynchronizationType::Stream);
                wait.context = 2;
                wait.stream = 7;
                spool.add(collect::RecordKind::Synchronization, wait);
            }
            spool.add(collect::RecordKind::Context, collect::Context{2, 1, 7, 0});
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const auto waits = std::count_if(imported.data->tracks.begin(), imported.data->tracks.end(),
                                         [](const auto& track) { return track.info.name == "stream 7 waits"; });
        QCOMPARE(waits, std::ptrdiff_t{1});
        QCOMPARE(imported.data->tracks.size(), std::size_t{3}); // and the stream, and the thread
    }

    /// Dropped says that records are missing; what was kept all the same, or is no record, is less.
    void whatWasLost()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "l.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            for (std::uint32_t kind = 1; kind <= 10; ++kind)
                spool.add(collect::RecordKind::Loss, collect::Loss{spool.at(1), kind, 0, kind, 0});
            spool.end(10);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        using enum AuditSeverity;
        for (const auto& [name, count, severity] :
             {std::tuple("cupti_dropped", 1, Dropped), std::tuple("buffers_refused", 2, Skipped),
              std::tuple("queue_full", 3, Dropped), std::tuple("write_failed", 4, Dropped),
              std::tuple("ring_overwritten", 5, Info), std::tuple("cupti_times_lost", 6, Skipped),
              std::tuple("cupti_times_inverted", 7, Skipped), std::tuple("cupti_unknown_kind", 8, Dropped),
              std::tuple("names_full", 9, Dropped), std::tuple("cupti_buffer_malformed", 10, Dropped)}) {
            const AuditRecord* record = imported.auditRecord(name);
            QVERIFY2(record, name);
            QCOMPARE(record->count, std::int64_t{count});
            QVERIFY2(record->severity == severity, name);
        }
    }

    void rangesOfNcclWhereThereIsNoPlugin()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "a.fwspool");
        {
            SpoolSample spool(path, 0, 4);
            spool.add(collect::RecordKind::NvtxDomain, collect::NvtxDomain{3, spool.text("NCCL")});
            const auto schema = [&](std::uint64_t id,
                                    const std::vector<std::pair<std::string, std::uint64_t>>& fields) {
                std::vector<collect::NvtxSchemaEntry> entries;
                std::uint64_t offset = 0;
                for (const auto& [name, type] : fields) {
                    entries.push_back({type, offset, 0, 0, spool.text(name)});
                    offset += type == 5 ? 4 : 8;
                }
                spool.add(collect::RecordKind::NvtxSchema,
                          collect::NvtxSchema{id, 3, 0, static_cast<std::uint32_t>(offset),
                                              static_cast<std::uint32_t>(entries.size())},
                          entries.data(), entries.size() * sizeof entries.front());
            };
            schema(11, {{"NCCL communicator ID", 18}, {"No. of ranks", 5}, {"Rank", 5}});
            schema(12, {{"NCCL communicator ID", 18}, {"Message size [bytes]", 22}});
            schema(13, {{"NCCL communicator ID", 18}, {"Message size [bytes]", 22}, {"Peer rank", 5}});
            const auto put = [](std::vector<std::byte>& bytes, const auto& value) {
                const auto* from = reinterpret_cast<const std::byte*>(&value);
                bytes.insert(bytes.end(), from, from + sizeof value);
            };
            std::vector<std::byte> init, size, message, alone;
            put(init, std::uint64_t{0x55});
            put(init, 4);
            put(init, 0);
            put(size, std::uint64_t{0x55});
            put(size, std::uint64_t{4000});
            put(message, std::uint64_t{0x55});
            put(message, std::uint64_t{800});
            put(message, 3);
            put(alone, std::uint64_t{0x66});
            put(alone, 1);
            put(alone, 0);
            const auto range = [&](const char* name, std::int64_t begin, std::int64_t end, std::uint64_t id,
                                   const std::vector<std::byte>& payload) {
                spool.push(name, begin, 1, 3, id, payload.data(), payload.size());
                spool.pop(end, 1, 3);
            };
            range("ncclCommInitRank", 10, 20, 11, init);
            range("ncclCommInitRank", 21, 22, 11, alone);
            // A group: two all-reduces end before the two kernels are launched; then a message.
            range("ncclAllReduce", 100, 102, 12, size);
            range("ncclAllReduce", 103, 105, 12, size);
            spool.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 110, 120, 10, 1, 20);
            spool.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 112, 131, 10, 1, 20);
            range("ncclSend", 200, 204, 13, message);
            spool.launch("ncclDevKernel_SendRecv", 206, 210, 10, 1, 20);
            std::vector<std::byte> one;
            put(one, std::uint64_t{0x66});
            put(one, std::uint64_t{64});
            range("ncclAllReduce", 300, 302, 12, one); // a communicator of one rank: no kernel
            spool.end(400);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("nccl_kernels_paired_by_time"), std::int64_t{3});
        QCOMPARE(imported.audit("single_rank_operations"), std::int64_t{1});
        QCOMPARE(imported.audit("collectives_unnumbered"), std::int64_t{3});
        std::int64_t reduced = 0;
        for (const CollectiveView& view : imported.data->collectives)
            if (view.record.operation == CollectiveOp::AllReduce) reduced += view.record.payloadBytes.value_or(0);
        QCOMPARE(reduced, std::int64_t{8000});
        const CollectiveView* sent = collectiveOfRank(imported, 0, CollectiveOp::Send);
        QVERIFY(sent);
        QCOMPARE(sent->record.payloadBytes.value_or(-1), std::int64_t{800});
        QCOMPARE(sent->record.peer, std::optional(RankId{3}));
    }

    void replaysOfAGraph()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "g.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            for (int replay = 0; replay < 3; ++replay) {
                const std::uint32_t correlation = spool.nextCorrelation();
                spool.call(replay * 100, correlation, 1, "cudaGraphLaunch_v10000");
                for (int node = 0; node < 4; ++node)
                    spool.kernel("node_" + std::to_string(node), replay * 100 + 10 + node * 5, 4, correlation, 7, 12);
            }
            spool.end(500);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("graph_nodes"), std::int64_t{12});
        QCOMPARE(imported.data->flows.size(), std::size_t{3});
        QVERIFY(imported.op(*imported.slice("node_1")).detail.find("graph 12") != std::string::npos);
    }

    /// Cut anywhere: what stands before the cut is there.
    void cutFiles()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "whole.fwspool");
        {
            SpoolSample spool(path, 0, 2);
            addEveryKind(spool);
        }
        std::ifstream file(path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        std::size_t slices = 0;
        for (std::size_t size = 512; size < bytes.size(); size += 331) {
            const Imported imported = importPaths({writeFile(folder, "cut.fwspool", bytes.substr(0, size))});
            QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
            QCOMPARE(imported.audit("recording_cut"), std::int64_t{1});
            QCOMPARE(imported.audit("invalid_records"), std::int64_t{0});
            QVERIFY(imported.data->slices.size() + 1 >= slices);
            slices = imported.data->slices.size();
        }
        QVERIFY(slices > 100);
        for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{300}, std::size_t{511}}) {
            const Imported imported = importPaths({writeFile(folder, "cut.fwspool", bytes.substr(0, size))});
            QVERIFY(!imported.data);
            QVERIFY(!imported.error.empty() && imported.error.find('\n') == std::string::npos);
        }
    }

    /// Records with sound checks and arbitrary content.
    void nonsense()
    {
        const QTemporaryDir folder;
        std::mt19937_64 random(5);
        for (int round = 0; round < 20; ++round) {
            const std::string path = pathIn(folder, "random.fwspool");
            {
                SpoolSample spool(path, static_cast<int>(random() % 3) - 1, 2, 1, 1, round % 3 == 0 ? 4 << 20 : 0);
                addEveryKind(spool);
                for (int i = 0; i < 300; ++i) {
                    struct {
                        std::uint64_t words[14];
                    } record;
                    for (std::uint64_t& word : record.words) {
                        const std::uint64_t value = random();
                        word = value % 4 == 0   ? random()
                               : value % 4 == 1 ? kSpoolBegin + value % 1'000'000'000
                               : value % 4 == 2 ? value % 16
                                                : (value % 8) << 32 | value % 8;
                    }
                    const auto kind = static_cast<collect::RecordKind>(random() % 120);
                    if (kind != collect::RecordKind::None) spool.add(kind, record);
                }
            }
            const Imported imported = importPaths({path});
            QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
            QCOMPARE(imported.audit("invalid_records"), std::int64_t{0});
        }
    }

    void snapshotBesideTheSpool()
    {
        const QTemporaryDir folder;
        const std::string stem = pathIn(folder, "node0-100-rank0");
        {
            SpoolSample spool(stem + ".fwspool", 0, 1);
            addEveryKind(spool);
        }
        const char* const snapshot =
            FOURWALLS_SOURCE_DIR "/tests/data/import/MAGMA27__assignment2-systems/memory_snapshot.pickle";
        std::filesystem::copy_file(snapshot, stem + ".memory.pickle");
        const Imported imported = importPaths({stem + ".fwspool"});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        // The framework's buffers stand in for CUDA's; the sum of those is still there.
        QVERIFY(imported.data->allocations.at(RankId{0}).size() > 1000);
        const auto& counters = imported.data->info.counters;
        QVERIFY(std::any_of(counters.begin(), counters.end(),
                            [](const CounterInfo& counter) { return counter.name == "cuda_allocated_bytes"; }));
        QVERIFY(imported.data->info.header.producer.find("PyTorch memory snapshot") != std::string::npos);
        // A broken one does no harm.
        std::ofstream(stem + ".memory.pickle") << "";
        QVERIFY(importPaths({stem + ".fwspool"}).data);
    }

    void namesThatExplode()
    {
        QCOMPARE(demangledName("plain"), std::string("plain"));
        QCOMPARE(demangledName("_Z1fi"), std::string("f(int)"));
        std::string bomb = "_Z1f1aIiiE1bIS0_S0_E";
        for (const char c : std::string("23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
            bomb += std::string("S1_IS") + c + "_S" + c + "_E";
        QCOMPARE(demangledName(bomb), bomb);
    }
};

FOURWALLS_TEST(SpoolImportTest, QCoreApplication)

} // namespace tst_spool_import

#include "tst_spool_import.moc"
