// SPDX-License-Identifier: GPL-3.0-or-later
// See hop_plot.h.
#include "views/communication/hop_plot.h"

#include "views/plot/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <QTimer>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace fourwalls::views {

namespace {
constexpr int kTickMs = 16;
constexpr double kRoundMs = 1100; ///< one round on the screen
constexpr int kMostBuffers = 16;  ///< members whose buffers are drawn
constexpr double kNode = 15;
} // namespace

HopPlot::HopPlot(QWidget* parent) : QWidget(parent), m_timer(new QTimer(this))
{
    m_timer->setInterval(kTickMs);
    connect(m_timer, &QTimer::timeout, this, [this] { advance(kTickMs / kRoundMs); });
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void HopPlot::setSchedule(std::shared_ptr<const HopSchedule> schedule)
{
    setPlaying(false);
    m_schedule = std::move(schedule);
    m_position = 0;
    // A picture says more in the middle of a round than before the first one.
    if (rounds() > 0) m_position = 0.5;
    emit positionChanged(m_position);
    update();
}

void HopPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    update();
}

int HopPlot::rounds() const
{
    return m_schedule ? m_schedule->rounds : 0;
}

bool HopPlot::isPlaying() const
{
    return m_timer->isActive();
}

void HopPlot::setPosition(double position)
{
    position = std::clamp(position, 0.0, static_cast<double>(rounds()));
    if (position == m_position) return;
    m_position = position;
    emit positionChanged(m_position);
    update();
}

void HopPlot::advance(double by)
{
    setPosition(m_position + by);
    if (m_position >= rounds()) setPlaying(false);
}

void HopPlot::setPlaying(bool playing)
{
    if (playing == isPlaying() || (playing && rounds() == 0)) return;
    if (playing && m_position >= rounds()) setPosition(0);
    if (playing)
        m_timer->start();
    else
        m_timer->stop();
    emit playingChanged(playing);
}

void HopPlot::hideEvent(QHideEvent* event)
{
    setPlaying(false);
    QWidget::hideEvent(event);
}

QPointF HopPlot::placeOf(int member) const
{
    const double n = static_cast<double>(m_schedule->members.size());
    const bool buffers = n <= kMostBuffers;
    // Two stand side by side, so that the text has room above them.
    const double angle = 2 * std::numbers::pi * (member / n) - (n == 2 ? std::numbers::pi : std::numbers::pi / 2);
    const double rx = width() / 2.0 - (buffers ? 78 : 26), ry = height() / 2.0 - (buffers ? 46 : 26);
    // An ellipse uses the card's width, but not so flat that it stops being a ring.
    const double wide = std::min(rx, std::max(ry * 1.9, 60.0));
    return {width() / 2.0 + std::max(30.0, wide) * std::cos(angle),
            height() / 2.0 + std::max(30.0, ry) * std::sin(angle)};
}

void HopPlot::paintBuffer(QPainter& painter, int member, const std::vector<std::uint64_t>& parts) const
{
    const Theme& t = currentTheme();
    const auto n = static_cast<int>(parts.size());
    const QPointF at = placeOf(member);
    const double width = std::min(124.0, std::max(64.0, n * 14.0)), height = 14;
    // Outside of the ring: above the upper members, below the lower ones.
    const bool above = at.y() < this->height() / 2.0 - 4;
    const QRectF bar(std::clamp(at.x() - width / 2, 2.0, this->width() - width - 2.0),
                     above ? at.y() - kNode - height - 5 : at.y() + kNode + 5, width, height);
    const bool reduces =
        m_schedule->operation == CollectiveOp::AllReduce || m_schedule->operation == CollectiveOp::ReduceScatter;
    for (int part = 0; part < n; ++part) {
        const QRectF cell(bar.left() + part * width / n, bar.top(), width / n - 1, height);
        const int held = std::popcount(parts[static_cast<std::size_t>(part)]);
        // Even one contribution is to be seen.
        const double share = reduces ? (held == n ? 1.0 : 0.15 + 0.8 * held / n) : held > 0 ? 1.0 : 0.0;
        painter.fillRect(cell, t.raised);
        QColor fill = t.communication;
        fill.setAlphaF(reduces && held < n ? 0.5F : 1.0F);
        painter.fillRect(
            QRectF(cell.left(), cell.bottom() - cell.height() * share, cell.width(), cell.height() * share), fill);
        painter.setPen(QPen(t.line, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(cell);
    }
}

void HopPlot::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(fontOf(TextRole::Small));
    if (!m_schedule || m_schedule->hops.empty()) {
        painter.setPen(t.secondaryText);
        painter.setFont(fontOf(TextRole::Body));
        painter.drawText(
            rect(), Qt::AlignCenter | Qt::TextWordWrap,
            m_schedule
                ? tr("This operation is not made of hops:\na message between two, or more members than can be drawn.")
                : tr("Choose an operation to see its hops."));
        return;
    }
    const int round = shownRound();
    paintMembers(painter);
    paintMessages(painter, round);
    paintRound(painter, round);
}

void HopPlot::paintMembers(QPainter& painter)
{
    const Theme& t = currentTheme();
    const HopSchedule& schedule = *m_schedule;
    const auto n = static_cast<int>(schedule.members.size());
    const auto held = schedule.contributions(static_cast<int>(m_position));
    // All ways that the algorithm uses, faintly; the members on top.
    painter.setPen(QPen(t.line, 1));
    for (const ScheduledHop& hop : schedule.hops) painter.drawLine(placeOf(hop.from), placeOf(hop.to));
    for (int member = 0; member < n; ++member) {
        const QPointF at = placeOf(member);
        const double radius = n <= kMostBuffers ? kNode : 9;
        painter.setPen(QPen(t.secondaryText, 1.2));
        painter.setBrush(t.card);
        painter.drawEllipse(at, radius, radius);
        painter.setPen(t.text);
        painter.drawText(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius), Qt::AlignCenter,
                         QString::number(schedule.members[static_cast<std::size_t>(member)].value));
        if (n <= kMostBuffers) paintBuffer(painter, member, held[static_cast<std::size_t>(member)]);
    }
}

