// SPDX-License-Identifier: Apache-2.0
// Small spools as the collector writes them, for tests.
#pragma once

#include "profiler/collect/spool_file.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fourwalls::importers::test {

inline constexpr std::uint64_t kSpoolBegin = 1'779'000'000'000'000'000; ///< [ns since 1970]

/// One spool in the making. Times are given in microseconds after kSpoolBegin.
class SpoolSample {
public:
    SpoolSample(std::string path, int rank, int worldSize, int pid = 100, std::uint64_t boot = 7,
                std::uint64_t maxBytes = 0, std::int64_t clockUs = 0)
        : m_path(std::move(path))
        , m_clockUs(clockUs)
    {
        std::filesystem::remove(m_path);
        collect::FileHeader header{};
        header.startRealtime = kSpoolBegin;
        header.bootHash = boot;
        header.pid = pid;
        header.rank = rank;
        header.worldSize = worldSize;
        header.localRank = rank;
        std::strcpy(header.host, "node0");
        std::strcpy(header.executable, "python3");
        std::strcpy(header.collectorVersion, "0.1.0");
        m_created = m_file.create(m_path.c_str(), header, maxBytes) == 0;
        collect::Device device{};
        device.id = 0;
        device.name = text("NVIDIA H100 80GB HBM3");
        device.memoryBytes = 80'000'000'000;
        device.memoryBandwidth = 3'350'000'000;
        add(collect::RecordKind::Device, device);
        add(collect::RecordKind::Context, collect::Context{1, 0, 7, 0});
    }
    ~SpoolSample() { m_file.flush(); }

    bool created() const { return m_created; }
    const std::string& path() const { return m_path; }
    static std::uint64_t us(std::int64_t time) { return kSpoolBegin + static_cast<std::uint64_t>(time * 1000); }
    std::uint64_t at(std::int64_t time) const { return us(time + m_clockUs); }

    template <class T>
    void add(collect::RecordKind kind, const T& structure, const void* tail = nullptr, std::size_t tailBytes = 0)
    {
        m_file.add(kind, structure, tail, tailBytes);
    }
    std::uint32_t text(const std::string& words)
    {
        const auto [found, isNew] = m_texts.try_emplace(words, static_cast<std::uint32_t>(m_texts.size() + 1));
        if (isNew)
            add(collect::RecordKind::String, collect::String{found->second, static_cast<std::uint32_t>(words.size())},
                words.data(), words.size());
        return found->second;
    }
    void thread(std::uint32_t id, const std::string& name)
    {
        add(collect::RecordKind::Thread, collect::Thread{id, text(name)});
    }

    /// An API call of one microsecond.
    void call(std::int64_t start, std::uint32_t correlation, std::uint32_t thread = 1,
              const std::string& name = "cudaLaunchKernel_v7000")
    {
        const auto function = text(name);
        add(collect::RecordKind::ApiName, collect::ApiName{2, function, function, 0});
        collect::ApiCall made{};
        made.start = at(start);
        made.end = at(start + 1);
        made.domain = 2;
        made.function = function;
        made.thread = thread;
        made.correlation = correlation;
        add(collect::RecordKind::ApiCall, made);
    }
    void kernel(const std::string& name, std::int64_t start, std::int64_t length, std::uint32_t correlation,
                std::uint32_t stream = 7, std::uint32_t graph = 0)
    {
        collect::Kernel made{};
        made.start = at(start);
        made.end = at(start + length);
        made.context = 1;
        made.stream = stream;
        made.correlation = correlation;
        made.name = text(name);
        made.graph = graph;
        made.graphNode = graph;
        made.grid[0] = made.grid[1] = made.grid[2] = 1;
        made.block[0] = 128;
        made.block[1] = made.block[2] = 1;
        add(collect::RecordKind::Kernel, made);
    }
    /// A kernel and the call that launched it.
    std::uint32_t launch(const std::string& name, std::int64_t call, std::int64_t start, std::int64_t length,
                         std::uint32_t thread = 1, std::uint32_t stream = 7)
    {
        const std::uint32_t correlation = nextCorrelation();
        this->call(call, correlation, thread);
        kernel(name, start, length, correlation, stream);
        return correlation;
    }
    std::uint32_t nextCorrelation() { return ++m_correlation; }

