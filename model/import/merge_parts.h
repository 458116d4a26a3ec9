// SPDX-License-Identifier: Apache-2.0
// The inputs of a merge, settled against each other before anything is copied: whether they are of one run, which rank is
// which, and how their clocks lie to each other.
#pragma once

#include "model/import/common/placed_sink.h"
#include "model/import/common/trace_clocks.h"
#include "model/import/merge_traces.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// One input and what becomes of it.
struct MergePart {
    std::string name;
    TraceQuery* trace = nullptr;
    std::set<RankId> ranks; ///< with data, as numbered there
    SourcePlacement placement;
    std::vector<CollectiveView> collectives; ///< as numbered and timed there
    std::vector<OperationMark> marks;        ///< on the first guess of the run's clock
    std::optional<ClockOffset> clock;        ///< beyond that guess; the reference has none
    bool renumbered = false;
    bool sameWallClock = false; ///< both this and the run have Unix times

    const TraceInfo& info() const { return trace->info(); }
    /// Sequence numbers and group names are the job's, not one file's.
    bool numbered() const;
    bool memoryOnly() const;
};

/// The inputs with the ranks that they have data of. Errors: InvalidArgument if there is no input.
Result<std::vector<MergePart>> mergeParts(std::vector<MergeInput> inputs);

/// Errors: InvalidArgument if parts have another source, kind of clock or specification. An attempt may have another plan.
Status checkOneSpec(const std::vector<MergePart>& parts, MergeKind kind);

/// Numbers of the ranks: see TraceMerge::create. Errors: InvalidArgument for a rank that two parts have.
Status settlePartRanks(std::vector<MergePart>& parts, MergeKind kind);

/// The header of the whole run, from the parts' own.
TraceHeader mergedHeader(const std::vector<MergePart>& parts);

/// All attempts have the clock of the run. Errors: InvalidArgument if one has not.
Status checkAttemptClocks(const std::vector<MergePart>& parts, const TraceHeader& run);

/// Every part is placed relative to one that is placed already, through the one with most operations in common. run: as
/// mergedHeader. Returns the part whose clock is the run's.
const MergePart* settlePartClocks(std::vector<MergePart>& parts, const TraceHeader& run);

/// Traces with times of day lie near each other. A memory recording may have begun long before a profile. Errors: those of
/// checkOneRun.
Status checkPartTimes(const std::vector<MergePart>& parts);

} // namespace fourwalls::importers
