// SPDX-License-Identifier: GPL-3.0-or-later
// See wall_card.h.
#include "views/overview/wall_card.h"

#include "views/overview/mini_plot.h"
#include "views/plot/theme.h"

#include <QLabel>
#include <QPainter>

namespace fourwalls::views {

namespace {

constexpr int kLeastPlot = 40; ///< lower ones show nothing

} // namespace

WallCard::WallCard(QWidget* parent)
    : PlotCard(parent)
    , m_reason(new QLabel(this))
    , m_verdict(new QLabel(this))
    , m_plot(new MiniPlot(this))
{
    for (QLabel* label : {m_reason, m_verdict}) {
        label->setWordWrap(true);
        label->setFont(fontOf(TextRole::Small));
        label->setMinimumHeight(16);
        label->setAlignment(Qt::AlignTop | Qt::AlignLeft); // what does not fit is cut at the end
        addContent(label);
    }
    m_reason->hide();
    m_plot->setMinimumHeight(kLeastPlot);
    addContent(m_plot, 1);
}

void WallCard::setVerdict(const QString& text)
{
    m_verdict->setText(text);
    m_verdict->setToolTip(text);
    m_verdict->setVisible(!text.isEmpty());
}

QString WallCard::verdict() const
{
    return m_verdict->text();
}

void WallCard::setBinding(bool binding, const QString& reason, bool isWide)
{
    m_binding = binding;
    finding().setTone(binding ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
    const bool beside = isWide && !reason.isEmpty();
    finding().setText(!binding ? QString() : beside ? tr("binds: %1").arg(reason) : tr("binds"));
    QPalette palette = m_reason->palette();
    palette.setColor(QPalette::WindowText, currentTheme().wallEdge);
    m_reason->setPalette(palette);
    m_reason->setText(reason);
    m_reason->setVisible(binding && !reason.isEmpty() && !beside);
    update();
}

void WallCard::paintEvent(QPaintEvent* event)
{
    PlotCard::paintEvent(event);
    if (!m_binding) return;
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.wallEdge, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCardRadius, kCardRadius);
}

} // namespace fourwalls::views
