// SPDX-License-Identifier: GPL-3.0-or-later
// What lies around and over the timeline's bars: row names, time axis, selection, pointer, measured range, arrows.
#include "views/timeline/axis_marks.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kLowestLabel = 12;
constexpr int kIndent = 18;
constexpr int kPinSize = 14;
constexpr int kWidestHover = 460;
constexpr int kNoteHeight = 16;
constexpr int kNarrowestNote = 30, kWidestNote = 180;
constexpr int kAreaJoin = 8;     ///< rows so near are one piece of an area
constexpr int kAreaCaption = 34; ///< height of its caption with the gap below

/// A small closed or open triangle in front of a rank's name.
void paintTriangle(QPainter& painter, QPointF centre, bool open, const QColor& colour)
{
    QPainterPath path;
    if (open) {
        path.moveTo(centre + QPointF(-3.5, -2));
        path.lineTo(centre + QPointF(3.5, -2));
        path.lineTo(centre + QPointF(0, 2.5));
    } else {
        path.moveTo(centre + QPointF(-2, -3.5));
        path.lineTo(centre + QPointF(2.5, 0));
        path.lineTo(centre + QPointF(-2, 3.5));
    }
    path.closeSubpath();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillPath(path, colour);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintPin(QPainter& painter, const QRectF& rect, bool pinned, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF c = rect.center();
    painter.setPen(QPen(pinned ? theme.accent : theme.secondaryText, 1.2));
    painter.setBrush(pinned ? QBrush(theme.accent) : QBrush(Qt::NoBrush));
    painter.drawEllipse(c + QPointF(0, -2), 3, 3);
    painter.drawLine(c + QPointF(0, 1), c + QPointF(0, 5));
    painter.restore();
}

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

/// What stands on the axis for a note.
struct NoteLabel {
    int left = 0, flag = 0; ///< where its flag begins, and how wide that is
    QRect place;            ///< of the text
    QString text;           ///< empty: there is no room for one
    int right() const { return text.isEmpty() ? left + flag : place.right(); }
};

/// Absent where the note does not begin in view. The text goes as far as the next flag. notes: by begin.
std::optional<NoteLabel> noteLabelOf(const std::vector<TimelineNote>& notes, std::size_t index,
                                     const TimeCamera& camera, const QRect& plot, const QFontMetrics& metrics)
{
    const TimelineNote& note = notes[index];
    const double x = camera.xOf(note.range.begin);
    if (x < 0 || x > plot.width()) return std::nullopt;
    NoteLabel label;
    label.left = plot.left() + static_cast<int>(x);
    label.flag = note.number ? kMarkFlag : kNoteFlag;
    const double next = index + 1 < notes.size() ? camera.xOf(notes[index + 1].range.begin) : plot.width();
    const int room = std::min(
        {kWidestNote, static_cast<int>(next - x) - label.flag - 10, plot.right() - label.left - label.flag - 8});
    if (room < kNarrowestNote) return label;
    label.text = metrics.elidedText(note.text, Qt::ElideRight, room);
    label.place = QRect(label.left + label.flag + 3, plot.top() - kNoteHeight - 2,
                        metrics.horizontalAdvance(label.text) + 4, metrics.height());
    return label;
}

} // namespace

