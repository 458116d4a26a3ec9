// SPDX-License-Identifier: Apache-2.0
// Slices that seem to be of an accelerator whose work is not known here, by their categories or their processes. Where there are some, and none of an accelerator that is known, operators of the host are not the work.
#pragma once

#include "model/import/chrome/chrome_event.h"
#include "model/import/common/trace_categories.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fourwalls::importers {

class UnknownDevice {
public:
    void nameProcess(std::string_view pid, const JsonToken& name);
    /// lane: of the slice; a lane is of one process.
    void slice(const ChromeEvent& event, Category category, int lane);
    /// Call when all events have been seen: names of processes may stand behind their slices.
    void settle();
    bool found() const { return m_slices > 0; }
    /// What was seen.
    void audit(TraceSink& sink) const;

private:
    void note(std::string_view name, std::int64_t slices);

    std::map<std::string, std::int64_t, std::less<>> m_slicesOf; ///< of categories that are not known, by pid
    std::map<std::string, std::string, std::less<>> m_processes; ///< names that seem to be of accelerators, by pid
    std::string m_name;                                          ///< of a category or process; the first
    std::int64_t m_slices = 0;
    std::string m_lastCategory;
    std::int64_t* m_lastSlices = nullptr; ///< of the process of m_lastLane
    int m_lastLane = -1;
    bool m_lastIsDevice = false;
};

} // namespace fourwalls::importers
