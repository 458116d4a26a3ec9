// SPDX-License-Identifier: GPL-3.0-or-later
// See hang_chain.h.
#include "views/hang/hang_chain.h"

#include "views/hang/hang_words.h"
#include "views/plot/theme.h"

#include <QPainter>

namespace fourwalls::views {

namespace {

constexpr int kBox = 44, kArrow = 22, kRootGap = 8;
constexpr std::size_t kMostRoots = 12;

} // namespace

HangChain::HangChain(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Who waits for whom"));
}

QString HangChain::spokenText(int part) const
{
    const Box& box = m_boxes[static_cast<std::size_t>(part)];
    return box.title + QStringLiteral(", ") + box.detail;
}

void HangChain::setReport(const diagnose::HangReport& report)
{
    m_boxes.clear();
    for (const diagnose::HangWaiting& each : report.chain)
        m_boxes.push_back({tr("%1 · %2").arg(rankWords(each.ranks), hangPlaceWords(each.place)),
                           tr("for %1").arg(rankWords(each.waitsFor)), false});
    std::size_t roots = 0;
    for (const diagnose::HangSuspect& each : report.suspects) {
        if (++roots > kMostRoots) break;
        m_boxes.push_back({rankWords({each.rank}), confidenceWords(each.confidence), true});
    }
    for (const diagnose::HangSet& each : report.sets) {
        if (++roots > kMostRoots) break;
        m_boxes.push_back({tr("one or more of %1").arg(rankWords(each.ranks)), hangPlaceWords(each.place), true});
    }
    updateGeometry();
    update();
}

QSize HangChain::sizeHint() const
{
    int height = 4;
    for (std::size_t i = 0; i < m_boxes.size(); ++i)
        height += kBox + (i + 1 == m_boxes.size() ? 0 : m_boxes[i].isRoot ? kRootGap : kArrow);
    return {280, height};
}

QSize HangChain::minimumSizeHint() const
{
    return {200, sizeHint().height()};
}

void HangChain::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const Theme& theme = currentTheme();
    int top = 1;
    for (std::size_t i = 0; i < m_boxes.size(); ++i) {
        const Box& box = m_boxes[i];
        const QRectF rect(1.5, top + 0.5, width() - 3, kBox - 1);
        painter.setPen(QPen(box.isRoot ? theme.error : theme.line, box.isRoot ? 1.5 : 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect, kCardRadius, kCardRadius);
        QFont bold = fontOf(TextRole::Small);
        bold.setBold(true);
        painter.setFont(bold);
        painter.setPen(box.isRoot ? theme.error : theme.text);
        const QRectF inside = rect.adjusted(10, 4, -10, -4);
        painter.drawText(inside, Qt::AlignTop | Qt::AlignLeft,
                         painter.fontMetrics().elidedText(box.title, Qt::ElideRight, static_cast<int>(inside.width())));
        painter.setFont(fontOf(TextRole::Small));
        painter.setPen(theme.secondaryText);
        painter.drawText(
            inside, Qt::AlignBottom | Qt::AlignLeft,
            painter.fontMetrics().elidedText(box.detail, Qt::ElideRight, static_cast<int>(inside.width())));
        top += kBox;
        if (i + 1 == m_boxes.size()) break;
        if (!box.isRoot) {
            const double x = width() / 2.0;
            painter.setPen(QPen(theme.secondaryText, 1.2));
            painter.drawLine(QPointF(x, top + 1), QPointF(x, top + kArrow - 3));
            painter.drawLine(QPointF(x, top + kArrow - 3), QPointF(x - 4, top + kArrow - 8));
            painter.drawLine(QPointF(x, top + kArrow - 3), QPointF(x + 4, top + kArrow - 8));
        }
        top += box.isRoot ? kRootGap : kArrow;
    }
}

} // namespace fourwalls::views
