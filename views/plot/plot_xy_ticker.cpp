// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_xy_ticker.h.
#include "views/plot/plot_xy_ticker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace fourwalls::views {

XyTicker::XyTicker(const QCPAxis& axis, bool log, bool whole, std::function<QString(double)> text, int most)
    : m_axis(axis)
    , m_log(log)
    , m_whole(whole)
    , m_text(std::move(text))
    , m_most(most)
{}

QVector<double> XyTicker::createTickVector(double step, const QCPRange& range)
{
    if (!m_log) return QCPAxisTicker::createTickVector(step, range);
    QVector<double> ticks;
    if (!(range.lower > 0)) return ticks;
    const int first = static_cast<int>(std::floor(std::log10(range.lower)));
    const int last = static_cast<int>(std::ceil(std::log10(range.upper)));
    const int most = std::max(1, std::min(m_most, room()));
    const bool fine = last - first <= m_most / 2;
    // Labels of 1, 2, 5 or 1, 3 are as near as 0.3 or 0.48 of a decade.
    const double pixels = length() / std::max(0.1, std::log10(range.upper / range.lower));
    const QFontMetrics metrics(m_axis.tickLabelFont());
    int width = 0;
    for (int decade = first; decade <= last && decade < first + 200; ++decade)
        width = std::max(width, metrics.horizontalAdvance(getTickLabel(5 * std::pow(10.0, decade), {}, {}, 0)));
    const double need = m_axis.orientation() == Qt::Horizontal ? width + 8 : metrics.height(); // and a gap
    const int every = std::max(
        {1, static_cast<int>(std::ceil(double(last - first) / most)), static_cast<int>(std::ceil(need / pixels))});
    static constexpr std::array<double, 3> kThree{1, 2, 5};
    static constexpr std::array<double, 2> kTwo{1, 3};
    std::span<const double> factors(kTwo.data(), 1);
    if (fine && 0.48 * pixels >= need) factors = kTwo;
    if (fine && 0.3 * pixels >= need) factors = kThree;
    for (int decade = first; decade <= last && ticks.size() < 200; ++decade) {
        if (decade % every != 0) continue;
        for (const double factor : factors) {
            const double tick = factor * std::pow(10.0, decade);
            if (tick >= range.lower * 0.9999 && tick <= range.upper * 1.0001) ticks << tick;
        }
    }
    return ticks;
}

double XyTicker::getTickStep(const QCPRange& range)
{
    const int most = std::max(1, std::min(m_most, room()));
    if (!(range.size() > 0) || (m_whole && range.size() <= most)) return 1;
    const double raw = range.size() / most, power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power * 1.0000001) return factor * power;
    return 10 * power;
}

QString XyTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return m_text ? m_text(std::abs(tick) < 1e-12 && !m_log ? 0 : tick) : QString::number(tick, 'g', 4);
}

int XyTicker::length() const
{
    const QCPAxisRect* rect = m_axis.axisRect();
    return m_axis.orientation() == Qt::Horizontal ? rect->width() : rect->height();
}

int XyTicker::room() const
{
    if (m_axis.orientation() == Qt::Horizontal) return m_most;
    return length() / std::max(1, QFontMetrics(m_axis.tickLabelFont()).height());
}

} // namespace fourwalls::views
