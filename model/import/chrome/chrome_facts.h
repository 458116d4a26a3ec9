// SPDX-License-Identifier: Apache-2.0
// Counts the facts of a Chrome trace, event by event.
#pragma once

#include "model/import/chrome/chrome_event.h"
#include "model/import/common/busy_time.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/name_memo.h"
#include "model/import/common/trace_categories.h"
#include "model/import/common/trace_facts.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace fourwalls::importers {

class ChromeFacts {
public:
    /// folder: see ImportOptions::scratchFolder.
    explicit ChromeFacts(std::string folder = {}) : m_busy(std::move(folder)) {}

    /// ts, dur: absent if the event has none that can be read.
    void add(const ChromeEvent& event, Category category, std::optional<FineTime> ts, std::optional<FineTime> dur);
    /// baseNs: the file's base time; entries: complete events and others of the event array.
    TraceFacts finish(std::int64_t baseNs, std::int64_t entries);

private:
    void addSlice(const ChromeEvent& event, Category category, std::optional<FineTime> ts, FineTime dur);

    std::array<std::int64_t, 128> m_phases{};
    std::map<std::string, std::int64_t> m_oddPhases;
    std::int64_t m_kernels = 0, m_nccl = 0, m_copies = 0, m_sets = 0;
    DurationSum m_kernelTime, m_ncclTime, m_copyTime;
    std::int64_t m_cpuOps = 0, m_runtime = 0, m_python = 0, m_memory = 0;
    Hull m_span, m_gpuSpan;
    BusyTime m_busy;
    std::set<std::pair<std::string, std::string>> m_streams;
    NameMemo<bool> m_ncclNames; ///< isNcclName()
    std::pair<std::string, std::string> m_lastStream;
    std::set<std::string> m_steps;
};

} // namespace fourwalls::importers
