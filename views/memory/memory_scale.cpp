// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_scale.h.
#include "views/memory/memory_scale.h"

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr double kBandHeight = 24;  ///< three courses of bricks
constexpr double kBreakHeight = 14; ///< the interruption of the axis under the band
constexpr double kHeadroom = 1.16;  ///< over the curve, so that the peak's label has a place

} // namespace

MemoryScale MemoryScale::fit(const QRectF& area, double largest, double capacity, bool toScale)
{
    MemoryScale scale;
    scale.m_capacity = capacity;
    scale.m_linear = area;
    largest = std::max(largest, 1.0);
    const double band = std::min(kBandHeight, area.height() / 4);

    if (!(capacity > 0)) {
        scale.m_top = largest * kHeadroom;
    } else if (toScale || largest >= kReadableShareOfWall * capacity) {
        scale.m_wall = WallPlacement::ToScale;
        // The wall always shows its full band, and a curve above the limit rises through the bricks.
        const double share = std::max(0.1, 1 - band / std::max(1.0, area.height()));
        scale.m_top = std::max(capacity / share, largest * 1.04);
        const double edge = scale.y(capacity);
        scale.m_band = QRectF(area.left(), area.top(), area.width(), edge - area.top());
    } else {
        scale.m_wall = WallPlacement::Broken;
        scale.m_band = QRectF(area.left(), area.top(), area.width(), band);
        scale.m_linear.setTop(std::min(area.top() + band + kBreakHeight, area.bottom() - 1));
        scale.m_top = largest * kHeadroom;
    }
    return scale;
}

} // namespace fourwalls::views
