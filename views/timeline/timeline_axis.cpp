// SPDX-License-Identifier: GPL-3.0-or-later
// See timeline_axis.h.
#include "views/timeline/timeline_axis.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kEventSize = 7; ///< of an event's mark [pixels]
constexpr int kNoteFlag = 9;  ///< of a note's flag [pixels]
constexpr int kMarkFlag = 12; ///< of one with a digit [pixels]
constexpr int kNoteHeight = 16;
constexpr int kNarrowestNote = 30, kWidestNote = 180;
constexpr int kBetweenNumbers = 8; ///< of the axis, at the least [pixels]
constexpr int kMostMarkLines = 6;

/// What stands on the axis for a note that begins in view.
struct NoteLabel {
    std::size_t note = 0;   ///< its index
    std::size_t others = 0; ///< how many behind it begin within its flag
    int left = 0, flag = 0; ///< where its flag begins, and how wide that is: 0 where the one before leaves no room
    QRect place;            ///< of the text
    QString text;           ///< empty: there is no room for one
    int right() const { return text.isEmpty() ? left + flag : place.right(); }
};

/// Flags and texts never lie over each other: a text goes as far as the next flag. A flag that would begin within the one
/// before is left out, its line is not, and the text before says how many are. notes: by begin.
std::vector<NoteLabel> noteLabels(const std::vector<TimelineNote>& notes, const TimeCamera& camera, const QRect& plot,
                                  const QFontMetrics& metrics)
{
    std::vector<NoteLabel> labels;
    int free = plot.left(); // right of the last flag
    for (std::size_t i = 0; i < notes.size(); ++i) {
        const double x = camera.xOf(notes[i].range.begin);
        if (x < 0 || x > plot.width()) continue;
        NoteLabel& label = labels.emplace_back();
        label.note = i;
        label.left = plot.left() + static_cast<int>(x);
        if (label.left < free) continue;
        label.flag = notes[i].number ? kMarkFlag : kNoteFlag;
        free = label.left + label.flag + 1;
        // Those behind it that begin within its flag stand with it.
        std::size_t next = i + 1;
        const auto placeOf = [&](std::size_t note) {
            return plot.left() + static_cast<int>(camera.xOf(notes[note].range.begin));
        };
        while (next < notes.size() && placeOf(next) < free) ++next;
        const int end = next < notes.size() ? placeOf(next) : plot.left() + plot.width();
        label.others = next - i - 1;
        const QString others = label.others > 0 ? QStringLiteral(" +%1").arg(label.others) : QString();
        const int room =
            std::min({kWidestNote, end - label.left - label.flag - 10, plot.right() - label.left - label.flag - 8}) -
            metrics.horizontalAdvance(others);
        if (room < kNarrowestNote) continue;
        label.text = metrics.elidedText(notes[i].text, Qt::ElideRight, room) + others;
        label.place = QRect(label.left + label.flag + 3, plot.top() - kNoteHeight - 2,
                            metrics.horizontalAdvance(label.text) + 4, metrics.height());
    }
    return labels;
}

} // namespace

QString eventName(EventKind kind)
{
    switch (kind) {
    case EventKind::Fault: return TimelineAxis::tr("fault");
    case EventKind::Checkpoint: return TimelineAxis::tr("checkpoint");
    case EventKind::LossSpike: return TimelineAxis::tr("loss spike");
    case EventKind::OutOfMemory: return TimelineAxis::tr("out of memory");
    case EventKind::Annotation: return TimelineAxis::tr("note");
    case EventKind::Rollback: return TimelineAxis::tr("rollback");
    }
    return {};
}

