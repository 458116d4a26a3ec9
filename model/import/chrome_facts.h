// SPDX-License-Identifier: Apache-2.0
// Counts the facts of a Chrome trace, event by event.
#pragma once

#include "model/import/chrome_event.h"
#include "model/import/trace_categories.h"
#include "model/import/trace_facts.h"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Intervals whose union is asked for at the end. Memory: 16 bytes per interval that touches no earlier one.
class BusyTime {
public:
    void add(std::int64_t begin, std::int64_t end);
    std::int64_t total();

private:
    void compact();
    std::vector<std::pair<std::int64_t, std::int64_t>> m_intervals;
    std::size_t m_compactAt = 4096;
};

/// Smallest begin and largest end.
struct Hull {
    std::optional<std::int64_t> begin, end;
    void add(std::int64_t from, std::int64_t to)
    {
        if (!begin || from < *begin) begin = from;
        if (!end || to > *end) end = to;
    }
    std::optional<std::int64_t> length() const { return begin ? std::optional(*end - *begin) : std::nullopt; }
};

class ChromeFacts {
public:
    /// ts, dur: in nanoseconds; absent if the event has none that can be read.
    void add(const ChromeEvent& event, Category category, std::optional<std::int64_t> ts,
             std::optional<std::int64_t> dur);
    /// baseNs: the file's base time; entries: complete events and others of the event array.
    TraceFacts finish(std::int64_t baseNs, std::int64_t entries);

private:
    void addSlice(const ChromeEvent& event, Category category, std::int64_t ts, std::int64_t dur);

    std::array<std::int64_t, 128> m_phases{};
    std::map<std::string, std::int64_t> m_oddPhases;
    std::int64_t m_kernels = 0, m_nccl = 0, m_copies = 0, m_sets = 0;
    std::uint64_t m_kernelTime = 0, m_ncclTime = 0, m_copyTime = 0;   ///< unsigned: a hostile file's sums may wrap
    std::int64_t m_cpuOps = 0, m_runtime = 0, m_python = 0, m_memory = 0;
    Hull m_span, m_gpuSpan;
    BusyTime m_busy;
    std::set<std::pair<std::string, std::string>> m_streams;
    std::pair<std::string, std::string> m_lastStream;
    std::set<std::string> m_steps;
};

/// Whether a kernel's name contains nccl or rccl, in any case.
bool isNcclName(std::string_view name);

} // namespace fourwalls::importers
