// SPDX-License-Identifier: Apache-2.0
// The one step that an analysis looks at, and the slices of it at a cost that the step bounds, never the trace.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

namespace fourwalls {

/// What TraceClosing::stepsBy says of a trace without steps of its own: its one step is all of it.
inline constexpr std::string_view kWholeTrace = "whole trace";

/// The step of that number. Absent: there is none, or none is wanted.
std::optional<JobStep> stepOfNumber(const std::vector<JobStep>& steps, std::optional<StepIndex> wanted);

/// A training step over all ranks; of a trace without steps, all of it.
struct StepWindow {
    std::optional<StepIndex> step; ///< absent: the trace has no steps of its own
    TimeRange range;               ///< first rank's start to last rank's end
    int steps = 1;                 ///< more: all measured ones together, and `step` is absent
    std::map<RankId, TimeRange> ranks;
};

/// The wanted step, or, if there is none of that number, the measured step of median length (the longer of two in the
/// middle), so that an analysis explains the step time that `metrics` prints. Reads only stored summaries.
Result<StepWindow> stepWindow(TraceQuery& trace, std::optional<StepIndex> wanted = std::nullopt);

/// Slices of some tracks inside a range.
struct BoundedSlices {
    std::vector<LaneSlices> lanes;
    OpDictionary ops;
    Duration shortest; ///< slices shorter than this are only in the bins; 0: every slice is there by itself
};

/// All slices of the tracks in the range if they are at most mostRows, else the longer ones, and bins of the rest.
/// Rows read: at most about mostRows, whatever the trace holds. Errors: those of the query; Cancelled.
Result<BoundedSlices> boundedSlices(TraceQuery& trace, const std::vector<TrackId>& tracks, TimeRange range,
                                    std::int64_t mostRows, std::stop_token stop = {});

/// The tracks of a rank on which its device works: its streams where there are any, else all that is not structure.
std::vector<TrackId> workTracks(const TraceQuery& trace, RankId rank);

/// Ranks that an analysis over all ranks looks at, at most: lowest first.
inline constexpr std::size_t kMostRanksAnalysed = 512;
/// Slices that an analysis of one step reads, at most, over all its ranks.
inline constexpr std::int64_t kMostSlicesAnalysed = 400'000;

} // namespace fourwalls
