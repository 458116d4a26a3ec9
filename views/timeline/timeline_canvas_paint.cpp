// SPDX-License-Identifier: GPL-3.0-or-later
// What lies over the timeline's bars: selection, slack, pointer, measured area, arrows, counters.
#include "views/timeline/counter_curves.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/slack_overlay.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kWidestHover = 460;
constexpr int kAreaJoin = 8;     ///< rows so near are one piece of an area
constexpr int kAreaCaption = 34; ///< height of its caption with the gap below

/// A text on a card that never leaves `bounds`.
void paintCaption(QPainter& painter, QPoint at, const QStringList& lines, const QRect& bounds, const Theme& theme)
{
    const QFont body = fontOf(TextRole::Small);
    QFont bold = body;
    bold.setWeight(QFont::Bold);
    const QFontMetrics metrics(body), boldMetrics(bold);
    const int longest = std::min(kWidestHover, bounds.width() - 24);
    QStringList shown;
    int width = 0;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const QFontMetrics& used = i == 0 ? boldMetrics : metrics;
        shown.append(used.elidedText(lines[i], Qt::ElideRight, longest));
        width = std::max(width, used.horizontalAdvance(shown.back()));
    }
    const int lineHeight = metrics.height() + 2;
    QRect card(at, QSize(width + 18, static_cast<int>(shown.size()) * lineHeight + 12));
    if (card.right() > bounds.right()) card.moveRight(std::max(bounds.left() + card.width() - 1, at.x() - 28));
    if (card.bottom() > bounds.bottom()) card.moveBottom(std::max(bounds.top() + card.height() - 1, at.y() - 34));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.line);
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(QRectF(card).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    int y = card.top() + 6;
    for (qsizetype i = 0; i < shown.size(); ++i, y += lineHeight) {
        painter.setFont(i == 0 ? bold : body);
        painter.setPen(i == 0 ? theme.text : theme.secondaryText);
        painter.drawText(QRect(card.left() + 9, y, width + 2, lineHeight), Qt::AlignLeft | Qt::AlignVCenter, shown[i]);
    }
    painter.restore();
}

} // namespace

void TimelineCanvas::paintCounters(QPainter& painter) const
{
    const QRect plot = plotRect();
    painter.save();
    painter.setClipRect(plot.adjusted(0, m_rows.layout().pinnedHeight, 0, 0));
    for (const auto& row : m_rows.visible()) {
        if (row.kind != TimelineRow::Kind::Counter) continue;
        const QRect place(plot.left(), plot.top() + m_rows.topOf(row), plot.width(), row.height);
        m_counters->paint(painter, row.counter, place, camera(), currentTheme());
    }
    painter.restore();
}

QRect TimelineCanvas::sliceRect(const SliceView& slice) const
{
    const QRect lane = laneRect(slice.track, slice.lane);
    if (lane.isNull()) return {};
    const double left = std::clamp(camera().xOf(slice.start), -10.0, lane.width() + 10.0);
    const double right = std::clamp(camera().xOf(slice.end()), -10.0, lane.width() + 10.0);
    const int x0 = static_cast<int>(std::lround(left)), x1 = std::max(x0 + 1, static_cast<int>(std::lround(right)));
    return {lane.left() + x0, lane.top(), x1 - x0, lane.height()};
}

void TimelineCanvas::paintOverlays(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    const QRect all = plot.united(predictionRect()).united(stripRect());
    painter.save();
    painter.setClipRect(all);
    if (m_area) paintArea(painter);
    painter.setClipRect(plot);
    if (m_slack)
        paintSlack(painter, *m_slack, range(), [this](TrackId track, int lane) { return laneRect(track, lane); });
    if (m_selected) {
        const QRect bar = sliceRect(m_selected->slice);
        if (!bar.isNull()) {
            painter.setPen(QPen(theme.card, 1));
            painter.drawRect(bar.adjusted(-1, -1, 0, 0));
            painter.setPen(QPen(theme.text, 2));
            painter.drawRect(bar.adjusted(-2, -2, 2, 2));
        }
        paintArrows(painter);
    }
    if (m_hover.lanehit.slice && drag() == Drag::None && !m_labels->isDragging() && !m_hover.onLabel) {
        const QRect bar = sliceRect(*m_hover.lanehit.slice);
        if (!bar.isNull() && !(m_selected && m_selected->slice.id == m_hover.lanehit.slice->id)) {
            painter.setPen(QPen(theme.text, 1));
            painter.drawRect(bar.adjusted(-1, -1, 0, 0));
        }
    }
    painter.setClipRect(all);
    paintCursor(painter, all);
    paintHover(painter);
    painter.restore();
}

