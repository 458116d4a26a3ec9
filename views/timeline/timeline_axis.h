// SPDX-License-Identifier: GPL-3.0-or-later
// The time axis above the timeline's bars: ticks, the time of the pointer, and the marks of events and notes. An event's
// mark looks the same and is called the same in the legend.
#pragma once

#include "model/trace/trace_query.h"
#include "views/plot/time_camera.h"
#include "views/plot/time_ticks.h"

#include <QCoreApplication>
#include <QPointF>
#include <QRect>
#include <QStringList>

#include <optional>
#include <vector>

class QPainter;

namespace fourwalls::views {

struct Theme;

/// What a person noted about a range or an instant.
struct TimelineNote {
    TimeRange range;
    QString text;
    std::optional<int> number = {}; ///< a mark's: stands in its flag
};

/// "fault", in the user's language.
QString eventName(EventKind kind);
/// tip: the lowest point of the triangle. Antialiased where the painter is.
void paintEventMark(QPainter& painter, QPointF tip, EventKind kind, const Theme& theme);

class TimelineAxis {
    Q_DECLARE_TR_FUNCTIONS(TimelineAxis)
public:
    /// camera: of the canvas, outlives this.
    explicit TimelineAxis(const TimeCamera& camera) : m_camera(camera) {}

    Instant zero() const { return m_zero; } ///< the axis counts from here
    void setZero(Instant zero) { m_zero = zero; }
    const TimeTicks& ticks() const { return m_ticks; }
    void layTicks(int width);                                                         ///< for what the camera shows
    void setEvents(std::vector<EventRecord> events) { m_events = std::move(events); } ///< by time
    void setNotes(std::vector<TimelineNote> notes);
    const std::vector<TimelineNote>& notes() const { return m_notes; } ///< by begin

    /// The axis reaches from the top to the plot, and its line over all of the width.
    void paint(QPainter& painter, const QRect& plot, int width, std::optional<Instant> cursor) const;
    /// All of the note whose text stands at a place of the widget and of those it stands for, in lines; empty: none.
    QString noteAt(const QPoint& at, const QRect& plot) const;
    /// Events and notes at a place [pixels from the left of the plot], in lines.
    QStringList linesAt(double x) const;

private:
    QRect paintCursor(QPainter& painter, const QRect& plot, Instant cursor) const; ///< the place that it takes
    void paintTicks(QPainter& painter, const QRect& plot, const QRect& taken) const;
    void paintEvents(QPainter& painter, const QRect& plot) const;
    void paintNotes(QPainter& painter, const QRect& plot, const QRect& taken) const;

    const TimeCamera& m_camera;
    Instant m_zero;
    TimeTicks m_ticks;
    std::vector<EventRecord> m_events;
    std::vector<TimelineNote> m_notes;
};

} // namespace fourwalls::views
