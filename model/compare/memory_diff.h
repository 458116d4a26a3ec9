// SPDX-License-Identifier: Apache-2.0
// Who holds memory in two traces, or at two moments of one: buffers by the code or operator that asked for them.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::compare {

/// The moment at which memory is looked at.
struct MemoryMoment {
    enum class Kind {
        Peak, ///< of the trace's fullest rank
        End,  ///< of the trace
        At    ///< so long after its begin
    };
    Kind kind = Kind::Peak;
    Duration after; ///< of At

    /// "peak", "end" or milliseconds. Errors: InvalidArgument.
    static Result<MemoryMoment> parse(std::string_view text);
};

/// What one trace held.
struct HeldMemory {
    RankId rank; ///< the fullest one
    Instant at;
    std::int64_t bytes = 0, count = 0;
    std::int64_t notLookedAt = 0; ///< bytes of buffers beyond the limit, the smallest: whose they are is not told
};

/// The buffers of one maker and kind.
struct ComparedMaker {
    std::string name; ///< of the operator, or the line of code that asked
    MemoryCategory category = MemoryCategory::Other;
    std::int64_t aBytes = 0, bBytes = 0, aCount = 0, bCount = 0;

    std::int64_t difference() const { return bBytes - aBytes; }
};

struct MemoryDifference {
    HeldMemory a, b;
    std::vector<ComparedMaker> makers; ///< by the size of the difference, largest first; equal ones by size
};

/// Absent: a trace recorded no buffers. Errors: those of the queries; InvalidArgument for a moment outside a trace;
/// Cancelled.
Result<std::optional<MemoryDifference>> compareMemory(TraceQuery& a, TraceQuery& b, const MemoryMoment& atA = {},
                                                      const MemoryMoment& atB = {}, const std::stop_token& stop = {});

} // namespace fourwalls::compare