    void push(const std::string& name, std::int64_t time, std::uint32_t thread = 1, std::uint32_t domain = 0,
              std::uint64_t schema = 0, const void* payload = nullptr, std::size_t bytes = 0)
    {
        collect::NvtxEvent event{};
        event.time = at(time);
        event.name = text(name);
        event.thread = thread;
        event.domain = domain;
        event.schema = schema;
        event.extendedBytes = static_cast<std::uint32_t>(bytes);
        add(collect::RecordKind::NvtxPush, event, payload, bytes);
    }
    void pop(std::int64_t time, std::uint32_t thread = 1, std::uint32_t domain = 0)
    {
        add(collect::RecordKind::NvtxPop, collect::NvtxEnd{at(time), 0, domain, thread});
    }
    void window(std::int64_t time, bool on, collect::WindowReason reason = collect::WindowReason::Steps)
    {
        add(collect::RecordKind::Window, collect::Window{at(time), on ? 1u : 0u, static_cast<std::uint32_t>(reason)});
    }
    void message(std::int64_t time, collect::MessageCode code, collect::Severity severity, const std::string& words)
    {
        add(collect::RecordKind::Message,
            collect::Message{at(time), 0, static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(severity),
                             static_cast<std::uint32_t>(words.size()), 0},
            words.data(), words.size());
    }
    /// What the process and the whole device use; without the first, the driver does not tell it.
    void used(std::int64_t time, std::uint64_t bytesOfDevice, std::uint64_t bytesOfProcess = 0)
    {
        collect::NvmlSample sample{};
        sample.time = at(time);
        sample.memoryUsed = bytesOfDevice;
        sample.processMemory = bytesOfProcess;
        sample.valid = collect::kNvmlMemory | (bytesOfProcess > 0 ? collect::kNvmlProcessMemory : 0u);
        add(collect::RecordKind::NvmlSample, sample);
    }
    void memory(std::int64_t time, std::uint64_t address, std::uint64_t bytes, bool allocates,
                std::uint32_t correlation = 0)
    {
        collect::Memory made{};
        made.time = at(time);
        made.address = address;
        made.size = bytes;
        made.context = 1;
        made.correlation = correlation;
        made.operation = static_cast<std::uint8_t>(allocates ? collect::MemoryOperation::Allocate
                                                             : collect::MemoryOperation::Release);
        made.memoryKind = static_cast<std::uint8_t>(collect::MemoryKind::Device);
        add(collect::RecordKind::Memory, made);
    }
    void communicator(std::uint64_t id, std::uint64_t commId, int ranks, int rank)
    {
        collect::NcclCommunicator made{};
        made.id = id;
        made.commId = commId;
        made.nodes = 1;
        made.ranks = ranks;
        made.rank = rank;
        made.time = at(0);
        add(collect::RecordKind::NcclCommunicator, made);
    }
    /// One collective as NCCL's plugin tells it: group, API call, task, launch, and the kernel. Counts are of float32.
    void collective(const std::string& function, std::uint64_t communicator, std::uint64_t sequence,
                    std::uint64_t count, std::int64_t call, std::int64_t start, std::int64_t length)
    {
        const std::uint64_t group = ++m_nccl, api = ++m_nccl, task = ++m_nccl, launch = ++m_nccl;
        collect::NcclGroup grouped{};
        grouped.id = group;
        grouped.start = at(call);
        grouped.stop = at(call + 3);
        grouped.communicator = communicator;
        grouped.thread = 1;
        grouped.api = 1;
        add(collect::RecordKind::NcclGroup, grouped);
        collect::NcclApi asked{};
        asked.id = api;
        asked.parent = group;
        asked.start = at(call);
        asked.stop = at(call + 1);
        asked.communicator = communicator;
        asked.count = count;
        asked.function = text(function);
        asked.datatype = text("ncclFloat32");
        asked.thread = 1;
        add(collect::RecordKind::NcclCollApi, asked);
        collect::NcclColl coll{};
        coll.id = task;
        coll.parent = api;
        coll.start = at(call + 1);
        coll.stop = at(call + 2);
        coll.communicator = communicator;
        coll.sequence = sequence;
        coll.count = count;
        coll.function = text(function);
        coll.datatype = text("ncclFloat32");
        coll.algorithm = text("RING");
        coll.protocol = text("LL128");
        coll.channels = 8;
        coll.thread = 1;
        add(collect::RecordKind::NcclColl, coll);
        collect::NcclKernelLaunch made{};
        made.id = launch;
        made.parent = group;
        made.start = at(call + 2);
        made.stop = at(call + 4);
        made.communicator = communicator;
        made.thread = 1;
        made.correlated = 1;
        add(collect::RecordKind::NcclKernelLaunch, made);
        const std::uint32_t correlation =
            this->launch("ncclDevKernel_" + function + "_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", call + 2,
                         start, length, 1, 20);
        add(collect::RecordKind::ExternalCorrelation,
            collect::ExternalCorrelation{launch, correlation,
                                         static_cast<std::uint32_t>(collect::ExternalKind::NcclKernelLaunch)});
    }
    void end(std::int64_t time)
    {
        add(collect::RecordKind::End, collect::End{at(time), m_file.records(), 1, 0});
        m_file.flush();
    }

private:
    std::string m_path;
    std::int64_t m_clockUs = 0;
    bool m_created = false;
    collect::SpoolFile m_file;
    std::map<std::string, std::uint32_t> m_texts;
    std::uint32_t m_correlation = 0;
    std::uint64_t m_nccl = 0;
};

