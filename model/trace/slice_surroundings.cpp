// SPDX-License-Identifier: Apache-2.0
// Questions at single instants, which cost a few rows each, whatever the trace's size.
#include "model/trace/slice_surroundings.h"

#include "model/trace/duration_distribution.h"
#include "model/trace/range_statistics.h"
#include "model/trace/range_summaries.h"
#include "model/trace/slice_walk.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fourwalls {

namespace {

constexpr std::size_t kMostArrows = 60;
constexpr std::size_t kMostChildren = 5;
constexpr std::int64_t kMostChildrenRead = 20'000;
constexpr std::size_t kMostMembers = 1024;
constexpr std::size_t kMostCollectives = 64;
constexpr std::size_t kMostNamesakes = 1'000'000; ///< whose durations are kept one by one

/// All slices of the track that are there at the instant, by lane.
Result<std::vector<NamedSlice>> slicesAt(TraceQuery& trace, TrackId track, Instant at, const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices({{track}, {at, at + Duration{1}}, 1}, stop));
    std::vector<NamedSlice> found;
    for (const LaneSlices& lane : window.lanes)
        for (const SliceView& slice : lane.exact) {
            const auto op = window.ops.find(slice.op);
            found.push_back({slice, op == window.ops.end() ? nullptr : op->second});
        }
    std::stable_sort(found.begin(), found.end(),
                     [](const NamedSlice& a, const NamedSlice& b) { return a.slice.lane < b.slice.lane; });
    return found;
}

Result<std::vector<NamedSlice>> parentsOf(TraceQuery& trace, const SliceView& slice, const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(std::vector<NamedSlice> found, slicesAt(trace, slice.track, slice.start, stop));
    std::erase_if(found, [&](const NamedSlice& each) {
        return each.slice.lane >= slice.lane || each.slice.start > slice.start ||
               each.slice.end() < std::max(slice.end(), slice.start + Duration{1});
    });
    return found;
}

/// The frames of the slice's thread when it began.
Result<std::vector<NamedSlice>> stackAt(TraceQuery& trace, const SliceView& slice, const std::stop_token& stop)
{
    const TrackView* frames = framesTrackOf(trace, trace.tracks()[static_cast<std::size_t>(slice.track.value)]);
    if (!frames) return std::vector<NamedSlice>();
    return slicesAt(trace, frames->id, slice.start, stop);
}

/// Whether the track holds few enough slices within the range to read them all.
Result<bool> isQuickToRead(TraceQuery& trace, TrackId track, TimeRange range, const std::stop_token& stop)
{
    constexpr int kColumns = 64;
    FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices({{track}, range, kColumns}, stop));
    std::int64_t count = 0;
    for (const LaneSlices& lane : window.lanes) {
        count += static_cast<std::int64_t>(lane.exact.size());
        for (const SliceBin& bin : lane.bins) count += bin.count;
    }
    return count <= kMostChildrenRead;
}

Status readChildren(TraceQuery& trace, const SliceView& slice, const std::stop_token& stop, SliceSurroundings& found)
{
    const TrackView& track = trace.tracks()[static_cast<std::size_t>(slice.track.value)];
    if (track.lanes <= slice.lane + 1 || slice.duration.ns == 0) {
        found.self = slice.duration;
        return {};
    }
    const TimeRange range{slice.start, slice.end()};
    FOURWALLS_TRY_ASSIGN(const bool quick, isQuickToRead(trace, slice.track, range, stop));
    if (!quick) return {};
    NestingWalk<bool> walk(range); // tag: a child of the slice
    std::vector<SliceView> children;
    const auto leave = [&](const NestingWalk<bool>::Left& left) {
        if (left.slice.id == slice.id) found.self = left.self;
    };
    FOURWALLS_TRY(forEachSlice(
        trace, track, range,
        [&](const SliceView& each) {
            walk.add(
                each,
                [&](const SliceView& entered, const bool* parentIsSlice) {
                    if (parentIsSlice && *parentIsSlice) children.push_back(entered);
                    return entered.id == slice.id;
                },
                leave);
            return true;
        },
        stop));
    walk.finish(leave);
    found.childCount = static_cast<std::int64_t>(children.size());
    std::stable_sort(children.begin(), children.end(),
                     [](const SliceView& a, const SliceView& b) { return a.duration > b.duration; });
    if (children.size() > kMostChildren) children.resize(kMostChildren);
    for (const SliceView& child : children) {
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(child.op));
        found.children.push_back({child, std::move(op)});
    }
    return {};
}

