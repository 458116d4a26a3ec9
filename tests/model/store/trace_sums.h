// SPDX-License-Identifier: Apache-2.0
// Sums by which a file is known to be whole.
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <string>

namespace fourwalls::test {

inline std::int64_t countSlices(TraceQuery& trace)
{
    std::int64_t count = 0;
    static_cast<void>(trace.scanSlices([&](const SliceView&) { return ++count > 0; }));
    return count;
}

inline std::int64_t auditOf(const TraceQuery& trace, const std::string& name)
{
    for (const AuditRecord& record : trace.info().audit)
        if (record.name == name) return record.count;
    return 0;
}

} // namespace fourwalls::test