/// A step of a little network: forward, backward on autograd's thread, an all-reduce, the optimizer. Returns its end.
inline std::int64_t addStep(SpoolSample& spool, std::int64_t begin, bool withRange, int number,
                            std::uint64_t communicator = 0)
{
    if (withRange) spool.push("step " + std::to_string(number), begin);
    std::int64_t device = begin + 20;
    std::int64_t host = begin + 1;
    const auto run = [&](const std::string& name, std::uint32_t thread) {
        spool.launch(name, host, device, 40, thread);
        host += 3;
        device += 45;
    };
    run("embedding_kernel", 1);
    for (int layer = 0; layer < 3; ++layer) {
        run("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_", 1);
        run("ampere_sgemm_128x64_nn", 1);
    }
    for (int layer = 0; layer < 3; ++layer) {
        run("ampere_sgemm_128x64_nt", 2);
        run("ampere_sgemm_128x64_tn", 2);
    }
    if (communicator != 0)
        spool.collective("AllReduce", communicator, static_cast<std::uint64_t>(number), 1'000'000, host, device, 100);
    host += 8;
    device += 105;
    run("multi_tensor_apply_kernel<adam>", 1);
    if (withRange) spool.pop(host + 2);
    return device + 300;
}

/// Every kind of record once.
inline void addEveryKind(SpoolSample& spool)
{
    spool.thread(1, "python3");
    spool.thread(2, "pt_autograd_0");
    spool.add(collect::RecordKind::NvtxDomain, collect::NvtxDomain{1, spool.text("mine")});
    spool.add(collect::RecordKind::NvtxCategory, collect::NvtxCategory{1, 1, spool.text("loop"), 0});
    spool.add(collect::RecordKind::Stream, collect::Stream{1, 7, 0, 1});
    spool.communicator(1, 0xabcd, 2, 0);
    std::int64_t now = 100;
    for (int step = 0; step < 4; ++step) now = addStep(spool, now, true, step, 1);
    collect::Memcpy copy{};
    copy.start = spool.at(now);
    copy.end = spool.at(now + 5);
    copy.size = 4096;
    copy.context = 1;
    copy.stream = 7;
    copy.correlation = spool.nextCorrelation();
    copy.copyKind = 1;
    copy.sourceKind = 2;
    copy.destinationKind = 3;
    spool.call(now - 1, copy.correlation, 1, "cudaMemcpyAsync_v3020");
    spool.add(collect::RecordKind::Memcpy, copy);
    collect::Memset set{};
    set.start = spool.at(now + 6);
    set.end = spool.at(now + 7);
    set.size = 64;
    set.context = 1;
    set.stream = 7;
    spool.add(collect::RecordKind::Memset, set);
    collect::GraphTrace graph{};
    graph.start = spool.at(now + 8);
    graph.end = spool.at(now + 20);
    graph.graph = 3;
    graph.context = 1;
    graph.stream = 7;
    spool.add(collect::RecordKind::GraphTrace, graph);
    collect::Synchronization wait{};
    wait.start = spool.at(now);
    wait.end = spool.at(now + 9);
    wait.type = 3;
    wait.context = 1;
    wait.stream = 7;
    spool.add(collect::RecordKind::Synchronization, wait);
    collect::Overhead overhead{};
    overhead.start = spool.at(now);
    overhead.end = spool.at(now + 2);
    overhead.kind = 2;
    spool.add(collect::RecordKind::Overhead, overhead);
    spool.memory(10, 0x1000, 1'000'000, true);
    spool.memory(20, 0x2000, 500'000, true);
    spool.memory(now, 0x2000, 500'000, false);
    spool.memory(now + 1, 0x9000, 250'000, false); // was there before
    collect::VirtualMemory physical{};
    physical.time = spool.at(30);
    physical.handle = 5;
    physical.size = 2'000'000;
    physical.operation = 1;
    spool.add(collect::RecordKind::VirtualMemory, physical);
    spool.add(collect::RecordKind::MemoryPool, collect::MemoryPool{});
    collect::MemoryInfo info{};
    info.time = spool.at(50);
    info.totalBytes = 80'000'000'000;
    info.freeBytes = 79'990'000'000;
    info.ownBytes = 3'000'000;
    spool.add(collect::RecordKind::MemoryInfo, info);
    collect::NvmlSample sample{};
    sample.time = spool.at(60);
    sample.memoryUsed = 12'000'000;
    sample.memoryTotal = 80'000'000'000;
    sample.valid = 0x3f;
    sample.smClockMhz = 1980;
    sample.powerMilliwatt = 650'000;
    sample.temperatureC = 61;
    sample.throttleReasons = 0x4;
    spool.add(collect::RecordKind::NvmlSample, sample);
    collect::NvtxEvent mark{};
    mark.time = spool.at(now);
    mark.name = spool.text("a mark");
    mark.thread = 1;
    spool.add(collect::RecordKind::NvtxMark, mark);
    collect::NvtxEvent started{};
    started.time = spool.at(200);
    started.range = 9;
    started.name = spool.text("started");
    spool.add(collect::RecordKind::NvtxRangeStart, started);
    spool.add(collect::RecordKind::NvtxRangeEnd, collect::NvtxEnd{spool.at(400), 9, 0, 1});
    spool.push("open", 300);
    spool.add(collect::RecordKind::ClockPair, collect::ClockPair{spool.at(0), 1000, 0, 10});
    spool.window(0, true, collect::WindowReason::Always);
    spool.message(1, collect::MessageCode::CuptiBusy, collect::Severity::Error, "another profiler holds CUPTI");
    spool.add(collect::RecordKind::Loss, collect::Loss{spool.at(2), 5, 0, 1, 0});
    collect::OwnCost cost{};
    cost.callbackNs = 10'000;
    cost.writerCpuNs = 10'000;
    spool.add(collect::RecordKind::OwnCost, cost);
    spool.add(static_cast<collect::RecordKind>(4000), collect::Window{});
    spool.end(now + 30);
}

} // namespace fourwalls::importers::test
