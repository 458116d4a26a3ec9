// SPDX-License-Identifier: GPL-3.0-or-later
// The whole trace in one strip above the timeline: what its ranks did on average, from stored summaries, and which part of
// it is shown. Dragging moves or resizes that part or chooses another one; a click goes there.
#pragma once

#include "views/plot/spoken.h"
#include "views/session/trace_session.h"
#include "views/timeline/bar_painter.h"

#include <QImage>
#include <QPointer>
#include <QWidget>

#include <vector>

namespace fourwalls::views {

class TimelineMinimap : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit TimelineMinimap(QWidget* parent = nullptr);

    /// Reads the trace's activity once; null: there is no trace.
    void setSession(TraceSession* session, TimeRange whole);
    /// What the timeline shows.
    void setRange(TimeRange range);
    /// Where time begins and ends, as in the timeline below [pixels].
    void setMargins(int left, int right);
    /// Nothing is being read.
    bool isComplete() const { return !m_reading; }
    /// Where the part that is shown lies.
    QRectF windowRect() const;
    QRect plotRect() const;

    QSize sizeHint() const override { return {400, kHeight}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Graphic; }

signals:
    void rangeChosen(fourwalls::TimeRange range);
    /// What was read is there.
    void changed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    static constexpr int kHeight = 28;
    enum class Drag { None, Move, Begin, End, Choose };

    void retranslate();
    void ask();
    void drawColumns();
    double xOf(Instant at) const;
    Instant timeAt(double x) const;
    Drag dragAt(double x) const;
    void choose(TimeRange range);

    QPointer<TraceSession> m_session;
    TimeRange m_whole{Instant{0}, Instant{1}}, m_range;
    int m_left = 0, m_right = 0;
    bool m_reading = false;
    std::vector<BarPainter::ActivityColumn> m_columns; ///< over the whole trace; empty: nothing is known
    QImage m_image;
    bool m_dirty = true;
    Drag m_drag = Drag::None;
    double m_pressX = 0;
    TimeRange m_pressRange; ///< that was shown then
};

} // namespace fourwalls::views
