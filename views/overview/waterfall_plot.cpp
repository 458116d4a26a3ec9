// SPDX-License-Identifier: GPL-3.0-or-later
// See waterfall_plot.h.
#include "views/overview/waterfall_plot.h"

#include "views/plot/theme.h"
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
constexpr double kLeastIdle = 0.0005; ///< parts of the idle time below this are not worth a bar of their own

std::optional<double> shareNamed(const TraceMetrics& metrics, std::string_view key)
{
    for (const auto& [name, share] : metrics.waterfall)
        if (name == key) return share;
    return std::nullopt;
}

struct Look {
    QColor fill;
    bool hatched = false;
};

Look lookOf(const WaterfallBar& bar)
{
    const Theme& t = currentTheme();
    if (bar.kind == WaterfallBar::Kind::Whole) return {t.structure};
    if (bar.kind == WaterfallBar::Kind::Rest) return {colourOf(t, Phase::Forward)};
    if (bar.key == QLatin1String("bubble") || bar.key == QLatin1String("between") ||
        bar.key.startsWith(QLatin1String("idle")))
        return {t.hatchBase, true};
    if (bar.key == QLatin1String("exposed_comm")) return {t.communication};
    if (bar.key == QLatin1String("exposed_copy")) return {t.copy};
    if (bar.key == QLatin1String("recompute")) return {colourOf(t, Phase::Recompute)};
    if (bar.key == QLatin1String("memory_bound")) return {t.memory[4]};
    return {t.memory[7]};
}

} // namespace

std::vector<WaterfallBar> waterfallBars(const TraceMetrics& metrics)
{
    std::vector<WaterfallBar> bars;
    if (metrics.waterfall.empty()) return bars;
    using Kind = WaterfallBar::Kind;
    const bool ofTime = shareNamed(metrics, "compute").has_value();
    bars.push_back({ofTime ? QStringLiteral("step") : QStringLiteral("whole"), 1, 1, Kind::Whole});
    double level = 1;
    const auto lose = [&](const char* key, double share, bool always) {
        if (share == 0 && !always) return;
        bars.push_back({QString::fromLatin1(key), share, level, Kind::Loss});
        level -= share;
    };
    // That there is none is an answer where a plan is known; of somebody else's trace it would say more than is known.
    const bool told = metrics.source != TraceSource::Imported;
    lose("bubble", shareNamed(metrics, "bubble").value_or(0), told || metrics.bubbleFraction.has_value());
    lose("exposed_comm", shareNamed(metrics, "exposed_comm").value_or(0), told);
    lose("exposed_copy", shareNamed(metrics, "exposed_copy").value_or(0), false);
    const double idle = shareNamed(metrics, "idle").value_or(0);
    const auto& parts = metrics.idleParts;
    const bool known = parts && std::max({parts->dataLoading, parts->launch, parts->synchronisation}) > kLeastIdle;
    if (known) {
        // What is left takes the rounding, so that the parts add up to the whole of it.
        const double loading = parts->dataLoading > kLeastIdle ? parts->dataLoading : 0;
        const double launch = parts->launch > kLeastIdle ? parts->launch : 0;
        const double synchronisation = parts->synchronisation > kLeastIdle ? parts->synchronisation : 0;
        const double other = idle - loading - launch - synchronisation;
        lose("idle.data_loading", loading, false);
        lose("idle.launch", launch, false);
        lose("idle.synchronisation", synchronisation, false);
        lose(metrics.hostOnly ? "between" : "idle.other", std::abs(other) < 1e-12 ? 0 : other, false);
    } else {
        lose(metrics.hostOnly ? "between" : "idle", idle, true);
    }
    if (const auto compute = shareNamed(metrics, "compute")) {
        bars.push_back({metrics.hostOnly ? QStringLiteral("operators") : QStringLiteral("compute"), *compute, *compute,
                        Kind::Rest});
        return bars;
    }
    lose("other_compute", shareNamed(metrics, "other_compute").value_or(0), false);
    lose("memory_bound", shareNamed(metrics, "memory_bound").value_or(0), false);
    lose("inefficiency", shareNamed(metrics, "inefficiency").value_or(0), false);
    lose("recompute", shareNamed(metrics, "recompute").value_or(0), false);
    const double achieved = shareNamed(metrics, "achieved").value_or(0);
    bars.push_back({QStringLiteral("achieved"), achieved, achieved, Kind::Rest});
    return bars;
}

QString waterfallName(const QString& key)
{
    const std::pair<const char*, QString> names[] = {{"whole", WaterfallPlot::tr("peak")},
                                                     {"step", WaterfallPlot::tr("step")},
                                                     {"between", WaterfallPlot::tr("between operators")},
                                                     {"operators", WaterfallPlot::tr("operators")},
                                                     {"bubble", WaterfallPlot::tr("bubble")},
                                                     {"exposed_comm", WaterfallPlot::tr("exposed comm")},
                                                     {"exposed_copy", WaterfallPlot::tr("exposed copy")},
                                                     {"idle", WaterfallPlot::tr("idle")},
                                                     {"idle.data_loading", WaterfallPlot::tr("data loading")},
                                                     {"idle.launch", WaterfallPlot::tr("launch")},
                                                     {"idle.synchronisation", WaterfallPlot::tr("synchronise")},
                                                     {"idle.other", WaterfallPlot::tr("other idle")},
                                                     {"memory_bound", WaterfallPlot::tr("memory-bound")},
                                                     {"inefficiency", WaterfallPlot::tr("inefficiency")},
                                                     {"recompute", WaterfallPlot::tr("recompute")},
                                                     {"achieved", WaterfallPlot::tr("achieved")},
                                                     {"other_compute", WaterfallPlot::tr("other compute")},
                                                     {"compute", WaterfallPlot::tr("compute")}};
    for (const auto& [known, name] : names)
        if (key == QLatin1String(known)) return name;
    return key;
}

