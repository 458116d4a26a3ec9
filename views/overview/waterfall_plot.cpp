// SPDX-License-Identifier: GPL-3.0-or-later
// See waterfall_plot.h.
#include "views/overview/waterfall_plot.h"

#include "views/plot/theme.h"
#include "views/words/figure_words.h"
#include "views/words/format.h"
#include "views/words/utilisation.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kWaterfallTop = 18, kNameRoom = 32, kNameLine = 13, kFigureHeight = 16, kGapShare = 0.12;
constexpr double kNameGap = 4;        ///< names that are nearer to each other read as one
constexpr double kLeastIdle = 0.0005; ///< parts of the idle time below this are not worth a bar of their own

struct Look {
    QColor fill;
    bool hatched = false;
};

Look lookOf(const WaterfallBar& bar)
{
    const Theme& t = currentTheme();
    if (!bar.part) return {t.structure};
    if (bar.kind == WaterfallBar::Kind::Rest) return {colourOf(t, Phase::Forward)};
    switch (*bar.part) {
    case WaterfallPart::Bubble:
    case WaterfallPart::Idle:
    case WaterfallPart::IdleDataLoading:
    case WaterfallPart::IdleLaunch:
    case WaterfallPart::IdleSynchronisation:
    case WaterfallPart::IdleOther: return {t.hatchBase, true};
    case WaterfallPart::ExposedComm: return {t.communication};
    case WaterfallPart::ExposedCopy: return {t.copy};
    case WaterfallPart::Recompute: return {colourOf(t, Phase::Recompute)};
    case WaterfallPart::MemoryBound: return {t.memory[4]};
    default: return {t.memory[7]};
    }
}

} // namespace

std::vector<WaterfallBar> waterfallBars(const TraceMetrics& metrics, bool wholeTrace)
{
    using Kind = WaterfallBar::Kind;
    using Part = WaterfallPart;
    const Waterfall& shares = metrics.waterfall;
    std::vector<WaterfallBar> bars;
    if (shares.empty()) return bars;
    const std::optional<double> compute = shares.at(Part::Compute);
    bars.push_back({std::nullopt, 1, 1, !compute ? Kind::Peak : wholeTrace ? Kind::Trace : Kind::Step});
    double level = 1;
    const auto lose = [&](Part part, double share, bool always, bool onHost = false) {
        if (share == 0 && !always) return;
        bars.push_back({part, share, level, Kind::Loss, onHost});
        level -= share;
    };
    // That there is none is an answer where a plan is known; of somebody else's trace it would say more than is known.
    const bool told = metrics.source != TraceSource::Imported;
    lose(Part::Bubble, shares[Part::Bubble], told || metrics.bubbleFraction.has_value());
    lose(Part::ExposedComm, shares[Part::ExposedComm], told);
    lose(Part::ExposedCopy, shares[Part::ExposedCopy], false);
    // What is left of idle takes the rounding, so that the parts add up to the whole of it.
    double other = shares[Part::Idle];
    bool known = false;
    for (const Part reason : {Part::IdleDataLoading, Part::IdleLaunch, Part::IdleSynchronisation}) {
        if (shares[reason] <= kLeastIdle) continue;
        known = true;
        lose(reason, shares[reason], false);
        other -= shares[reason];
    }
    if (known)
        lose(Part::IdleOther, std::abs(other) < 1e-12 ? 0 : other, false, metrics.hostOnly);
    else
        lose(Part::Idle, other, true, metrics.hostOnly);
    if (compute) {
        bars.push_back({Part::Compute, *compute, *compute, Kind::Rest, metrics.hostOnly});
        return bars;
    }
    for (const Part part : {Part::OtherCompute, Part::MemoryBound, Part::Inefficiency, Part::Recompute})
        lose(part, shares[part], false);
    bars.push_back({Part::Achieved, shares[Part::Achieved], shares[Part::Achieved], Kind::Rest});
    return bars;
}

QString barName(const WaterfallBar& bar)
{
    if (bar.kind == WaterfallBar::Kind::Peak) return WaterfallPlot::tr("peak");
    if (bar.kind == WaterfallBar::Kind::Trace) return WaterfallPlot::tr("whole trace");
    if (!bar.part) return WaterfallPlot::tr("step");
    if (!bar.onHost) return briefWords(*bar.part);
    return *bar.part == WaterfallPart::Compute ? WaterfallPlot::tr("operators")
                                               : WaterfallPlot::tr("between operators");
}

