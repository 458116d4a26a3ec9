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
    SpoolSample(std::string path, int rank, int worldSize, int pid = 100, std::uint64_t boot = 7, std::uint64_t maxBytes = 0, std::int64_t clockUs = 0)
        : m_path(std::move(path)), m_clockUs(clockUs)
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
        if (isNew) add(collect::RecordKind::String, collect::String{found->second, static_cast<std::uint32_t>(words.size())}, words.data(), words.size());
        return found->second;
    }
    void thread(std::uint32_t id, const std::string& name) { add(collect::RecordKind::Thread, collect::Thread{id, text(name)}); }

    /// An API call of one microsecond.
    void call(std::int64_t start, std::uint32_t correlation, std::uint32_t thread = 1, const std::string& name = "cudaLaunchKernel_v7000")
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
    void kernel(const std::string& name, std::int64_t start, std::int64_t length, std::uint32_t correlation, std::uint32_t stream = 7, std::uint32_t graph = 0)
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
    std::uint32_t launch(const std::string& name, std::int64_t call, std::int64_t start, std::int64_t length, std::uint32_t thread = 1, std::uint32_t stream = 7)
    {
        const std::uint32_t correlation = nextCorrelation();
        this->call(call, correlation, thread);
        kernel(name, start, length, correlation, stream);
        return correlation;
    }
    std::uint32_t nextCorrelation() { return ++m_correlation; }

    void push(const std::string& name, std::int64_t time, std::uint32_t thread = 1, std::uint32_t domain = 0, std::uint64_t schema = 0, const void* payload = nullptr,
              std::size_t bytes = 0)
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
    void memory(std::int64_t time, std::uint64_t address, std::uint64_t bytes, bool allocates, std::uint32_t correlation = 0)
    {
        collect::Memory made{};
        made.time = at(time);
        made.address = address;
        made.size = bytes;
        made.context = 1;
        made.correlation = correlation;
        made.operation = static_cast<std::uint8_t>(allocates ? collect::MemoryOperation::Allocate : collect::MemoryOperation::Release);
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
    void collective(const std::string& function, std::uint64_t communicator, std::uint64_t sequence, std::uint64_t count, std::int64_t call, std::int64_t start,
                    std::int64_t length)
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
        const std::uint32_t correlation = this->launch("ncclDevKernel_" + function + "_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", call + 2, start, length, 1, 20);
        add(collect::RecordKind::ExternalCorrelation, collect::ExternalCorrelation{launch, correlation, static_cast<std::uint32_t>(collect::ExternalKind::NcclKernelLaunch)});
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
inline std::int64_t addStep(SpoolSample& spool, std::int64_t begin, bool withRange, int number, std::uint64_t communicator = 0)
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
    if (communicator != 0) spool.collective("AllReduce", communicator, static_cast<std::uint64_t>(number), 1'000'000, host, device, 100);
    host += 8;
    device += 105;
    run("multi_tensor_apply_kernel<adam>", 1);
    if (withRange) spool.pop(host + 2);
    return device + 300;
}

} // namespace fourwalls::importers::test
