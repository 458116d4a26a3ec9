// SPDX-License-Identifier: Apache-2.0
// Looks with more and more columns: all slices of a column's length or more come one by one.
#include "model/trace/longest_slice.h"

#include <algorithm>
#include <cstdint>

namespace fourwalls {

Result<std::optional<NamedSlice>> longestSlice(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range,
                                               const std::function<bool(const OpInfo&)>& isWanted,
                                               const std::stop_token& stop)
{
    constexpr std::int64_t kFirstColumns = 64, kTimesMore = 8, kMostColumns = 1 << 30;
    for (std::int64_t columns = kFirstColumns;; columns *= kTimesMore) {
        columns = std::min({columns, kMostColumns, std::max<std::int64_t>(range.length().ns, 1)});
        const bool isLast = columns == kMostColumns || columns >= range.length().ns;
        FOURWALLS_TRY_ASSIGN(const SliceWindow window,
                             trace.slices({{tracks.begin(), tracks.end()}, range, static_cast<int>(columns)}, stop));
        std::optional<NamedSlice> longest;
        bool hasMore = false;
        for (const LaneSlices& lane : window.lanes) {
            hasMore = hasMore || !lane.bins.empty();
            for (const SliceView& slice : lane.exact) {
                const auto op = window.ops.find(slice.op);
                if (op == window.ops.end() || !isWanted(*op->second)) continue;
                const bool isLonger = !longest || slice.duration > longest->slice.duration ||
                                      (slice.duration == longest->slice.duration && slice.start < longest->slice.start);
                if (isLonger) longest = NamedSlice{slice, op->second};
            }
        }
        // What is left in bins is shorter than a column.
        if (longest && longest->slice.duration.ns >= range.length().ns / columns + 1) return longest;
        if (!hasMore || isLast) return longest;
    }
}

} // namespace fourwalls