QString barMeaning(const WaterfallBar& bar)
{
    if (bar.kind == WaterfallBar::Kind::Peak)
        return WaterfallPlot::tr("All the time that the ranks have in one step; at peak FLOP/s this is 100 %.");
    if (bar.kind == WaterfallBar::Kind::Trace)
        return WaterfallPlot::tr("All the time of the trace: no steps were recognised in it.");
    if (!bar.part) return WaterfallPlot::tr("All the time that the ranks have in one step.");
    if (!bar.onHost) return meaningOf(*bar.part);
    return *bar.part == WaterfallPart::Compute
               ? WaterfallPlot::tr("Operators on the processor. No work of a device is in the trace.")
               : WaterfallPlot::tr("The program's own time: no operator runs, and no device was recorded.");
}

WaterfallPlot::WaterfallPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void WaterfallPlot::setBars(std::vector<WaterfallBar> bars, std::optional<Duration> stepTime,
                            std::vector<WaterfallBar> ghost, const QString& ghostName)
{
    m_bars = std::move(bars);
    m_ghost = std::move(ghost);
    m_ghostName = ghostName;
    m_stepTime = stepTime;
    m_hovered = -1;
    QStringList spoken;
    for (const WaterfallBar& bar : m_bars) spoken << barName(bar) + QLatin1Char(' ') + formatPercent(bar.share);
    setAccessibleName(spoken.join(QStringLiteral(", ")));
    update();
}

void WaterfallPlot::setNothing(const QString& why)
{
    m_nothing = why;
    update();
}

double WaterfallPlot::slot() const
{
    return m_bars.empty() ? width() : width() / static_cast<double>(m_bars.size());
}

double WaterfallPlot::namesHeight() const
{
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    const bool wraps = std::any_of(m_bars.begin(), m_bars.end(), [&](const WaterfallBar& bar) {
        return metrics.horizontalAdvance(barName(bar)) > slot() - kNameGap;
    });
    return wraps ? kNameRoom + kNameLine : kNameRoom;
}

double WaterfallPlot::levelY(double level) const
{
    return kWaterfallTop + (height() - kWaterfallTop - namesHeight()) * (1 - std::clamp(level, -0.1, 1.2));
}

QRectF WaterfallPlot::boxOf(std::size_t index) const
{
    const WaterfallBar& bar = m_bars[index];
    const double gap = slot() * kGapShare;
    const double left = slot() * static_cast<double>(index) + gap / 2;
    // A loss below nothing (the peak was measured too low) reaches up.
    const double upper = levelY(std::max(bar.top, bar.top - bar.share)),
                 lower = levelY(std::min(bar.top, bar.top - bar.share));
    return {QPointF(std::round(left), std::round(upper)),
            QPointF(std::round(left + slot() - gap), std::max(std::round(lower), std::round(upper) + 2))};
}

int WaterfallPlot::barAt(QPointF where) const
{
    if (m_bars.empty() || where.x() < 0 || where.x() >= width()) return -1;
    return std::min(static_cast<int>(where.x() / slot()), static_cast<int>(m_bars.size()) - 1);
}

