// SPDX-License-Identifier: GPL-3.0-or-later
// Wheel, mouse and pointer on the timeline.
#include "views/timeline/timeline_canvas.h"

#include "views/words/words.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kPinZone = 16; ///< right end of a row's name that pins
}

void TimelineCanvas::wheelEvent(QWheelEvent* event)
{
    event->accept();
    if (!m_emptyReason.isEmpty()) return;
    const QRect plot = plotRect();
    const QPointF at = event->position();
    const QPoint angle = event->angleDelta();
    m_pointer = at;
    // Some platforms turn Shift or Alt with the wheel into a horizontal one.
    const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y());
    if (sideways) {
        const int delta = angle.y() != 0 && std::abs(angle.y()) >= std::abs(angle.x()) ? angle.y() : angle.x();
        m_camera.pan(delta * plot.width() / 960.0); // a notch is an eighth of the screen
        moved();
    } else if (at.x() < plot.left() || event->modifiers().testFlag(Qt::AltModifier)) {
        scrollBy(-angle.y() / 2);
    } else if (angle.y() != 0) {
        m_camera.zoomAt(at.x() - plot.left(), angle.y());
        moved();
    }
    updateHover(at);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event)
{
    setFocus(Qt::MouseFocusReason);
    if (!m_emptyReason.isEmpty()) return;
    m_pressAt = m_lastDrag = event->position();
    const TimelineHit hit = hitAt(m_pressAt);
    m_pressTime = hit.at;
    if (event->button() == Qt::RightButton) {
        if (hit.lanehit.slice) emit sliceClicked(*hit.lanehit.slice); // the menu is about it
        emit contextMenuAsked(event->globalPosition().toPoint(), hit.row ? hit.row->track : std::nullopt,
                              hit.row ? std::optional<RankId>(hit.row->rank) : std::nullopt);
        return;
    }
    if (event->button() == Qt::MiddleButton) {
        m_drag = Drag::Pan;
        return;
    }
    if (event->button() != Qt::LeftButton) return;
    if (onLabelEdge(m_pressAt)) {
        m_drag = Drag::Labels;
        return;
    }
    if (const TimelineRow* row = rowEndingAt(m_pressAt)) {
        m_drag = Drag::Height;
        beginRowDrag(*row, m_pressAt);
        return;
    }
    if (hit.onLabel) {
        if (!hit.row) return;
        TimelineArrangement arrangement = m_arrangement;
        if (hit.row->kind == TimelineRow::Kind::Counter) return;
        if (hit.row->kind != TimelineRow::Kind::Track) {
            const RankId rank = hit.row->rank;
            if (!arrangement.collapsed.erase(rank)) arrangement.collapsed.insert(rank);
        } else if (m_pressAt.x() > labelRect(*hit.row).right() - kPinZone) {
            const TrackId id = *hit.row->track;
            if (std::erase(arrangement.pinned, id) == 0) arrangement.pinned.push_back(id);
        } else {
            m_drag = Drag::Row;
            beginRowDrag(*hit.row, m_pressAt);
            return;
        }
        setArrangement(std::move(arrangement));
        updateHover(m_pressAt);
        return;
    }
    const bool onAxis = m_pressAt.y() < plotRect().top();
    m_drag = m_measuring || onAxis || event->modifiers().testFlag(Qt::ControlModifier) ? Drag::Area : Drag::Pending;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_drag == Drag::Pending && (at - m_pressAt).manhattanLength() >= QApplication::startDragDistance()) {
        m_drag = Drag::Pan;
        QWidget::setCursor(Qt::ClosedHandCursor);
    }
    if (m_drag == Drag::Pan) {
        const QPointF step = at - m_lastDrag;
        m_lastDrag = at;
        if (step.y() != 0) scrollBy(-static_cast<int>(std::lround(step.y())));
        if (step.x() != 0) {
            m_camera.pan(step.x());
            moved();
        }
    } else if (m_drag == Drag::Area) {
        dragArea(at, false);
    } else if (m_drag == Drag::Labels) {
        setLabelWidth(static_cast<int>(std::lround(at.x())));
    } else if (m_drag == Drag::Height) {
        dragHeight(at);
    } else if (m_drag == Drag::Row) {
        if ((at - m_pressAt).manhattanLength() >= QApplication::startDragDistance())
            QWidget::setCursor(Qt::ClosedHandCursor);
    } else if (m_drag == Drag::None) {
        QWidget::setCursor(onLabelEdge(at)   ? Qt::SplitHCursor
                           : rowEndingAt(at) ? Qt::SplitVCursor
                           : m_measuring     ? Qt::CrossCursor
                                             : Qt::ArrowCursor);
    }
    updateHover(at);
}

