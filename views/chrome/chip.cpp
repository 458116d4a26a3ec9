// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of chips.
#include "views/chrome/chip.h"

#include <QFontMetrics>
#include <QPainter>

namespace fourwalls::views {

ChipKind chipKindOf(TraceSource source)
{
    switch (source) {
    case TraceSource::Recorded: return ChipKind::Recorded;
    case TraceSource::Imported: return ChipKind::Imported;
    case TraceSource::Predicted: return ChipKind::Predicted;
    case TraceSource::Synthetic: return ChipKind::Neutral;
    }
    return ChipKind::Neutral;
}

QSize chipSize(const QString& text)
{
    const QFontMetrics metrics(fontOf(TextRole::Small));
    return {metrics.horizontalAdvance(text) + 18, metrics.height() + 7};
}

void paintChip(QPainter& painter, const QRectF& rect, const QString& text, ChipKind kind, const Theme& theme)
{
    QColor edge = theme.line;
    QColor ink = theme.secondaryText;
    switch (kind) {
    case ChipKind::Neutral: break;
    case ChipKind::Recorded: edge = ink = theme.ok; break;
    case ChipKind::Imported: edge = ink = theme.information; break;
    case ChipKind::Predicted: edge = ink = theme.prediction; break;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    QPen pen(edge, 1);
    if (kind == ChipKind::Predicted) pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.setBrush(theme.card);
    const QRectF box = rect.adjusted(0.5, 0.5, -0.5, -0.5);
    painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
    painter.setPen(ink);
    painter.setFont(fontOf(TextRole::Small));
    painter.drawText(rect, Qt::AlignCenter, text);
    painter.restore();
}

Chip::Chip(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void Chip::setChip(const QString& text, ChipKind kind, const QString& explanation)
{
    m_text = text;
    m_kind = kind;
    setToolTip(explanation);
    setAccessibleName(text);
    setAccessibleDescription(explanation);
    updateGeometry();
    update();
}

QSize Chip::sizeHint() const
{
    return chipSize(m_text);
}

void Chip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintChip(painter, rect(), m_text, m_kind, currentTheme());
}

} // namespace fourwalls::views
