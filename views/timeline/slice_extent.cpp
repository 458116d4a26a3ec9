// SPDX-License-Identifier: GPL-3.0-or-later
// See slice_extent.h.
#include "views/timeline/slice_extent.h"

#include <algorithm>

namespace fourwalls::views {

std::optional<TimeRange> extentOf(const SliceWindow& window)
{
    std::optional<TimeRange> extent;
    const auto add = [&](Instant begin, Instant end) {
        if (!extent) extent = TimeRange{begin, end};
        extent->begin = std::min(extent->begin, begin);
        extent->end = std::max(extent->end, end);
    };
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact) add(slice.start, slice.end());
        for (const SliceBin& bin : lane.bins) add(bin.start, bin.start + bin.width);
    }
    return extent;
}

bool askExtent(TraceSession& session, QObject& asker, TimeRange whole, std::function<void(TimeRange)> then)
{
    constexpr std::size_t kMostTracks = 512;
    constexpr int kPixels = 2000;
    std::vector<TrackId> tracks;
    for (const TrackView& track : session.tracks())
        if (track.slices > 0) tracks.push_back(track.id);
    if (tracks.empty() || tracks.size() > kMostTracks) return false;
    session.ask<TimeRange>(
        &asker, "timeline.fit",
        [tracks, whole](TraceQuery& trace, std::stop_token stop) -> Result<TimeRange> {
            FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices({tracks, whole, kPixels}, stop));
            return extentOf(window).value_or(whole);
        },
        [whole, then = std::move(then)](const Answer<TimeRange>& answer) {
            if (!answer.ok()) return;
            const Duration margin{answer->length().ns / 50};
            then({std::max(whole.begin, answer->begin - margin), std::min(whole.end, answer->end + margin)});
        });
    return true;
}

} // namespace fourwalls::views
