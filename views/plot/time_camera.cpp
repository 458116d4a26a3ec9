// SPDX-License-Identifier: GPL-3.0-or-later
// Arithmetic of the timeline's horizontal viewport.
#include "views/plot/time_camera.h"

#include <cmath>

namespace fourwalls::views {

void TimeCamera::setBounds(TimeRange bounds)
{
    if (bounds.empty()) bounds.end = bounds.begin + Duration{1000};
    m_bounds = bounds;
    show(bounds);
}

void TimeCamera::show(TimeRange range)
{
    const double widest = widestNs();
    const double narrowest = std::min(kNarrowestNs, widest);
    const double asked = static_cast<double>(range.length().ns);
    const double span = std::clamp(asked, narrowest, widest);
    // A range that is too short stays in the middle of the view.
    m_beginNs = static_cast<double>((range.begin - m_bounds.begin).ns) + (asked - span) / 2;
    m_baseNs = m_spanNs = span;
    m_zoom = 0;
    clampBegin();
}

void TimeCamera::zoomAt(double x, int units)
{
    const double widest = widestNs();
    const double narrowest = std::min(kNarrowestNs, widest);
    const double fixed = m_beginNs + x * m_spanNs / m_width;
    // The zoom stops at the last whole unit inside the limits, so that the way back has the same units.
    const double nearest = std::log2(m_baseNs / narrowest) * kUnitsPerOctave;
    const double farthest = std::log2(m_baseNs / widest) * kUnitsPerOctave;
    const double wanted = std::clamp(static_cast<double>(m_zoom) + units, std::floor(farthest), std::ceil(nearest));
    m_zoom = static_cast<int>(wanted);
    m_spanNs = std::clamp(m_baseNs * std::exp2(-static_cast<double>(m_zoom) / kUnitsPerOctave), narrowest, widest);
    m_beginNs = fixed - x * m_spanNs / m_width;
    clampBegin();
}

void TimeCamera::pan(double dx)
{
    m_beginNs -= dx * m_spanNs / m_width;
    clampBegin();
}

void TimeCamera::centre(Instant at)
{
    m_beginNs = static_cast<double>((at - m_bounds.begin).ns) - m_spanNs / 2;
    clampBegin();
}

TimeRange TimeCamera::range() const
{
    const auto begin = static_cast<std::int64_t>(std::llround(m_beginNs));
    const auto end = static_cast<std::int64_t>(std::llround(m_beginNs + m_spanNs));
    return {m_bounds.begin + Duration{begin}, m_bounds.begin + Duration{std::max(end, begin + 1)}};
}

Instant TimeCamera::timeAt(double x) const
{
    return m_bounds.begin + Duration{static_cast<std::int64_t>(std::llround(m_beginNs + x * m_spanNs / m_width))};
}

void TimeCamera::clampBegin()
{
    m_beginNs = std::clamp(m_beginNs, 0.0, std::max(0.0, widestNs() - m_spanNs));
}

} // namespace fourwalls::views
