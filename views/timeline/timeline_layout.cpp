// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the timeline from tracks and the user's arrangement.
#include "views/timeline/timeline_layout.h"

#include "views/timeline/tile_cache.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls::views {

namespace {

constexpr int kHeadHeight = 22;
constexpr int kRowGap = 3;
constexpr int kGroupGap = 4;
constexpr int kTallActivity = 22;
constexpr int kFlatActivity = 7;
constexpr int kCounterHeight = 32;
constexpr std::size_t kRanksShownOpen = 8;
constexpr double kTallestScale = 1.8;
constexpr int kFlattestLane = 5;

int laneHeightOf(TrackKind kind, int lanes)
{
    switch (kind) {
    case TrackKind::ComputeStream:
    case TrackKind::CommStream: return lanes > 2 ? 16 : 19;
    case TrackKind::CopyStream:
    case TrackKind::Markers: return 13;
    default: return 16;
    }
}

/// Where a stream stands among those that were put in order; behind them if it was not.
std::size_t streamPlace(const TimelineArrangement& arrangement, const StreamKey& stream)
{
    return static_cast<std::size_t>(std::ranges::find(arrangement.streams, stream) - arrangement.streams.begin());
}

TimelineRow trackRow(const TrackView& track, double scale)
{
    TimelineRow row;
    row.rank = track.info.rank;
    row.track = track.id;
    row.lanes = std::clamp(track.lanes, 1, kMostShownLanes);
    row.laneHeight = std::max(kFlattestLane, static_cast<int>(laneHeightOf(track.info.kind, row.lanes) * scale));
    // Below an exchange and its wait lie hops and transfers that overlap: their lanes are nearly empty.
    constexpr int kFullCommLanes = 2;
    if (track.info.kind == TrackKind::CommStream && row.lanes > kFullCommLanes) row.lowFrom = kFullCommLanes;
    row.height = row.laneTop(row.lanes) + kRowGap;
    return row;
}

void place(std::vector<TimelineRow>& rows, TimelineRow row, int& y)
{
    row.top = y;
    y += row.height;
    rows.push_back(row);
}

} // namespace

StreamKey streamOf(const TrackView& track)
{
    return {track.info.kind, track.info.name};
}

void moveStream(TimelineArrangement& arrangement, std::span<const TrackView> tracks, const StreamKey& moved,
                const std::optional<StreamKey>& above)
{
    if (above && *above == moved) return;
    // All streams in the order that they have now: one alone could not say where it stands.
    std::vector<const TrackView*> order;
    for (const TrackView& track : tracks)
        if (track.slices > 0) order.push_back(&track);
    std::ranges::stable_sort(order, {}, [&](const TrackView* track) {
        return std::tuple(streamPlace(arrangement, streamOf(*track)), track->info.order, track->id);
    });
    std::vector<StreamKey> streams;
    for (const TrackView* track : order)
        if (const StreamKey stream = streamOf(*track); std::ranges::find(streams, stream) == streams.end())
            streams.push_back(stream);
    std::erase(streams, moved);
    streams.insert(above ? std::ranges::find(streams, *above) : streams.end(), moved);
    arrangement.streams = std::move(streams);
}

std::span<const TimelineRow> TimelineLayout::visible(int top, int bottom) const
{
    const auto first =
        std::partition_point(rows.begin(), rows.end(), [&](const auto& row) { return row.bottom() <= top; });
    const auto last = std::partition_point(first, rows.end(), [&](const auto& row) { return row.top < bottom; });
    return {first, last};
}

const TimelineRow* TimelineLayout::rowOf(TrackId track) const
{
    const auto shows = [&](const TimelineRow& row) { return row.track == track; };
    if (const auto at = std::find_if(pinned.begin(), pinned.end(), shows); at != pinned.end()) return &*at;
    if (const auto at = std::find_if(rows.begin(), rows.end(), shows); at != rows.end()) return &*at;
    return nullptr;
}

