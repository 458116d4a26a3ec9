// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline says of the place under the pointer: events and notes, slices, bins, rows, counters.
#include "views/timeline/axis_marks.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kMostEventLines = 6;

} // namespace

QStringList TimelineCanvas::eventLines() const
{
    QStringList lines;
    const double x = m_pointer->x() - plotRect().left();
    for (const auto& note : m_notes) {
        if (std::abs(m_camera.xOf(note.range.begin) - x) > kEventSize + kNoteFlag) continue;
        lines << (note.number ? tr("mark %1: %2").arg(QString::number(*note.number), note.text) : note.text);
        if (note.range.length().ns > 0) lines << formatDuration(note.range.length());
        if (lines.size() >= kMostEventLines) return lines;
    }
    int more = 0;
    for (const auto& event : m_events) {
        if (std::abs(m_camera.xOf(event.at) - x) > kEventSize) continue;
        if (lines.size() >= kMostEventLines) {
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

QStringList TimelineCanvas::hoverLines() const
{
    QStringList lines;
    if (m_pointer && m_pointer->y() < plotRect().top()) return eventLines();
    if (m_pointer && predictionRect().contains(m_pointer->toPoint())) return m_prediction->readout(m_hover.at);
    if (m_pointer && stripRect().contains(m_pointer->toPoint())) return m_strip->readout(m_hover.at);
    if (m_hover.row && m_hover.row->kind == TimelineRow::Kind::Counter && m_pointer) {
        QStringList of = m_counters->readout(m_hover.row->counter, m_hover.at);
        return m_hover.onLabel ? of.mid(0, 1) + of.mid(std::max<qsizetype>(1, of.size() - 1)) : of;
    }
    if (m_hover.onLabel && m_hover.row) {
        if (m_hover.row->kind == TimelineRow::Kind::Track) return lines;
        const auto rank = std::find_if(m_ranks.begin(), m_ranks.end(),
                                       [&](const RankInfo& info) { return info.rank == m_hover.row->rank; });
        if (rank == m_ranks.end()) return lines;
        lines << tr("rank %1").arg(rank->rank.value);
        QStringList facts;
        if (!rank->device.empty()) facts << QString::fromStdString(rank->device);
        if (!rank->host.empty()) facts << QString::fromStdString(rank->host);
        facts << tr("stage %1").arg(rank->pipelineStage);
        lines << facts.join(QStringLiteral(" \u00b7 "));
        return lines;
    }
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

} // namespace fourwalls::views
