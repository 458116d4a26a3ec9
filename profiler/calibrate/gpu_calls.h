// SPDX-License-Identifier: Apache-2.0
// The calls that calibrate --device cuda times, each as a function that asks the GPU for it once.
#pragma once

#include "profiler/calibrate/gpu_calibration.h"
#include "profiler/calibrate/gpu_group.h"
#include "profiler/engine/gpu/gpu_device.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace fourwalls::calibrate {

/// Makes calls for the first GPU of a module, on random data. Not copied: calls refer to it.
class GpuCalls {
public:
    using Call = std::function<void()>;

    /// Throws EngineError if the GPU refuses.
    GpuCalls(const engine::gpu::Module& module, int devices);

    /// The call keeps its tensors. Throws EngineError, std::bad_alloc.
    Call make(const GpuMeasurement& what);
    /// What runs meanwhile, as often as is worth a look at the clock, in the order of a stream of its own; empty: nothing.
    Call makeBeside(Beside beside, engine::GpuStream& stream);
    /// Memory of the GPU that the two need at most.
    double memoryOf(const GpuMeasurement& what) const;

    engine::GpuStream& stream() { return m_stream; }
    GpuGroup& group() { return m_group; }

private:
    engine::Device& device() { return m_device; } // whose names are not hidden
    engine::Tensor random(const engine::Shape& shape, engine::DType type = engine::DType::Bf16);
    Call product(const GpuMeasurement& what);
    Call attention(const GpuMeasurement& what);
    Call memoryBound(const GpuMeasurement& what);
    Call norm(GpuWork work, std::int64_t rows, engine::NormKind kind);
    Call copy(const GpuMeasurement& what);
    Call graph(int kernels);
    Call element();

    /// In a step most of what an operator reads was written long before, and what it writes was in no cache. So operands
    /// lie one after the other in a pool that is larger than the caches; large ones stay where they are.
    using Operand = std::function<engine::Tensor()>;
    Operand far(const engine::Shape& shape, engine::DType type = engine::DType::Bf16);
    std::int64_t poolBytes() const;
    std::int64_t besideBytes() const;

    std::vector<engine::Bf16> m_random;
    engine::GpuStream m_stream;
    engine::Recorder m_recorder;
    engine::Allocator m_allocator;
    engine::GpuDevice m_device;
    GpuGroup m_group;
    engine::Tensor m_pool, m_halfPool; // f32 and bf16
    std::int64_t m_next = 0;           // bytes of either
};

} // namespace fourwalls::calibrate