void paintEventMark(QPainter& painter, QPointF tip, EventKind kind, const Theme& theme)
{
    QColor colour = theme.information;
    if (kind == EventKind::Fault || kind == EventKind::OutOfMemory) colour = theme.error;
    if (kind == EventKind::LossSpike || kind == EventKind::Rollback) colour = theme.warning;
    QPainterPath mark(tip);
    mark.lineTo(tip + QPointF(-kEventSize / 2.0, -kEventSize));
    mark.lineTo(tip + QPointF(kEventSize / 2.0, -kEventSize));
    mark.closeSubpath();
    painter.setPen(QPen(theme.card, 1));
    painter.setBrush(colour);
    painter.drawPath(mark);
}

void TimelineAxis::layTicks(int width)
{
    m_ticks = timeTicks(m_camera.range(), m_zero, width, kTickSpacing);
}

void TimelineAxis::setNotes(std::vector<TimelineNote> notes)
{
    m_notes = std::move(notes);
    std::ranges::stable_sort(m_notes, {}, [](const TimelineNote& note) { return note.range.begin; });
}

void TimelineAxis::paint(QPainter& painter, const QRect& plot, int width, std::optional<Instant> cursor) const
{
    painter.setFont(fontOf(TextRole::Small));
    const QRect taken = cursor ? paintCursor(painter, plot, *cursor) : QRect();
    paintTicks(painter, plot, taken);
    painter.setPen(currentTheme().line);
    painter.drawLine(0, plot.top() - 1, width, plot.top() - 1);
    paintEvents(painter, plot);
    paintNotes(painter, plot, taken);
}

QRect TimelineAxis::paintCursor(QPainter& painter, const QRect& plot, Instant cursor) const
{
    const int x = plot.left() + static_cast<int>(std::lround(m_camera.xOf(cursor)));
    if (x < plot.left() || x > plot.right()) return {};
    const Theme& theme = currentTheme();
    const QString text =
        formatAxisTime(cursor - (m_zero - Instant{}),
                       Duration{std::max<std::int64_t>(1, static_cast<std::int64_t>(m_camera.nsPerPixel()))});
    const int width = painter.fontMetrics().horizontalAdvance(text) + 14;
    const QRect taken(std::clamp(x - width / 2, plot.left(), std::max(plot.left(), plot.right() - width)), 4, width,
                      plot.top() - 9);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(taken, 5, 5);
    painter.restore();
    painter.setPen(theme.text);
    painter.drawText(taken, Qt::AlignCenter, text);
    return taken;
}

void TimelineAxis::paintTicks(QPainter& painter, const QRect& plot, const QRect& taken) const
{
    const Theme& theme = currentTheme();
    const QFontMetrics metrics(painter.font());
    const int bottom = plot.top() - 1;
    const std::vector<NoteLabel> flags =
        noteLabels(m_notes, m_camera, plot, metrics); // numbers do not stand under them
    int free = plot.left();                           // right of the last number: they never touch
    for (const auto& tick : m_ticks.ticks) {
        const double x = m_camera.xOf(tick.at);
        if (x < 0 || x > plot.width()) continue;
        const int at = plot.left() + static_cast<int>(std::lround(x));
        painter.setPen(theme.line);
        painter.drawLine(at, bottom - (tick.major ? 6 : 3), at, bottom);
        if (!tick.major) continue;
        const int width = metrics.horizontalAdvance(tick.text);
        const int left = std::clamp(at - width / 2, plot.left(), std::max(plot.left(), plot.right() - width));
        const QRect place(left, 4, width + 1, plot.top() - 9);
        // The pointer's own time takes precedence over marks that it would cover.
        if (!taken.isNull() && place.adjusted(-6, 0, 6, 0).intersects(taken)) continue;
        const auto covers = [&](const NoteLabel& label) {
            return label.left < place.right() && place.left() < label.right();
        };
        if (left < free || std::ranges::any_of(flags, covers)) continue;
        free = place.right() + kBetweenNumbers;
        painter.setPen(theme.secondaryText);
        painter.drawText(place, Qt::AlignCenter, tick.text);
    }
}

