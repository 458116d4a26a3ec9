// SPDX-License-Identifier: GPL-3.0-or-later
// See time_surface.h.
#include "views/plot/time_surface.h"

#include <QApplication>
#include <QMouseEvent>
#include <QWheelEvent>

#include <cmath>
#include <utility>

namespace fourwalls::views {

TimeSurface::TimeSurface(QWidget* parent) : QWidget(parent)
{
    m_hold.setSingleShot(true);
    m_hold.setTimerType(Qt::PreciseTimer);
    m_hold.setInterval(kHoldMs);
    connect(&m_hold, &QTimer::timeout, this, qOverload<>(&QWidget::update));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void TimeSurface::setSelection(Selection* selection)
{
    if (m_selection) m_selection->disconnect(this);
    m_selection = selection;
    if (selection) {
        connect(selection, &Selection::rangeChanged, this, &TimeSurface::followRange);
        connect(selection, &Selection::cursorChanged, this, &TimeSurface::repaintSoon);
        connect(selection, &Selection::measuredChanged, this, &TimeSurface::repaintSoon);
        connect(selection, &Selection::sliceChanged, this, &TimeSurface::repaintSoon);
    }
    followRange();
}

void TimeSurface::followRange()
{
    if (!m_selection) return;
    if (!m_selection->whole().empty()) {
        const TimeRange bounds = boundsOf(*m_selection);
        if (m_camera.bounds() != bounds) m_camera.setBounds(bounds);
    }
    // Our own change comes back here: showing it again would forget the exact zoom.
    if (m_camera.range() != m_selection->range()) m_camera.show(m_selection->range());
    rangeAgain();
}

void TimeSurface::rangeAgain()
{
    rangeMoved();
    if (!awaitsData()) {
        dataArrived();
    } else if (!m_hold.isActive()) {
        m_hold.start(); // once, not again with every further move: a repaint waits for less than a frame
    }
}

void TimeSurface::dataArrived()
{
    m_hold.stop();
    update();
}

void TimeSurface::repaintSoon()
{
    if (!m_hold.isActive()) update();
}

void TimeSurface::pushRange()
{
    if (m_selection) {
        const TimeRange before = m_selection->range();
        m_selection->setRange(m_camera.range());
        if (m_selection->range() != before) return; // followRange did the rest
    }
    rangeAgain();
}

void TimeSurface::showRange(TimeRange range)
{
    m_camera.show(range);
    pushRange();
}

bool TimeSurface::isOverTimes(double x) const
{
    const QRectF area = timeArea();
    return !area.isEmpty() && x >= area.left() && x <= area.right();
}

void TimeSurface::zoom(int units)
{
    const bool over = m_pointer && isOverTimes(m_pointer->x());
    m_camera.zoomAt(over ? m_pointer->x() - timeArea().left() : m_camera.width() / 2.0, units);
    pushRange();
}

void TimeSurface::pan(double share)
{
    m_camera.pan(-share * m_camera.width());
    pushRange();
}

void TimeSurface::setMeasuring(bool on)
{
    m_measuring = on;
    setCursor(on ? Qt::CrossCursor : Qt::ArrowCursor);
}

void TimeSurface::setPointer(std::optional<QPointF> at)
{
    m_pointer = at;
    pointerMoved();
    if (m_selection)
        m_selection->setCursor(at && isOverTimes(at->x()) ? std::optional(instantAt(at->x())) : std::nullopt);
    repaintSoon();
}

void TimeSurface::wheelEvent(QWheelEvent* event)
{
    event->accept();
    if (timeArea().isEmpty()) return;
    // Shift turns the wheel sideways; some platforms already deliver it as a horizontal turn.
    const QPoint turn = event->angleDelta();
    const bool isHorizontal = std::abs(turn.x()) > std::abs(turn.y());
    if (isHorizontal || event->modifiers().testFlag(Qt::ShiftModifier)) {
        const int units = isHorizontal ? turn.x() : turn.y();
        m_camera.pan(units * m_camera.width() / 960.0); // a notch is an eighth of the screen
        pushRange();
    } else if (turn.y() != 0) {
        m_camera.zoomAt(event->position().x() - timeArea().left(), turn.y());
        pushRange();
    }
    setPointer(event->position());
}

void TimeSurface::mousePressEvent(QMouseEvent* event)
{
    m_pressed = m_last = event->position();
    m_pressedTime = instantAt(m_pressed.x());
    if (timeArea().isEmpty()) return;
    if (event->button() == Qt::MiddleButton) {
        m_drag = Drag::Panning;
    } else if (event->button() == Qt::LeftButton) {
        const bool measures =
            m_measuring || isOnTimeAxis(m_pressed) || event->modifiers().testFlag(Qt::ControlModifier);
        m_drag = measures ? Drag::Measuring : Drag::Pressed;
    } else {
        QWidget::mousePressEvent(event);
    }
}

void TimeSurface::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_drag == Drag::Pressed && (at - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
        m_drag = Drag::Panning;
        setCursor(Qt::ClosedHandCursor);
    }
    if (m_drag == Drag::Panning) {
        const QPointF step = at - std::exchange(m_last, at); // the first from where it was pressed
        if (step.y() != 0) draggedDown(step.y());
        if (step.x() != 0) {
            m_camera.pan(step.x());
            pushRange();
        }
    } else if (m_drag == Drag::Measuring) {
        measureTo(at, false, false);
    }
    setPointer(at);
}

void TimeSurface::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
        return QWidget::mouseReleaseEvent(event);
    const QPointF at = event->position();
    const Drag drag = std::exchange(m_drag, Drag::None);
    setCursor(m_measuring ? Qt::CrossCursor : Qt::ArrowCursor);
    const bool still = (at - m_pressed).manhattanLength() < QApplication::startDragDistance();
    if (drag == Drag::Measuring) measureTo(at, true, still);
    if (drag == Drag::Pressed) clicked(at);
    setPointer(at);
}

void TimeSurface::leaveEvent(QEvent*)
{
    setPointer(std::nullopt);
}

} // namespace fourwalls::views
