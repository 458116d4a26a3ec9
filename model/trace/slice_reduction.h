// SPDX-License-Identifier: Apache-2.0
// What a screen can show of one lane: slices of a pixel or more exactly, the shorter ones as one bin per column.
#pragma once

#include "model/trace/trace_query.h"

#include <map>
#include <span>
#include <vector>

namespace fourwalls {

/// Columns of a screen over a time range.
struct PixelColumns {
    TimeRange range;
    int pixels = 1;

    double width() const { return static_cast<double>(range.length().ns) / pixels; }
    /// The column of an instant, clamped to the screen.
    int of(Instant at) const
    {
        const double column = static_cast<double>((at - range.begin).ns) / width();
        if (column <= 0) return 0;
        return column >= pixels ? pixels - 1 : static_cast<int>(column);
    }
    /// First instant of a column; column == pixels gives range.end.
    Instant begin(int column) const
    {
        return Instant{range.begin.ns + static_cast<std::int64_t>(width() * column + 0.5)};
    }
    /// Whether a slice is drawn by itself. Slices without length count as 1 ns.
    bool isExact(Duration duration) const { return static_cast<double>(duration.ns > 0 ? duration.ns : 1) >= width(); }
};

/// Whether a slice is seen in the range: overlaps it, or is without length and inside.
constexpr bool isVisible(const SliceView& slice, TimeRange range)
{
    return slice.start < range.end && (slice.end() > range.begin || slice.start >= range.begin);
}

/// slices: of one lane, by start, disjoint. Returns exact slices and bins; a slice counts in the column of its
/// visible start, its time in every column that it touches.
LaneSlices reduceLane(TrackId track, int lane, std::span<const SliceView> slices, const PixelColumns& columns);

} // namespace fourwalls
