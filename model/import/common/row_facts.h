// SPDX-License-Identifier: Apache-2.0
// The facts of a file, counted row by row.
#pragma once

#include "model/import/common/busy_time.h"
#include "model/import/common/profile_rows.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace fourwalls::importers {

class RowFacts {
public:
    explicit RowFacts(std::string scratchFolder) : m_scratchFolder(std::move(scratchFolder)) {}

    /// communication: as a kernel's name or its kind says.
    void add(const ProfileRow& row, bool communication);
    TraceFacts finish(std::int64_t events);

private:
    std::string m_scratchFolder;
    std::int64_t m_kernels = 0, m_collectives = 0, m_copies = 0, m_sets = 0, m_calls = 0, m_operators = 0, m_steps = 0;
    DurationSum m_kernelTime, m_collectiveTime, m_copyTime;
    Hull m_span, m_deviceSpan;
    std::map<int, BusyTime> m_busy; ///< by rank
    std::set<std::pair<int, std::string>> m_streams;
    int m_lastRank = -1, m_busyRank = -1;
    BusyTime* m_lastBusy = nullptr; ///< of m_busyRank
    std::string m_lastLane;
};

} // namespace fourwalls::importers
