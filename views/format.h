// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as text for the screen: units always, thin spaces in groups of thousands and before units.
// The application's locale does not change them: a figure reads the same in a screenshot and in a file.
#pragma once

#include "model/base/time.h"

#include <QString>

#include <optional>

namespace fourwalls::views {

enum class ByteUnit { GB, GiB };  ///< decimal (10^9) or binary (2^30) multiples

inline constexpr QChar kThinSpace{0x202F};
inline constexpr QChar kDash{0x2013};        ///< shown for an unknown figure

/// 18412907 -> "18 412 907" with thin spaces (no separator below 10 000).
QString formatCount(qint64 value);
/// "684 ms", "3.214 ms", "12.5 us", "1.25 s": `digits` significant digits, the unit chosen by size.
QString formatDuration(Duration duration, int digits = 4);
/// A point on a time axis whose marks are `spacing` apart: as many digits as tell neighbours apart.
QString formatAxisTime(Instant instant, Duration spacing);
/// "76.1 GB" or "70.9 GiB"; smaller values as MB, kB, B (MiB, KiB, B).
QString formatBytes(double bytes, ByteUnit unit, int digits = 3);
/// "4.1 %" from 0.041.
QString formatPercent(double fraction, int decimals = 1);
/// "+4.1 %" from 0.041, with a true minus sign.
QString formatChange(double fraction, int decimals = 1);
/// "989 TFLOP/s", "47.9 k": engineering prefix and unit.
QString formatRate(double value, const QString& unit, int digits = 3);
/// "3.2178" - plain figure with `digits` significant digits, exponent only when needed.
QString formatFigure(double value, int digits = 4);

/// A step of 1, 2 or 5 times a power of ten (times: also minutes) that puts about `marks` marks into `span`.
double niceStep(double span, int marks);
Duration niceTimeStep(Duration span, int marks);

} // namespace fourwalls::views