QString waterfallMeaning(const QString& key)
{
    const std::pair<const char*, QString> meanings[] = {
        {"whole", WaterfallPlot::tr("All the time that the ranks have in one step; at peak FLOP/s this is 100 %.")},
        {"step", WaterfallPlot::tr(
                     "All the time that the ranks have in one step, or in the whole trace where it marks no steps.")},
        {"operators", WaterfallPlot::tr("Operators on the processor. No work of a device is in the trace.")},
        {"between", WaterfallPlot::tr("The program's own time: no operator runs, and no device was recorded.")},
        {"bubble",
         WaterfallPlot::tr("A pipeline stage waits for its neighbours, or is empty at the begin and end of the step.")},
        {"exposed_comm", WaterfallPlot::tr("Transfers, and waiting in collectives, that no computation hides.")},
        {"exposed_copy", WaterfallPlot::tr("Copies between host and device that nothing hides.")},
        {"idle", WaterfallPlot::tr("Nothing runs on the device, for none of the other reasons.")},
        {"idle.data_loading", WaterfallPlot::tr("Idle: waiting for the next samples.")},
        {"idle.launch", WaterfallPlot::tr("Idle: the host does not launch kernels quickly enough.")},
        {"idle.synchronisation", WaterfallPlot::tr("Idle: the host waits for the device, or ranks for one another.")},
        {"idle.other", WaterfallPlot::tr("Idle for reasons that the trace does not tell.")},
        {"memory_bound",
         WaterfallPlot::tr("Kernels whose bytes take longer than their FLOPs: compute time beyond FLOPs / peak.")},
        {"inefficiency", WaterfallPlot::tr("Compute-bound kernels: their time beyond FLOPs / peak.")},
        {"recompute",
         WaterfallPlot::tr(
             "FLOPs done again in the backward pass instead of keeping activations: FLOPs / (peak × time).")},
        {"achieved", WaterfallPlot::tr("Model FLOP/s utilisation: model FLOPs / (peak × devices × step time).")},
        {"other_compute",
         WaterfallPlot::tr("Kernels of which neither FLOPs nor bytes are known: what they could reach is unknown.")},
        {"compute",
         WaterfallPlot::tr(
             "Time in which something is computed. FLOPs or the peak are unknown, so it cannot be taken apart.")}};
    for (const auto& [known, meaning] : meanings)
        if (key == QLatin1String(known)) return meaning;
    return {};
}

WaterfallPlot::WaterfallPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void WaterfallPlot::setBars(std::vector<WaterfallBar> bars, std::optional<Duration> stepTime,
                            std::vector<WaterfallBar> ghost)
{
    m_bars = std::move(bars);
    m_ghost = std::move(ghost);
    m_stepTime = stepTime;
    m_hovered = -1;
    QStringList spoken;
    for (const WaterfallBar& bar : m_bars)
        spoken << waterfallName(bar.key) + QLatin1Char(' ') + formatPercent(bar.share);
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
        return metrics.horizontalAdvance(waterfallName(bar.key)) > slot() + 4;
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
            const double level = bar.kind == WaterfallBar::Kind::Whole ? bar.top : bar.top - bar.share;
            const double y = std::round(levelY(level)) + 0.5;
            painter.setPen(t.secondaryText);
            painter.drawLine(QPointF(box.right(), y), QPointF(boxOf(i + 1).left(), y));
        }
        double figureBottom = box.top(); // above the ghost's edges, too, where they would cross it
        for (const WaterfallBar& ghost : m_ghost) {
            if (ghost.key != bar.key || bar.kind == WaterfallBar::Kind::Whole) continue;
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
        QStringList lines{waterfallName(bar.key)};
        if (painter.fontMetrics().horizontalAdvance(lines.first()) > name.width()) {
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
    if (event->button() == Qt::LeftButton && bar >= 0) emit barClicked(m_bars[static_cast<std::size_t>(bar)].key);
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
    update();
}

void WaterfallPlot::keyPressEvent(QKeyEvent* event)
{
    const int last = static_cast<int>(m_bars.size()) - 1;
    if (last >= 0 && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)) {
        m_hovered = std::clamp(m_hovered + (event->key() == Qt::Key_Right ? 1 : -1), 0, last);
        update();
    } else if (m_hovered >= 0 && m_hovered <= last &&
               (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        emit barClicked(m_bars[static_cast<std::size_t>(m_hovered)].key);
    } else {
        QWidget::keyPressEvent(event);
    }
}

QString WaterfallPlot::toolTipOf(std::size_t index) const
{
    const WaterfallBar& bar = m_bars[index];
    QString text = waterfallName(bar.key) + QStringLiteral(": ") + formatPercent(bar.share, 2);
    for (const WaterfallBar& ghost : m_ghost)
        if (ghost.key == bar.key && bar.kind != WaterfallBar::Kind::Whole)
            text += QStringLiteral(" · ") + tr("predicted %1").arg(formatPercent(ghost.share, 2));
    return text + QLatin1Char('\n') + waterfallMeaning(bar.key);
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