void TimelineCanvas::paintAxis(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    const QRect axis(plot.left(), 0, plot.width(), plot.top());
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics metrics(painter.font());
    // The pointer's own time takes precedence over marks that it would cover.
    QRect taken;
    if (m_cursor) {
        const int x = plot.left() + static_cast<int>(std::lround(m_camera.xOf(*m_cursor)));
        if (x >= plot.left() && x <= plot.right()) {
            const QString text =
                formatAxisTime(*m_cursor - (m_zero - Instant{}),
                               Duration{std::max<std::int64_t>(1, static_cast<std::int64_t>(m_camera.nsPerPixel()))});
            const int width = metrics.horizontalAdvance(text) + 14;
            taken = QRect(std::clamp(x - width / 2, plot.left(), std::max(plot.left(), plot.right() - width)), 4, width,
                          axis.height() - 9);
            painter.save();
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.raised);
            painter.drawRoundedRect(taken, 5, 5);
            painter.restore();
            painter.setPen(theme.text);
            painter.drawText(taken, Qt::AlignCenter, text);
        }
    }
    std::vector<NoteLabel> flags; // numbers do not stand under them
    for (std::size_t i = 0; i < m_notes.size(); ++i)
        if (const auto label = noteLabelOf(m_notes, i, m_camera, plot, metrics)) flags.push_back(*label);
    for (const auto& tick : m_ticks.ticks) {
        const double x = m_camera.xOf(tick.at);
        if (x < 0 || x > plot.width()) continue;
        const int at = plot.left() + static_cast<int>(std::lround(x));
        painter.setPen(theme.line);
        painter.drawLine(at, axis.bottom() - (tick.major ? 6 : 3), at, axis.bottom());
        if (!tick.major) continue;
        const int width = metrics.horizontalAdvance(tick.text);
        const int left = std::clamp(at - width / 2, plot.left(), std::max(plot.left(), plot.right() - width));
        const QRect place(left, 4, width + 1, axis.height() - 9);
        if (!taken.isNull() && place.adjusted(-6, 0, 6, 0).intersects(taken)) continue;
        const auto covers = [&](const NoteLabel& label) {
            return label.left < place.right() && place.left() < label.right();
        };
        if (std::ranges::any_of(flags, covers)) continue;
        painter.setPen(theme.secondaryText);
        painter.drawText(place, Qt::AlignCenter, tick.text);
    }
    painter.setPen(theme.line);
    painter.drawLine(0, axis.bottom(), width(), axis.bottom());
}

void TimelineCanvas::paintEvents(QPainter& painter) const
{
    if (m_events.empty()) return;
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    int free = -1; // marks of one pixel column are one mark
    for (const auto& event : m_events) {
        const double x = m_camera.xOf(event.at);
        if (x < 0 || x > plot.width() || static_cast<int>(x) < free) continue;
        free = static_cast<int>(x) + 2;
        paintEventMark(painter, QPointF(plot.left() + x, plot.top()), event.kind, theme);
    }
    painter.restore();
}

void TimelineCanvas::paintNotes(QPainter& painter) const
{
    if (m_notes.empty()) return;
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    painter.save();
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics metrics(painter.font());
    for (std::size_t i = 0; i < m_notes.size(); ++i) {
        const TimelineNote& note = m_notes[i];
        const double x = m_camera.xOf(note.range.begin), end = m_camera.xOf(note.range.end);
        if (end < 0 || x > plot.width()) continue;
        const int left = plot.left() + static_cast<int>(std::clamp(x, 0.0, plot.width() * 1.0)),
                  right = plot.left() + static_cast<int>(std::clamp(end, 0.0, plot.width() * 1.0));
        painter.fillRect(QRect(left, plot.top() - 3, std::max(2, right - left), 3), theme.accent);
        const auto label = noteLabelOf(m_notes, i, m_camera, plot, metrics);
        if (!label) continue;
        const int top = plot.top() - kNoteHeight;
        painter.fillRect(QRect(left, top, 1, kNoteHeight), theme.accent);
        painter.fillRect(QRect(left, top, label->flag, note.number ? kNoteHeight - 3 : kNoteFlag - 2), theme.accent);
        if (note.number) {
            painter.setPen(theme.card);
            painter.drawText(QRect(left, top, label->flag, kNoteHeight - 3), Qt::AlignCenter,
                             QString::number(*note.number));
        }
        QPen pen(theme.accent, 1, Qt::CustomDashLine);
        pen.setDashPattern({2, 3});
        painter.setPen(pen);
        painter.drawLine(left, plot.top(), left, plot.bottom());
        if (label->text.isEmpty()) continue;
        const QRect marks(label->place.left(), 2, label->place.width(), plot.top() - 5); // of the axis
        painter.fillRect(marks, theme.card);
        painter.setPen(theme.accent);
        painter.drawText(label->place, Qt::AlignLeft | Qt::AlignVCenter, label->text);
    }
    painter.restore();
}