/// Looks back in stretches that grow until there is something in the lane.
Status readEmptyBefore(TraceQuery& trace, const SliceView& slice, const std::stop_token& stop, SliceSurroundings& found)
{
    constexpr std::int64_t kFirstReach = 10'000, kTimesMore = 8; // [ns]
    const TrackView& track = trace.tracks()[static_cast<std::size_t>(slice.track.value)];
    const Instant begin = trace.info().range.begin;
    for (std::int64_t reach = kFirstReach; slice.start > begin; reach *= kTimesMore) {
        const TimeRange range{std::max(begin, slice.start - Duration{reach}), slice.start};
        FOURWALLS_TRY_ASSIGN(const bool quick, isQuickToRead(trace, slice.track, range, stop));
        if (!quick) return {};
        std::optional<Instant> end;
        FOURWALLS_TRY(forEachSlice(
            trace, track, range,
            [&](const SliceView& each) {
                if (each.lane == slice.lane) end = each.end();
                return true;
            },
            stop));
        if (end) found.emptyBefore = slice.start - *end;
        if (end || range.begin == begin) return {};
    }
    return {};
}

Status readArrows(TraceQuery& trace, const SliceView& slice, const std::stop_token& stop, SliceSurroundings& found)
{
    const TimeRange range{slice.start, slice.end() + Duration{1}}; // arrows often leave at the very end
    FOURWALLS_TRY_ASSIGN(std::vector<FlowRecord> flows, trace.flows(slice.track, range, kMostArrows));
    for (FlowRecord& flow : flows) {
        SliceArrow arrow;
        FOURWALLS_TRY_ASSIGN(arrow.from, deepestSliceAt(trace, flow.fromTrack, flow.from, stop));
        FOURWALLS_TRY_ASSIGN(arrow.to, deepestSliceAt(trace, flow.toTrack, flow.to, stop));
        arrow.flow = std::move(flow);
        found.arrows.push_back(std::move(arrow));
    }
    return {};
}

Status readCollective(TraceQuery& trace, const SliceView& slice, SliceSurroundings& found)
{
    const RankId rank = trace.tracks()[static_cast<std::size_t>(slice.track.value)].info.rank;
    const TimeRange range{slice.start, slice.end() + Duration{1}};
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> own, trace.collectives(rank, range, kMostCollectives));
    for (const CollectiveView& view : own)
        if (view.record.track == slice.track && view.record.start == slice.start) found.collective = view.record;
    if (!found.collective) return {};
    const auto group = static_cast<std::size_t>(found.collective->group.value);
    if (group >= trace.info().groups.size()) return {};
    const std::vector<RankId>& ranks = trace.info().groups[group].ranks;
    if (ranks.size() > kMostMembers) return {};
    for (const RankId member : ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> all, trace.collectives(member, range, kMostCollectives));
        for (const CollectiveView& view : all) {
            const CollectiveRecord& record = view.record;
            if (record.group == found.collective->group && record.sequence == found.collective->sequence &&
                record.operation == found.collective->operation) {
                found.members.push_back({member, record.track, record.start, record.end});
                break;
            }
        }
    }
    std::stable_sort(found.members.begin(), found.members.end(),
                     [](const CollectiveMember& a, const CollectiveMember& b) { return a.start < b.start; });
    return {};
}

} // namespace

Result<std::optional<NamedSlice>> deepestSliceAt(TraceQuery& trace, TrackId track, Instant at,
                                                 const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(std::vector<NamedSlice> found, slicesAt(trace, track, at, stop));
    if (found.empty() && at.ns > -kLargestTimeNs) { // an arrow that leaves when its slice is over
        FOURWALLS_TRY_ASSIGN(found, slicesAt(trace, track, at - Duration{1}, stop));
    }
    if (found.empty()) return std::optional<NamedSlice>();
    return std::optional<NamedSlice>(std::move(found.back()));
}

