// SPDX-License-Identifier: GPL-3.0-or-later
// How a share of the peak is written: tiny networks reach thousandths of a percent, which are not nothing.
#pragma once

#include "views/format.h"

namespace fourwalls::views {

/// fraction: of the peak FLOP/s. Three decimals below 1 %, else one.
inline QString formatUtilisation(double fraction)
{
    constexpr double kFew = 0.01;
    return formatPercent(fraction, fraction > 0 && fraction < kFew ? 3 : 1);
}

} // namespace fourwalls::views
