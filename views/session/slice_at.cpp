// SPDX-License-Identifier: GPL-3.0-or-later
// See slice_at.h.
#include "views/session/slice_at.h"

#include "model/present/rank_tracks.h"

namespace fourwalls::views {

Result<std::optional<SelectedSlice>> askSliceAt(TraceQuery& trace, RankId rank, Instant at)
{
    SliceQuery query;
    query.tracks = tracksOf(trace, rank, {TrackKind::Operators, TrackKind::ComputeStream, TrackKind::CpuThread});
    query.range = {at, at + Duration{1}};
    if (query.tracks.empty()) return std::optional<SelectedSlice>();
    FOURWALLS_TRY_ASSIGN(SliceWindow window, trace.slices(query));
    const SliceView* innermost = nullptr;
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact) {
            if (slice.start > at || slice.end() <= at) continue;
            if (!innermost || slice.duration < innermost->duration) innermost = &slice;
        }
    }
    if (!innermost) return std::optional<SelectedSlice>();
    const auto op = window.ops.find(innermost->op);
    return std::optional<SelectedSlice>(SelectedSlice{*innermost, op == window.ops.end() ? nullptr : op->second});
}

} // namespace fourwalls::views
