// SPDX-License-Identifier: GPL-3.0-or-later
// Which time lies under which pixel of the timeline. Zooming and panning are arithmetic on one begin and one
// integer zoom, so that going there and back again ends exactly where it started.
#pragma once

#include "model/base/time.h"

namespace fourwalls::views {

/// The horizontal part of the timeline's viewport. Times are kept relative to the bounds' begin, in doubles: exact
/// to a thousandth of a nanosecond for traces of hours.
class TimeCamera {
public:
    /// The narrowest view; below this a nanosecond is tens of pixels wide and nothing more can be seen.
    static constexpr double kNarrowestNs = 100;
    /// Zoom units that double or halve the visible span: four notches of a wheel (120 units each).
    static constexpr int kUnitsPerOctave = 480;

    /// What can be seen at most, usually the trace's range. Shows all of it. Empty bounds are widened to 1 us.
    void setBounds(TimeRange bounds);
    TimeRange bounds() const { return m_bounds; }

    /// Width of the viewport [pixels], >= 1. Keeps the visible range.
    void setWidth(int pixels) { m_width = pixels < 1 ? 1 : pixels; }
    int width() const { return m_width; }

    /// Makes `range` visible, clamped to the bounds and to the narrowest view.
    void show(TimeRange range);

    /// Zooms in by `units` (negative: out), keeping the time under pixel `x` in its place, except at the limits.
    void zoomAt(double x, int units);

    /// Moves the content by `dx` pixels to the right (earlier times come into view), up to the bounds.
    void pan(double dx);

    /// Moves so that `at` lies in the middle, keeping the span, up to the bounds.
    void centre(Instant at);

    /// The visible range, rounded to nanoseconds, never empty.
    TimeRange range() const;
    double nsPerPixel() const { return m_spanNs / m_width; }
    double xOf(Instant at) const
    {
        return (static_cast<double>((at - m_bounds.begin).ns) - m_beginNs) * m_width / m_spanNs;
    }
    Instant timeAt(double x) const;
    /// Begin of the view relative to the bounds [ns], unrounded: with nsPerPixel() the whole mapping.
    double beginNs() const { return m_beginNs; }

private:
    double widestNs() const { return static_cast<double>(m_bounds.length().ns); }
    void clampBegin();

    TimeRange m_bounds{Instant{0}, Instant{1000}};
    int m_width = 1;
    double m_beginNs = 0;
    double m_baseNs = 1000; ///< the span at zoom 0
    int m_zoom = 0;         ///< units; positive is nearer
    double m_spanNs = 1000; ///< m_baseNs * 2^(-m_zoom / kUnitsPerOctave)
};

} // namespace fourwalls::views
