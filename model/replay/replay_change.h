// SPDX-License-Identifier: Apache-2.0
// Changes of a replayed step, as words ("rank:3=fleet", "kernels:gemm*0.5") and as what they do to its graph.
#pragma once

#include "model/base/result.h"
#include "model/base/sentence.h"
#include "model/replay/replay_times.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::replay {

enum class ChangeKind : std::uint8_t {
    Stragglers,
    Rank,
    Stage,
    Link,
    Kernels,
    Host,
    Launches,
    Hide,
    Microbatches,
    Schedule,
    Vpp,
    Plan,
    Batch,
    Cluster
};

struct ReplayChange {
    ChangeKind kind = ChangeKind::Stragglers;
    int index = 0;         ///< of a rank or stage
    bool recorded = false; ///< a rank or stage keeps what was recorded, against changes before this one
    std::string pattern;   ///< of names; the tier or group of a link; the value behind microbatches=, schedule=, …
    double factor = 1;
    std::string text; ///< as given
};

/// Reads one change: "stragglers=none", "rank:R=fleet", "rank:R=recorded", "stage:S=fleet", "stage:S=recorded",
/// "link:TIER*F", "kernels:PATTERN*F", "host:PATTERN*F", "launches=graph", "hide:PATTERN", "microbatches=N", "schedule=…",
/// "vpp=N", "plan=…", "batch=N", "cluster=…".
/// Errors: InvalidArgument naming what is wrong with it.
Result<ReplayChange> parseChange(std::string_view text);

/// Where a node's time comes from.
enum class TimeOrigin : std::uint8_t { Measured, Scaled, Modelled };

/// The times of a changed graph.
struct ChangedTimes {
    NodeTimes times;
    std::vector<TimeOrigin> origin;     ///< by node
    std::vector<std::uint8_t> averaged; ///< by node: takes what its peers take
    std::vector<Sentence> assumed;      ///< each once
};

/// Whether a change is one of the times of the nodes (else of the graph, the order of passes or the specification).
bool changesTimes(ChangeKind kind);

/// Applies those of the changes that change times, in their order.
/// Errors: NotFound if nothing in the trace is what a change names; Unsupported naming the fact that the trace lacks.
Result<ChangedTimes> applyChanges(const Recording& recording, const ReplayGraph& graph, const PeerClasses& peers,
                                  NodeTimes times, std::span<const ReplayChange> changes);

} // namespace fourwalls::replay
