// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_memory_plot.h.
#include "views/compare/compare_memory_plot.h"

#include "views/plot/paper.h"
#include "views/plot/plot_area.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

void CompareMemoryPlot::setCurve(std::size_t which, Curve curve)
{
    m_curves[which] = std::move(curve);
    m_has[which] = true;
    invalidate();
}

void CompareMemoryPlot::forget()
{
    m_curves = {};
    m_has = {};
    m_highest = 0;
    invalidate();
}

void CompareMemoryPlot::setHighest(std::int64_t bytes)
{
    m_highest = bytes;
    invalidate();
}

void CompareMemoryPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    invalidate();
}

QColor CompareMemoryPlot::colourOfCurve(std::size_t which, bool predicted)
{
    const Theme& theme = currentTheme();
    return predicted ? theme.prediction : which == 0 ? theme.accent : theme.text;
}

FrameQuality CompareMemoryPlot::quality() const
{
    const TimeRange shown = camera().range();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        if (!m_has[i]) return FrameQuality::Blank;
        if (m_curves[i].range != shown) return FrameQuality::Stale;
    }
    return FrameQuality::Full;
}

void CompareMemoryPlot::paintPlot(QPainter& painter)
{
    const QRectF inside = plotRect();
    double most = static_cast<double>(m_highest);
    for (const Curve& curve : m_curves)
        for (const CurvePoint& point : curve.points) most = std::max(most, point.bytes);
    if (most <= 0 && m_has[0] && m_has[1]) {
        painter.setPen(currentTheme().secondaryText);
        painter.drawText(QRectF(rect()).adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Neither trace has allocations."));
        return;
    }
    m_scale = MemoryScale::fit(inside, most, 0, false);
    const int ticks = std::clamp(static_cast<int>(m_scale.linear().height() / 30), 2, 8);
    paintValueAxis(
        painter, inside, byteTicks(m_scale.top(), m_unit, ticks), [&](double v) { return m_scale.y(v); },
        byteScale(m_scale.top(), m_unit).name);

    const double ratio = imageRatio(painter, *this);
    const int columns = std::max(1, static_cast<int>(std::lround(inside.width() * ratio)));
    const int rows = std::max(1, static_cast<int>(std::lround(inside.height() * ratio)));
    QImage image(columns, rows, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    const auto width = [&](double pixels) { return static_cast<float>(pixels * ratio); };
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const Curve& curve = m_curves[i];
        const ColumnPen pen{colourOfCurve(i, curve.predicted).rgba(), width(i == 0 ? 1.8 : 1.4),
                            curve.predicted ? width(5) : 0, curve.predicted ? width(4) : 0};
        paintColumnLine(image, 0, lineOf(curve.points, curve.end, camera(), m_scale, columns, ratio, inside.top()),
                        pen);
    }
    painter.drawImage(inside.topLeft(), image);
}

std::optional<double> CompareMemoryPlot::bytesAt(std::size_t which, Instant at) const
{
    const std::vector<CurvePoint>& points = m_curves[which].points;
    if (points.empty() || at >= m_curves[which].end) return std::nullopt;
    const auto after =
        std::partition_point(points.begin(), points.end(), [at](const CurvePoint& point) { return point.at <= at; });
    return after == points.begin() ? std::nullopt : std::optional(std::prev(after)->bytes);
}

void CompareMemoryPlot::paintHover(QPainter& painter)
{
    if (!hover()) return;
    const Theme& theme = currentTheme();
    const QRectF inside = plotRect();
    const Instant at = instantAt(hover()->x());
    painter.setPen(QPen(theme.secondaryText, 1, Qt::DotLine));
    painter.drawLine(QPointF(hover()->x(), inside.top()), QPointF(hover()->x(), inside.bottom()));
    std::vector<ReadoutLine> lines{{QColor(), formatDuration(at - zero()), {}}};
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const auto bytes = bytesAt(i, at);
        lines.push_back({colourOfCurve(i, m_curves[i].predicted), i == 0 ? tr("A") : tr("B"),
                         bytes ? formatBytes(*bytes, m_unit) : QString(kDash)});
    }
    paintReadout(painter, *hover(), lines);
}

} // namespace fourwalls::views
