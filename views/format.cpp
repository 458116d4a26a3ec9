// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as text for the screen.
#include "views/format.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

struct Scale {
    double factor;
    const char* unit;
};

int decimalsFor(double value, int digits)
{
    if (value == 0 || !std::isfinite(value)) return 0;
    const int whole = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
    return std::clamp(digits - std::max(whole, 1), 0, 9);
}

/// Fixed decimals without trailing zeros behind the point.
QString trimmed(double value, int decimals)
{
    QString text = QString::number(value, 'f', decimals);
    if (text.contains(QLatin1Char('.'))) {
        while (text.endsWith(QLatin1Char('0'))) text.chop(1);
        if (text.endsWith(QLatin1Char('.'))) text.chop(1);
    }
    if (text == QLatin1String("-0")) text = QStringLiteral("0");
    return text.replace(QLatin1Char('-'), QChar(0x2212));
}

template <std::size_t N>
const Scale& scaleFor(double magnitude, const std::array<Scale, N>& scales)
{
    for (const Scale& scale : scales) {
        // Half a unit in the fourth digit: 999.96 us reads better as 1 ms.
        if (magnitude >= scale.factor * 0.99995) return scale;
    }
    return scales.back();
}

constexpr std::array<Scale, 4> kTimes{{{1e9, "s"}, {1e6, "ms"}, {1e3, "\u00b5s"}, {1, "ns"}}};

QString withUnit(const QString& figure, const char* unit)
{
    return figure + kThinSpace + QString::fromUtf8(unit);
}

} // namespace

QString formatCount(qint64 value)
{
    QString text = QString::number(value < 0 ? -static_cast<double>(value) : static_cast<double>(value), 'f', 0);
    if (std::llabs(value) >= 1000) {
        for (qsizetype at = text.size() - 3; at > 0; at -= 3) text.insert(at, kThinSpace);
    }
    return value < 0 ? QChar(0x2212) + text : text;
}

QString formatDuration(Duration duration, int digits)
{
    const double ns = static_cast<double>(duration.ns);
    if (ns == 0) return withUnit(QStringLiteral("0"), "ms");
    const Scale& scale = scaleFor(std::fabs(ns), kTimes);
    const double value = ns / scale.factor;
    return withUnit(trimmed(value, scale.factor == 1 ? 0 : decimalsFor(value, digits)), scale.unit);
}

QString formatAxisTime(Instant instant, Duration spacing)
{
    const double step = std::max<double>(1.0, static_cast<double>(spacing.ns));
    // The unit follows the larger of position and spacing, but never makes the spacing less than a thousandth.
    const double magnitude = std::fabs(static_cast<double>(instant.ns));
    const Scale& scale = scaleFor(std::max(step, std::min(magnitude, step * 1000)), kTimes);
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / scale.factor) - 1e-9)), 0, 9);
    QString text = trimmed(static_cast<double>(instant.ns) / scale.factor, decimals);
    const qsizetype point = text.indexOf(QLatin1Char('.'));
    const qsizetype whole = point < 0 ? text.size() : point;
    const qsizetype first = text.startsWith(QChar(0x2212)) ? 1 : 0;
    if (whole - first > 4) {
        for (qsizetype at = whole - 3; at > first; at -= 3) text.insert(at, kThinSpace);
    }
    return withUnit(text, scale.unit);
}

QString formatBytes(double bytes, ByteUnit unit, int digits)
{
    static constexpr std::array<Scale, 5> kDecimal{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
    static constexpr std::array<Scale, 5> kBinary{
        {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}}};
    const Scale& scale = scaleFor(std::fabs(bytes), unit == ByteUnit::GB ? kDecimal : kBinary);
    const double value = bytes / scale.factor;
    return withUnit(trimmed(value, scale.factor == 1 ? 0 : decimalsFor(value, digits)), scale.unit);
}

QString formatPercent(double fraction, int decimals)
{
    if (!std::isfinite(fraction)) return kDash;
    return trimmed(fraction * 100.0, decimals) + kThinSpace + QLatin1Char('%');
}

QString formatChange(double fraction, int decimals)
{
    const QString text = formatPercent(fraction, decimals);
    return fraction > 0 ? QLatin1Char('+') + text : text;
}

QString formatRate(double value, const QString& unit, int digits)
{
    static constexpr std::array<Scale, 6> kPrefixes{{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
    if (!std::isfinite(value)) return kDash;
    const Scale& scale = scaleFor(std::fabs(value), kPrefixes);
    const double scaled = value / scale.factor;
    const QString suffix = QString::fromLatin1(scale.unit) + unit;
    const QString figure = trimmed(scaled, decimalsFor(scaled, digits));
    return suffix.isEmpty() ? figure : figure + kThinSpace + suffix;
}

QString formatFigure(double value, int digits)
{
    if (!std::isfinite(value)) return kDash;
    const double magnitude = std::fabs(value);
    if (value != 0 && (magnitude < 1e-4 || magnitude >= 1e9)) {
        // "3e-5", not "3.000e-05".
        const int exponent = static_cast<int>(std::floor(std::log10(magnitude)));
        return trimmed(value / std::pow(10.0, exponent), std::max(digits - 1, 0)) + QLatin1Char('e') +
               trimmed(exponent, 0);
    }
    if (magnitude > 0 && magnitude < 1) {
        const int leadingZeros = static_cast<int>(std::floor(-std::log10(magnitude)));
        return trimmed(value, std::min(digits + leadingZeros, 12));
    }
    return trimmed(value, decimalsFor(value, digits));
}

double niceStep(double span, int marks)
{
    if (!(span > 0) || marks < 1) return 1;
    const double raw = span / marks;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (raw <= factor * power * 1.0000001) return factor * power;
    }
    return 10.0 * power;
}

Duration niceTimeStep(Duration span, int marks)
{
    const double step = niceStep(static_cast<double>(std::max<std::int64_t>(span.ns, 1)), marks);
    return {std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(step)))};
}

} // namespace fourwalls::views