void TimelineAxis::paintEvents(QPainter& painter, const QRect& plot) const
{
    if (m_events.empty()) return;
    const Theme& theme = currentTheme();
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

void TimelineAxis::paintNotes(QPainter& painter, const QRect& plot, const QRect& taken) const
{
    if (m_notes.empty()) return;
    const Theme& theme = currentTheme();
    painter.save();
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics metrics(painter.font());
    for (const TimelineNote& note : m_notes) {
        const double x = m_camera.xOf(note.range.begin), end = m_camera.xOf(note.range.end);
        if (end < 0 || x > plot.width()) continue;
        const int left = plot.left() + static_cast<int>(std::clamp(x, 0.0, plot.width() * 1.0)),
                  right = plot.left() + static_cast<int>(std::clamp(end, 0.0, plot.width() * 1.0));
        painter.fillRect(QRect(left, plot.top() - 3, std::max(2, right - left), 3), theme.accent);
    }
    for (const NoteLabel& label : noteLabels(m_notes, m_camera, plot, metrics)) {
        const std::optional<int> number = m_notes[label.note].number;
        const int left = label.left, top = plot.top() - kNoteHeight;
        const bool isCovered = !taken.isNull() && left < taken.right() && taken.left() < label.right();
        painter.fillRect(QRect(left, top, 1, kNoteHeight), theme.accent);
        painter.fillRect(QRect(left, top, label.flag, number ? kNoteHeight - 3 : kNoteFlag - 2), theme.accent);
        if (number && label.flag > 0 && !isCovered) {
            painter.setPen(theme.card);
            painter.drawText(QRect(left, top, label.flag, kNoteHeight - 3), Qt::AlignCenter, QString::number(*number));
        }
        QPen pen(theme.accent, 1, Qt::CustomDashLine);
        pen.setDashPattern({2, 3});
        painter.setPen(pen);
        painter.drawLine(left, plot.top(), left, plot.bottom());
        if (label.text.isEmpty() || isCovered) continue; // the pointer's own time is there
        const QRect marks(label.place.left(), 2, label.place.width(), plot.top() - 5); // of the axis
        painter.fillRect(marks, theme.card);
        painter.setPen(theme.accent);
        painter.drawText(label.place, Qt::AlignLeft | Qt::AlignVCenter, label.text);
    }
    painter.restore();
}

QString TimelineAxis::noteAt(const QPoint& at, const QRect& plot) const
{
    QStringList texts;
    for (const NoteLabel& label : noteLabels(m_notes, m_camera, plot, QFontMetrics(fontOf(TextRole::Small)))) {
        if (!label.place.contains(at)) continue;
        for (std::size_t i = 0; i <= label.others; ++i) texts << m_notes[label.note + i].text;
    }
    return texts.join(QLatin1Char('\n'));
}

QStringList TimelineAxis::linesAt(double x) const
{
    QStringList lines;
    for (const auto& note : m_notes) {
        if (std::abs(m_camera.xOf(note.range.begin) - x) > kEventSize + kNoteFlag) continue;
        lines << (note.number ? tr("mark %1: %2").arg(QString::number(*note.number), note.text) : note.text);
        if (note.range.length().ns > 0) lines << formatDuration(note.range.length());
        if (lines.size() >= kMostMarkLines) return lines;
    }
    int more = 0;
    for (const auto& event : m_events) {
        if (std::abs(m_camera.xOf(event.at) - x) > kEventSize) continue;
        if (lines.size() >= kMostMarkLines) {
            ++more;
            continue;
        }
        QString line = eventName(event.kind);
        if (event.rank) line = tr("rank %1 \u00b7 %2").arg(event.rank->value).arg(line);
        if (!event.text.empty()) line += QStringLiteral(": ") + QString::fromStdString(event.text);
        lines << line;
    }
    if (more > 0) lines << tr("and %n more, zoom in to tell them apart", nullptr, more);
    return lines;
}

} // namespace fourwalls::views
