// SPDX-License-Identifier: Apache-2.0
// Binning of the slices of one lane.
#include "model/trace/slice_reduction.h"

namespace fourwalls {

namespace {

/// One column while it fills.
struct OpenBin {
    int column = -1;
    SliceBin bin;
    std::map<OpId, Duration> timeByOp;

    void closeInto(std::vector<SliceBin>& bins)
    {
        if (column < 0) return;
        Duration most{-1};
        for (const auto& [op, time] : timeByOp) {
            if (time <= most) continue;
            most = time;
            bin.dominant = op;
        }
        bins.push_back(bin);
        column = -1;
    }
};

} // namespace

LaneSlices reduceLane(TrackId track, int lane, std::span<const SliceView> slices, const PixelColumns& columns)
{
    LaneSlices reduced;
    reduced.track = track;
    reduced.lane = lane;
    OpenBin open;
    for (const SliceView& slice : slices) {
        if (!isVisible(slice, columns.range)) continue;
        if (columns.isExact(slice.duration)) {
            reduced.exact.push_back(slice);
            continue;
        }
        const TimeRange seen = TimeRange{slice.start, slice.end()}.intersected(columns.range);
        const int first = columns.of(seen.begin);
        const int last = seen.empty() ? first : columns.of(Instant{seen.end.ns - 1});
        for (int column = first; column <= last; ++column) {
            const TimeRange cell{columns.begin(column), columns.begin(column + 1)};
            if (open.column != column) {
                open.closeInto(reduced.bins);
                open = {};
                open.column = column;
                open.bin.start = cell.begin;
                open.bin.width = cell.length();
            }
            const TimeRange part = seen.intersected(cell);
            const Duration busy = part.empty() ? Duration{} : part.length();
            open.bin.busy += busy;
            open.timeByOp[slice.op] += busy;
            if (column == first) ++open.bin.count;
            open.bin.longest = std::max(open.bin.longest, slice.duration);
        }
    }
    open.closeInto(reduced.bins);
    return reduced;
}

} // namespace fourwalls
