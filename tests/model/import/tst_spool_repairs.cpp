// SPDX-License-Identifier: Apache-2.0
// What a spool says that is easily read wrongly: graphs of NCCL, memory that stays mapped, instances of a card, clocks.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "model/trace/in_memory_trace.h"
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>
#endif

namespace tst_spool_repairs {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr const char* kReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// Parts of SpoolSample::collective, one by one.
class NcclParts {
public:
    explicit NcclParts(SpoolSample& spool) : m_spool(spool) {}

    std::uint64_t group(std::int64_t at, bool api, bool captured = false)
    {
        collect::NcclGroup made{};
        made.id = ++m_id;
        made.start = m_spool.at(at);
        made.stop = m_spool.at(at + 1);
        made.communicator = 1;
        made.thread = 1;
        made.api = api ? 1 : 0;
        made.captured = captured ? 1 : 0;
        m_spool.add(collect::RecordKind::NcclGroup, made);
        return made.id;
    }
    void reduce(std::int64_t at, std::uint64_t apiGroup, std::uint64_t plan, std::uint64_t floats,
                bool captured = false)
    {
        collect::NcclApi api{};
        if (apiGroup != 0) {
            api.id = ++m_id;
            api.parent = apiGroup;
            api.start = m_spool.at(at);
            api.stop = m_spool.at(at + 1);
            api.communicator = 1;
            api.count = floats;
            api.function = m_spool.text("AllReduce");
            api.datatype = m_spool.text("ncclFloat32");
            api.thread = 1;
            api.captured = captured ? 1 : 0;
            m_spool.add(collect::RecordKind::NcclCollApi, api);
        }
        collect::NcclColl coll{};
        coll.id = ++m_id;
        coll.parent = api.id;
        coll.group = plan;
        coll.start = m_spool.at(at);
        coll.stop = m_spool.at(at + 1);
        coll.communicator = 1;
        coll.sequence = m_id;
        coll.count = floats;
        coll.function = m_spool.text("AllReduce");
        coll.datatype = m_spool.text("ncclFloat32");
        coll.thread = 1;
        m_spool.add(collect::RecordKind::NcclColl, coll);
    }
    /// An all-gather by copy engines: the calls of its copies are one microsecond each from `at` on. Each copy: start, length.
    void gatherByCopies(std::int64_t at, std::uint64_t sequence, std::uint64_t floats,
                        const std::vector<std::pair<std::int64_t, std::int64_t>>& copies, bool captured = false)
    {
        collect::NcclApi api{};
        api.id = ++m_id;
        api.communicator = 1;
        api.captured = captured ? 1 : 0;
        m_spool.add(collect::RecordKind::NcclCollApi, api);
        collect::NcclColl coll{};
        coll.id = ++m_id;
        coll.parent = api.id;
        coll.start = m_spool.at(at);
        coll.stop = m_spool.at(at + static_cast<std::int64_t>(copies.size()));
        coll.communicator = 1;
        coll.sequence = sequence;
        coll.count = floats;
        coll.function = m_spool.text("AllGather");
        coll.datatype = m_spool.text("ncclFloat32");
        coll.algorithm = m_spool.text("CE");
        coll.protocol = m_spool.text("UC");
        coll.thread = 1;
        m_spool.add(collect::RecordKind::NcclCopies, coll);
        for (const auto& [start, length] : copies) {
            const std::uint32_t correlation = copy(at++, start, length);
            m_spool.add(collect::RecordKind::ExternalCorrelation,
                        collect::ExternalCorrelation{
                            coll.id, correlation, static_cast<std::uint32_t>(collect::ExternalKind::NcclKernelLaunch)});
        }
    }
    /// A copy of 4000 bytes and its call.
    std::uint32_t copy(std::int64_t at, std::int64_t start, std::int64_t length)
    {
        collect::Memcpy made{};
        made.start = m_spool.at(start);
        made.end = m_spool.at(start + length);
        made.size = 4000;
        made.context = 1;
        made.stream = 20;
        made.correlation = m_spool.nextCorrelation();
        made.copyKind = static_cast<std::uint8_t>(collect::CopyKind::DeviceToDevice);
        m_spool.call(at, made.correlation, 1, "cudaMemcpyAsync_v3020");
        m_spool.add(collect::RecordKind::Memcpy, made);
        return made.correlation;
    }
    void launch(std::int64_t at, std::uint64_t apiGroup, std::int64_t start, std::int64_t length)
    {
        collect::NcclKernelLaunch made{};
        made.id = ++m_id;
        made.parent = apiGroup;
        made.start = m_spool.at(at);
        made.stop = m_spool.at(at + 2);
        made.communicator = 1;
        made.thread = 1;
        made.correlated = 1;
        m_spool.add(collect::RecordKind::NcclKernelLaunch, made);
        const std::uint32_t correlation = m_spool.launch(kReduceKernel, at, start, length, 1, 20);
        m_spool.add(collect::RecordKind::ExternalCorrelation,
                    collect::ExternalCorrelation{made.id, correlation,
                                                 static_cast<std::uint32_t>(collect::ExternalKind::NcclKernelLaunch)});
    }

private:
    SpoolSample& m_spool;
    std::uint64_t m_id = 0;
};

/// Payloads of the collectives in the order of their starts; -1: not known.
std::vector<std::int64_t> payloads(const Imported& imported)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (const CollectiveView& view : imported.data->collectives)
        found.emplace_back(view.record.start.ns, view.record.payloadBytes.value_or(-1));
    std::sort(found.begin(), found.end());
    std::vector<std::int64_t> bytes;
    for (const auto& each : found) bytes.push_back(each.second);
    return bytes;
}

} // namespace

