// SPDX-License-Identifier: Apache-2.0
// What ran within a range of time on some tracks: sums, own time and the spread of durations, by name, kind, layer,
// stream or rank. docs/metrics.md, "Statistics of a range", has the definitions.
#pragma once

#include "model/trace/duration_distribution.h"
#include "model/trace/trace_query.h"

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls {

class RangeSummaries;

/// One operator on one track.
struct RangeEntry {
    TrackId track;
    OpId op;
    std::int64_t count = 0; ///< slices that are seen in the range
    Duration total;         ///< of their parts within the range
    Duration self;          ///< of that, what no slice nested in them covers
    DurationDistribution durations;
};

struct RangeStatistics {
    TimeRange range;
    std::vector<RangeEntry> entries; ///< by track, then operator
    OpDictionary ops;                ///< every operator of `entries`
    std::int64_t count = 0;
    Duration self;
    Duration busy;               ///< over the tracks, the time in which anything was there
    std::size_t tracks = 0;      ///< that were read
    std::size_t askedTracks = 0; ///< more than `tracks` while reading goes on
    bool hasDurations = true;    ///< false: only sums so far, the entries' durations follow
    bool complete() const { return tracks == askedTracks && hasDurations; }
};

/// Of every slice of the tracks that is seen in the range. progress hears of what is known so far, now and then.
/// summaries: of whole blocks, where there are any; rows are then read of what the range's ends cut, and of all where
/// the summaries have sums but no durations (progress hears of the sums first). May be null.
/// Errors: InvalidArgument for an empty range, NotFound for an unknown track; those of TraceQuery::slices.
Result<RangeStatistics> rangeStatistics(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range,
                                        const RangeSummaries* summaries = nullptr,
                                        const std::function<void(const RangeStatistics&)>& progress = {},
                                        std::stop_token stop = {});

enum class RangeGrouping : std::uint8_t { Name, Kind, Layer, Stream, Rank, Phase };
inline constexpr int kRangeGroupingCount = 6;
/// "name", "kind", "layer", "stream", "rank", "phase".
std::string_view name(RangeGrouping grouping);

/// A line of the table.
struct RangeRow {
    std::string text; ///< of Name: the operator's name; of Stream: the track's; else empty
    /// What the line is of, taken from its entry with the most own time.
    OpId op;
    TrackId track;
    std::int64_t count = 0;
    Duration total, self;
    DurationDistribution::Spread spread; ///< of whole slices, also of those that the range cuts
    bool hasSpread = true;               ///< false: not known yet
    bool exact = true;                   ///< median and percentile99
    double share = 0;                    ///< self by the statistics' self
};

/// By own time, most first; of equal ones by text.
std::vector<RangeRow> groupRange(const RangeStatistics& statistics, std::span<const TrackView> tracks,
                                 RangeGrouping grouping);

} // namespace fourwalls
