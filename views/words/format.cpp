// SPDX-License-Identifier: GPL-3.0-or-later
// Figures for the screen.
#include "views/words/format.h"

#include "model/base/format.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

QString onScreen(const std::string& text)
{
    return QString::fromStdString(text).replace(QLatin1Char('-'), kMinus);
}

} // namespace

QString formatCount(qint64 value)
{
    return onScreen(fourwalls::formatCount(value));
}

QString formatDuration(Duration duration, int digits)
{
    return onScreen(fourwalls::formatTime(duration, digits));
}

QString formatBytes(double bytes, ByteUnit unit, int digits)
{
    return onScreen(
        fourwalls::formatBytes(bytes, unit == ByteUnit::GB ? ByteUnits::Decimal : ByteUnits::Binary, digits));
}

QString signedBytes(double bytes, ByteUnit unit)
{
    if (std::abs(bytes) < 1) return QStringLiteral("±0");
    return (bytes > 0 ? QStringLiteral("+") : QString()) + formatBytes(bytes, unit);
}

QString formatPercent(double fraction, int decimals)
{
    return onScreen(fourwalls::formatPercent(fraction, decimals));
}

QString signedPercent(double fraction, int decimals)
{
    const QString text = formatPercent(fraction, decimals);
    return fraction > 0 && text != formatPercent(0, decimals) ? QLatin1Char('+') + text : text;
}

QString formatChange(double fraction, int decimals)
{
    // No sign where nothing changes or nothing is known; what is less than half of the last decimal is no change.
    if (!std::isfinite(fraction)) return formatPercent(fraction, decimals);
    if (200 * std::abs(fraction) < std::pow(10.0, -decimals)) return formatPercent(0, decimals);
    const QString size = formatPercent(std::abs(fraction), decimals);
    return QString(fraction > 0 ? QChar(u'+') : kMinus) + size;
}

QString formatRate(double value, const QString& unit, int digits)
{
    return onScreen(fourwalls::formatRate(value, unit.toStdString(), digits));
}

QString formatFigure(double value, int digits)
{
    return onScreen(fourwalls::formatFigure(value, digits));
}

QString formatAxisTime(Instant instant, Duration spacing)
{
    struct Scale {
        double ns;
        const char* unit;
    };
    static constexpr Scale kScales[]{{1e9, "s"}, {1e6, "ms"}, {1e3, "\u00b5s"}, {1, "ns"}};
    const double step = std::max<double>(1.0, static_cast<double>(spacing.ns));
    // The unit follows the larger of position and spacing, but never makes the spacing less than a thousandth.
    const double magnitude = std::max(step, std::min(std::fabs(static_cast<double>(instant.ns)), step * 1000));
    const Scale& scale =
        *std::find_if(kScales, kScales + 3, [&](const Scale& s) { return magnitude >= s.ns * 0.99995; });
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / scale.ns) - 1e-9)), 0, 9);
    QString text = QString::number(static_cast<double>(instant.ns) / scale.ns, 'f', decimals);
    while (text.contains(QLatin1Char('.')) && (text.endsWith(QLatin1Char('0')) || text.endsWith(QLatin1Char('.'))))
        text.chop(1);
    if (text == QLatin1String("-0")) text = QStringLiteral("0");
    return onScreen(groupThousands(text.toStdString())) + kThinSpace + QString::fromUtf8(scale.unit);
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
