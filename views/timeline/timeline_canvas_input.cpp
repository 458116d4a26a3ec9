// SPDX-License-Identifier: GPL-3.0-or-later
// What is under the pointer on the timeline, what is said of it, and what the pointer does there.
#include "views/timeline/counter_curves.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/slack_overlay.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kHitTolerance = 3;
} // namespace

TimelineHit TimelineCanvas::hitAt(QPointF position) const
{
    TimelineHit hit;
    const QRect plot = plotRect();
    const int y = static_cast<int>(position.y()) - plot.top();
    const double x = position.x() - plot.left();
    hit.at = camera().timeAt(x);
    hit.row = m_rows.rowAt(y);
    hit.onLabel = x < 0;
    if (!hit.row || hit.onLabel || !hit.row->track) return hit;
    const int inside = y - m_rows.topOf(*hit.row);
    hit.lane = hit.row->laneAt(inside);
    const auto pieces = m_source.tiles().pieces(*hit.row->track, camera().range(), m_source.level());
    const auto lane = static_cast<std::size_t>(hit.lane);
    if (lane < pieces.lanes.size())
        hit.lanehit = hitLane(pieces.lanes[lane], TimelineRenderer::mapOf(camera()), x, kHitTolerance);
    return hit;
}

QRect TimelineCanvas::laneRect(TrackId track, int lane) const
{
    const TimelineRow* row = m_rows.layout().rowOf(track);
    if (!row) return {};
    const QRect plot = plotRect();
    lane = std::min(lane, row->lanes - 1);
    const QRect rect(plot.left(), plot.top() + m_rows.topOf(*row) + row->laneTop(lane), plot.width(),
                     row->barHeight(lane));
    return rect.bottom() < plot.top() + m_rows.firstLineOf(*row) || rect.top() > plot.bottom() ? QRect() : rect;
}

void TimelineCanvas::wheelEvent(QWheelEvent* event)
{
    const bool onRows = event->position().x() < plotRect().left() || event->modifiers().testFlag(Qt::AltModifier);
    const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) ||
                          std::abs(event->angleDelta().x()) > std::abs(event->angleDelta().y());
    if (!onRows || sideways || !m_emptyReason.isEmpty()) return TimeSurface::wheelEvent(event);
    event->accept();
    m_rows.scrollBy(-event->angleDelta().y() / 2);
    setPointer(event->position());
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event)
{
    setFocus(Qt::MouseFocusReason);
    if (!m_emptyReason.isEmpty()) return;
    const QPointF at = event->position();
    const TimelineHit hit = hitAt(at);
    if (event->button() == Qt::RightButton) {
        if (hit.lanehit.slice) emit sliceClicked(*hit.lanehit.slice); // the menu is about it
        emit contextMenuAsked(event->globalPosition().toPoint(), hit.row ? hit.row->track : std::nullopt,
                              hit.row ? std::optional<RankId>(hit.row->rank) : std::nullopt);
        return;
    }
    if (event->button() == Qt::LeftButton && m_labels->press(at, hit.row)) return setPointer(at);
    TimeSurface::mousePressEvent(event);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_labels->isDragging()) {
        m_labels->drag(at);
        return setPointer(at);
    }
    const bool hasRows = m_emptyReason.isEmpty();
    if (drag() == Drag::None)
        setCursor(hasRows && m_labels->isOnEdge(at)      ? Qt::SplitHCursor
                  : hasRows && m_labels->rowEndingAt(at) ? Qt::SplitVCursor
                  : hasRows && measuring()               ? Qt::CrossCursor
                                                         : Qt::ArrowCursor);
    TimeSurface::mouseMoveEvent(event);
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    if (m_labels->isDragging()) m_labels->release(event->position());
    TimeSurface::mouseReleaseEvent(event);
}

void TimelineCanvas::draggedDown(double lines)
{
    m_rows.scrollBy(-static_cast<int>(std::lround(lines)));
}

