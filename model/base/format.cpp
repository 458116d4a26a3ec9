// SPDX-License-Identifier: Apache-2.0
// Rounding to significant digits and choice of unit. Built on to_chars, so that no locale interferes.
#include "model/base/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace fourwalls {

namespace {

struct Unit {
    double size;
    std::string_view name;
};

std::string fixed(double value, int decimals)
{
    std::array<char, 400> buffer;
    const auto [end, failure] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return failure == std::errc{} ? std::string(buffer.data(), end) : std::string("?");
}

/// Decimals that show `digits` significant digits of a value.
int decimalsFor(double value, int digits)
{
    if (value == 0) return 0;
    const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value))));
    const int decimals = std::max(0, digits - 1 - exponent);
    // 9.9996 with 4 digits rounds to 10.000: one decimal less.
    const double scale = std::pow(10.0, digits - 1 - exponent);
    const bool carries = std::round(std::fabs(value) * scale) >= std::pow(10.0, digits);
    return carries ? std::max(0, decimals - 1) : decimals;
}

/// value in the largest unit that leaves 1 or more after rounding. units: largest first.
std::string withUnit(double value, std::span<const Unit> units, int digits)
{
    for (std::size_t i = 0; i < units.size(); ++i) {
        const double scaled = value / units[i].size;
        const bool last = i + 1 == units.size();
        const double margin = 1 - 0.5 * std::pow(10.0, -digits);
        if (std::fabs(scaled) < margin && !last) continue;
        const bool whole = last && units[i].size == 1 && value == std::floor(value);
        std::string text = whole ? fixed(scaled, 0) : fixed(scaled, decimalsFor(scaled, digits));
        if (!units[i].name.empty()) text.append(kThinSpaceUtf8).append(units[i].name);
        return text;
    }
    return "0";
}

} // namespace

std::string formatCount(std::int64_t value)
{
    std::string digits = std::to_string(value);
    const std::size_t sign = value < 0 ? 1 : 0;
    if (digits.size() - sign < 5) return digits;
    std::string grouped;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > sign && (digits.size() - i) % 3 == 0) grouped += kThinSpaceUtf8;
        grouped += digits[i];
    }
    return grouped;
}

std::string formatDuration(Duration duration, int digits)
{
    static constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "\xc2\xb5s"}, {1, "ns"}}};
    return withUnit(static_cast<double>(duration.ns), kUnits, digits);
}

std::string formatBytes(double bytes, ByteUnits units, int digits)
{
    static constexpr std::array<Unit, 5> kDecimal{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
    static constexpr std::array<Unit, 5> kBinary{
        {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}}};
    return withUnit(bytes, units == ByteUnits::Decimal ? kDecimal : kBinary, digits);
}

std::string formatPercent(double fraction, int decimals)
{
    return fixed(fraction * 100, decimals).append(kThinSpaceUtf8).append("%");
}

std::string formatRate(double value, std::string_view unit, int digits)
{
    static constexpr std::array<Unit, 7> kPrefixes{
        {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
    std::string text = withUnit(value, kPrefixes, digits);
    const char last = text.back();
    const bool hasPrefix = last >= 'A'; // digits sort before letters
    if (!hasPrefix && !unit.empty()) text += kThinSpaceUtf8;
    return text.append(unit);
}

std::string formatFigure(double value, int digits)
{
    const double magnitude = std::fabs(value);
    if (std::isfinite(value) && (value == 0 || (magnitude >= 1e-4 && magnitude < 1e7)))
        return fixed(value, value == 0 ? 0 : decimalsFor(value, digits));
    std::array<char, 64> buffer;
    const auto [end, failure] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, digits - 1);
    return failure == std::errc{} ? std::string(buffer.data(), end) : std::string("?");
}

} // namespace fourwalls
