// SPDX-License-Identifier: Apache-2.0
// Why a slice is where it is: what contains it, what launched it and what it launched, who took part with it, what else
// has its name.
#pragma once

#include "model/trace/trace_query.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace fourwalls {

class RangeSummaries;

/// A slice with what it is.
struct NamedSlice {
    SliceView slice;
    std::shared_ptr<const OpInfo> op;
};

/// An arrow between two slices: the deepest ones at its ends.
struct SliceArrow {
    FlowRecord flow;
    std::optional<NamedSlice> from, to; ///< absent: nothing was there at that instant
};

/// One rank's part in a collective.
struct CollectiveMember {
    RankId rank;
    TrackId track;
    Instant start, end;
};

struct SliceSurroundings {
    std::vector<NamedSlice> parents;  ///< outermost first
    std::vector<NamedSlice> children; ///< the longest few
    std::int64_t childCount = 0;      ///< all that are nested directly in it
    std::optional<Duration> self;     ///< without children; absent where they are too many to read
    std::vector<SliceArrow> arrows;   ///< that end within it, or begin
    /// Since the slice before it in its lane ended; absent: there is none, or it is too far away to be looked for.
    std::optional<Duration> emptyBefore;
    std::vector<NamedSlice> launchParents; ///< of what launched it, outermost first
    std::vector<NamedSlice> stack; ///< Python frames then, of its own thread or of its launch's; outermost first
    std::optional<CollectiveRecord> collective;
    std::vector<CollectiveMember> members;  ///< of the collective, by arrival; those in the trace
    std::optional<std::int64_t> aliveBytes; ///< memory of its rank when it began; absent: no memory was recorded
};

/// The arrow that leads to the slice from what launched it; null: none.
const SliceArrow* launchOf(const SliceSurroundings& surroundings, const SliceView& slice);

/// Reads what surrounds a slice: costs what is shown. Errors: those of the queries.
Result<SliceSurroundings> sliceSurroundings(TraceQuery& trace, const NamedSlice& of, const std::stop_token& stop = {});

/// The slice with the most lanes above it that runs on the track at an instant, or begins there; absent: none.
Result<std::optional<NamedSlice>> deepestSliceAt(TraceQuery& trace, TrackId track, Instant at,
                                                 const std::stop_token& stop = {});

/// Where a slice stands among those of its name on its track.
struct NamesakePlace {
    std::int64_t count = 0;    ///< of its name
    std::int64_t position = 0; ///< of it, by start, from 1
    Duration median;
    std::int64_t shorter = 0; ///< of them
    std::optional<SliceView> previous, next;
};

/// Reads what is near the slice where the summaries have its rank with durations, else the whole track. summaries: may be
/// null. Errors: those of the queries; NotFound if the slice is not there.
Result<NamesakePlace> placeAmongNamesakes(TraceQuery& trace, const NamedSlice& of,
                                          const RangeSummaries* summaries = nullptr, const std::stop_token& stop = {});

} // namespace fourwalls
