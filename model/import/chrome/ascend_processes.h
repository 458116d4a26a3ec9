// SPDX-License-Identifier: Apache-2.0
// Profiles of Ascend devices (torch_npu's trace_view.json): their events carry no categories, but stand in processes
// whose names say what they are.
#pragma once

#include "model/import/chrome/chrome_event.h"
#include "model/import/common/collective_detail.h"
#include "model/import/common/trace_categories.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fourwalls::importers {

class AscendProcesses {
public:
    /// Notes a process_name event.
    void nameProcess(std::string_view pid, std::string_view name);

    /// Whether this is such a profile: it has the device's process.
    bool found() const { return m_device; }

    /// What an event is, where its process says so; else `written`, what its own category says. Tasks of streams that
    /// neither compute nor copy (records, notifies, the parts of a collective) and the profiler's own overlap analysis are
    /// annotations.
    Category categoryOf(const ChromeEvent& event, Category written) const;

private:
    enum class Role : std::uint8_t { Device, Communication, Calls, Analysis };
    static Category deviceTask(const ChromeEvent& event);

    std::map<std::string, Role, std::less<>> m_roles; ///< by pid as written
    bool m_device = false;
};

/// The collective of an HCCL operation ("hcom_allReduce__586_0_1" of 4097000 FP32); absent for other events.
std::optional<CollectiveDetail> ascendCollective(const ChromeEvent& event);

} // namespace fourwalls::importers
