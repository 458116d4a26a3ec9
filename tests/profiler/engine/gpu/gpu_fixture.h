// SPDX-License-Identifier: Apache-2.0
// A rank on the CUDA device, either on this machine's GPU or on the processor in its place.
#pragma once

#include "tests/profiler/engine/gpu/host_module.h"
#include "tests/profiler/engine/image_fixture.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/gpu/gpu_device.h"
#include "profiler/engine/gpu/gpu_images.h"

#include <QtTest>

#include <string>

namespace fourwalls::engine::testing {

/// A rank without a sink, as TestRank.
struct GpuRank {
    GpuStream stream;
    Recorder recorder{nullptr, RankId{0}, ClockOrigin::now()};
    Allocator allocator;
    GpuDevice device;
    RankContext context;

    GpuRank(const gpu::Module& module, DType compute)
        : stream(module, 0)
        , allocator(recorder, 0, Allocator::Pool::Device, &stream)
        , device(recorder, allocator, stream, false)
        , context(RankContext{recorder, allocator, device, {compute, DType::F32}})
    {}

    Tensor tensor(const Shape& shape, DType type, Layout layout = Layout::RowMajor)
    {
        return Tensor::make(allocator, shape, type, MemoryCategory::Other, layout);
    }
    /// The same elements in the same order, on this device.
    Tensor copy(const Tensor& from)
    {
        Tensor t = tensor(from.shape(), from.type(), from.layout());
        const HostAccess to(t, HostAccess::Mode::Write);
        std::memcpy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
        return t;
    }
};

/// The module of the row, or null with the reason why there is none.
inline const gpu::Module* moduleFor(bool realGpu, std::string& why)
{
    if (!realGpu) return &gpu::testing::hostModule();
    const auto loaded = gpu::loadModule();
    if (loaded) return loaded->module;
    why = loaded.error().what;
    return nullptr;
}

/// Ends a row whose GPU, or whose library for it, is missing: skipped, or failed where FOURWALLS_REQUIRE_GPU=1 says that
/// there is one.
inline void endRowWithoutGpu(const std::string& why)
{
    if (qEnvironmentVariableIntValue("FOURWALLS_REQUIRE_GPU") == 1)
        QTest::qFail(("FOURWALLS_REQUIRE_GPU=1, and " + why).c_str(), __FILE__, __LINE__);
    else
        QTest::qSkip(why.c_str(), __FILE__, __LINE__);
}

} // namespace fourwalls::engine::testing
