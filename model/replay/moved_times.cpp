// SPDX-License-Identifier: Apache-2.0
// See moved_times.h.
#include "model/replay/moved_times.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::replay {

namespace {

/// How far each step moves because the steps before it grew: steps that begin by themselves keep their recorded begin.
std::vector<std::int64_t> stepShifts(const ReplayGraph& graph, std::span<const std::int64_t> end)
{
    std::vector<std::int64_t> shifts;
    std::int64_t shift = 0, lastEnd = 0;
    for (std::size_t i = 0; i < graph.steps.size(); ++i) {
        const GraphStep& step = graph.steps[i];
        if (i > 0 && !step.chained) shift = std::max(shift, lastEnd - step.first);
        shifts.push_back(shift);
        for (const NodeIndex node : step.ends) lastEnd = std::max(lastEnd, end[node] + shift);
    }
    return shifts;
}

} // namespace

MovedTimes::MovedTimes(const Recording& recording, const ReplayGraph& graph, std::span<const std::int64_t> duration,
                       std::span<const std::int64_t> end)
    : m_pieces(recording.pieces.size())
{
    const std::vector<std::int64_t> shifts = stepShifts(graph, end);
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        const std::uint32_t index = graph.piece[node];
        const NodeRole role = graph.role[node];
        if (index == kNone || role == NodeRole::Meeting || role == NodeRole::Stall) continue;
        // The time before a call belongs to the operator around it, which other nodes may share.
        if (role == NodeRole::Host && recording.op(recording.pieces[index]).kind != SliceKind::HostCall) continue;
        const Instant left = graph.origin + Duration{graph.recordedEnd[node]};
        const Instant last = graph.origin + Duration{end[node] + shifts[graph.step[node]]};
        const Piece& recorded = recording.pieces[index];
        // Waiting before it is no part of a predicted operation.
        if (role == NodeRole::Arrival && left < recorded.start) continue;
        // Work that began beside the work in front of it keeps that share of its length, and a transfer what it does before
        // its rank waits for it and when it no longer does.
        const Duration none{},
            beside = role == NodeRole::Work ? recorded.length() - Duration{graph.duration[node]} : none,
            before = role == NodeRole::Arrival ? left - recorded.start : none,
            behind = role == NodeRole::Moving ? recorded.end - left : none;
        const Instant first = last - Duration{duration[node]} - std::max({none, beside, before});
        const Instant until = last + std::max(none, behind);
        MovedPiece& piece = m_pieces[index];
        if (!piece.known) piece = {first, until, first, true};
        piece.start = std::min(piece.start, first);
        piece.end = std::max(piece.end, until);
        if (role == NodeRole::Moving) piece.lastArrival = first;
    }
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        MovedPiece& moved = m_pieces[i];
        if (!moved.known) continue;
        const Piece& piece = recording.pieces[i];
        moved.lastArrival = std::clamp(moved.lastArrival, moved.start, moved.end);
        std::vector<Anchor>& anchors = m_anchors[piece.rank];
        anchors.push_back({piece.start, moved.start});
        anchors.push_back({piece.end, moved.end});
    }
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (graph.role[node] == NodeRole::Mark) {
            // Ends of steps have no piece; their rank is that of the step whose recorded end they are.
            const Instant recorded = graph.origin + Duration{graph.recordedEnd[node]};
            const Instant moved = graph.origin + Duration{end[node] + shifts[graph.step[node]]};
            for (const auto& [rank, range] : recording.steps[graph.step[node]].ranks)
                if (range.end == recorded) m_anchors[rank].push_back({recorded, moved});
        }
    for (auto& [rank, anchors] : m_anchors) {
        std::stable_sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) {
            return a.recorded != b.recorded ? a.recorded < b.recorded : a.moved < b.moved;
        });
        // Time goes on: of work that ran beside other work the later end counts.
        for (std::size_t i = 1; i < anchors.size(); ++i)
            anchors[i].moved = std::max(anchors[i].moved, anchors[i - 1].moved);
    }
}

Instant MovedTimes::at(RankId rank, Instant recorded) const
{
    const auto found = m_anchors.find(rank);
    if (found == m_anchors.end() || found->second.empty()) return recorded;
    const std::vector<Anchor>& anchors = found->second;
    const auto behind = std::upper_bound(anchors.begin(), anchors.end(), recorded,
                                         [](Instant at, const Anchor& anchor) { return at < anchor.recorded; });
    if (behind == anchors.begin()) return recorded + (anchors.front().moved - anchors.front().recorded);
    const Anchor& before = *(behind - 1);
    if (behind == anchors.end() || before.recorded == recorded) return before.moved + (recorded - before.recorded);
    const auto length = static_cast<double>((behind->recorded - before.recorded).ns);
    const double share = static_cast<double>((recorded - before.recorded).ns) / length;
    return before.moved + Duration{std::llround(share * static_cast<double>((behind->moved - before.moved).ns))};
}

} // namespace fourwalls::replay
