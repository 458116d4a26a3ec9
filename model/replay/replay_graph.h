// SPDX-License-Identifier: Apache-2.0
// A recorded step as a graph of work (model/graph): what its nodes stand for, when they were recorded, what they take.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/graph/work_graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fourwalls::replay {

using fourwalls::NodeIndex;
/// No node, no piece.
inline constexpr std::uint32_t kNone = kNoNode;

enum class NodeRole : std::uint8_t {
    Source,  ///< where the recording begins
    Work,    ///< of a device
    Host,    ///< of a program: a call, or the time between calls
    Arrival, ///< a member comes to an operation of several
    Meeting, ///< all members have come
    Moving,  ///< a member's transfer, free of waiting
    Mark,    ///< the end of a rank's step
    Stall    ///< a device stands still although work is queued
};

/// A training step within a graph.
struct GraphStep {
    StepIndex step;
    bool chained = false; ///< begins when the step before it in the graph ends; else when its first work begins
    std::vector<NodeIndex> begins;    ///< its first nodes; empty and not chained: begins where it was recorded
    std::vector<NodeIndex> ends;      ///< it ends with the last of them
    std::int64_t first = 0, last = 0; ///< where it was recorded [ns from the origin]
    /// The last work of each stream in it, where a program ends its steps without waiting for its device.
    std::vector<NodeIndex> deviceEnds{};
};

/// Times are nanoseconds from `origin`. A node starts a delay after the last of its predecessors has ended, and ends a duration later.
struct ReplayGraph {
    Instant origin;
    WorkGraph work;
    std::vector<NodeRole> role;
    std::vector<std::uint32_t> piece;      ///< of the recording; kNone: of none
    std::vector<std::uint32_t> step;       ///< in `steps`
    std::vector<std::uint32_t> delayClass; ///< nodes of one class are expected to be delayed alike
    std::vector<std::int64_t> recordedEnd, delay, duration;
    std::vector<GraphStep> steps;
    std::int64_t negativeDelays = 0; ///< edges that a recorded time contradicts
    std::int64_t derivedEdges = 0;   ///< that the trace does not state

    std::size_t nodes() const { return work.nodes(); }
    std::span<const NodeIndex> before(NodeIndex node) const { return work.before(node); }
};

/// What the nodes of a graph take in one variant [ns].
struct NodeTimes {
    std::vector<std::int64_t> delay, duration;
};

/// When each node ends (simulateWork). end: filled; its size becomes the number of nodes.
/// Precondition: `times` has as many entries as the graph has nodes.
void simulate(const ReplayGraph& graph, const NodeTimes& times, std::vector<std::int64_t>& end);

/// Length of each step of the graph [ns], from when its nodes end.
std::vector<std::int64_t> stepLengths(const ReplayGraph& graph, std::span<const std::int64_t> duration,
                                      std::span<const std::int64_t> end);

/// The nodes that determined when a step ended, from its end back to its begin (latest first): of each node's
/// predecessors the one that ended last.
std::vector<NodeIndex> criticalNodes(const ReplayGraph& graph, std::span<const std::int64_t> end, std::size_t step);

/// How much later each node could end without any step's end moving [ns].
std::vector<std::int64_t> slackOf(const ReplayGraph& graph, const NodeTimes& times, std::span<const std::int64_t> end);

} // namespace fourwalls::replay
