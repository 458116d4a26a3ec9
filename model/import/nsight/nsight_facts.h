// SPDX-License-Identifier: Apache-2.0
// The facts of one Nsight Systems export, counted row by row.
#pragma once

#include "model/import/common/busy_time.h"
#include "model/import/common/trace_facts.h"
#include "model/import/nsight/nsight_tables.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fourwalls::importers {

class NsightFacts {
public:
    explicit NsightFacts(std::string scratchFolder) : m_scratchFolder(std::move(scratchFolder)) {}

    void add(NsightTables& tables, const NsightWork& work);
    void add(const NsightCall& call);
    void add(const NsightRange& range);
    TraceFacts finish();

private:
    std::int64_t m_kernels = 0, m_nccl = 0, m_copies = 0, m_sets = 0, m_calls = 0, m_ranges = 0;
    DurationSum m_kernelTime, m_ncclTime, m_copyTime;
    Hull m_span, m_gpuSpan;
    std::map<std::int64_t, BusyTime> m_busy;
    std::string m_scratchFolder;
    std::set<std::pair<std::int64_t, std::int64_t>> m_streams;
};

} // namespace fourwalls::importers
