// SPDX-License-Identifier: Apache-2.0
// A smaller trace for sharing: some steps, a range of time or some ranks of a trace, optionally without names that
// say where it was recorded.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace fourwalls {

struct TrimOptions {
    std::optional<std::pair<StepIndex, StepIndex>> steps; ///< first and last, both kept
    std::optional<TimeRange> range;                       ///< instead of steps
    std::vector<RankId> ranks;                            ///< empty: all
    bool redact = false;                                  ///< no host names, file paths or names of data files
};

/// The range that the options mean in this trace. Errors: InvalidArgument if there are no such steps or ranks, if
/// both steps and range are given, or if nothing is left.
Result<TimeRange> trimRange(TraceQuery& trace, const TrimOptions& options);

/// The header for the sink of the trimmed trace.
TraceHeader trimmedHeader(const TraceInfo& info, const TrimOptions& options);

/// Copies what lies in the range and finishes the sink. Slices, collectives and flows that overlap the range are
/// kept whole; buffers are cut to it, so that the memory curve is exact inside it and empty outside; steps are kept
/// if they lie inside as a whole. Times stay as they are. The audit says what was done.
/// progress: 0..1, may be empty. Errors: those of the query and the sink; Cancelled.
Status trimTrace(TraceQuery& trace, const TrimOptions& options, TraceSink& sink,
                 const std::function<void(double)>& progress = {}, std::stop_token stop = {});

} // namespace fourwalls
