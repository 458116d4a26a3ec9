// SPDX-License-Identifier: GPL-3.0-or-later
// The time axis of the timeline: round tick positions and their texts, all in one unit of ns, us, ms or s.
#pragma once

#include "model/base/time.h"

#include <QString>

#include <vector>

namespace fourwalls::views {

/// Between major ticks where there is room [pixels].
inline constexpr int kTickSpacing = 96;

struct TimeTick {
    Instant at;
    QString text; ///< empty on minor ticks
    bool major = true;
};

struct TimeTicks {
    std::vector<TimeTick> ticks; ///< by time
    Duration step;               ///< between major ticks
};

/// Ticks at 1, 2 or 5 times a power of ten [ns] counted from `zero`, major ones at least `spacing` pixels apart over
/// a viewport `width` pixels wide, with minor ones between them. Texts are relative to `zero` and all in one unit.
/// Preconditions: range not empty, width >= 1, spacing >= 1.
TimeTicks timeTicks(TimeRange range, Instant zero, int width, int spacing);

} // namespace fourwalls::views
