// SPDX-License-Identifier: GPL-3.0-or-later
// Tick positions and texts. Decimal points and digits are the same in every language, as in the data.
#include "views/plot/time_ticks.h"

#include "views/plot/floor_divide.h"
#include "views/words/format.h"

#include <array>
#include <utility>

namespace fourwalls::views {

namespace {

struct Unit {
    std::int64_t ns;
    int digits; ///< of a nanosecond in this unit
    const char* name;
};
constexpr std::array<Unit, 4> kUnits{
    {{1'000'000'000, 9, "s"}, {1'000'000, 6, "ms"}, {1'000, 3, "\u00b5s"}, {1, 0, "ns"}}};

std::int64_t magnitudeOf(std::int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/// The coarsest unit in which the largest text is at least 1 and a step needs at most three decimals.
const Unit& unitFor(std::int64_t largest, std::int64_t step)
{
    for (const auto& unit : kUnits)
        if (largest >= unit.ns && step >= (unit.ns + 999) / 1000) return unit;
    return kUnits.back();
}

QString tickText(std::int64_t ns, const Unit& unit, int decimals)
{
    const std::int64_t magnitude = magnitudeOf(ns);
    QString text = QString::number(magnitude / unit.ns);
    if (text.size() > 4)
        for (auto at = text.size() - 3; at > 0; at -= 3) text.insert(at, kThinSpace);
    if (decimals > 0) {
        const QString fraction = QString::number(magnitude % unit.ns).rightJustified(unit.digits, QLatin1Char('0'));
        text += QLatin1Char('.') + fraction.left(decimals);
    }
    if (ns < 0) text.prepend(QChar(0x2212));
    return text + kThinSpace + QString::fromUtf8(unit.name);
}

/// The smallest step of 1, 2, 5 x 10^n that is not below `least`, and how many minor steps it divides into.
std::pair<std::int64_t, int> roundStep(double least)
{
    for (std::int64_t power = 1;; power *= 10) {
        if (static_cast<double>(power) >= least) return {power, 5};
        if (static_cast<double>(2 * power) >= least) return {2 * power, 4};
        if (static_cast<double>(5 * power) >= least || power > kLargestTimeNs / 100) return {5 * power, 5};
    }
}

} // namespace

TimeTicks timeTicks(TimeRange range, Instant zero, int width, int spacing)
{
    const double nsPerPixel = static_cast<double>(range.length().ns) / width;
    const auto [step, parts] = roundStep(std::max(1.0, nsPerPixel * spacing));
    const std::int64_t minor = step % parts == 0 ? step / parts : step;

    const std::int64_t first = (range.begin - zero).ns;
    const std::int64_t last = (range.end - zero).ns;
    const auto& unit = unitFor(std::max({magnitudeOf(first), magnitudeOf(last), step}), step);
    int decimals = 0;
    for (std::int64_t size = unit.ns; decimals < unit.digits && step % size != 0; size /= 10) ++decimals;

    TimeTicks result;
    result.step = Duration{step};
    for (std::int64_t at = (floorDivide(first - 1, minor) + 1) * minor; at <= last; at += minor) {
        TimeTick tick;
        tick.at = zero + Duration{at};
        tick.major = at % step == 0;
        if (tick.major) tick.text = tickText(at, unit, decimals);
        result.ticks.push_back(std::move(tick));
    }
    return result;
}

} // namespace fourwalls::views
