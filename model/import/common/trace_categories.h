// SPDX-License-Identifier: Apache-2.0
// What the `cat` of an event means, over all generations of PyTorch's profilers and for other accelerators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fourwalls::importers {

enum class Category : std::uint8_t {
    None,  ///< no cat at all
    Other, ///< one that we do not know: still shown
    CpuOp,
    UserAnnotation,
    GpuUserAnnotation,
    Runtime,
    Driver,
    OtherRuntime,
    Kernel,
    Memcpy,
    Memset,
    PythonFunction,
    CpuInstant,
    CudaSync,
    CudaEvent,
    Overhead,
    LaunchFlow,
    BackwardFlow,
    Span,
    DeviceWork,
    CollectiveWork
};
inline constexpr std::size_t kCategoryCount = static_cast<std::size_t>(Category::CollectiveWork) + 1;

/// OtherRuntime: API calls of MTIA, XPU and the like; DeviceWork: what ran on accelerators without the kernel category
/// (MTIA, HPU); Span: the profiling window, which is no work.
Category categoryOf(std::string_view cat);

/// What an event without any category is, as PyTorch's profiler before Kineto wrote them: its processes are called "CPU
/// functions" and "CUDA functions". An operator of PyTorch is one whatever its process is called. None: neither.
Category categoryWithoutCat(std::string_view pid, std::string_view name);

/// Work of an accelerator as facts.csv counts it: kernels, copies and sets.
constexpr bool isGpuWork(Category category)
{
    return category == Category::Kernel || category == Category::Memcpy || category == Category::Memset;
}

/// A host call into an accelerator's library.
constexpr bool isRuntimeCall(Category category)
{
    return category == Category::Runtime || category == Category::Driver || category == Category::OtherRuntime;
}

} // namespace fourwalls::importers
