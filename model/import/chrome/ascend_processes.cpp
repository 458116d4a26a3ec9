// SPDX-License-Identifier: Apache-2.0
// Names of processes, types of tasks, names of HCCL's operations.
#include "model/import/chrome/ascend_processes.h"

#include "model/import/common/decimal_time.h"
#include "model/import/common/hccl_operations.h"

#include <array>
#include <utility>

namespace fourwalls::importers {

namespace {

bool hasPart(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

} // namespace

void AscendProcesses::nameProcess(std::string_view pid, std::string_view name)
{
    using Row = std::pair<std::string_view, Role>;
    static constexpr std::array<Row, 5> kTable{{{"Ascend Hardware", Role::Device},
                                                {"HCCL", Role::Communication},
                                                {"Communication", Role::Communication},
                                                {"CANN", Role::Calls},
                                                {"Overlap Analysis", Role::Analysis}}};
    for (const auto& [known, role] : kTable) {
        if (name != known) continue;
        m_roles.insert_or_assign(std::string(pid), role);
        m_device = m_device || role == Role::Device;
    }
}

/// Types of tasks: AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU, DSA_SQE and their like compute; the profiler's own analysis
/// counts the same.
Category AscendProcesses::deviceTask(const ChromeEvent& event)
{
    const std::string_view type = event[ArgKey::TaskType].text, name = event[EventKey::Name].text;
    if (isHcclOperation(name)) return Category::DeviceWork;
    if (hasPart(name, "MEMCPY") || hasPart(name, "Memcpy")) return Category::Memcpy;
    if (hasPart(name, "MEMSET") || hasPart(name, "Memset")) return Category::Memset;
    for (const std::string_view computes : {"AI_", "MIX", "KERNEL", "DSA", "AIC", "AIV", "DVPP", "TE"})
        if (type.substr(0, computes.size()) == computes) return Category::Kernel;
    if (hasPart(type, "WAIT") || hasPart(type, "Wait")) return Category::CudaSync;
    // Exports of old versions have no types: what is no event or notify computes.
    const bool signal =
        hasPart(name, "EVENT") || hasPart(name, "Notify") || hasPart(name, "NOTIFY") || hasPart(name, "PROFILING");
    return type.empty() && !signal ? Category::Kernel : Category::GpuUserAnnotation;
}

Category AscendProcesses::categoryOf(const ChromeEvent& event, Category written) const
{
    if (!m_device) return written;
    const char phase = event.phase();
    // Arrows from PyTorch's operators to what they had the device do.
    if (event[EventKey::Cat].text == "async_npu") return Category::LaunchFlow;
    const auto role = m_roles.find(event[EventKey::Pid].text);
    if (phase != 'X' || role == m_roles.end()) return written;
    switch (role->second) {
    case Role::Device: return deviceTask(event);
    case Role::Communication:
        return isHcclOperation(event[EventKey::Name].text) ? Category::DeviceWork : Category::GpuUserAnnotation;
    case Role::Calls: return Category::OtherRuntime;
    case Role::Analysis: break;
    }
    return Category::GpuUserAnnotation;
}

std::optional<CollectiveDetail> ascendCollective(const ChromeEvent& event)
{
    const std::string_view name = event[EventKey::Name].text;
    if (!isHcclOperation(name)) return std::nullopt;
    return hcclDetail(name, integerFromText(event[ArgKey::ElementCount].text), event[ArgKey::DataType].text);
}

} // namespace fourwalls::importers