const SliceArrow* launchOf(const SliceSurroundings& surroundings, const SliceView& slice)
{
    for (const SliceArrow& arrow : surroundings.arrows)
        if (arrow.flow.kind == "launch" && arrow.from && arrow.to && arrow.to->slice.id == slice.id) return &arrow;
    return nullptr;
}

Result<SliceSurroundings> sliceSurroundings(TraceQuery& trace, const NamedSlice& of, const std::stop_token& stop)
{
    const SliceView& slice = of.slice;
    if (slice.track.value < 0 || static_cast<std::size_t>(slice.track.value) >= trace.tracks().size())
        return Error{ErrorCode::NotFound, "no track " + std::to_string(slice.track.value), "slice", ""};
    SliceSurroundings found;
    FOURWALLS_TRY_ASSIGN(found.parents, parentsOf(trace, slice, stop));
    FOURWALLS_TRY(readArrows(trace, slice, stop, found));
    if (const SliceArrow* launch = launchOf(found, slice)) {
        FOURWALLS_TRY_ASSIGN(found.launchParents, parentsOf(trace, launch->from->slice, stop));
        FOURWALLS_TRY_ASSIGN(found.stack, stackAt(trace, launch->from->slice, stop));
    } else {
        FOURWALLS_TRY_ASSIGN(found.stack, stackAt(trace, slice, stop));
    }
    FOURWALLS_TRY(readChildren(trace, slice, stop, found));
    FOURWALLS_TRY(readEmptyBefore(trace, slice, stop, found));
    if (of.op && of.op->kind == SliceKind::Collective) FOURWALLS_TRY(readCollective(trace, slice, found));
    if (trace.info().counts.allocations > 0) {
        const RankId rank = trace.tracks()[static_cast<std::size_t>(slice.track.value)].info.rank;
        const auto memory = trace.memory(rank, {slice.start, slice.start + Duration{1}}, 1);
        if (memory.ok() && !memory->samples.empty()) found.aliveBytes = memory->samples.front().total();
    }
    return found;
}

namespace {

Error notOnItsTrack()
{
    return {ErrorCode::NotFound, "the slice is not on its track", "slice", ""};
}

/// Reads every slice of the track.
Result<NamesakePlace> placeOnTrack(TraceQuery& trace, const NamedSlice& of, const TrackView& track,
                                   const std::stop_token& stop)
{
    const TimeRange all{trace.info().range.begin, trace.info().range.end + Duration{1}};
    NamesakePlace place;
    DurationDistribution durations;
    std::unordered_map<OpId, bool> named; // operators of one name differ in shape or phase
    std::optional<SliceView> last;
    FOURWALLS_TRY(forEachSlice(
        trace, track, all,
        [&](const SliceView& slice) {
            auto known = named.find(slice.op);
            if (known == named.end()) {
                const auto op = trace.op(slice.op);
                known = named.emplace(slice.op, op.ok() && (*op)->name == of.op->name).first;
            }
            if (!known->second) return true;
            ++place.count;
            durations.add(slice.duration);
            if (durations.kept() > kMostNamesakes) durations.makeRough();
            if (slice.duration < of.slice.duration) ++place.shorter;
            if (slice.id == of.slice.id) {
                place.position = place.count;
                place.previous = last;
            } else if (place.position > 0 && !place.next) {
                place.next = slice;
            }
            last = slice;
            return true;
        },
        stop));
    if (place.position == 0) return notOnItsTrack();
    place.median = durations.percentile(0.5).value_or(Duration{});
    return place;
}

/// The same from sums of whole blocks: reads what lies between the slice and its neighbours of the same name.
class PlaceFromSums {
public:
    PlaceFromSums(TraceQuery& trace, const NamedSlice& of, const TrackView& track, const RangeSummaries& sums,
                  const std::stop_token& stop)
        : m_trace(trace)
        , m_of(of)
        , m_track(track)
        , m_sums(sums)
        , m_stop(stop)
        , m_all{trace.info().range.begin, trace.info().range.end + Duration{1}}
    {}