class SpoolRepairsTest : public QObject {
    Q_OBJECT

private slots:
    /// Two all-reduces of 4 and 400 bytes captured once, replayed three times, then one of 40 bytes that is no graph's.
    void ncclInGraphs_data()
    {
        QTest::addColumn<bool>("plugin");
        QTest::newRow("the plugin says that it captures") << true;
        QTest::newRow("only the calls of CUDA say so") << false;
    }
    void ncclInGraphs()
    {
        QFETCH(const bool, plugin);
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/g.fwspool";
        {
            SpoolSample spool(path, 0, 2);
            spool.communicator(1, 0xabcd, 2, 0);
            NcclParts nccl(spool);
            const auto captured = [&](std::int64_t at, std::uint64_t floats) {
                const std::uint64_t group = plugin ? nccl.group(at, true, true) : 0;
                nccl.reduce(at, group, 0, floats, plugin);
            };
            if (!plugin) spool.call(5, spool.nextCorrelation(), 1, "cudaStreamBeginCapture_v10000");
            captured(10, 1);
            captured(20, 100);
            if (!plugin) spool.call(30, spool.nextCorrelation(), 1, "cudaStreamEndCapture_v10000");
            for (int replay = 0; replay < 3; ++replay) {
                const std::int64_t at = 100 + replay * 100;
                const std::uint32_t correlation = spool.nextCorrelation();
                spool.call(at, correlation, 1, "cudaGraphLaunch_v10000");
                spool.kernel(kReduceKernel, at + 10, 5, correlation, 20, 7);
                spool.kernel(kReduceKernel, at + 20, 30, correlation, 20, 7);
            }
            nccl.reduce(500, 0, 0, 10);
            spool.launch(kReduceKernel, 502, 510, 5, 1, 20);
            spool.end(600);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(payloads(imported), (std::vector<std::int64_t>{-1, -1, -1, -1, -1, -1, 40}));
        QCOMPARE(imported.audit("nccl_kernels_of_graphs"), std::int64_t{6});
        QCOMPARE(imported.audit("nccl_kernels_paired_by_time"), std::int64_t{1});
    }

    /// One call of the API, two launches: three small operations in the first, a large one in the second.
    void severalLaunchesOfAGroup_data()
    {
        QTest::addColumn<bool>("plans");
        QTest::newRow("tied by plans") << true;
        QTest::newRow("tied by nothing") << false;
    }
    void severalLaunchesOfAGroup()
    {
        QFETCH(const bool, plans);
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/p.fwspool";
        {
            SpoolSample spool(path, 0, 2);
            spool.communicator(1, 0xabcd, 2, 0);
            NcclParts nccl(spool);
            const std::uint64_t api = nccl.group(10, true);
            const std::uint64_t first = plans ? nccl.group(21, false) : 0, second = plans ? nccl.group(31, false) : 0;
            for (int i = 0; i < 3; ++i) nccl.reduce(11 + i, api, first, 1);
            nccl.reduce(15, api, second, 1000);
            nccl.launch(20, api, 100, 5);
            nccl.launch(30, api, 110, 50);
            spool.end(200);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(payloads(imported),
                 plans ? (std::vector<std::int64_t>{12, 4000}) : (std::vector<std::int64_t>{8, 4004}));
        QCOMPARE(imported.audit("nccl_kernels_paired"), std::int64_t{plans ? 2 : 0});
        QCOMPARE(imported.audit("nccl_kernels_divided"), std::int64_t{plans ? 0 : 2});
    }

    /// A flag, the data and a flag again; kernels count on their own, so that both have a sixth operation. Rank 1 comes 5 us
    /// later.
    void operationsOfCopyEngines()
    {
        const QTemporaryDir folder;
        std::vector<std::string> paths;
        for (int rank = 0; rank < 2; ++rank) {
            paths.push_back(folder.path().toStdString() + "/c" + std::to_string(rank) + ".fwspool");
            SpoolSample spool(paths.back(), rank, 2, 100 + rank);
            spool.communicator(1, 0xabcd, 2, rank);
            NcclParts nccl(spool);
            nccl.gatherByCopies(10, 6, 1000, {{100 + rank * 5, 1}, {110, 30}, {141, 1}});
            nccl.gatherByCopies(20, 8, 1000, {});       // outside the window
            nccl.gatherByCopies(25, 8, 1000, {}, true); // into a graph
            nccl.copy(30, 150, 7);                      // the program's own
            spool.collective("AllGather", 1, 6, 10, 40, 200, 50);
            spool.end(300);
        }
        const Imported imported = importPaths(paths);
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("nccl_copies_paired"), std::int64_t{2});
        QCOMPARE(imported.audit("nccl_copies_unseen"), std::int64_t{2});
        QCOMPARE(imported.audit("nccl_kernels_paired"), std::int64_t{2});
        QCOMPARE(imported.audit("collectives_matched"), std::int64_t{2});
        QCOMPARE(imported.audit("collectives_unnumbered"), std::int64_t{0});
        QCOMPARE(imported.data->collectives.size(), std::size_t{4});
        const std::int64_t origin = imported.data->info.header.originUnixNs - static_cast<std::int64_t>(kSpoolBegin);
        const auto us = [origin](Instant at) { return (at.ns + origin) / 1000; };
        for (const CollectiveView& view : imported.data->collectives) {
            const CollectiveRecord& record = view.record;
            QCOMPARE(record.operation, CollectiveOp::AllGather);
            const bool byCopies = us(record.start) < 200;
            QCOMPARE(record.algorithm, std::string(byCopies ? "ce" : "ring"));
            // 1000 floats of each of two ranks; each sends the other its half.
            QCOMPARE(record.payloadBytes, std::optional<std::int64_t>(byCopies ? 8000 : 80));
            if (!byCopies) continue;
            QCOMPARE(record.wireBytes, std::int64_t{4000});
            QCOMPARE(us(record.start), std::int64_t{100 + view.rank.value * 5});
            QCOMPARE(us(record.lastArrival), std::int64_t{105});
            QCOMPARE(us(record.end), std::int64_t{142});
        }
        const SliceView* whole = imported.slice("nccl all_gather by copy engines");
        QVERIFY(whole != nullptr);
        QCOMPARE(us(whole->start), std::int64_t{100});
        QCOMPARE(whole->duration.ns, std::int64_t{42'000});
        std::map<std::pair<SliceKind, Activity>, int> copies;
        for (const SliceView& slice : imported.data->slices) {
            const OpInfo& op = imported.op(slice);
            if (op.name == "Memcpy DtoD") ++copies[{op.kind, op.activity}];
        }
        QCOMPARE(copies.size(), std::size_t{2});
        QCOMPARE((copies[{SliceKind::Collective, Activity::Transfer}]), 6);
        QCOMPARE((copies[{SliceKind::Copy, Activity::Copy}]), 2);
    }

    /// Physical memory lives until it is neither held nor mapped.
    void releasedWhileMapped()
    {
        using enum collect::VirtualMemoryOperation;
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/v.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            const auto physical = [&](std::int64_t at, collect::VirtualMemoryOperation operation, std::uint64_t handle,
                                      std::uint64_t address, std::uint64_t bytes) {
                collect::VirtualMemory made{};
                made.time = spool.at(at);
                made.handle = handle;
                made.address = address;
                made.size = bytes;
                made.operation = static_cast<std::uint32_t>(operation);
                spool.add(collect::RecordKind::VirtualMemory, made);
            };
            // Released right after it was mapped, twice; then one range is unmapped, and then the other.
            physical(10, Create, 5, 0, 2'000'000);
            physical(11, Map, 5, 0x100000, 2'000'000);
            physical(12, Map, 5, 0x900000, 2'000'000);
            physical(13, Release, 5, 0, 0);
            // The handle's number again, while the first is mapped: not mapped, so back at once.
            physical(20, Create, 5, 0, 300);
            physical(30, Release, 5, 0, 0);
            physical(40, Unmap, 0, 0x100000, 2'000'000);
            physical(50, Unmap, 0, 0x900000, 2'000'000);
            // Unmapped and mapped elsewhere, as expandable segments do, then released: back with the release.
            physical(60, Create, 6, 0, 70);
            physical(61, Map, 6, 0x100000, 70);
            physical(62, Unmap, 0, 0x100000, 70);
            physical(80, Release, 6, 0, 0);
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        std::vector<std::pair<std::int64_t, std::int64_t>> lives; // bytes, length in microseconds
        for (const AllocationView& view : imported.data->allocations.at(RankId{0})) {
            QVERIFY(view.end);
            lives.emplace_back(view.bytes, (*view.end - view.start).ns / 1000);
        }
        std::sort(lives.begin(), lives.end());
        QCOMPARE(lives, (std::vector<std::pair<std::int64_t, std::int64_t>>{{70, 20}, {300, 10}, {2'000'000, 40}}));
        QCOMPARE(imported.audit("memory_peak_allocated_rank_0"), std::int64_t{2'000'300});
    }

    /// CUPTI names the card, NVML the instance, or the other way round: the samples are kept; others' are not.
    void samplesOfMig()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/m.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            collect::Device device{};
            device.id = 0;
            device.memoryBytes = 10'000'000'000;
            std::memset(device.uuid, 1, sizeof device.uuid);
            std::memset(device.migUuid, 2, sizeof device.migUuid);
            spool.add(collect::RecordKind::Device, device);
            spool.launch("gemm", 1, 2, 5);
            for (int of = 1; of <= 3; ++of) {
                collect::NvmlSample sample{};
                sample.time = spool.at(of * 10);
                sample.memoryUsed = static_cast<std::uint64_t>(of) * 1'000'000;
                sample.processMemory = ~std::uint64_t{0}; // NVML_VALUE_NOT_AVAILABLE, marked as there
                sample.valid = collect::kNvmlMemory | collect::kNvmlProcessMemory;
                std::memset(sample.uuid, of, sizeof sample.uuid);
                spool.add(collect::RecordKind::NvmlSample, sample);
            }
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("memory_peak_used_rank_0"), std::int64_t{2'000'000});
        QCOMPARE(imported.audit("memory_gap_rank_0"), std::int64_t{2'000'000});
    }

    /// CUPTI before CUDA 13.3 names an instance wrongly. A process that has one device only has no other.
    void anInstanceOfMigWithAWrongName()
    {
        for (const int devices : {1, 2}) {
            const QTemporaryDir folder;
            const std::string path = folder.path().toStdString() + "/m.fwspool";
            {
                SpoolSample spool(path, 0, 1);
                for (int id = 0; id < devices; ++id) {
                    collect::Device device{};
                    device.id = static_cast<std::uint32_t>(id);
                    device.migEnabled = 1;
                    std::memset(device.uuid, 1 + id, sizeof device.uuid);
                    spool.add(collect::RecordKind::Device, device);
                }
                spool.launch("gemm", 1, 2, 5);
                collect::NvmlSample sample{};
                sample.time = spool.at(10);
                sample.memoryUsed = 3'000'000;
                sample.valid = collect::kNvmlMemory;
                std::memset(sample.uuid, 9, sizeof sample.uuid);
                spool.add(collect::RecordKind::NvmlSample, sample);
                spool.end(100);
            }
            const Imported imported = importPaths({path});
            QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
            QCOMPARE(imported.audit("memory_peak_used_rank_0"), std::int64_t{devices == 1 ? 3'000'000 : 0});
        }
    }

    /// A wait for the whole device has no stream: CUPTI writes the largest number.
    void waitForAllStreams()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/s.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            spool.launch("gemm", 10, 20, 5);
            collect::Synchronization wait{};
            wait.start = spool.at(30);
            wait.end = spool.at(35);
            wait.type = static_cast<std::uint32_t>(collect::SynchronizationType::Context);
            wait.context = 1;
            wait.stream = 0xffffffffu;
            spool.add(collect::RecordKind::Synchronization, wait);
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const SliceView* waited = imported.slice("device wait");
        QVERIFY(waited);
        QCOMPARE(imported.track(*waited).name, std::string("all streams waits"));
    }

