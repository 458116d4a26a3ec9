// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_ticks.h.
#include "views/plot/plot_ticks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

/// Digits after the point that a multiple of `step` needs.
int decimalsOf(double step)
{
    return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
}

} // namespace

double tickStep(double span, int atMost)
{
    if (!(span > 0) || !std::isfinite(span)) return 1;
    const double raw = span / std::max(1, atMost);
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    // A hair of tolerance: a span of exactly 5 steps must not become 4 because of rounding.
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
}

ByteScale byteScale(double largest, ByteUnit unit)
{
    static constexpr std::array kDecimal = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    static constexpr std::array kBinary = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const double factor = unit == ByteUnit::GB ? 1000.0 : 1024.0;
    const auto& names = unit == ByteUnit::GB ? kDecimal : kBinary;
    std::size_t power = 0;
    double bytes = 1;
    // 999.5 would round to four digits: the next multiple begins there.
    while (power + 1 < names.size() && std::abs(largest) >= 0.9995 * factor * bytes) {
        bytes *= factor;
        ++power;
    }
    return {bytes, QString::fromLatin1(names[power])};
}

std::vector<ValueTick> valueTicks(double low, double high, int atMost)
{
    std::vector<ValueTick> ticks;
    if (!(high > low) || !std::isfinite(high - low)) return ticks;
    const double step = tickStep(high - low, atMost);
    const double last = std::floor(high / step + 1e-9);
    for (double i = std::ceil(low / step - 1e-9); i <= last; ++i) {
        const double value = i * step;
        ticks.push_back({value, QString::number(value, 'f', i == 0 ? 0 : decimalsOf(step))});
    }
    return ticks;
}

std::vector<ValueTick> byteTicks(double top, ByteUnit unit, int atMost)
{
    const ByteScale scale = byteScale(top, unit);
    std::vector<ValueTick> ticks = valueTicks(0, top / scale.bytes, atMost);
    for (ValueTick& tick : ticks) tick.value *= scale.bytes;
    return ticks;
}

} // namespace fourwalls::views