    Result<NamesakePlace> find()
    {
        FOURWALLS_TRY(readAll());
        FOURWALLS_TRY(readBefore());
        FOURWALLS_TRY(readInstant());
        if (m_place.position == 0) return notOnItsTrack();
        if (!m_place.previous && m_place.position > 1) {
            FOURWALLS_TRY_ASSIGN(m_place.previous, nearest(false));
        }
        if (!m_place.next && m_place.position < m_place.count) {
            FOURWALLS_TRY_ASSIGN(m_place.next, nearest(true));
        }
        return m_place;
    }

private:
    Result<RangeStatistics> statistics(TimeRange range) const
    {
        return rangeStatistics(m_trace, {&m_track.id, 1}, range, &m_sums, {}, m_stop);
    }

    Status readAll()
    {
        FOURWALLS_TRY_ASSIGN(const RangeStatistics whole, statistics(m_all));
        DurationDistribution durations;
        for (const RangeEntry& entry : whole.entries) {
            if (whole.ops.at(entry.op)->name != m_of.op->name) continue;
            m_named.insert(entry.op);
            m_place.count += entry.count;
            durations.add(entry.durations);
        }
        m_place.median = durations.percentile(0.5).value_or(Duration{});
        m_place.shorter = durations.shorterThan(m_of.slice.duration);
        return {};
    }

    Status readBefore()
    {
        const TimeRange before{m_all.begin, m_of.slice.start};
        if (before.empty()) return {};
        FOURWALLS_TRY_ASSIGN(const RangeStatistics begun, statistics(before));
        for (const RangeEntry& entry : begun.entries)
            if (m_named.contains(entry.op)) m_before += entry.count;
        return {};
    }

    /// Those that begin with it have an order, too.
    Status readInstant()
    {
        const Instant at = m_of.slice.start;
        std::int64_t seen = 0;
        std::optional<SliceView> last;
        return forEachSlice(
            m_trace, m_track, {at, at + Duration{1}},
            [&](const SliceView& slice) {
                if (slice.start != at || !m_named.contains(slice.op)) return true;
                ++seen;
                if (slice.id == m_of.slice.id) {
                    m_place.position = m_before + seen;
                    m_place.previous = last;
                } else if (m_place.position > 0 && !m_place.next) {
                    m_place.next = slice;
                }
                last = slice;
                return true;
            },
            m_stop);
    }

    /// In stretches that grow until one is found.
    Result<std::optional<SliceView>> nearest(bool forward) const
    {
        const Instant at = m_of.slice.start;
        const std::int64_t length = m_all.length().ns;
        for (std::int64_t reach = std::max<std::int64_t>(2 * (length / m_place.count), 1000);;
             reach = std::min(4 * reach, length)) {
            const TimeRange wanted =
                forward ? TimeRange{at + Duration{1}, at + Duration{1 + reach}} : TimeRange{at - Duration{reach}, at};
            const TimeRange range = wanted.intersected(m_all);
            std::optional<SliceView> found;
            if (range.empty()) return found;
            FOURWALLS_TRY(forEachSlice(
                m_trace, m_track, range,
                [&](const SliceView& slice) {
                    if (slice.start < range.begin || !m_named.contains(slice.op)) return true;
                    found = slice;
                    return !forward;
                },
                m_stop));
            if (found || range.length().ns < reach || reach >= length) return found;
        }
    }

    TraceQuery& m_trace;
    const NamedSlice& m_of;
    const TrackView& m_track;
    const RangeSummaries& m_sums;
    const std::stop_token& m_stop;
    TimeRange m_all;
    std::set<OpId> m_named; ///< operators of one name differ in shape or phase
    std::int64_t m_before = 0;
    NamesakePlace m_place;
};

} // namespace

Result<NamesakePlace> placeAmongNamesakes(TraceQuery& trace, const NamedSlice& of, const RangeSummaries* summaries,
                                          const std::stop_token& stop)
{
    if (!of.op || of.slice.track.value < 0 || static_cast<std::size_t>(of.slice.track.value) >= trace.tracks().size())
        return Error{ErrorCode::NotFound, "no such slice", "slice", ""};
    const TrackView& track = trace.tracks()[static_cast<std::size_t>(of.slice.track.value)];
    const std::shared_ptr<const RankSummary> known = summaries ? summaries->of(track.info.rank) : nullptr;
    if (known && known->hasDurations) return PlaceFromSums(trace, of, track, *summaries, stop).find();
    return placeOnTrack(trace, of, track, stop);
}

} // namespace fourwalls
