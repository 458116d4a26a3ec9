// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_bar.h.
#include "views/whatif/memory_bar.h"

#include "views/plot/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kBarHeight = 16;
constexpr double kBeyondWall = 1.18; ///< the wall begins here on the scale of the bar
} // namespace

MemoryBar::MemoryBar(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMouseTracking(true);
}

void MemoryBar::setStep(std::shared_ptr<const cost::PredictedStep> step)
{
    m_step = std::move(step);
    m_shares = m_step ? memoryShares(*m_step) : std::vector<MemoryShare>{};
    setAccessibleName(m_step ? memorySentence(*m_step, m_unit) : QString());
    update();
}

void MemoryBar::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    setStep(m_step);
}

double MemoryBar::largest() const
{
    return std::max(m_step->usableMemoryBytes * kBeyondWall, m_step->peakBytes * 1.02);
}

void MemoryBar::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    const QRectF bar(0, 0, width(), kBarHeight);
    painter.fillRect(bar, t.raised);
    if (!m_step) return;
    const double scale = bar.width() / largest(), capacity = m_step->usableMemoryBytes;
    if (capacity > 0)
        paintWall(painter, QRectF(std::round(capacity * scale), 0, bar.width(), kBarHeight), t, WallEdge::None);
    double left = 0;
    for (const MemoryShare& share : m_shares) {
        const double right = left + share.bytes * scale;
        // Over the wall the bricks stay visible: above and below the bar.
        const double inset = capacity > 0 && right > capacity * scale ? 3 : 0;
        QRectF part(std::round(left), inset, std::round(right) - std::round(left), kBarHeight - 2 * inset);
        if (inset > 0 && left < capacity * scale) {
            painter.fillRect(QRectF(part.left(), 0, capacity * scale - part.left(), kBarHeight),
                             colourOf(t, share.category));
            part.setLeft(capacity * scale);
        }
        painter.fillRect(part, colourOf(t, share.category));
        left = right;
    }
    painter.setFont(fontOf(TextRole::Small));
    const QString peak = formatBytes(m_step->peakBytes, m_unit);
    const QRectF below(0, kBarHeight + 3, width(), 14);
    const double room = painter.fontMetrics().horizontalAdvance(peak) + 12;
    if (capacity > 0) {
        painter.fillRect(QRectF(std::round(capacity * scale) - 1, 0, 2, kBarHeight + 3), t.wallEdge);
        const QString text = formatBytes(capacity, m_unit);
        const double textWidth = painter.fontMetrics().horizontalAdvance(text);
        const double x = std::clamp(capacity * scale - textWidth / 2, room, width() - textWidth);
        painter.setPen(t.wallEdge);
        painter.drawText(QRectF(x, below.top(), textWidth + 2, 14), Qt::AlignLeft | Qt::AlignVCenter, text);
    }
    painter.setPen(m_step->feasible ? t.secondaryText : t.wallEdge);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, peak);
}

bool MemoryBar::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || !m_step) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QStringList lines;
    double left = 0;
    const double at = help->pos().x() / std::max(1.0, static_cast<double>(width())) * largest();
    for (const MemoryShare& share : m_shares) {
        const QString line = share.name + QStringLiteral(": ") + formatBytes(share.bytes, m_unit);
        lines << (at >= left && at < left + share.bytes ? QStringLiteral("<b>%1</b>").arg(line) : line);
        left += share.bytes;
    }
    QToolTip::showText(help->globalPos(), lines.join(QStringLiteral("<br>")), this);
    return true;
}

} // namespace fourwalls::views
