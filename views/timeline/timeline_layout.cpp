// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the timeline from tracks and the user's arrangement.
#include "views/timeline/timeline_layout.h"

#include "views/timeline/tile_cache.h"

#include <algorithm>
#include <map>

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

TimelineRow trackRow(const TrackView& track, double scale)
{
    TimelineRow row;
    row.rank = track.info.rank;
    row.track = track.id;
    row.lanes = std::clamp(track.lanes, 1, kMostShownLanes);
    row.laneHeight = static_cast<int>(laneHeightOf(track.info.kind, row.lanes) * scale);
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

static TimelineLayout layoutScaled(std::span<const TrackView> tracks, const TimelineArrangement& arrangement,
                                   int viewportHeight, std::span<const CounterTrack> counters, double scale)
{
    TimelineLayout layout;
    std::map<RankId, std::vector<const TrackView*>> ranks;
    std::map<TrackId, const TrackView*> byId;
    for (const auto& track : tracks) {
        if (track.slices == 0) continue;
        byId[track.id] = &track;
        auto& group = ranks[track.info.rank]; // a rank stays, even when all its tracks are hidden
        if (arrangement.hidden.contains(track.id)) {
            ++layout.hiddenTracks;
        } else if (std::find(arrangement.pinned.begin(), arrangement.pinned.end(), track.id) ==
                   arrangement.pinned.end()) {
            group.push_back(&track);
        }
    }

    for (const auto id : arrangement.pinned) {
        const auto at = byId.find(id);
        if (at == byId.end() || arrangement.hidden.contains(id)) continue;
        TimelineRow row = trackRow(*at->second, scale);
        row.pinned = true;
        place(layout.pinned, row, layout.pinnedHeight);
    }

    const auto collapsedCount = std::count_if(
        ranks.begin(), ranks.end(), [&](const auto& rank) { return arrangement.collapsed.contains(rank.first); });
    const int activityHeight = std::clamp(
        viewportHeight / static_cast<int>(std::max<std::ptrdiff_t>(1, collapsedCount)), kFlatActivity, kTallActivity);

    int y = 0;
    const auto placeCounters = [&](std::optional<RankId> rank) {
        for (const CounterTrack& counter : counters) {
            if (counter.rank != rank || arrangement.hiddenCounters.contains(counter.counter)) continue;
            TimelineRow row;
            row.kind = TimelineRow::Kind::Counter;
            row.rank = rank.value_or(ranks.empty() ? RankId{} : ranks.begin()->first);
            row.counter = counter.counter;
            row.height = kCounterHeight;
            row.laneHeight = kCounterHeight - TimelineRow::kPadding - kRowGap;
            place(layout.rows, row, y);
        }
    };
    placeCounters(std::nullopt);
    for (auto& [rank, group] : ranks) {
        if (arrangement.collapsed.contains(rank)) {
            TimelineRow row;
            row.kind = TimelineRow::Kind::Activity;
            row.rank = rank;
            row.height = activityHeight;
            row.laneHeight = activityHeight - (activityHeight > 12 ? 2 : 1) * TimelineRow::kPadding;
            place(layout.rows, row, y);
            continue;
        }
        std::stable_sort(group.begin(), group.end(), [](const TrackView* a, const TrackView* b) {
            return std::pair(a->info.order, a->id) < std::pair(b->info.order, b->id);
        });
        TimelineRow head;
        const auto steps = std::find_if(group.begin(), group.end(), [](const TrackView* track) {
            return track->info.kind == TrackKind::Steps && track->lanes <= 1;
        });
        if (steps != group.end()) {
            head = trackRow(**steps, scale);
            group.erase(steps);
        } else {
            head.laneHeight = static_cast<int>((kHeadHeight - 2 * TimelineRow::kPadding) * scale);
        }
        head.kind = TimelineRow::Kind::Head;
        head.rank = rank;
        head.height = std::max(kHeadHeight, head.laneHeight + 2 * TimelineRow::kPadding + kRowGap - 1);
        place(layout.rows, head, y);
        for (const auto* track : group) place(layout.rows, trackRow(*track, scale), y);
        placeCounters(rank);
        layout.rows.back().height += kGroupGap;
        y += kGroupGap;
    }
    layout.height = y;
    return layout;
}

TimelineLayout layoutTimeline(std::span<const TrackView> tracks, const TimelineArrangement& arrangement,
                              int viewportHeight, std::span<const CounterTrack> counters)
{
    TimelineLayout layout = layoutScaled(tracks, arrangement, viewportHeight, counters, 1);
    const int used = layout.pinnedHeight + layout.height;
    if (used <= 0 || used >= viewportHeight) return layout;
    // A few tracks use the room they have. Gaps do not grow, so this never gets too high.
    const double scale = std::min(kTallestScale, static_cast<double>(viewportHeight) / used);
    return layoutScaled(tracks, arrangement, viewportHeight, counters, scale);
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
