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

/// Fixed decimals without trailing zeros behind the point.
std::string trimmed(double value, int decimals)
{
    std::array<char, 400> buffer;
    const auto [end, failure] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    if (failure != std::errc{}) return std::string(kUnknownUtf8);
    std::string text(buffer.data(), end);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

/// Decimals that show `digits` significant digits of a value; none of a whole part is cut.
int decimalsFor(double value, int digits)
{
    if (value == 0) return 0;
    const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value))));
    return std::clamp(digits - 1 - exponent, 0, 20);
}

/// value in the largest unit that leaves 1 or more after rounding. units: largest first.
std::string withUnit(double value, std::span<const Unit> units, int digits)
{
    if (!std::isfinite(value)) return std::string(kUnknownUtf8);
    const double margin = 1 - 0.5 * std::pow(10.0, -digits);
    const Unit* unit = &units.back();
    for (const Unit& candidate : units)
        if (std::fabs(value) >= candidate.size * margin) {
            unit = &candidate;
            break;
        }
    const double scaled = value / unit->size;
    const bool whole = unit->size == 1 && value == std::floor(value);
    std::string text = trimmed(scaled, whole ? 0 : decimalsFor(scaled, digits));
    if (!unit->name.empty()) text.append(kThinSpaceUtf8).append(unit->name);
    return text;
}

} // namespace

std::string groupThousands(std::string digits)
{
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    const std::size_t whole = std::min(digits.find('.'), digits.size());
    if (whole - first < 5) return digits;
    for (std::size_t at = whole - 3; at > first && at < whole; at -= 3) digits.insert(at, kThinSpaceUtf8);
    return digits;
}

std::string formatCount(std::int64_t value)
{
    return groupThousands(std::to_string(value));
}

std::string formatTime(Duration duration, int digits)
{
    static constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "\xc2\xb5s"}, {1, "ns"}}};
    if (duration.ns == 0) return std::string("0").append(kThinSpaceUtf8).append("ms");
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
    if (!std::isfinite(fraction)) return std::string(kUnknownUtf8);
    // What would round to nothing is not nothing: two digits of it, down to a thousandth of a percent.
    constexpr double kLeast = 1e-5;
    if (const double size = std::abs(fraction); size >= kLeast && size * 100 < 0.5 * std::pow(10.0, -decimals))
        decimals = 1 - static_cast<int>(std::floor(std::log10(size * 100)));
    return trimmed(fraction * 100, decimals).append(kThinSpaceUtf8).append("%");
}

std::string formatRate(double value, std::string_view unit, int digits)
{
    static constexpr std::array<Unit, 7> kPrefixes{
        {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
    if (!std::isfinite(value)) return std::string(kUnknownUtf8);
    std::string text = withUnit(value, kPrefixes, digits);
    const bool hasPrefix = text.back() >= 'A'; // digits sort before letters
    if (!hasPrefix && !unit.empty()) text += kThinSpaceUtf8;
    return text.append(unit);
}

std::string formatFigure(double value, int digits)
{
    if (!std::isfinite(value)) return std::string(kUnknownUtf8);
    const double magnitude = std::fabs(value);
    if (value == 0 || (magnitude >= 1e-4 && magnitude < 1e9)) return trimmed(value, decimalsFor(value, digits));
    // "3e-5", not "3.000e-05".
    int exponent = static_cast<int>(std::floor(std::log10(magnitude)));
    // 9.9996 at four digits is ten, and one of the next power.
    if (magnitude / std::pow(10.0, exponent) >= 10 - 5 * std::pow(10.0, -digits)) ++exponent;
    return trimmed(value / std::pow(10.0, exponent), digits - 1) + "e" + std::to_string(exponent);
}

} // namespace fourwalls