void HopPlot::paintMessages(QPainter& painter, int round)
{
    const Theme& t = currentTheme();
    const HopSchedule& schedule = *m_schedule;
    const auto n = static_cast<int>(schedule.members.size());
    const double progress = std::clamp(m_position - round, 0.0, 1.0);
    int inRound = 0;
    for (const ScheduledHop& hop : schedule.hops) inRound += hop.round == round ? 1 : 0;
    for (const ScheduledHop& hop : schedule.hops) {
        if (hop.round != round || m_position >= schedule.rounds) continue;
        const QPointF from = placeOf(hop.from), to = placeOf(hop.to);
        const double length = std::max(1.0, std::hypot(to.x() - from.x(), to.y() - from.y()));
        const QPointF unit = (to - from) / length;
        const QPointF start = from + unit * (kNode + 2), end = to - unit * (kNode + 4);
        const QPointF side(-unit.y(), unit.x());
        painter.setPen(QPen(t.communication, 2));
        painter.drawLine(start, end);
        painter.setBrush(t.communication);
        painter.drawPolygon(QPolygonF({end, end - unit * 8 + side * 4, end - unit * 8 - side * 4}));
        const QPointF at = start + (end - start) * progress;
        const QString label = hop.parts == n   ? tr("all")
                              : hop.parts == 1 ? QString::number(hop.firstPart + 1)
                                               : QStringLiteral("×%1").arg(hop.parts);
        const bool named = inRound <= 64;
        const double w = named ? std::max(18.0, painter.fontMetrics().horizontalAdvance(label) + 10.0) : 8,
                     h = named ? 16 : 8;
        const QRectF packet(at.x() - w / 2, at.y() - h / 2, w, h);
        painter.setPen(QPen(t.card, 1));
        painter.setBrush(t.communication);
        painter.drawRoundedRect(packet, 4, 4);
        if (named) {
            painter.setPen(textOn(t.communication));
            painter.drawText(packet, Qt::AlignCenter, label);
        }
    }
}

/// The round and its times in the middle.
int HopPlot::shownRound() const
{
    return std::min(static_cast<int>(m_position), rounds() - 1);
}

QStringList HopPlot::roundLines(int round) const
{
    const HopSchedule& schedule = *m_schedule;
    double bytes = 0;
    Duration shortest{INT64_MAX}, longest;
    bool timed = false, reduce = false;
    for (const ScheduledHop& hop : schedule.hops)
        if (hop.round == round) {
            bytes = std::max(bytes, hop.bytes);
            reduce = hop.reduce;
            if (hop.recorded) {
                timed = true;
                shortest = std::min(shortest, hop.recorded->length());
                longest = std::max(longest, hop.recorded->length());
            }
        }
    QStringList lines;
    if (m_position >= schedule.rounds)
        lines << tr("done after %1 rounds").arg(schedule.rounds);
    else
        lines << tr("round %1 of %2").arg(round + 1).arg(schedule.rounds);
    lines << tr("%1 each, %2")
                 .arg(formatBytes(bytes, m_unit),
                      reduce ? tr("added to the receiver's") : tr("replaces the receiver's"));
    if (timed)
        lines << (longest.ns - shortest.ns > 0
                      ? tr("recorded %1 to %2").arg(formatDuration(shortest, 3), formatDuration(longest, 3))
                      : tr("recorded %1").arg(formatDuration(longest, 3)));
    else
        lines << tr("modelled schedule");
    return lines;
}

void HopPlot::paintRound(QPainter& painter, int round)
{
    const Theme& t = currentTheme();
    const auto n = static_cast<int>(m_schedule->members.size());
    const QStringList lines = roundLines(round);
    double y = std::max(0.0, height() / 2.0 - (n == 2 ? 100 : 10 * static_cast<double>(lines.size())));
    for (int i = 0; i < lines.size(); ++i) {
        painter.setFont(fontOf(i == 0 ? TextRole::Title : TextRole::Small));
        const double w = painter.fontMetrics().horizontalAdvance(lines[i]) + 10;
        QColor back = t.card;
        back.setAlpha(225);
        painter.fillRect(QRectF(width() / 2.0 - w / 2, y, w, 18), back);
        painter.setPen(i == 0 ? t.text : t.secondaryText);
        painter.drawText(QRectF(0, y, width(), 18), Qt::AlignCenter, lines[i]);
        y += 19;
    }
}

} // namespace fourwalls::views