void WaterfallPlot::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    if (m_bars.empty()) {
        painter.setFont(fontOf(TextRole::Body));
        painter.setPen(t.secondaryText);
        painter.drawText(rect().adjusted(12, 0, -12, 0), Qt::AlignCenter | Qt::TextWordWrap, m_nothing);
        return;
    }
    painter.setFont(fontOf(TextRole::Small));
    const double room = slot();
    if (m_hovered >= 0) painter.fillRect(QRectF(room * m_hovered, 0, room, height()), t.hover);
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const WaterfallBar& bar = m_bars[i];
        const QRectF box = boxOf(i);
        const Look look = lookOf(bar);
        if (look.hatched) {
            paintHatch(painter, box, t);
            painter.setPen(t.hatchLine);
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        } else {
            painter.fillRect(box, look.fill);
        }
        if (i + 1 < m_bars.size()) {
            // The level from which the next bar goes on.
            const double level = !bar.part ? bar.top : bar.top - bar.share;
            const double y = std::round(levelY(level)) + 0.5;
            painter.setPen(t.secondaryText);
            painter.drawLine(QPointF(box.right(), y), QPointF(boxOf(i + 1).left(), y));
        }
        double figureBottom = box.top(); // above the ghost's edges, too, where they would cross it
        for (const WaterfallBar& ghost : m_ghost) {
            if (!bar.isSameAs(ghost)) continue;
            QPen pen(t.prediction, 1.4);
            pen.setDashPattern({4, 3});
            painter.setPen(pen);
            painter.setBrush(Qt::NoBrush);
            const double upper = levelY(ghost.top),
                         lower = std::max(levelY(ghost.top - ghost.share), levelY(ghost.top) + 2);
            painter.drawRect(QRectF(QPointF(box.left() + 3, upper), QPointF(box.right() - 3, lower)));
            for (const double edge : {lower, upper})
                if (edge < figureBottom + 1 && edge > figureBottom - kFigureHeight - 1) figureBottom = edge;
            figureBottom = std::max(figureBottom, kFigureHeight + 1);
        }
        const bool loss = bar.kind == WaterfallBar::Kind::Loss;
        const bool visible = formatPercent(std::abs(bar.share)) != formatPercent(0);
        const QString figure = loss && visible && bar.share > 0       ? QChar(0x2212) + formatPercent(bar.share)
                               : loss && visible && bar.share < 0     ? QLatin1Char('+') + formatPercent(-bar.share)
                               : bar.kind == WaterfallBar::Kind::Rest ? formatUtilisation(std::abs(bar.share))
                                                                      : formatPercent(std::abs(bar.share));
        painter.setPen(t.text);
        painter.drawText(QRectF(room * static_cast<double>(i), figureBottom - kFigureHeight - 1, room, kFigureHeight),
                         Qt::AlignCenter, figure);
        painter.setPen(t.secondaryText);
        // The gaps between bars are free for longer names, which still must not touch.
        const double names = namesHeight();
        const QRectF name(room * static_cast<double>(i) - 2, height() - names + 2, room + 4, names - 17);
        QStringList lines{barName(bar)};
        if (painter.fontMetrics().horizontalAdvance(lines.first()) > room - kNameGap) {
            // "exposed comm", "memory-bound": two lines
            const QString whole = lines.first();
            const auto cut = whole.indexOf(QRegularExpression(QStringLiteral("[ -]")));
            if (cut > 0) lines = {whole.left(whole[cut] == QLatin1Char('-') ? cut + 1 : cut), whole.mid(cut + 1)};
        }
        for (QString& line : lines)
            line = painter.fontMetrics().elidedText(line, Qt::ElideRight, static_cast<int>(name.width()));
        painter.drawText(name, Qt::AlignHCenter | Qt::AlignTop, lines.join(QLatin1Char('\n')));
        if (m_stepTime) {
            const auto ns = std::llround(static_cast<double>(m_stepTime->ns) * bar.share);
            painter.drawText(QRectF(name.left(), height() - 16.0, name.width(), 15), Qt::AlignCenter,
                             formatDuration(Duration{ns}, 3));
        }
    }
    if (hasFocus()) {
        painter.setPen(QPen(t.accent, 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void WaterfallPlot::mouseMoveEvent(QMouseEvent* event)
{
    const int bar = barAt(event->position());
    if (bar == m_hovered) return;
    m_hovered = bar;
    setCursor(bar > 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
}

void WaterfallPlot::mouseReleaseEvent(QMouseEvent* event)
{
    const int bar = barAt(event->position());
    if (event->button() == Qt::LeftButton && bar >= 0) emit barClicked(m_bars[static_cast<std::size_t>(bar)]);
}

void WaterfallPlot::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    m_hovered = -1;
    update();
}

void WaterfallPlot::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    if (m_hovered < 0 && !m_bars.empty()) m_hovered = 0;
    tellCurrent(*this);
    update();
}

void WaterfallPlot::keyPressEvent(QKeyEvent* event)
{
    const int last = static_cast<int>(m_bars.size()) - 1;
    if (last >= 0 && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)) {
        m_hovered = std::clamp(m_hovered + (event->key() == Qt::Key_Right ? 1 : -1), 0, last);
        tellCurrent(*this);
        update();
    } else if (m_hovered >= 0 && m_hovered <= last &&
               (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        emit barClicked(m_bars[static_cast<std::size_t>(m_hovered)]);
    } else {
        QWidget::keyPressEvent(event);
    }
}

int WaterfallPlot::spokenParts() const
{
    return static_cast<int>(m_bars.size());
}

QString WaterfallPlot::spokenText(int part) const
{
    return toolTipOf(static_cast<std::size_t>(part)).replace(QLatin1Char('\n'), QLatin1String(", "));
}

QRect WaterfallPlot::spokenPlace(int part) const
{
    return boxOf(static_cast<std::size_t>(part)).toRect();
}

int WaterfallPlot::spokenCurrent() const
{
    return m_hovered < spokenParts() ? m_hovered : -1;
}

QString WaterfallPlot::toolTipOf(std::size_t index) const
{
    const WaterfallBar& bar = m_bars[index];
    QString text = barName(bar) + QStringLiteral(": ") + formatPercent(bar.share, 2);
    for (const WaterfallBar& ghost : m_ghost)
        if (bar.isSameAs(ghost)) text += QStringLiteral(" · %1 %2").arg(m_ghostName, formatPercent(ghost.share, 2));
    return text + QLatin1Char('\n') + barMeaning(bar);
}

bool WaterfallPlot::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const int bar = barAt(help->pos());
        if (bar >= 0)
            QToolTip::showText(help->globalPos(), toolTipOf(static_cast<std::size_t>(bar)), this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace fourwalls::views
