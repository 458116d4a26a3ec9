// SPDX-License-Identifier: Apache-2.0
// How the clocks of several traces of one run lie to each other, from the operations that their ranks did together.
#pragma once

#include "model/import/common/clock_alignment.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// One rank's part in an operation, as far as clocks are concerned.
struct OperationMark {
    std::string key; ///< equal on all members of one operation; empty: not known
    Instant begin, end;
    int kind = -1;        ///< of CollectiveOp
    bool message = false; ///< a send or receive: only one side is sure to wait
    bool sends = false;
};

/// Marks of a trace's collectives in groups of more than one rank, by begin. numbered: sequence numbers are those of
/// the job (recordings), not of one file (imports).
std::vector<OperationMark> operationMarks(const TraceInfo& info, std::span<const CollectiveView> collectives,
                                          bool numbered);

/// What to add to `other`'s times. By matching keys: all members end a collective nearly together; from messages,
/// where there is nothing else, both directions bound the offset (nothing is received before it is sent). Without
/// keys: as estimateOffset. Absent if there is too little in common.
std::optional<ClockOffset> alignClocks(const std::vector<OperationMark>& reference,
                                       const std::vector<OperationMark>& other);

} // namespace fourwalls::importers