void TimelineCanvas::measureTo(QPointF to, bool finished, bool)
{
    const QRect plot = plotRect();
    const Instant begin = pressedTime(), end = instantAt(to.x());
    const auto lineOf = [&](double y) { return static_cast<int>(y) - plot.top(); };
    std::vector<TrackId> tracks;
    if (pressed().y() >= plot.top() && m_rows.rowAt(lineOf(pressed().y()))) {
        const auto rows =
            m_rows.rowsBetween(lineOf(std::min(pressed().y(), to.y())), lineOf(std::max(pressed().y(), to.y())));
        for (const TimelineRow* row : rows) {
            const std::vector<TrackId> of = m_rows.tracksOf(*row, rows.size() == 1);
            tracks.insert(tracks.end(), of.begin(), of.end());
        }
    }
    if (tracks.empty()) tracks = m_rows.shownTracks();
    emit areaDragged({std::min(begin, end), std::max(begin, end)}, tracks, finished);
}

void TimelineCanvas::clicked(QPointF at)
{
    const TimelineHit hit = hitAt(at);
    if (hit.lanehit.slice)
        emit sliceClicked(*hit.lanehit.slice);
    else
        emit emptyClicked();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_emptyReason.isEmpty()) return;
    const QPointF at = event->position();
    const TimelineHit hit = hitAt(at);
    if (m_labels->resetHeightAt(at)) return;
    if (hit.onLabel || isOnTimeAxis(at)) {
        mousePressEvent(event);
    } else if (hit.lanehit.slice) {
        emit sliceDoubleClicked(*hit.lanehit.slice);
    } else if (hit.lanehit.bin) {
        // Near enough that the bin's slices show themselves.
        const SliceBin& bin = *hit.lanehit.bin;
        const Duration margin{std::max<std::int64_t>(bin.width.ns, 1) * 8};
        showRange({bin.start - margin, bin.start + bin.width + margin});
    }
}

void TimelineCanvas::pointerMoved()
{
    const TimelineHit before = m_hover;
    m_hover = pointer() ? hitAt(*pointer()) : TimelineHit();
    m_labelsDirty =
        m_labelsDirty || before.onLabel != m_hover.onLabel || (m_hover.onLabel && before.row != m_hover.row);
}

bool TimelineCanvas::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) setToolTip(labelTipAt(static_cast<QHelpEvent*>(event)->pos()));
    return QWidget::event(event);
}

QString TimelineCanvas::labelTipAt(QPoint at) const
{
    const auto isBeside = [&](const QRectF& strip) {
        return at.x() < strip.left() && at.y() >= strip.top() && at.y() <= strip.bottom();
    };
    if (m_strip->hasMemory() && isBeside(stripRect()))
        return m_strip->heading() + QLatin1Char('\n') + m_strip->legendText();
    if (const QRect predicted = predictionRect(); !predicted.isEmpty() && isBeside(predicted))
        return m_prediction->label();
    if (at.y() < plotRect().top()) return m_axis.noteAt(at, plotRect());
    const TimelineHit hit = hitAt(at);
    return hit.onLabel && hit.row ? m_labels->nameOf(*hit.row) : QString();
}

QStringList TimelineCanvas::sliceLines(const SliceView& slice, const OpInfo* op) const
{
    QString name = op ? opName(*op) : tr("unknown operator");
    if (const auto number = op ? stepNumberOf(slice, *op, *m_steps) : std::nullopt)
        name += QLatin1Char(' ') + QString::number(number->value);
    QStringList facts{formatDuration(slice.duration)};
    if (op && op->phase != Phase::None) facts << words(op->phase);
    if (op && op->layer) facts << tr("layer %1").arg(op->layer->value);
    if (slice.microbatch) facts << tr("micro-batch %1").arg(slice.microbatch->value);
    return {name, facts.join(QStringLiteral(" \u00b7 "))};
}

QString TimelineCanvas::slackLine(const SliceView& slice) const
{
    const SlackPiece* piece =
        m_slack ? slackOfSlice(*m_slack, slice.track, slice.lane, {slice.start, slice.end()}) : nullptr;
    if (!piece) return {};
    if (piece->onPath) return tr("on the critical path: every bit longer makes the step longer");
    if (piece->slack < m_slack->least()) return tr("as tight as the critical path");
    return tr("could take %1 longer without harm").arg(formatDuration(piece->slack, 3));
}

