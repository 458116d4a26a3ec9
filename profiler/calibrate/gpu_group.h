// SPDX-License-Identifier: Apache-2.0
// All GPUs of a machine as one group of NCCL, asked by one thread: what collectives are measured with.
#pragma once

#include "profiler/calibrate/gpu_calibration.h"
#include "profiler/engine/gpu/gpu_stream.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::calibrate {

/// Memory of a GPU. Throws EngineError, std::bad_alloc.
std::shared_ptr<void> gpuMemory(engine::GpuStream& stream, std::int64_t bytes,
                                engine::RankMemory::Place place = engine::RankMemory::Place::Device);
/// Fills memory with the values, again and again.
void fillGpuMemory(engine::GpuStream& stream, void* memory, std::int64_t bytes, std::span<const engine::Bf16> values);

class GpuGroup {
public:
    /// first: a stream of GPU 0; it outlives the group.
    GpuGroup(engine::GpuStream& first, int devices);
    ~GpuGroup();
    GpuGroup(const GpuGroup&) = delete;
    GpuGroup& operator=(const GpuGroup&) = delete;

    /// 1 where there is no group.
    int size() const { return 1 + static_cast<int>(m_others.size()); }
    /// Why there is none; empty: there is one.
    const std::string& why() const { return m_why; }

    /// A collective of bf16 numbers over `payloadBytes` (the whole tensor: what a gather gives, what a reduction is given),
    /// GPU 0's part in the order of `first`. It keeps its buffers. Throws EngineError, std::bad_alloc.
    std::function<void()> collective(GpuWork work, std::int64_t payloadBytes, engine::GpuStream& first,
                                     std::span<const engine::Bf16> values);
    /// Waits for the other GPUs.
    void settle();

private:
    void open(engine::GpuStream& first);

    const engine::gpu::Module& m_module;
    std::vector<std::unique_ptr<engine::GpuStream>> m_others;
    std::vector<engine::gpu::GroupEnd*> m_ends;
    std::string m_why;
};

} // namespace fourwalls::calibrate
