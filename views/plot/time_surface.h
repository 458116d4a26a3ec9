// SPDX-License-Identifier: GPL-3.0-or-later
// The base of every widget with time from left to right: which time lies under which pixel, the gestures that move it,
// and the selection that it shares with the other views of its trace.
#pragma once

#include "views/plot/frame_quality.h"
#include "views/plot/spoken.h"
#include "views/plot/time_camera.h"
#include "views/session/selection.h"

#include <QPointF>
#include <QPointer>
#include <QTimer>
#include <QWidget>

#include <optional>

namespace fourwalls::views {

/// Zoom units of one key press (half an octave), and the part of the width that one key press moves by.
inline constexpr int kKeyZoom = 240;
inline constexpr double kKeyPan = 0.15;

/// The wheel zooms at the pointer, Shift with the wheel and dragging move, dragging with Ctrl or on the time axis measures.
/// What is moved goes through the selection, so that other views follow.
class TimeSurface : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit TimeSurface(QWidget* parent);

    /// Follows and moves this selection; null: none.
    void setSelection(Selection* selection);
    Selection* selection() const { return m_selection; }

    const TimeCamera& camera() const { return m_camera; }
    /// Shows a range, as if the user had gone there.
    void showRange(TimeRange range);
    void zoom(int units);   ///< about the pointer where it is over the plot, else about the middle
    void pan(double share); ///< of the visible width, to later times

    /// While on, dragging measures without Ctrl.
    void setMeasuring(bool on);
    bool measuring() const { return m_measuring; }

signals:
    /// At the end of every paint.
    void painted(fourwalls::TimeRange range, fourwalls::views::FrameQuality quality);

protected:
    enum class Drag { None, Pressed, Panning, Measuring };

    /// Where times lie, in the coordinates of the widget; empty where there is nothing to move.
    virtual QRectF timeArea() const = 0;
    virtual bool isOnTimeAxis(QPointF at) const = 0;
    /// What can be shown at most, of a selection that has a range.
    virtual TimeRange boundsOf(const Selection& selection) const = 0;
    /// Another range is shown; a repaint follows.
    virtual void rangeMoved() = 0;
    /// Data for the shown range is on its way, and a repaint would show none. It then waits, for less than a frame, so that
    /// quick answers do not flicker.
    virtual bool awaitsData() const = 0;
    /// Called before a change of the pointer is painted.
    virtual void pointerMoved() {}
    /// Dragged down by some pixels while it is panned.
    virtual void draggedDown(double) {}
    /// The range between the press and this point is measured; still: the pointer has not moved since it was pressed.
    virtual void measureTo(QPointF to, bool finished, bool still) = 0;
    /// Pressed and released without moving.
    virtual void clicked(QPointF at) = 0;

    TimeCamera& ownCamera() { return m_camera; }
    void rangeAgain();  ///< rangeMoved() and its repaint
    void repaintSoon(); ///< update(), unless an answer is about to arrive
    void dataArrived(); ///< a repaint waits no longer
    void followRange(); ///< shows what the selection says
    Drag drag() const { return m_drag; }
    QPointF pressed() const { return m_pressed; }
    Instant pressedTime() const { return m_pressedTime; }
    std::optional<QPointF> pointer() const { return m_pointer; }
    void setPointer(std::optional<QPointF> at);
    double xOf(Instant at) const { return timeArea().left() + m_camera.xOf(at); }
    Instant instantAt(double x) const { return m_camera.timeAt(x - timeArea().left()); }

    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    bool isOverTimes(double x) const;
    void pushRange(); ///< the user moved the camera

    QPointer<Selection> m_selection;
    TimeCamera m_camera;
    QTimer m_hold; ///< runs while a repaint waits for data
    bool m_measuring = false;
    Drag m_drag = Drag::None;
    QPointF m_pressed, m_last;
    Instant m_pressedTime;
    std::optional<QPointF> m_pointer;
};

} // namespace fourwalls::views
