// SPDX-License-Identifier: GPL-3.0-or-later
// See axis_marks.h.
#include "views/timeline/axis_marks.h"

#include "views/plot/theme.h"
#include "views/timeline/timeline_canvas.h"

#include <QPainter>
#include <QPainterPath>

namespace fourwalls::views {

QString eventName(EventKind kind)
{
    switch (kind) {
    case EventKind::Fault: return TimelineCanvas::tr("fault");
    case EventKind::Checkpoint: return TimelineCanvas::tr("checkpoint");
    case EventKind::LossSpike: return TimelineCanvas::tr("loss spike");
    case EventKind::OutOfMemory: return TimelineCanvas::tr("out of memory");
    case EventKind::Annotation: return TimelineCanvas::tr("note");
    case EventKind::Rollback: return TimelineCanvas::tr("rollback");
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

} // namespace fourwalls::views
