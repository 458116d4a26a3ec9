// SPDX-License-Identifier: GPL-3.0-or-later
// A small live curve of the loss while a recording runs.
#include "views/chrome/loss_plot.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QPainter>

#include <cmath>

namespace fourwalls::views {

LossPlot::LossPlot(QWidget* parent) : QWidget(parent)
{
    setMinimumHeight(120);
    setAccessibleName(tr("Loss per step"));
}

void LossPlot::clear(int steps)
{
    m_points.clear();
    m_steps = std::max(1, steps);
    update();
}

void LossPlot::addPoint(int step, double loss)
{
    if (!std::isfinite(loss)) return;
    m_points.append({static_cast<double>(step), loss});
    setAccessibleDescription(tr("step %1: loss %2").arg(step).arg(formatFigure(loss)));
    update();
}

void LossPlot::paintEvent(QPaintEvent*)
{
    const Theme& theme = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing, true);
    paintCard(painter, rect(), theme);
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    if (m_points.isEmpty()) {
        painter.drawText(rect(), Qt::AlignCenter, tr("The loss appears here after the first step."));
        return;
    }
    double low = m_points.front().y(), high = low;
    for (const QPointF& point : m_points) {
        low = std::min(low, point.y());
        high = std::max(high, point.y());
    }
    const double step = niceStep(std::max(high - low, std::fabs(high) * 0.02 + 1e-12), 3);
    low = std::floor(low / step) * step;
    high = std::ceil(high / step) * step;
    if (high <= low) high = low + step;

    const QRectF plot = QRectF(rect()).adjusted(52, 16, -16, -26);
    const auto x = [&](double s) { return plot.left() + plot.width() * s / std::max(1, m_steps - 1); };
    const auto y = [&](double v) { return plot.bottom() - plot.height() * (v - low) / (high - low); };
    for (double mark = low; mark <= high + step / 2; mark += step) {
        painter.setPen(QPen(theme.line, 1));
        painter.drawLine(QPointF(plot.left(), y(mark)), QPointF(plot.right(), y(mark)));
        painter.setPen(theme.secondaryText);
        painter.drawText(QRectF(4, y(mark) - 8, plot.left() - 10, 16), Qt::AlignRight | Qt::AlignVCenter,
                         formatFigure(std::fabs(mark) < step * 1e-9 ? 0 : mark, 3));
    }
    painter.drawText(QRectF(plot.left(), plot.bottom() + 5, plot.width(), 16), Qt::AlignLeft, tr("step 0"));
    painter.drawText(QRectF(plot.left(), plot.bottom() + 5, plot.width(), 16), Qt::AlignRight,
                     QString::number(m_steps - 1));
    QPolygonF line;
    for (const QPointF& point : m_points) line.append({x(point.x()), y(point.y())});
    painter.setPen(QPen(theme.accent, 2));
    painter.drawPolyline(line);
    painter.setBrush(theme.accent);
    painter.setPen(Qt::NoPen);
    painter.drawEllipse(line.back(), 3.5, 3.5);
    painter.setPen(theme.text);
    painter.drawText(plot.adjusted(0, 2, -2, 0), Qt::AlignTop | Qt::AlignRight,
                     tr("loss %1").arg(formatFigure(m_points.back().y())));
}

} // namespace fourwalls::views