void TimelineCanvas::dragArea(QPointF to, bool finished)
{
    const QRect plot = plotRect();
    const Instant end = m_camera.timeAt(to.x() - plot.left());
    std::vector<TrackId> tracks;
    if (m_pressAt.y() >= plot.top() && rowAt(static_cast<int>(m_pressAt.y()) - plot.top())) {
        const int top = static_cast<int>(std::min(m_pressAt.y(), to.y())) - plot.top(),
                  bottom = static_cast<int>(std::max(m_pressAt.y(), to.y())) - plot.top();
        std::vector<const TimelineRow*> rows;
        for (const auto* section : {&m_layout.pinned, &m_layout.rows})
            for (const auto& row : *section) {
                const int begin = TimelineRenderer::topOf(row, m_layout, m_scroll);
                const bool covered = !row.pinned && begin + row.height <= m_layout.pinnedHeight;
                if (!covered && begin <= bottom && begin + row.height > top) rows.push_back(&row);
            }
        for (const TimelineRow* row : rows) addTracksOf(*row, rows.size() == 1, tracks);
    }
    if (tracks.empty()) tracks = shownTracks();
    emit areaDragged({std::min(m_pressTime, end), std::max(m_pressTime, end)}, tracks, finished);
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    const Drag drag = std::exchange(m_drag, Drag::None);
    QWidget::setCursor(m_measuring ? Qt::CrossCursor : Qt::ArrowCursor);
    if (drag == Drag::Area) {
        dragArea(event->position(), true);
    } else if (drag == Drag::Row) {
        dropRow(event->position());
    } else if (drag == Drag::Pending) {
        const TimelineHit hit = hitAt(event->position());
        if (hit.lanehit.slice) {
            emit sliceClicked(*hit.lanehit.slice);
        } else {
            emit emptyClicked();
        }
    }
    updateHover(event->position());
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return;
    const TimelineHit hit = hitAt(event->position());
    if (const TimelineRow* row = rowEndingAt(event->position())) {
        TimelineArrangement arrangement = m_arrangement;
        arrangement.streamHeight.erase(streamOf(*track(*row->track)));
        setArrangement(std::move(arrangement));
    } else if (hit.onLabel || event->position().y() < plotRect().top()) {
        mousePressEvent(event);
    } else if (hit.lanehit.slice) {
        emit sliceDoubleClicked(*hit.lanehit.slice);
    } else if (hit.lanehit.bin) {
        // Near enough that the bin's slices show themselves.
        const SliceBin& bin = *hit.lanehit.bin;
        const Duration margin{std::max<std::int64_t>(bin.width.ns, 1) * 8};
        setRange({bin.start - margin, bin.start + bin.width + margin});
        emit rangeChanged(m_camera.range());
    }
}

void TimelineCanvas::updateHover(QPointF position)
{
    m_pointer = position;
    const TimelineHit before = m_hover;
    m_hover = hitAt(position);
    m_labelsDirty =
        m_labelsDirty || before.onLabel != m_hover.onLabel || (m_hover.onLabel && before.row != m_hover.row);
    const QRect plot = plotRect();
    const bool inTime = position.x() >= plot.left() && position.x() <= plot.right() && m_emptyReason.isEmpty();
    emit cursorMoved(inTime ? std::optional<Instant>(m_hover.at) : std::nullopt);
    repaintSoon();
}

void TimelineCanvas::leaveEvent(QEvent*)
{
    m_pointer.reset();
    m_labelsDirty = m_labelsDirty || m_hover.onLabel;
    m_hover = {};
    emit cursorMoved(std::nullopt);
    update();
}

bool TimelineCanvas::event(QEvent* event)
{
    // The row's full name, where the column is too narrow for it.
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const TimelineHit hit = hitAt(help->pos());
        const TrackView* shown =
            hit.onLabel && hit.row && hit.row->kind == TimelineRow::Kind::Track ? track(*hit.row->track) : nullptr;
        setToolTip(shown ? trackName(shown->info) : QString());
    }
    return QWidget::event(event);
}

} // namespace fourwalls::views
