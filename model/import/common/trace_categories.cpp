// SPDX-License-Identifier: Apache-2.0
// The table of categories.
#include "model/import/common/trace_categories.h"

#include "model/import/common/keyword_table.h"
#include "model/trace/operator_phase.h"

namespace fourwalls::importers {

Category categoryOf(std::string_view cat)
{
    static constexpr KeywordTable<Category, 42> kTable{{{
        {"cpu_op", Category::CpuOp},
        {"Operator", Category::CpuOp},
        {"hpu_op", Category::OtherRuntime},
        {"user_annotation", Category::UserAnnotation},
        {"gpu_user_annotation", Category::GpuUserAnnotation},
        {"cuda_runtime", Category::Runtime},
        {"Runtime", Category::Runtime},
        {"cuda_driver", Category::Driver},
        {"mtia_runtime", Category::OtherRuntime},
        {"xpu_runtime", Category::OtherRuntime},
        {"xpu_driver", Category::OtherRuntime},
        {"privateuse1_runtime", Category::OtherRuntime},
        {"privateuse1_driver", Category::OtherRuntime},
        {"kernel", Category::Kernel},
        {"Kernel", Category::Kernel},
        {"gpu_memcpy", Category::Memcpy},
        {"Memcpy", Category::Memcpy},
        {"gpu_memset", Category::Memset},
        {"Memset", Category::Memset},
        {"python_function", Category::PythonFunction},
        {"cpu_instant_event", Category::CpuInstant},
        {"cuda_sync", Category::CudaSync},
        {"cuda_event", Category::CudaEvent},
        {"overhead", Category::Overhead},
        {"ac2g", Category::LaunchFlow},
        {"async", Category::LaunchFlow},
        {"async_gpu", Category::LaunchFlow},
        {"async_cpu_to_gpu", Category::LaunchFlow},
        {"fwdbwd", Category::BackwardFlow},
        {"forward_backward", Category::BackwardFlow},
        {"Trace", Category::Span},
        {"mtia_ccp_events", Category::DeviceWork},
        {"mtia_insight", Category::DeviceWork},
        {"privateuse1_kernel", Category::DeviceWork},
        {"hpu_kernel", Category::DeviceWork},
        {"xpu_kernel", Category::DeviceWork},
        {"collective_comm", Category::CollectiveWork},
        {"cuda_profiler_range", Category::Other},
        {"hardware_counters", Category::Other},
        {"mtia_counters", Category::Other},
        {"mtia_workloadd", Category::Other},
        {"glow_runtime", Category::OtherRuntime},
    }}};
    if (cat.empty()) return Category::None;
    return kTable.find(cat).value_or(Category::Other);
}

Category categoryWithoutCat(std::string_view pid, std::string_view name)
{
    if (pid == "CUDA functions") return Category::Kernel;
    if (name.starts_with("aten::") || name.starts_with("torch::autograd::")) return Category::CpuOp;
    if (pid != "CPU functions") return Category::None;
    return phaseOfOperator(name) == Phase::BackwardInput ? Category::CpuOp : Category::UserAnnotation;
}

} // namespace fourwalls::importers