QRect TimelineCanvas::labelRect(const TimelineRow& row) const
{
    const QRect plot = plotRect();
    return {0, plot.top() + TimelineRenderer::topOf(row, m_layout, m_scroll), plot.left() - 8, row.height};
}

void TimelineCanvas::paintLabels(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    painter.save();
    if (m_layout.pinnedHeight > 0) {
        painter.setClipRect(0, plot.top(), plot.left(), m_layout.pinnedHeight);
        for (const auto& row : m_layout.pinned) paintLabel(painter, row, labelRect(row));
    }
    painter.setClipRect(0, plot.top() + m_layout.pinnedHeight, plot.left(), plot.height() - m_layout.pinnedHeight);
    const int lines = plot.height() - m_layout.pinnedHeight;
    int free = -1000; // below the last name: flat rows leave names away that would touch
    for (const auto& row : m_layout.visible(m_scroll, m_scroll + lines)) {
        const QRect rect = labelRect(row);
        if (row.startsGroup) {
            painter.setPen(theme.line);
            painter.drawLine(0, rect.top() - 2, plot.left(), rect.top() - 2);
        }
        if (row.height < kLowestLabel) {
            if (rect.top() < free) continue;
            free = rect.top() + kLowestLabel + 2;
        }
        paintLabel(painter, row, rect);
    }
    painter.setClipping(false);
    painter.setPen(theme.line);
    if (m_layout.pinnedHeight > 0)
        painter.drawLine(0, plot.top() + m_layout.pinnedHeight, plot.left(), plot.top() + m_layout.pinnedHeight);
    painter.restore();
}

void TimelineCanvas::paintLabel(QPainter& painter, const TimelineRow& row, const QRect& rect) const
{
    const Theme& theme = currentTheme();
    const bool hovered = m_hover.row == &row && m_hover.onLabel;
    if (hovered) painter.fillRect(rect.adjusted(4, 1, 4, -1), theme.hover);
    QFont font = fontOf(TextRole::Small);
    QString text;
    const int firstLane = row.kind == TimelineRow::Kind::Head
                              ? row.height
                              : std::min(row.height, std::max(kLowestLabel + 2, row.laneHeight + 4));
    QRect place(rect.left() + kIndent, rect.top(), rect.width() - kIndent, firstLane);
    if (row.kind == TimelineRow::Kind::Track) {
        text = rowName(row);
        const bool byStream = m_arrangement.order == RowOrder::ByStream;
        if (row.pinned || byStream) text = tr("r%1 \u00b7 %2", "rank and track, short").arg(row.rank.value).arg(text);
        painter.setPen(theme.secondaryText);
        if (hovered || row.pinned) {
            paintPin(painter, QRectF(place.right() - kPinSize + 2, place.top() + 2, kPinSize, place.height() - 3),
                     row.pinned, theme);
            place.setRight(place.right() - kPinSize);
        }
    } else if (row.kind == TimelineRow::Kind::Counter) {
        text = rowName(row);
        place.setHeight(row.height);
        painter.setPen(theme.secondaryText);
    } else {
        const bool open = row.kind == TimelineRow::Kind::Head;
        if (row.height >= kLowestLabel) {
            paintTriangle(painter, QPointF(rect.left() + 10, place.center().y() + 1), open, theme.secondaryText);
        } else {
            place.setHeight(kLowestLabel);
        }
        text = rowName(row);
        if (open) font.setWeight(QFont::Bold);
        painter.setPen(open ? theme.text : theme.secondaryText);
    }
    painter.setFont(font);
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(font).elidedText(text, Qt::ElideMiddle, place.width()));
}

