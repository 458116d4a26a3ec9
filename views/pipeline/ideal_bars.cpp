// SPDX-License-Identifier: GPL-3.0-or-later
// See ideal_bars.h.
#include "views/pipeline/ideal_bars.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kRow = 20, kFigure = 54;
} // namespace

BubbleBars::BubbleBars(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void BubbleBars::setBars(std::vector<BubbleBar> bars)
{
    m_bars = std::move(bars);
    QStringList spoken;
    for (const BubbleBar& bar : m_bars) spoken << bar.name + QStringLiteral(": ") + formatPercent(bar.fraction);
    setAccessibleName(spoken.join(QStringLiteral("; ")));
    updateGeometry();
    update();
}

QSize BubbleBars::sizeHint() const
{
    return {360, static_cast<int>(kRow * static_cast<double>(m_bars.size()))};
}

QSize BubbleBars::minimumSizeHint() const
{
    constexpr int kLeastRow = 16; // a line of small letters, Chinese ones, too
    return {220, std::max(60, kLeastRow * static_cast<int>(m_bars.size()))};
}

double BubbleBars::rowHeight() const
{
    return m_bars.empty() ? kRow : std::min(kRow + 4, height() / static_cast<double>(m_bars.size()));
}

void BubbleBars::paintEvent(QPaintEvent*)
{
    if (m_bars.empty()) return;
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetricsF metrics(painter.font());
    double names = 0, largest = 0.05;
    for (const BubbleBar& bar : m_bars) {
        names = std::max(names, metrics.horizontalAdvance(bar.name) + 12);
        largest = std::max(largest, bar.fraction);
    }
    names = std::min(names, width() * 0.5);
    const double room = std::max(8.0, width() - names - kFigure);
    const double row = rowHeight();
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const BubbleBar& bar = m_bars[i];
        const double top = row * static_cast<double>(i);
        const bool own = bar.kind != BubbleBar::Kind::Ideal;
        painter.setPen(own ? t.text : t.secondaryText);
        painter.drawText(QRectF(0, top, names - 10, row), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(bar.name, Qt::ElideRight, static_cast<int>(names) - 10));
        const double length = std::max(1.0, std::round(room * bar.fraction / largest));
        const QRectF box(std::round(names), std::round(top + row * 0.2), length, std::round(row * 0.6));
        switch (bar.kind) {
        case BubbleBar::Kind::Measured:
            paintHatch(painter, box, t);
            painter.setPen(t.structure);
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
            break;
        case BubbleBar::Kind::Predicted: {
            QPen pen(t.prediction, 1.4);
            pen.setDashPattern({4, 3});
            painter.setPen(pen);
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
            break;
        }
        case BubbleBar::Kind::OwnIdeal: painter.fillRect(box, t.structure); break;
        case BubbleBar::Kind::Ideal: painter.fillRect(box, t.line); break;
        }
        painter.setPen(own ? t.text : t.secondaryText);
        painter.drawText(QRectF(box.right() + 6, top, kFigure, row), Qt::AlignLeft | Qt::AlignVCenter,
                         formatPercent(bar.fraction));
    }
}

bool BubbleBars::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto row = static_cast<std::size_t>(std::max(0.0, help->pos().y() / rowHeight()));
        if (row < m_bars.size() && !m_bars[row].note.isEmpty())
            QToolTip::showText(help->globalPos(), m_bars[row].note, this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace fourwalls::views
