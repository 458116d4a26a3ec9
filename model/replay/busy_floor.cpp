// SPDX-License-Identifier: Apache-2.0
// See busy_floor.h.
#include "model/replay/busy_floor.h"

#include <algorithm>
#include <limits>
#include <optional>

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
    std::vector<NodeIndex> holding(recording.pieces.size(), kNone);
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (holdsTrack(recording, graph, node)) holding[graph.piece[node]] = static_cast<NodeIndex>(node);
    std::vector<std::int64_t> floor(graph.steps.size(), 0);
    std::vector<double> busy(graph.steps.size(), 0); // of the track
    std::int64_t covered = 0;                        // until when the track was
    const auto take = [&] {
        for (std::size_t step = 0; step < busy.size(); ++step)
            floor[step] = std::max(floor[step], static_cast<std::int64_t>(busy[step]));
        std::fill(busy.begin(), busy.end(), 0);
        covered = std::numeric_limits<std::int64_t>::min();
    };
    // Pieces are sorted by rank, track and start.
    std::optional<TrackId> track;
    for (std::size_t piece = 0; piece < holding.size(); ++piece) {
        const NodeIndex node = holding[piece];
        if (node == kNone) continue;
        if (track != recording.pieces[piece].track) take();
        track = recording.pieces[piece].track;
        const std::uint32_t index = graph.step[node];
        const GraphStep& step = graph.steps[index];
        const std::int64_t first = step.chained ? std::max(step.first, graph.steps[index - 1].last) : step.first;
        const std::int64_t end = graph.recordedEnd[node];
        const std::int64_t from = std::max({end - graph.duration[node], first, covered}), to = std::min(end, step.last);
        covered = std::max(covered, end);
        if (to <= from) continue;
        const double share = static_cast<double>(to - from) / static_cast<double>(graph.duration[node]);
        busy[index] += share * static_cast<double>(times.duration[node]);
    }
    take();
    return floor;
}

} // namespace fourwalls::replay