void TimelineCanvas::paintCounters(QPainter& painter) const
{
    const QRect plot = plotRect();
    const int lines = plot.height() - m_layout.pinnedHeight;
    painter.save();
    painter.setClipRect(plot.adjusted(0, m_layout.pinnedHeight, 0, 0));
    for (const auto& row : m_layout.visible(m_scroll, m_scroll + lines)) {
        if (row.kind != TimelineRow::Kind::Counter) continue;
        const int top = plot.top() + TimelineRenderer::topOf(row, m_layout, m_scroll);
        m_counters->paint(painter, row.counter, QRect(plot.left(), top, plot.width(), row.height), m_camera,
                          currentTheme());
    }
    painter.restore();
}

QRect TimelineCanvas::sliceRect(const SliceView& slice) const
{
    const QRect lane = laneRect(slice.track, slice.lane);
    if (lane.isNull()) return {};
    const double left = std::clamp(m_camera.xOf(slice.start), -10.0, lane.width() + 10.0);
    const double right = std::clamp(m_camera.xOf(slice.end()), -10.0, lane.width() + 10.0);
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
    paintSlack(painter);
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
    if (m_hover.lanehit.slice && m_drag == Drag::None && !m_hover.onLabel) {
        const QRect bar = sliceRect(*m_hover.lanehit.slice);
        if (!bar.isNull() && !(m_selected && m_selected->slice.id == m_hover.lanehit.slice->id)) {
            painter.setPen(QPen(theme.text, 1));
            painter.drawRect(bar.adjusted(-1, -1, 0, 0));
        }
    }
    painter.setClipRect(all);
    if (m_cursor) {
        const double x = m_camera.xOf(*m_cursor);
        if (x >= 0 && x <= plot.width()) {
            QPen pen(theme.text, 1, Qt::CustomDashLine);
            pen.setDashPattern({2, 3});
            painter.setPen(pen);
            const int at = plot.left() + static_cast<int>(std::lround(x));
            painter.drawLine(at, all.top(), at, all.bottom());
        }
    }
    paintHover(painter);
    painter.restore();
}

void TimelineCanvas::paintArea(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    const double from = std::clamp(m_camera.xOf(m_area->begin), -2.0, plot.width() + 2.0);
    const double to = std::clamp(m_camera.xOf(m_area->end), -2.0, plot.width() + 2.0);
    if (to < 0 || from > plot.width()) return;
    const double left = plot.left() + from, width = std::max(1.0, to - from);
    // The rows that belong to it, neighbours as one piece; all of the height where all do.
    const bool all = m_areaTracks == shownTracks();
    std::vector<QRectF> pieces;
    if (all) {
        pieces.emplace_back(left, plot.top(), width, plot.height() + m_prediction->height() + m_stripHeight);
    } else {
        for (const auto* section : {&m_layout.pinned, &m_layout.rows})
            for (const auto& row : *section) {
                std::vector<TrackId> tracks;
                addTracksOf(row, false, tracks);
                if (tracks.empty() || !std::binary_search(m_areaTracks.begin(), m_areaTracks.end(), tracks.front()))
                    continue;
                const int least = plot.top() + (row.pinned ? 0 : m_layout.pinnedHeight);
                const int begin = plot.top() + TimelineRenderer::topOf(row, m_layout, m_scroll);
                const int top = std::max(least, begin), bottom = std::min(plot.bottom() + 1, begin + row.height);
                if (bottom <= top) continue;
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
            const TimelineRow* row = m_layout.rowOf(track);
            const bool above = row && TimelineRenderer::topOf(*row, m_layout, m_scroll) < m_layout.pinnedHeight;
            return static_cast<double>(above ? plot.top() + m_layout.pinnedHeight : plot.bottom());
        };
        const auto xOf = [&](Instant at) {
            return plot.left() + std::clamp(m_camera.xOf(at), -4000.0, plot.width() + 4000.0);
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
    if (!m_pointer || m_drag != Drag::None) return;
    const QStringList lines = hoverLines();
    if (lines.isEmpty()) return;
    painter.setClipRect(rect());
    paintCaption(painter, m_pointer->toPoint() + QPoint(14, 18), lines, rect(), currentTheme());
}

} // namespace fourwalls::views
