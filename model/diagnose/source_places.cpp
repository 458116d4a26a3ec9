// SPDX-License-Identifier: Apache-2.0
// See source_places.h.
#include "model/diagnose/source_places.h"

#include "model/trace/step_window.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace fourwalls::diagnose {

namespace {

std::vector<TrackId> threadsOf(const CaseFacts& facts, RankId rank)
{
    std::vector<TrackId> threads;
    for (const TrackView& track : facts.trace.tracks())
        if (track.info.rank == rank && track.info.kind == TrackKind::CpuThread && track.slices > 0)
            threads.push_back(track.id);
    return threads;
}

/// What an operator's name, or the stack recorded with it, says of the program's source.
struct Line {
    std::optional<SourceFrame> frame;
    bool ofStack = false; ///< recorded with the call itself
};

Line lineOf(const OpInfo& op)
{
    if (op.kind == SliceKind::Marker) {
        std::optional<SourceFrame> frame = sourceFrame(op.name);
        if (frame && isOfLibrary(*frame)) frame.reset();
        return {std::move(frame), false};
    }
    return {ownFrame(op.detail), true};
}

/// Takes a thread's slices, outer ones first, and adds up the wanted ones by the lines around and within them.
class SiteCounter {
public:
    SiteCounter(const OpDictionary& ops, const WantedSlice& wanted) : m_wanted(wanted)
    {
        for (const auto& [id, op] : ops) m_kinds.emplace(id, Kind{op, lineOf(*op)});
    }

    void take(const SliceView& slice)
    {
        while (!m_open.empty() && m_open.back().end <= slice.start) m_open.pop_back();
        const auto at = m_kinds.find(slice.op);
        if (at == m_kinds.end()) return;
        const Kind& kind = at->second;
        const bool within = !m_open.empty() && m_open.back().wanted;
        const auto depth = static_cast<int>(m_open.size());
        const bool wanted = !within && m_wanted(*kind.op, slice);
        if (wanted) {
            found.count += 1;
            found.time += slice.duration;
            found.ranges.push_back({slice.start, slice.end()});
            m_byOp[slice.op] += slice.duration.ns;
            if (!found.longest || slice.duration > found.longest->duration) found.longest = slice;
            for (std::size_t i = 0; i < m_open.size(); ++i)
                if (m_open[i].line) note(*m_open[i].line, static_cast<int>(i), slice.duration.ns);
            constexpr int kWithTheCall = 1 << 20;
            if (kind.line.ofStack && kind.line.frame) note(*kind.line.frame, kWithTheCall, slice.duration.ns);
        }
        const std::optional<SourceFrame>* line = kind.line.frame && !kind.line.ofStack ? &kind.line.frame : nullptr;
        if (within && line) note(**line, depth, slice.duration.ns);
        m_open.push_back({slice.end(), wanted || within, line ? &**line : nullptr});
    }
    void endThread() { m_open.clear(); }

    WorkSites finish()
    {
        const auto most = std::max_element(m_byOp.begin(), m_byOp.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == m_byOp.end()) return {};
        found.op = m_kinds.at(most->first).op;
        int deepest = -1;
        for (const auto& [frame, of] : m_lines) {
            if (2 * of.time < found.time.ns || of.depth <= deepest) continue;
            deepest = of.depth;
            found.frame = frame;
        }
        return std::move(found);
    }

private:
    struct Kind {
        std::shared_ptr<const OpInfo> op;
        Line line;
    };
    struct Open {
        Instant end;
        bool wanted; ///< it, or what is around it
        const SourceFrame* line;
    };
    struct Covered {
        std::int64_t time = 0;
        int depth = 0;
    };
    void note(const SourceFrame& frame, int depth, std::int64_t time)
    {
        Covered& of = m_lines[frame];
        of.time += time;
        of.depth = std::max(of.depth, depth);
    }

    const WantedSlice& m_wanted;
    WorkSites found;
    std::unordered_map<OpId, Kind> m_kinds;
    std::vector<Open> m_open;
    std::map<OpId, std::int64_t> m_byOp;
    std::map<SourceFrame, Covered> m_lines;
};

} // namespace

