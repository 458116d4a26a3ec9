// SPDX-License-Identifier: Apache-2.0
// What determined when a step ended: the chain of work, transfers and gaps, from rank to rank, from the step's end back
// to its begin. Making anything else faster does not make the step shorter. It is the longest way through the step's graph
// (replay_graph.h).
#pragma once

#include "model/trace/step_window.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

enum class PathPart { Work, Transfer, Gap };

/// One piece of the path: neighbouring pieces of one rank and kind are joined.
struct PathSegment {
    RankId rank;
    TimeRange range;
    PathPart part = PathPart::Gap;
    Phase phase = Phase::None;                        ///< of work
    Activity activity = Activity::None;               ///< of work: compute, copy, data loading
    CollectiveOp operation = CollectiveOp::AllReduce; ///< of a transfer
    std::optional<GroupId> group;                     ///< of a transfer
    bool holdsWaiting = false;                        ///< a transfer that cannot be told from waiting for missing ranks
    std::optional<LayerIndex> layer;                  ///< where all of it is of one layer
    std::string name;                                 ///< the longest operator in it
    std::int64_t pieces = 1;
};

/// Segments of one kind added up.
struct PathShare {
    PathSegment kind; ///< range and pieces are those of the longest one
    bool anyRank = false;
    Duration time;
    std::int64_t segments = 0;
    double share = 0; ///< of the step
};

struct CriticalPath {
    StepWindow window;
    std::vector<PathSegment> segments; ///< by time; disjoint, and together they cover the step
    std::int64_t jumps = 0;            ///< changes of rank

    Duration time(PathPart part) const;
    /// Time on the path by rank, most first.
    std::vector<std::pair<RankId, Duration>> byRank() const;
    /// By kind: work by phase and rank, transfers by operation and group, gaps by rank; most time first.
    std::vector<PathShare> shares() const;
};

/// The path of the step that stepWindow chooses, or of the whole trace where it has no steps. Of a node's predecessors the
/// one that ended last leads back; what lies between that and the node's start is a gap, as is the time of the program
/// between two launches. Errors: those of replay::Replay::of, which refuses records that contradict each other; Cancelled.
Result<CriticalPath> criticalPath(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop = {});

} // namespace fourwalls
