// SPDX-License-Identifier: GPL-3.0-or-later
// See figure_words.h.
#include "views/words/figure_words.h"

#include "views/words/utilisation.h"

#include <QCoreApplication>

#include <cmath>

namespace fourwalls::views {

namespace {

QString translated(const char* text)
{
    return QCoreApplication::translate("Figures", text);
}

} // namespace

QString words(const FigureInfo& info)
{
    return translated(info.words);
}

QString meaningOf(const FigureInfo& info)
{
    return translated(info.meaning);
}

QString words(Figure figure)
{
    return words(infoOf(figure));
}

QString titleOf(Figure figure)
{
    QString title = words(figure);
    title[0] = title[0].toUpper();
    return title;
}

QString meaningOf(Figure figure)
{
    return meaningOf(infoOf(figure));
}

QString briefWords(WaterfallPart part)
{
    const FigureInfo& info = infoOf(part);
    return *info.brief ? translated(info.brief) : words(info);
}

QString meaningOf(WaterfallPart part)
{
    return meaningOf(infoOf(part));
}

QString figureText(const FigureInfo& info, std::optional<double> value, ByteUnit unit, int digits)
{
    if (!value || !std::isfinite(*value)) return kDash;
    const double magnitude = std::fabs(*value);
    const QString sign = *value < 0 ? QString(kMinus) : QString();
    switch (info.unit) {
    case FigureUnit::Milliseconds:
        return sign + formatDuration(Duration{std::llround(std::min(magnitude, 1e12) * 1e6)}, digits);
    case FigureUnit::Bytes: return sign + formatBytes(magnitude, unit);
    case FigureUnit::PerSecond: return sign + formatRate(magnitude, QStringLiteral("/s"));
    case FigureUnit::FlopsPerSecond: return sign + formatRate(magnitude, QStringLiteral("FLOP/s"));
    case FigureUnit::OfPeak: return sign + formatUtilisation(magnitude);
    case FigureUnit::Share: return sign + formatPercent(magnitude, info.decimals);
    }
    return {};
}

} // namespace fourwalls::views
