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

bool askExtent(TraceSession& session, QObject& asker, TimeRange whole, ExtentAsked when,
               std::function<void(TimeRange)> then)
{
    const bool isOpening = when == ExtentAsked::Opening;
    const std::size_t mostTracks = isOpening ? 128 : 512;
    const int pixels = isOpening ? 500 : 2000;
    std::vector<TrackId> tracks;
    for (const TrackView& track : session.tracks())
        if (track.slices > 0) tracks.push_back(track.id);
    if (tracks.empty() || tracks.size() > mostTracks) return false;
    session.ask<TimeRange>(
        &asker, "timeline.fit",
        [tracks, whole, pixels](TraceQuery& trace, std::stop_token stop) -> Result<TimeRange> {
            FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices({tracks, whole, pixels}, stop));
            return extentOf(window).value_or(whole);
        },
        [whole, then = std::move(then)](const Answer<TimeRange>& answer) {
            if (!answer.ok()) return then(whole);
            const Duration margin{answer->length().ns / 50};
            then({std::max(whole.begin, answer->begin - margin), std::min(whole.end, answer->end + margin)});
        },
        isOpening ? Urgency::Background : Urgency::Frame);
    return true;
}

} // namespace fourwalls::views
