// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of model/base/format as texts of the screen (with a true minus sign), and the marks of axes.
// The application's locale does not change them: a figure reads the same in a screenshot and in a file.
#pragma once

#include "model/base/time.h"

#include <QString>

namespace fourwalls::views {

enum class ByteUnit { GB, GiB }; ///< decimal (10^9) or binary (2^30) multiples

inline constexpr QChar kThinSpace{0x202F}; ///< narrow, and no line breaks at it
inline constexpr QChar kDash{0x2013};      ///< shown for an unknown figure
inline constexpr QChar kMinus{0x2212};

QString formatCount(qint64 value);
QString formatDuration(Duration duration, int digits = 4);
QString formatBytes(double bytes, ByteUnit unit, int digits = 3);
/// "+1.2 GB", "−300 MB", "±0": a change.
QString signedBytes(double bytes, ByteUnit unit);
QString formatPercent(double fraction, int decimals = 1);
/// The same of a change: "−12 %", "+3 %".
QString signedPercent(double fraction, int decimals = 0);
/// "+4.1 %" from 0.041; without a sign what rounds to nothing, and the dash of what is not known.
QString formatChange(double fraction, int decimals = 1);
QString formatRate(double value, const QString& unit, int digits = 3);
QString formatFigure(double value, int digits = 4);
/// A point on a time axis whose marks are `spacing` apart: as many digits as tell neighbours apart.
QString formatAxisTime(Instant instant, Duration spacing);

/// A step of 1, 2 or 5 times a power of ten (times: also minutes) that puts about `marks` marks into `span`.
double niceStep(double span, int marks);
Duration niceTimeStep(Duration span, int marks);

} // namespace fourwalls::views
