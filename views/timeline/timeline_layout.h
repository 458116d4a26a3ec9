// SPDX-License-Identifier: GPL-3.0-or-later
// Which rows the timeline has and where they lie: ranks as groups of tracks, collapsed ranks as one row, pinned
// tracks on top. A pure function of the trace's tracks and of what the user folded, hid and pinned.
#pragma once

#include "model/trace/trace_query.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::views {

/// How rows follow each other: the tracks of one rank, or the same track of all ranks, below one another.
enum class RowOrder : std::uint8_t { ByRank, ByStream };

/// The rows that a filter leaves.
struct RowFilter {
    std::set<TrackId> tracks;
    std::set<CounterId> counters;
};

/// A stream that every rank may have: tracks of one kind and name.
using StreamKey = std::pair<TrackKind, std::string>;
StreamKey streamOf(const TrackView& track);

/// What the user did to the rows.
struct TimelineArrangement {
    std::set<RankId> collapsed; ///< without effect by stream and while there is a filter
    std::set<TrackId> hidden;
    std::vector<TrackId> pinned; ///< top to bottom; a pinned track is not shown in its rank as well
    std::set<CounterId> hiddenCounters;
    RowOrder order = RowOrder::ByRank;
    int heightPercent = 100;
    std::vector<StreamKey> streams; ///< top to bottom in every rank; empty, and for those not named: as they come
    std::map<StreamKey, int> streamHeight; ///< of rows that were pulled higher or lower [percent of the others]
    std::optional<RowFilter> filter;
};
inline constexpr int kLowestRowsPercent = 50, kHighestRowsPercent = 300;
inline constexpr int kLowestRowPercent = 30, kHighestRowPercent = 500; ///< of one stream

/// Puts a stream above another one, in every rank; absent: below all.
void moveStream(TimelineArrangement& arrangement, std::span<const TrackView> tracks, const StreamKey& moved,
                const std::optional<StreamKey>& above);

/// A counter that has a row; without a rank it is of the whole job.
struct CounterTrack {
    CounterId counter;
    std::optional<RankId> rank;
};

/// One row: the head of a rank (with its steps, if it has a track of steps), a rank drawn as one heat map, a track, or a
/// counter.
struct TimelineRow {
    enum class Kind { Head, Activity, Track, Counter };

    Kind kind = Kind::Track;
    RankId rank;
    std::optional<TrackId> track; ///< drawn here; absent on activity rows, on heads without steps and on counters
    CounterId counter;            ///< of a Counter
    std::size_t group = 0;        ///< of a Track: the same number for the same stream of every rank
    int lanes = 1;
    int top = 0; ///< within its section [pixels]
    int height = 0;
    int laneHeight = 0;
    bool pinned = false;
    bool startsGroup = false; ///< a line above it: another rank or another stream begins

    /// Lanes from this one on are low: parts of what lies above them, few and short.
    int lowFrom = std::numeric_limits<int>::max();

    static constexpr int kPadding = 2;
    static constexpr int kLowLane = 7;

    int bottom() const { return top + height; }
    /// Top of a lane's bar relative to the row's top; of the lane after the last: where the bars end.
    int laneTop(int lane) const
    {
        return kPadding + std::min(lane, lowFrom) * laneHeight + std::max(0, lane - std::min(lane, lowFrom)) * kLowLane;
    }
    /// Height of a lane's bars, without the gap below.
    int barHeight(int lane) const { return laneTop(lane + 1) - laneTop(lane) - (lanes > 1 ? 1 : 0); }
    /// The lane at a line of the row, the nearest one above and below the bars.
    int laneAt(int line) const
    {
        const int full = std::min(lanes, lowFrom), inside = line - kPadding;
        const int lane = inside < full * laneHeight ? inside / std::max(1, laneHeight)
                                                    : full + (inside - full * laneHeight) / kLowLane;
        return std::clamp(lane, 0, lanes - 1);
    }
};

struct TimelineLayout {
    std::vector<TimelineRow> pinned;
    std::vector<TimelineRow> rows; ///< by top
    int pinnedHeight = 0;
    int height = 0; ///< of `rows`
    int hiddenTracks = 0;

    /// Rows that touch [top, bottom) of the scrolled section.
    std::span<const TimelineRow> visible(int top, int bottom) const;
    /// The row that shows a track; null when it is hidden or its rank is collapsed.
    const TimelineRow* rowOf(TrackId track) const;
};

/// Rows for `tracks` (in any order), ranks ascending, tracks by their order, empty tracks left out; or by stream: tracks
/// of one kind and name together, ranks ascending. viewportHeight: collapsed ranks shrink, within limits, so that many of
/// them fit, and lanes grow when there is room to spare and the user did not say how high they are.
/// counters: each below the tracks of its rank (by stream: of all ranks), those of the job above all ranks.
TimelineLayout layoutTimeline(std::span<const TrackView> tracks, const TimelineArrangement& arrangement,
                              int viewportHeight, std::span<const CounterTrack> counters = {});

/// Ranks that start collapsed so that the first picture stays readable: all but the first, if more than eight.
std::set<RankId> initiallyCollapsed(std::span<const TrackView> tracks);

} // namespace fourwalls::views