void TimelineCanvas::paintCursor(QPainter& painter, const QRect& over) const
{
    const std::optional<Instant> cursor = selection() ? selection()->cursor() : std::nullopt;
    const QRect plot = plotRect();
    const double x = cursor ? camera().xOf(*cursor) : -1;
    if (x < 0 || x > plot.width()) return;
    QPen pen(currentTheme().text, 1, Qt::CustomDashLine);
    pen.setDashPattern({2, 3});
    painter.setPen(pen);
    const int at = plot.left() + static_cast<int>(std::lround(x));
    painter.drawLine(at, over.top(), at, over.bottom());
}

void TimelineCanvas::paintArea(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    const double from = std::clamp(camera().xOf(m_area->begin), -2.0, plot.width() + 2.0);
    const double to = std::clamp(camera().xOf(m_area->end), -2.0, plot.width() + 2.0);
    if (to < 0 || from > plot.width()) return;
    const double left = plot.left() + from, width = std::max(1.0, to - from);
    // The rows that belong to it, neighbours as one piece; all of the height where all do.
    const bool all = m_areaTracks == m_rows.shownTracks();
    std::vector<QRectF> pieces;
    if (all) {
        pieces.emplace_back(left, plot.top(), width, plot.height() + m_prediction->height() + m_stripHeight);
    } else {
        for (const TimelineRow* row : m_rows.rowsBetween(0, plot.height() - 1)) {
            const std::vector<TrackId> tracks = m_rows.tracksOf(*row);
            if (tracks.empty() || !std::binary_search(m_areaTracks.begin(), m_areaTracks.end(), tracks.front()))
                continue;
            const int begin = m_rows.topOf(*row);
            const int top = plot.top() + std::max(m_rows.firstLineOf(*row), begin);
            const int bottom = std::min(plot.bottom() + 1, plot.top() + begin + row->height);
            if (!pieces.empty() && pieces.back().bottom() >= top - kAreaJoin)
                pieces.back().setBottom(bottom);
            else
                pieces.emplace_back(left, top, width, bottom - top);
        }
    }
    painter.setPen(QPen(theme.accent, 1));
    for (const QRectF& piece : pieces) {
        painter.fillRect(piece, theme.selectionFill);
        painter.drawLine(piece.topLeft(), piece.bottomLeft());
        painter.drawLine(piece.topRight(), piece.bottomRight());
        if (all) continue;
        painter.drawLine(piece.topLeft(), piece.topRight());
        painter.drawLine(piece.bottomLeft(), piece.bottomRight());
    }
    const int lowest =
        pieces.empty() ? plot.bottom() : std::min(plot.bottom(), static_cast<int>(pieces.back().bottom()));
    paintCaption(painter, QPoint(static_cast<int>(left) + 6, lowest - kAreaCaption),
                 {tr("%1 \u00b7 %n tracks", nullptr, static_cast<int>(m_areaTracks.size()))
                      .arg(formatDuration(m_area->length()))},
                 plot, theme);
}

void TimelineCanvas::paintArrows(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    painter.setRenderHint(QPainter::Antialiasing);
    for (const SliceArrow& arrow : m_arrows) {
        const FlowRecord& flow = arrow.flow;
        const QRect fromLane = laneRect(flow.fromTrack, arrow.from ? arrow.from->slice.lane : 0),
                    toLane = laneRect(flow.toTrack, arrow.to ? arrow.to->slice.lane : 0);
        if (fromLane.isNull() && toLane.isNull()) continue;
        // An end whose row is out of view leaves through the nearer edge.
        const auto yOf = [&](const QRect& lane, TrackId track) {
            if (!lane.isNull()) return static_cast<double>(lane.center().y());
            const TimelineRow* row = m_rows.layout().rowOf(track);
            const int first = m_rows.layout().pinnedHeight;
            return static_cast<double>(row && m_rows.topOf(*row) < first ? plot.top() + first : plot.bottom());
        };
        const auto xOf = [&](Instant at) {
            return plot.left() + std::clamp(camera().xOf(at), -4000.0, plot.width() + 4000.0);
        };
        const QPointF start(xOf(flow.from), yOf(fromLane, flow.fromTrack)),
            end(xOf(flow.to), yOf(toLane, flow.toTrack));
        const double bend = std::clamp((end.x() - start.x()) / 2, 14.0, 120.0);
        QPainterPath path(start);
        path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
        // A line of the card's colour below keeps the arrow readable on bars.
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.card, 4));
        painter.drawPath(path);
        painter.setPen(QPen(theme.text, 1.5));
        painter.drawPath(path);
        QPainterPath head(end);
        head.lineTo(end + QPointF(-7, -4));
        head.lineTo(end + QPointF(-7, 4));
        head.closeSubpath();
        painter.fillPath(head, theme.text);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineCanvas::paintHover(QPainter& painter) const
{
    if (!pointer() || drag() != Drag::None || m_labels->isDragging()) return;
    const QStringList lines = hoverLines();
    if (lines.isEmpty()) return;
    painter.setClipRect(rect());
    paintCaption(painter, pointer()->toPoint() + QPoint(14, 18), lines, rect(), currentTheme());
}

} // namespace fourwalls::views
