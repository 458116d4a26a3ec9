// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_counter_plot.h.
#include "views/memory/memory_counter_plot.h"

#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kCounterHeadroom = 1.06; ///< of the axis above the highest value

struct MemoryMoments {
    Q_DECLARE_TR_FUNCTIONS(MemoryMoments)
};

} // namespace

QString outOfMemoryWords(const OutOfMemory& moment, ByteUnit unit)
{
    QStringList parts;
    const auto bytes = [unit](std::int64_t value) { return formatBytes(static_cast<double>(value), unit); };
    if (moment.askedBytes) parts << MemoryMoments::tr("%1 asked for").arg(bytes(*moment.askedBytes));
    if (moment.freeBytes) parts << MemoryMoments::tr("%1 free on the device").arg(bytes(*moment.freeBytes));
    if (moment.allocatedBytes) parts << MemoryMoments::tr("%1 allocated").arg(bytes(*moment.allocatedBytes));
    if (moment.reservedBytes) parts << MemoryMoments::tr("%1 reserved").arg(bytes(*moment.reservedBytes));
    if (parts.isEmpty()) return MemoryMoments::tr("ran out of memory");
    return MemoryMoments::tr("ran out of memory: %1").arg(parts.join(QStringLiteral(", ")));
}

void paintMoments(QPainter& painter, const QRectF& inside, const std::vector<OutOfMemory>& moments, ByteUnit unit,
                  const std::function<double(Instant)>& x)
{
    const QColor colour = currentTheme().error;
    const QFontMetricsF metrics(painter.font());
    double free = inside.left();
    painter.save();
    painter.setClipRect(inside);
    for (const OutOfMemory& moment : moments) {
        const double at = x(moment.at);
        if (at < inside.left() - 1 || at > inside.right() + 1) continue;
        painter.setPen(QPen(colour, 1.5, Qt::DashLine));
        painter.drawLine(QPointF(at, inside.top()), QPointF(at, inside.bottom()));
        const QString words = outOfMemoryWords(moment, unit);
        const double width = metrics.horizontalAdvance(words);
        const double left = at + 6 + width <= inside.right() ? at + 6 : at - 6 - width;
        if (left < free || left < inside.left()) continue;
        QColor plate = currentTheme().card;
        plate.setAlpha(205);
        const QRectF box(left - 2, inside.top() + 3, width + 4, metrics.height());
        painter.fillRect(box, plate);
        painter.setPen(colour);
        painter.drawText(QPointF(left, box.top() + metrics.ascent()), words);
        free = box.right() + 6;
    }
    painter.restore();
}

MemoryCounterPlot::MemoryCounterPlot(QWidget* parent) : TimePlot(parent)
{
    setAccessibleName(tr("Allocated memory over time"));
    setAccessibleDescription(tr("One line: what the profiler's allocator counted"));
}

void MemoryCounterPlot::setPicture(std::shared_ptr<const CounterPicture> picture)
{
    m_data = std::move(picture);
    invalidate();
}

void MemoryCounterPlot::setLimits(double lowest, double highest)
{
    m_lowest = std::min(0.0, lowest);
    m_highest = std::max({1.0, highest, m_lowest + 1});
    invalidate();
}

void MemoryCounterPlot::setMoments(std::vector<OutOfMemory> moments)
{
    m_moments = std::move(moments);
    invalidate();
}

void MemoryCounterPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    invalidate();
}

FrameQuality MemoryCounterPlot::quality() const
{
    if (!m_data) return FrameQuality::Blank;
    const TimeRange shown = camera().range();
    if (m_data->range.begin > shown.begin || m_data->range.end < shown.end) return FrameQuality::Stale;
    const double have = static_cast<double>(m_data->range.length().ns) / std::max(1, m_data->pixels);
    const double wanted = static_cast<double>(shown.length().ns) / deviceColumns();
    return have <= wanted * 1.01 ? FrameQuality::Full : FrameQuality::Coarse;
}