namespace {

/// Puts rows below one another; knows what all of them depend on.
class RowPlacer {
public:
    RowPlacer(std::span<const TrackView> tracks, const TimelineArrangement& arrangement, int viewportHeight,
              std::span<const CounterTrack> counters, double scale)
        : m_arrangement(arrangement)
        , m_viewportHeight(viewportHeight)
        , m_counters(counters)
        , m_scale(scale)
    {
        for (const auto& track : tracks) {
            if (track.slices == 0) continue;
            m_byId[track.id] = &track;
            m_streams.try_emplace(streamOf(track), m_streams.size());
            const bool left = !arrangement.filter || arrangement.filter->tracks.contains(track.id);
            if (arrangement.hidden.contains(track.id)) ++m_layout.hiddenTracks;
            // A rank stays, even when all its tracks are hidden; but not where a filter leaves none.
            if (left) m_ranks.try_emplace(track.info.rank);
            if (left && !arrangement.hidden.contains(track.id) && !isPinned(track.id))
                m_ranks[track.info.rank].push_back(&track);
        }
        if (arrangement.filter)
            for (const CounterTrack& counter : counters)
                if (counter.rank && arrangement.filter->counters.contains(counter.counter) &&
                    !arrangement.hiddenCounters.contains(counter.counter))
                    m_ranks.try_emplace(*counter.rank);
        for (auto& [rank, group] : m_ranks)
            std::stable_sort(group.begin(), group.end(), [](const TrackView* a, const TrackView* b) {
                return std::pair(a->info.order, a->id) < std::pair(b->info.order, b->id);
            });
        if (!arrangement.streams.empty())
            for (auto& [rank, group] : m_ranks)
                std::ranges::stable_sort(
                    group, {}, [&](const TrackView* track) { return streamPlace(arrangement, streamOf(*track)); });
    }

    TimelineLayout run()
    {
        placePinned();
        placeCounters(std::nullopt);
        if (m_arrangement.order == RowOrder::ByStream)
            placeStreams();
        else
            placeRanks();
        m_layout.height = m_y;
        return std::move(m_layout);
    }

private:
    bool isPinned(TrackId id) const
    {
        return std::find(m_arrangement.pinned.begin(), m_arrangement.pinned.end(), id) != m_arrangement.pinned.end();
    }
    TimelineRow rowOf(const TrackView& track) const
    {
        const StreamKey stream = streamOf(track);
        const auto pulled = m_arrangement.streamHeight.find(stream);
        const bool isPulled = pulled != m_arrangement.streamHeight.end();
        TimelineRow row = trackRow(track, isPulled ? m_scale * pulled->second / 100 : m_scale);
        row.group = m_streams.at(stream);
        return row;
    }

    bool isCollapsed(RankId rank) const { return !m_arrangement.filter && m_arrangement.collapsed.contains(rank); }

    void placePinned()
    {
        for (const auto id : m_arrangement.pinned) {
            const auto at = m_byId.find(id);
            if (at == m_byId.end() || m_arrangement.hidden.contains(id)) continue;
            TimelineRow row = rowOf(*at->second);
            row.pinned = true;
            place(m_layout.pinned, row, m_layout.pinnedHeight);
        }
    }

    void placeCounters(std::optional<RankId> rank)
    {
        for (const CounterTrack& counter : m_counters) {
            if (counter.rank != rank || m_arrangement.hiddenCounters.contains(counter.counter)) continue;
            if (m_arrangement.filter && !m_arrangement.filter->counters.contains(counter.counter)) continue;
            TimelineRow row;
            row.kind = TimelineRow::Kind::Counter;
            row.rank = rank.value_or(m_ranks.empty() ? RankId{} : m_ranks.begin()->first);
            row.counter = counter.counter;
            row.height = std::max(kCounterHeight, kCounterHeight * m_arrangement.heightPercent / 100);
            row.laneHeight = row.height - TimelineRow::kPadding - kRowGap;
            place(m_layout.rows, row, m_y);
        }
    }

    void endGroup()
    {
        m_layout.rows.back().height += kGroupGap;
        m_y += kGroupGap;
    }