    /// Threads as the system names them, told anew when they are renamed: autograd's make the backward pass.
    void threadsByTheirNames()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/t.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            spool.thread(1, "python3");
            spool.thread(2, "python3");
            spool.launch("fwd", 10, 20, 5, 1);
            spool.launch("bwd", 30, 40, 5, 2);
            spool.thread(2, "pt_autograd_0");
            spool.thread(1, "trainer");
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.op(*imported.slice("fwd")).phase, Phase::Forward);
        QCOMPARE(imported.op(*imported.slice("bwd")).phase, Phase::BackwardInput);
        QCOMPARE(imported.audit("phases_from_threads"), std::int64_t{1});
        for (const auto* name : {"trainer (1)", "pt_autograd_0 (2)"})
            QVERIFY2(std::any_of(imported.data->tracks.begin(), imported.data->tracks.end(),
                                 [name](const auto& track) { return track.info.name == name; }),
                     name);
    }

    /// CUPTI's times count from the start of the machine (WSL) and drift by 2 us in a second: ranges are on the system's.
    void deviceTimesOnAnotherClock()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/w.fwspool";
        constexpr std::uint64_t kBehind = 1'700'000'000'000'000'000;
        {
            SpoolSample spool(path, 0, 1);
            const auto pair = [&](std::int64_t at, std::uint64_t drift) {
                spool.add(collect::RecordKind::ClockPair,
                          collect::ClockPair{spool.at(at), 1000, spool.at(at) - kBehind - drift, 10});
            };
            pair(0, 0);
            collect::Kernel made{};
            made.start = spool.at(500'000) - kBehind - 1000;
            made.end = spool.at(500'010) - kBehind - 1000;
            made.context = 1;
            made.stream = 7;
            made.name = spool.text("gemm");
            spool.add(collect::RecordKind::Kernel, made);
            spool.push("range", 500'000);
            spool.pop(500'020);
            pair(1'000'000, 2000);
            spool.end(1'000'000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const SliceView* const kernel = imported.slice("gemm");
        const SliceView* const range = imported.slice("range");
        QVERIFY(kernel && range);
        QVERIFY2(std::abs((kernel->start - range->start).ns) <= 1,
                 std::to_string((kernel->start - range->start).ns).c_str());
        QCOMPARE(imported.audit("device_clock_moved"), std::int64_t{1});
    }
};

FOURWALLS_TEST(SpoolRepairsTest, QCoreApplication)

} // namespace tst_spool_repairs

#include "tst_spool_repairs.moc"