std::optional<double> MemoryCounterPlot::valueAt(Instant at) const
{
    if (!m_data) return std::nullopt;
    const auto& samples = m_data->curve.samples;
    const auto next = std::upper_bound(samples.begin(), samples.end(), at,
                                       [](Instant time, const CounterSample& sample) { return time < sample.at; });
    if (next == samples.begin()) return std::nullopt;
    return std::prev(next)->last;
}

double MemoryCounterPlot::yOf(double bytes) const
{
    const QRectF inside = plotRect();
    const double low = m_lowest * kCounterHeadroom, high = m_highest * kCounterHeadroom;
    return inside.bottom() - (bytes - low) / (high - low) * inside.height();
}

void MemoryCounterPlot::paintPlot(QPainter& painter)
{
    const QRectF inside = plotRect();
    const Theme& t = currentTheme();
    const double largest = std::max(m_highest, -m_lowest);
    const int most = std::clamp(static_cast<int>(inside.height() / 30), 2, 8);
    std::vector<ValueTick> ticks;
    for (const ValueTick& tick : byteTicks(largest * kCounterHeadroom, m_unit, most)) {
        if (tick.value <= m_highest * kCounterHeadroom) ticks.push_back(tick);
        if (tick.value > 0 && -tick.value >= m_lowest * kCounterHeadroom)
            ticks.push_back({-tick.value, QStringLiteral("−") + tick.label});
    }
    paintValueAxis(
        painter, inside, ticks, [&](double v) { return yOf(v); }, byteScale(largest, m_unit).name);
    if (!m_data || m_data->curve.samples.empty()) return;

    painter.save();
    painter.setClipRect(inside);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const auto& samples = m_data->curve.samples;
    const double right = std::min(inside.right(), xOf(m_data->range.end));
    QPainterPath line;
    QPainterPath area;
    const double ground = yOf(0);
    double y = yOf(samples.front().min);
    line.moveTo(xOf(samples.front().at), y);
    area.moveTo(xOf(samples.front().at), ground);
    area.lineTo(xOf(samples.front().at), y);
    for (const CounterSample& sample : samples) {
        const double x = xOf(sample.at);
        for (const double value : {sample.max, sample.min, sample.last}) {
            line.lineTo(x, y);
            y = yOf(value);
            line.lineTo(x, y);
            area.lineTo(x, y);
        }
        // It holds until the next one.
        const std::size_t next = static_cast<std::size_t>(&sample - samples.data()) + 1;
        const double until = next < samples.size() ? xOf(samples[next].at) : right;
        line.lineTo(until, y);
        area.lineTo(until, y);
    }
    area.lineTo(right, ground);
    area.closeSubpath();
    QColor fill = t.accent;
    fill.setAlpha(40);
    painter.fillPath(area, fill);
    painter.setPen(QPen(t.accent, 1.4));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(line);
    painter.setPen(QPen(t.secondaryText, 1));
    painter.drawLine(QPointF(inside.left(), ground), QPointF(inside.right(), ground));
    painter.restore();
    paintMoments(painter, inside, m_moments, m_unit, [this](Instant at) { return xOf(at); });
}

void MemoryCounterPlot::paintHover(QPainter& painter)
{
    std::optional<Instant> at;
    if (selection())
        at = selection()->cursor();
    else if (hover())
        at = instantAt(hover()->x());
    const QRectF inside = plotRect();
    if (!at || xOf(*at) < inside.left() || xOf(*at) > inside.right()) return;
    painter.setPen(QPen(currentTheme().text, 1, Qt::DotLine));
    painter.drawLine(QPointF(xOf(*at), inside.top()), QPointF(xOf(*at), inside.bottom()));
    const std::optional<double> value = valueAt(*at);
    if (!hover() || !value) return;
    const bool relative = m_data->curve.relative;
    std::vector<ReadoutLine> lines;
    lines.push_back({{},
                     formatDuration(*at - camera().bounds().begin),
                     relative ? signedBytes(*value, m_unit) : formatBytes(*value, m_unit)});
    if (relative) lines.push_back({{}, tr("since the profile began"), {}});
    paintReadout(painter, *hover(), lines);
}

} // namespace fourwalls::views