    void placeRanks()
    {
        const auto collapsed =
            std::count_if(m_ranks.begin(), m_ranks.end(), [&](const auto& rank) { return isCollapsed(rank.first); });
        const int activityHeight = std::clamp(
            m_viewportHeight / static_cast<int>(std::max<std::ptrdiff_t>(1, collapsed)), kFlatActivity, kTallActivity);
        for (auto& [rank, group] : m_ranks) {
            if (isCollapsed(rank)) {
                TimelineRow row;
                row.kind = TimelineRow::Kind::Activity;
                row.rank = rank;
                row.height = activityHeight;
                row.laneHeight = activityHeight - (activityHeight > 12 ? 2 : 1) * TimelineRow::kPadding;
                place(m_layout.rows, row, m_y);
                continue;
            }
            TimelineRow head;
            const auto steps = std::find_if(group.begin(), group.end(), [](const TrackView* track) {
                return track->info.kind == TrackKind::Steps && track->lanes <= 1;
            });
            if (steps != group.end()) {
                head = rowOf(**steps);
                group.erase(steps);
            } else {
                head.laneHeight = static_cast<int>((kHeadHeight - 2 * TimelineRow::kPadding) * m_scale);
            }
            head.kind = TimelineRow::Kind::Head;
            head.rank = rank;
            head.startsGroup = m_y > 0;
            head.height = std::max(kHeadHeight, head.laneHeight + 2 * TimelineRow::kPadding + kRowGap - 1);
            place(m_layout.rows, head, m_y);
            for (const auto* track : group) place(m_layout.rows, rowOf(*track), m_y);
            placeCounters(rank);
            endGroup();
        }
    }

    void placeStreams()
    {
        // Streams in the order that they have in the first rank which has them.
        std::vector<std::vector<const TrackView*>> streams;
        std::map<StreamKey, std::size_t> known;
        for (const auto& [rank, group] : m_ranks)
            for (const TrackView* track : group) {
                const auto [at, isNew] = known.try_emplace(streamOf(*track), streams.size());
                if (isNew) streams.emplace_back();
                streams[at->second].push_back(track);
            }
        std::ranges::stable_sort(streams, {}, [&](const auto& stream) {
            return std::pair(streamPlace(m_arrangement, streamOf(*stream.front())), stream.front()->info.order);
        });
        for (const auto& stream : streams) {
            for (std::size_t i = 0; i < stream.size(); ++i) {
                TimelineRow row = rowOf(*stream[i]);
                row.startsGroup = i == 0 && m_y > 0;
                place(m_layout.rows, row, m_y);
            }
            endGroup();
        }
        for (const auto& [rank, group] : m_ranks) placeCounters(rank);
    }

    const TimelineArrangement& m_arrangement;
    int m_viewportHeight;
    std::span<const CounterTrack> m_counters;
    double m_scale;
    std::map<RankId, std::vector<const TrackView*>> m_ranks; ///< what is shown, without what is pinned
    std::map<TrackId, const TrackView*> m_byId;
    std::map<StreamKey, std::size_t> m_streams; ///< numbered as they come
    TimelineLayout m_layout;
    int m_y = 0;
};

} // namespace

TimelineLayout layoutTimeline(std::span<const TrackView> tracks, const TimelineArrangement& arrangement,
                              int viewportHeight, std::span<const CounterTrack> counters)
{
    const double wanted = arrangement.heightPercent / 100.0;
    // How much rows grow depends on nothing that is pulled by hand: else all others would move under the hand.
    TimelineArrangement even = arrangement;
    even.streamHeight.clear();
    const TimelineLayout layout = RowPlacer(tracks, even, viewportHeight, counters, wanted).run();
    const int used = layout.pinnedHeight + layout.height;
    if (used <= 0 || used >= viewportHeight || arrangement.heightPercent != 100) {
        if (arrangement.streamHeight.empty()) return layout;
        return RowPlacer(tracks, arrangement, viewportHeight, counters, wanted).run();
    }
    // A few tracks use the room they have. Gaps do not grow, so this never gets too high.
    const double scale = std::min(kTallestScale, static_cast<double>(viewportHeight) / used);
    return RowPlacer(tracks, arrangement, viewportHeight, counters, scale).run();
}

std::set<RankId> initiallyCollapsed(std::span<const TrackView> tracks)
{
    std::set<RankId> ranks;
    for (const auto& track : tracks) ranks.insert(track.info.rank);
    if (ranks.size() <= kRanksShownOpen) return {};
    ranks.erase(ranks.begin());
    return ranks;
}

} // namespace fourwalls::views
