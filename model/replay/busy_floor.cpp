// SPDX-License-Identifier: Apache-2.0
// See busy_floor.h.
#include "model/replay/busy_floor.h"

#include <algorithm>
#include <limits>
#include <map>

namespace fourwalls::replay {

namespace {

bool goesOneToOne(CollectiveOp operation)
{
    return operation == CollectiveOp::Send || operation == CollectiveOp::Receive;
}

/// Whether a node keeps its track busy.
bool holdsTrack(const Recording& recording, const ReplayGraph& graph, std::size_t node)
{
    if (graph.piece[node] == kNone || graph.duration[node] <= 0) return false;
    if (graph.role[node] == NodeRole::Work) return true;
    if (graph.role[node] != NodeRole::Moving) return false;
    const Piece& piece = recording.pieces[graph.piece[node]];
    return piece.isCollective() && !goesOneToOne(recording.collectives[piece.collective].record.operation);
}

} // namespace

std::vector<std::int64_t> busyFloor(const Recording& recording, const ReplayGraph& graph, const NodeTimes& times)
{
    std::vector<NodeIndex> nodes;
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (holdsTrack(recording, graph, node)) nodes.push_back(static_cast<NodeIndex>(node));
    const auto startOf = [&](NodeIndex node) { return graph.recordedEnd[node] - graph.duration[node]; };
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeIndex a, NodeIndex b) { return startOf(a) != startOf(b) ? startOf(a) < startOf(b) : a < b; });
    struct Track {
        std::int64_t covered = std::numeric_limits<std::int64_t>::min();
        std::map<std::uint32_t, double> busy; // by step
    };
    std::map<std::int32_t, Track> tracks;
    for (const NodeIndex node : nodes) {
        Track& track = tracks[recording.pieces[graph.piece[node]].track.value];
        const std::uint32_t index = graph.step[node];
        const GraphStep& step = graph.steps[index];
        const std::int64_t first = step.chained ? std::max(step.first, graph.steps[index - 1].last) : step.first;
        const std::int64_t from = std::max({startOf(node), first, track.covered}),
                           to = std::min(graph.recordedEnd[node], step.last);
        track.covered = std::max(track.covered, graph.recordedEnd[node]);
        if (to <= from) continue;
        const double share = static_cast<double>(to - from) / static_cast<double>(graph.duration[node]);
        track.busy[index] += share * static_cast<double>(times.duration[node]);
    }
    std::vector<std::int64_t> floor(graph.steps.size(), 0);
    for (const auto& [id, track] : tracks)
        for (const auto& [step, busy] : track.busy)
            floor[step] = std::max(floor[step], static_cast<std::int64_t>(busy));
    return floor;
}

} // namespace fourwalls::replay
