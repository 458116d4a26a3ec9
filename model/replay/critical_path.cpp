// SPDX-License-Identifier: Apache-2.0
// See critical_path.h.
#include "model/replay/critical_path.h"

#include "model/replay/replay.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls {

namespace {

/// Puts pieces of the path, latest first, end to end.
class PathWriter {
public:
    explicit PathWriter(CriticalPath& path) : m_path(path), m_at(path.window.range.end) {}

    /// The stretch from `begin` to what is there already.
    void add(PathSegment segment, Instant begin)
    {
        segment.range = {std::max(begin, m_path.window.range.begin), m_at};
        if (segment.range.empty()) return;
        m_at = segment.range.begin;
        if (!m_path.segments.empty()) {
            PathSegment& later = m_path.segments.back();
            if (later.rank != segment.rank) ++m_path.jumps;
            const bool same = later.rank == segment.rank && later.part == segment.part &&
                              later.phase == segment.phase && later.activity == segment.activity &&
                              segment.part != PathPart::Transfer;
            if (same) {
                if (segment.range.length() > m_longest) {
                    m_longest = segment.range.length();
                    later.name = segment.name;
                }
                if (later.layer != segment.layer) later.layer.reset();
                later.range.begin = segment.range.begin;
                ++later.pieces;
                return;
            }
        }
        m_longest = segment.range.length();
        m_path.segments.push_back(std::move(segment));
    }
    Instant at() const { return m_at; }
    RankId rank() const { return m_path.segments.empty() ? RankId{} : m_path.segments.back().rank; }

private:
    CriticalPath& m_path;
    Instant m_at;
    Duration m_longest;
};

PathSegment segmentOf(const replay::Recording& recording, const replay::ReplayGraph& graph, replay::NodeIndex node,
                      RankId other)
{
    PathSegment segment;
    segment.rank = other;
    if (graph.piece[node] == replay::kNone) return segment;
    const replay::Piece& piece = recording.pieces[graph.piece[node]];
    const OpInfo& op = recording.op(piece);
    segment.rank = piece.rank;
    segment.name = op.name;
    const replay::NodeRole role = graph.role[node];
    if (role == replay::NodeRole::Work) {
        segment.part = PathPart::Work;
        segment.phase = op.phase;
        segment.activity = op.activity;
        segment.layer = op.layer;
    } else if (role == replay::NodeRole::Moving) {
        segment.part = PathPart::Transfer;
        if (!piece.isCollective()) return segment;
        const CollectiveRecord& record = recording.collectives[piece.collective].record;
        segment.operation = record.operation;
        segment.group = record.group;
        segment.holdsWaiting =
            collectiveTiming(recording.info, record.group, record.operation) == CollectiveTiming::WaitAndTransfer;
        // On its way, a message is what its receiver waits for.
        if (record.operation == CollectiveOp::Send && record.peer) {
            segment.rank = *record.peer;
            segment.operation = CollectiveOp::Receive;
        }
    }
    return segment;
}

} // namespace

Duration CriticalPath::time(PathPart part) const
{
    Duration sum;
    for (const PathSegment& segment : segments)
        if (segment.part == part) sum += segment.range.length();
    return sum;
}

std::vector<std::pair<RankId, Duration>> CriticalPath::byRank() const
{
    std::map<RankId, Duration> sums;
    for (const PathSegment& segment : segments) sums[segment.rank] += segment.range.length();
    std::vector<std::pair<RankId, Duration>> sorted(sums.begin(), sums.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

std::vector<PathShare> CriticalPath::shares() const
{
    std::map<std::tuple<int, int, int, int, int, int>, PathShare> sums;
    for (const PathSegment& segment : segments) {
        const bool transfer = segment.part == PathPart::Transfer;
        PathShare& sum =
            sums[{static_cast<int>(segment.part), static_cast<int>(segment.phase), static_cast<int>(segment.activity),
                  transfer ? static_cast<int>(segment.operation) : 0,
                  transfer && segment.group ? segment.group->value : -1, transfer ? -1 : segment.rank.value}];
        if (sum.segments == 0 || segment.range.length() > sum.kind.range.length()) sum.kind = segment;
        sum.anyRank = transfer;
        sum.time += segment.range.length();
        ++sum.segments;
    }
    std::vector<PathShare> sorted;
    const double length = static_cast<double>(std::max<std::int64_t>(1, window.range.length().ns));
    for (auto& [key, sum] : sums) {
        sum.share = static_cast<double>(sum.time.ns) / length;
        sorted.push_back(sum);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
    return sorted;
}

Result<CriticalPath> criticalPath(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    CriticalPath path;
    FOURWALLS_TRY_ASSIGN(path.window, stepWindow(trace, wanted));
    if (path.window.range.empty()) return path;
    std::optional<replay::StepChoiceRange> steps;
    if (path.window.step) steps = {*path.window.step, *path.window.step};
    FOURWALLS_TRY_ASSIGN(const replay::Replay replay, replay::Replay::of(trace, steps, stop));
    const replay::ReplayGraph& graph = replay.graph(replay::DelayRule::Class);
    PathWriter writer(path);
    for (const replay::NodeIndex node : replay::criticalNodes(graph, graph.recordedEnd, 0)) {
        const Instant end = graph.origin + Duration{graph.recordedEnd[node]};
        PathSegment of = segmentOf(replay.recording(), graph, node, writer.rank());
        PathSegment gap;
        gap.rank = of.rank;
        if (end < writer.at()) writer.add(gap, end); // behind the last work of the step
        const Instant start = end - Duration{graph.duration[node]};
        writer.add(std::move(of), start);
        writer.add(gap, start - Duration{graph.delay[node]});
    }
    PathSegment first;
    first.rank = writer.rank();
    writer.add(first, path.window.range.begin);
    std::reverse(path.segments.begin(), path.segments.end());
    return path;
}

} // namespace fourwalls