QStringList TimelineCanvas::rankLines(RankId rank) const
{
    const auto info = std::ranges::find(m_ranks, rank, &RankInfo::rank);
    if (info == m_ranks.end()) return {};
    QStringList facts;
    if (!info->device.empty()) facts << QString::fromStdString(info->device);
    if (!info->host.empty()) facts << QString::fromStdString(info->host);
    facts << tr("stage %1").arg(info->pipelineStage);
    return {tr("rank %1").arg(rank.value), facts.join(QStringLiteral(" \u00b7 "))};
}

QStringList TimelineCanvas::hoverLines() const
{
    if (!pointer()) return {};
    const QPoint at = pointer()->toPoint();
    if (isOnTimeAxis(*pointer())) return m_axis.linesAt(pointer()->x() - plotRect().left());
    if (predictionRect().contains(at)) return m_prediction->readout(m_hover.at);
    if (stripRect().contains(at)) return m_strip->readout(m_hover.at);
    if (m_hover.row && m_hover.row->kind == TimelineRow::Kind::Counter) {
        QStringList of = m_counters->readout(m_hover.row->counter, m_hover.at);
        return m_hover.onLabel ? of.mid(0, 1) + of.mid(std::max<qsizetype>(1, of.size() - 1)) : of;
    }
    if (m_hover.onLabel && m_hover.row)
        return m_hover.row->kind == TimelineRow::Kind::Track ? QStringList() : rankLines(m_hover.row->rank);
    QStringList lines;
    if (m_hover.lanehit.slice) {
        const SliceView& slice = *m_hover.lanehit.slice;
        lines << sliceLines(slice, m_source.op(slice.op).get());
        if (const QString slack = slackLine(slice); !slack.isEmpty()) lines << slack;
    } else if (m_hover.lanehit.bin) {
        const SliceBin& bin = *m_hover.lanehit.bin;
        const auto op = m_source.op(bin.dominant);
        lines << tr("%1 slices, %2 busy").arg(formatCount(bin.count), formatDuration(bin.busy));
        if (op) lines << tr("mostly %1").arg(opName(*op));
        lines << tr("longest %1 \u00b7 zoom in to see them").arg(formatDuration(bin.longest));
    }
    return lines;
}

int TimelineCanvas::spokenParts() const
{
    return static_cast<int>(m_rows.layout().pinned.size() + m_rows.layout().rows.size()) + (m_selected ? 1 : 0);
}

const TimelineRow& TimelineCanvas::spokenRow(int part) const
{
    const auto row = static_cast<std::size_t>(part - (m_selected ? 1 : 0)), pinned = m_rows.layout().pinned.size();
    return row < pinned ? m_rows.layout().pinned[row] : m_rows.layout().rows[row - pinned];
}

QString TimelineCanvas::spokenText(int part) const
{
    QStringList texts;
    if (m_selected && part == 0) {
        texts = sliceLines(m_selected->slice, m_selected->op.get());
        if (const TrackView* on = m_rows.track(m_selected->slice.track))
            texts << tr("rank %1").arg(on->info.rank.value) << trackName(on->info);
    } else {
        const TimelineRow& row = spokenRow(part);
        if (row.kind == TimelineRow::Kind::Track) texts << tr("rank %1").arg(row.rank.value);
        texts << m_labels->nameOf(row);
    }
    return texts.join(QStringLiteral(", "));
}

QRect TimelineCanvas::spokenPlace(int part) const
{
    const bool isSlice = m_selected && part == 0;
    const QRect plot = plotRect();
    const QRect place = isSlice ? sliceRect(m_selected->slice) : m_labels->rectOf(spokenRow(part));
    return place.intersected(isSlice ? plot : QRect(0, plot.top(), plot.left(), plot.height()));
}

} // namespace fourwalls::views
