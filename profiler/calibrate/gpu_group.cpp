// SPDX-License-Identifier: Apache-2.0
// See gpu_group.h. A communicator is connected before its first operation (gpu_module.h), so no call waits for another
// member on the host, and one thread may ask for all of them in turn.
#include "profiler/calibrate/gpu_group.h"

#include "profiler/engine/core/engine_error.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fourwalls::calibrate {

using namespace engine;

std::shared_ptr<void> gpuMemory(GpuStream& stream, std::int64_t bytes, RankMemory::Place place)
{
    std::shared_ptr<void> memory(stream.take(bytes, place), [&stream, place](void* taken) {
        if (taken) stream.give(taken, place);
    });
    if (!memory) throw std::bad_alloc();
    return memory;
}

void fillGpuMemory(GpuStream& stream, void* memory, std::int64_t bytes, std::span<const Bf16> values)
{
    const auto chunk = static_cast<std::int64_t>(values.size_bytes());
    for (std::int64_t at = 0; at < bytes; at += chunk)
        stream.copyNow(static_cast<char*>(memory) + at, values.data(), std::min(chunk, bytes - at));
}

GpuGroup::GpuGroup(GpuStream& first, int devices) : m_module(first.module())
{
    int version = 0;
    char why[256] = {};
    if (devices < 2) {
        m_why = "there is one GPU";
        return;
    }
    for (int device = 1; device < devices; ++device) {
        gpu::DeviceFacts facts{};
        if (m_module.facts(device, &facts) && std::string(facts.name) == first.facts().name) continue;
        m_why = "GPU " + std::to_string(device) + " is of another kind than GPU 0";
        return;
    }
    if (!m_module.findGroups(&version, why, sizeof why)) {
        m_why = why;
        return;
    }
    for (int device = 1; device < devices; ++device) m_others.push_back(std::make_unique<GpuStream>(m_module, device));
    open(first);
}

void GpuGroup::open(GpuStream& first)
{
    std::vector<gpu::Stream*> streams{first.handle()};
    for (const auto& other : m_others) streams.push_back(other->handle());
    std::vector<gpu::GroupEnd*> ends(streams.size());
    char why[256] = {};
    if (m_module.openGroup(streams.data(), static_cast<int>(streams.size()), ends.data(), why, sizeof why)) {
        m_ends = std::move(ends);
        return;
    }
    m_why = why;
    m_others.clear();
}

GpuGroup::~GpuGroup()
{
    for (gpu::GroupEnd* end : m_ends) m_module.closeGroup(end);
}

std::function<void()> GpuGroup::collective(GpuWork work, std::int64_t payloadBytes, GpuStream& first,
                                           std::span<const Bf16> values)
{
    const std::int64_t members = size(), whole = std::max<std::int64_t>(1, payloadBytes / 2 / members) * members;
    const std::int64_t part = whole / members;
    const bool gather = work == GpuWork::AllGather, scatter = work == GpuWork::ReduceScatter;
    const auto operation = gather    ? gpu::GroupOperation::AllGather
                           : scatter ? gpu::GroupOperation::ReduceScatter
                                     : gpu::GroupOperation::Sum;
    struct Member {
        GpuStream* stream;
        gpu::GroupEnd* end;
        std::shared_ptr<void> in, out;
    };
    std::vector<Member> all;
    for (std::size_t i = 0; i < m_ends.size(); ++i) {
        GpuStream& stream = i == 0 ? first : *m_others[i - 1];
        const std::int64_t read = 2 * (gather ? part : whole), written = 2 * (scatter ? part : whole);
        all.push_back({&stream, m_ends[i], gpuMemory(stream, read), gpuMemory(stream, written)});
        fillGpuMemory(stream, all.back().in.get(), read, values);
    }
    const std::int64_t elements = gather || scatter ? part : whole;
    return [all = std::move(all), operation, elements] {
        for (const Member& member : all)
            member.stream->call(member.end, {operation, DType::Bf16, member.in.get(), member.out.get(), elements, 0});
    };
}

void GpuGroup::settle()
{
    for (const auto& other : m_others) other->settle();
}

} // namespace fourwalls::calibrate
