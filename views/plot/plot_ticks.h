// SPDX-License-Identifier: GPL-3.0-or-later
// Where a value axis puts its marks and what they say: round steps of 1, 2 or 5 in the unit that is shown.
#pragma once

#include "views/words/format.h"

#include <QString>

#include <vector>

namespace fourwalls::views {

struct ValueTick {
    double value = 0; ///< in the axis's own unit: bytes or plain numbers
    QString label;
};

/// One multiple of a byte unit: how many bytes it is and its name ("GB").
struct ByteScale {
    double bytes = 1;
    QString name;
};

/// The multiple in which `largest` [bytes] has one to three digits before the point.
ByteScale byteScale(double largest, ByteUnit unit);

/// The smallest of 1, 2, 5 x 10^n that cuts `span` into at most `atMost` steps; 1 for spans that are not positive.
double tickStep(double span, int atMost);

/// Multiples of a round step inside [low, high], at most `atMost` steps of them, rising. Empty if high <= low.
std::vector<ValueTick> valueTicks(double low, double high, int atMost);

/// Marks of a memory axis from 0 to `top` [bytes], labelled in byteScale(top, unit) without the unit, which the
/// axis's heading names once. The steps are round in the shown unit, so that GiB has round GiB.
std::vector<ValueTick> byteTicks(double top, ByteUnit unit, int atMost);

} // namespace fourwalls::views
