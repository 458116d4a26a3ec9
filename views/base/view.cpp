// SPDX-License-Identifier: GPL-3.0-or-later
// The base of every view: shared behaviour.
#include "views/base/view.h"

#include "views/plot/action_row.h"
#include "views/whatif/what_if.h"

#include <QEvent>
#include <QPainter>
#include <QTimer>
#include <QVBoxLayout>

namespace fourwalls::views {

View::View(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
}

void View::setTrace(TraceSession* session, Selection* selection)
{
    if (m_session == session && m_selection == selection) return;
    if (m_session) {
        m_session->disconnect(this);
        m_session->cancelAll(this);
    }
    if (m_selection) m_selection->disconnect(this);
    m_session = session;
    m_selection = selection;
    m_wasFinal = false;
    traceChanged();
    update();
}

void View::setWhatIf(WhatIf* whatIf)
{
    if (m_whatIf == whatIf) return;
    if (m_whatIf) m_whatIf->disconnect(this);
    m_whatIf = whatIf;
    if (whatIf) {
        connect(whatIf, &WhatIf::predictionChanged, this, &View::followPrediction);
        connect(whatIf, &WhatIf::activeChanged, this, &View::followPrediction);
        connect(whatIf, &WhatIf::predictedStepChanged, this, [this] {
            if (isPutAway())
                m_predictionMissed = true;
            else
                predictedStepChanged();
        });
    }
    predictionChanged();
}

bool View::isPutAway() const
{
    return isHidden() && testAttribute(Qt::WA_WState_ExplicitShowHide);
}

void View::followPrediction()
{
    // A slider moves what is seen; the other views of the trace follow when they are shown.
    m_predictionMissed = isPutAway();
    if (!m_predictionMissed) predictionChanged();
}

void View::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (!m_predictionMissed) return;
    m_predictionMissed = false;
    predictionChanged();
}

WhatIf* View::whatIf() const
{
    return m_whatIf;
}

void View::exportTo(QPainter& painter, QSizeF size)
{
    const double scale = std::min(size.width() / std::max(width(), 1), size.height() / std::max(height(), 1));
    painter.save();
    painter.scale(scale, scale);
    painter.fillRect(rect(), currentTheme().window);
    render(&painter, QPoint(), QRegion(), DrawChildren);
    painter.restore();
}

void View::fitAll()
{
    if (m_selection) m_selection->setRange(m_selection->whole());
}

std::vector<PageAction> View::emptyActions() const
{
    return {};
}

namespace {
constexpr int kEmptyMargin = 24, kActionGap = 16;
constexpr int kEmptyFlags = Qt::AlignCenter | Qt::TextWordWrap;
} // namespace

/// The buttons stand below the sentence that paintEmpty draws.
void View::offerActions()
{
    const QString reason = emptyReason();
    const std::vector<PageAction> actions = reason.isEmpty() ? std::vector<PageAction>() : emptyActions();
    if (!m_actions) {
        if (actions.empty()) return;
        m_actions = new ActionRow(this);
        connect(m_actions, &ActionRow::commandRequested, this, [this](const QString& command) {
            if (selection()) emit selection()->commandRequested(command);
        });
    }
    m_actions->setActions(actions);
    if (actions.empty()) return;
    const QRect room = rect().adjusted(kEmptyMargin, kEmptyMargin, -kEmptyMargin, -kEmptyMargin);
    const QRect text = QFontMetrics(fontOf(TextRole::Body)).boundingRect(room, kEmptyFlags, reason);
    const QSize size = m_actions->sizeHint();
    const int top = std::min(text.bottom() + kActionGap, height() - size.height() - 4);
    m_actions->setGeometry({QPoint((width() - size.width()) / 2, top), size});
    m_actions->raise();
}

void View::reportFrame(TimeRange range, FrameQuality quality)
{
    // Widgets are not moved while one is painted.
    if (m_actions || !emptyReason().isEmpty()) QTimer::singleShot(0, this, &View::offerActions);
    const bool isFinal = showsFinalData();
    const bool becameFinal = isFinal && !m_wasFinal;
    m_wasFinal = isFinal;
    emit framePainted(range, quality);
    if (becameFinal) emit finalDataPainted();
}

void View::paintEmpty(QPainter& painter, const QRect& rect, const QString& reason) const
{
    painter.save();
    painter.setPen(currentTheme().secondaryText);
    painter.setFont(fontOf(TextRole::Body));
    painter.drawText(rect.adjusted(kEmptyMargin, kEmptyMargin, -kEmptyMargin, -kEmptyMargin), kEmptyFlags, reason);
    painter.restore();
}

void View::paintWithoutContent()
{
    const QString reason = emptyReason();
    QPainter painter(this);
    paintEmpty(painter, rect(), reason);
    painter.end();
    reportFrame(selection() ? selection()->range() : TimeRange{},
                reason.isEmpty() ? FrameQuality::Blank : FrameQuality::Full);
}

QVBoxLayout* View::fillWith(QWidget* content)
{
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(kGap, kGap, kGap, kGap);
    outer->addWidget(content);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kGap);
    return column;
}

void View::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) themeChanged();
    if (event->type() == QEvent::LanguageChange) languageChanged();
}

} // namespace fourwalls::views
