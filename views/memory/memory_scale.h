// SPDX-License-Identifier: GPL-3.0-or-later
// The vertical axis of the memory plots: bytes to pixels, and where the wall (the device's capacity) stands.
#pragma once

#include <QRectF>

namespace fourwalls::views {

/// How the capacity is shown. Broken: the curve is far below it, so the axis is interrupted and the wall stands above
/// the interruption, out of scale and labelled so.
enum class WallPlacement { None, ToScale, Broken };

/// Below this share of the capacity a curve drawn to scale would use too little of the plot to be read.
inline constexpr double kReadableShareOfWall = 0.5;

/// Pixel layout of one memory plot.
class MemoryScale {
public:
    /// area: the plot's inside [pixels]. largest: the highest curve to show [bytes], recorded or predicted.
    /// capacity: of the device [bytes], 0 unknown. toScale: keep the axis linear up to the wall even if the curve
    /// becomes small.
    static MemoryScale fit(const QRectF& area, double largest, double capacity, bool toScale);

    WallPlacement wall() const { return m_wall; }
    /// The part of the plot with a linear axis from 0 to top().
    const QRectF& linear() const { return m_linear; }
    /// The brick band; empty without a wall. Its lower edge is the limit.
    const QRectF& band() const { return m_band; }
    /// Bytes at the upper edge of linear().
    double top() const { return m_top; }
    double capacity() const { return m_capacity; }

    /// Pixel of `bytes`, downwards; values above top() lie above linear().
    double y(double bytes) const { return m_linear.bottom() - bytes / m_top * m_linear.height(); }
    double bytesAt(double y) const { return (m_linear.bottom() - y) / m_linear.height() * m_top; }

private:
    WallPlacement m_wall = WallPlacement::None;
    QRectF m_linear, m_band;
    double m_top = 1;
    double m_capacity = 0;
};

} // namespace fourwalls::views