SourcePlace WorkSites::place() const
{
    if (!op) return {};
    SourcePlace place = sourceOf(*op);
    if (frame) place.frame = frame;
    return place;
}

WorkSites workSites(const CaseFacts& facts, RankId rank, TimeRange range, const WantedSlice& wanted)
{
    const auto slices = boundedSlices(facts.trace, threadsOf(facts, rank), range, kMostSlicesAnalysed, facts.stop);
    if (!slices.ok()) return {};
    // PyTorch's profiler writes what a thread runs and its Python functions; importers give each a track.
    constexpr std::string_view kFrames = " frames";
    std::map<std::string_view, std::vector<SliceView>> byThread;
    for (const LaneSlices& lane : slices->lanes) {
        std::string_view thread = facts.trace.tracks()[static_cast<std::size_t>(lane.track.value)].info.name;
        if (thread.ends_with(kFrames)) thread.remove_suffix(kFrames.size());
        std::vector<SliceView>& all = byThread[thread];
        std::copy_if(lane.exact.begin(), lane.exact.end(), std::back_inserter(all),
                     [range](const SliceView& each) { return each.start < range.end && each.end() > range.begin; });
    }
    SiteCounter counter(slices->ops, wanted);
    for (auto& [thread, all] : byThread) {
        std::sort(all.begin(), all.end(), [](const SliceView& a, const SliceView& b) {
            return std::make_tuple(a.start, b.end(), a.lane) < std::make_tuple(b.start, a.end(), b.lane);
        });
        for (const SliceView& each : all) counter.take(each);
        counter.endThread();
    }
    return counter.finish();
}

Doing doneIn(const CaseFacts& facts, RankId rank, TimeRange range)
{
    constexpr int kPixels = 8; // longer slices than an eighth come one by one
    const SliceQuery query{threadsOf(facts, rank), range, kPixels};
    const auto window = facts.trace.slices(query, facts.stop);
    if (!window.ok()) return {};
    Doing found;
    std::pair<bool, int> innermost{false, -1}; // is a call or operator, lane
    int deepest = -1;
    for (const LaneSlices& lane : window->lanes)
        for (const SliceView& slice : lane.exact) {
            const auto op = window->ops.find(slice.op);
            if (op == window->ops.end() || op->second->kind == SliceKind::Step) continue;
            const TimeRange inside = TimeRange{slice.start, slice.end()}.intersected(range);
            if (2 * inside.length().ns < range.length().ns) continue;
            if (Line line = lineOf(*op->second); line.frame && slice.lane > deepest) {
                deepest = slice.lane;
                found.frame = std::move(line.frame);
            }
            const std::pair<bool, int> place{op->second->kind != SliceKind::Marker, slice.lane};
            if (place <= innermost) continue;
            innermost = place;
            found.op = op->second;
        }
    return found;
}

double recordedIn(const CaseFacts& facts, RankId rank, TimeRange range)
{
    constexpr int kPixels = 256;
    const auto window = facts.trace.slices({threadsOf(facts, rank), range, kPixels}, facts.stop);
    if (!window.ok() || range.empty()) return 0;
    const auto isWork = [&window](OpId id) {
        const auto op = window->ops.find(id);
        return op != window->ops.end() && op->second->kind != SliceKind::Step && op->second->kind != SliceKind::Marker;
    };
    Duration sum;
    for (const LaneSlices& lane : window->lanes) {
        for (const SliceView& slice : lane.exact)
            if (isWork(slice.op)) sum += TimeRange{slice.start, slice.end()}.intersected(range).length();
        for (const SliceBin& bin : lane.bins)
            if (isWork(bin.dominant)) sum += bin.busy;
    }
    return static_cast<double>(sum.ns) / static_cast<double>(range.length().ns);
}

SourcePlace sourceOf(const OpInfo& op)
{
    std::optional<SourceFrame> frame = lineOf(op).frame;
    // A memory snapshot's operators are places themselves.
    if (!frame) frame = sourceFrame(op.name);
    if (frame && isOfLibrary(*frame)) frame.reset();
    return {op.name, op.layer, std::move(frame)};
}

} // namespace fourwalls::diagnose
