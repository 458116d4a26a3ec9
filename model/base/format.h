// SPDX-License-Identifier: Apache-2.0
// Figures as text for a person: units always, thin spaces in groups of thousands and before units, no trailing zeros, the
// same in every locale. Text is UTF-8.
#pragma once

#include "model/base/time.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls {

enum class ByteUnits { Decimal, Binary }; ///< GB = 10^9, or GiB = 2^30

inline constexpr std::string_view kThinSpaceUtf8 = "\xe2\x80\xaf"; ///< narrow, and no line breaks at it
inline constexpr std::string_view kUnknownUtf8 = "\xe2\x80\x93";   ///< a dash: what is shown for an unknown figure

/// "18412907" -> "18 412 907" with thin spaces, a decimal point left alone; no separator below 10 000.
std::string groupThousands(std::string digits);
/// 18412907 -> "18 412 907".
std::string formatCount(std::int64_t value);
/// "684 ms", "3.214 us", "1.25 s", "0 ms": `digits` significant digits, the unit chosen by size.
std::string formatTime(Duration duration, int digits = 4);
/// "76.1 GB" or "70.9 GiB"; smaller values as MB, kB, B (MiB, KiB, B).
std::string formatBytes(double bytes, ByteUnits units = ByteUnits::Decimal, int digits = 3);
/// "4.1 %" from 0.041; "0.029 %" with one decimal, too: what is there is not rounded to nothing (below 0.001 % it is).
std::string formatPercent(double fraction, int decimals = 1);
/// "989 TFLOP/s", "47.9 k": prefix of thousands and unit.
std::string formatRate(double value, std::string_view unit, int digits = 3);
/// `digits` significant digits; with an exponent below 1e-4 and from 1e9: "3e-5".
std::string formatFigure(double value, int digits = 4);

} // namespace fourwalls
