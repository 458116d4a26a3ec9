// SPDX-License-Identifier: GPL-3.0-or-later
// Which rows the timeline shows: the filter in the corner above their names, and the width of these.
#include "model/trace/name_matcher.h"
#include "views/plot/theme.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/words.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kNarrowestLabels = 96;
constexpr int kLabelGrip = 3;  ///< so near to the edge of the names it is dragged [pixels]
constexpr int kBorderGrip = 3; ///< so near to the lower border of a row it is pulled [pixels]

/// Whether the text has the word; a number as a whole number, so that rank 1 is not rank 12.
bool hasWord(const QString& text, const QString& word)
{
    const auto isDigitAt = [&](qsizetype at) { return at >= 0 && at < text.size() && text[at].isDigit(); };
    const bool isNumber = std::all_of(word.begin(), word.end(), [](QChar c) { return c.isDigit(); });
    for (qsizetype at = text.indexOf(word, 0, Qt::CaseInsensitive); at >= 0;
         at = text.indexOf(word, at + 1, Qt::CaseInsensitive))
        if (!isNumber || (!isDigitAt(at - 1) && !isDigitAt(at + word.size()))) return true;
    return false;
}

} // namespace

void TimelineCanvas::makeRowFilter()
{
    m_rowFilter->setObjectName(QStringLiteral("timeline.rows"));
    m_rowFilter->setFont(fontOf(TextRole::Small));
    m_rowFilter->setClearButtonEnabled(true);
    m_rowFilter->installEventFilter(this);
    m_rowFilter->setFocusPolicy(Qt::StrongFocus);
    connect(m_rowFilter, &QLineEdit::textChanged, this, &TimelineCanvas::filterRows);
    retranslateRowFilter();
}

void TimelineCanvas::retranslateRowFilter()
{
    m_rowFilter->setPlaceholderText(tr("Filter rows"));
    m_rowFilter->setAccessibleName(tr("Filter rows"));
    m_rowFilter->setToolTip(
        tr("Show only rows whose name has these words, such as rank 1 stream 7; an expression behind a slash"));
}

QString TimelineCanvas::rowFilter() const
{
    return m_rowFilter->text();
}

void TimelineCanvas::setRowFilter(const QString& text)
{
    m_rowFilter->setText(text);
}

void TimelineCanvas::filterRows()
{
    const QString typed = m_rowFilter->text().trimmed();
    const bool isExpression = typed.startsWith(QLatin1Char('/'));
    QString expression = isExpression ? typed.mid(1) : QString();
    if (expression.endsWith(QLatin1Char('/'))) expression.chop(1);
    const auto matcher = NameMatcher::create(expression.toStdString(), true);
    QPalette palette = this->palette();
    if (!matcher.ok()) palette.setColor(QPalette::Text, currentTheme().error);
    m_rowFilter->setPalette(palette);
    if (!matcher.ok()) return; // the rows stay as they are until it is whole

    TimelineArrangement arrangement = m_arrangement;
    arrangement.filter.reset();
    if (!typed.isEmpty() && !(isExpression && expression.isEmpty())) {
        const QStringList words = typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
        const auto matches = [&](const QString& name) {
            if (isExpression) return matcher->matches(name.toStdString());
            return std::all_of(words.begin(), words.end(), [&](const QString& word) { return hasWord(name, word); });
        };
        arrangement.filter.emplace();
        for (const TrackView& track : m_tracks) {
            const QString rank = tr("rank %1").arg(track.info.rank.value) + QLatin1Char(' ');
            if (matches(rank + trackName(track.info)) || matches(rank + QString::fromStdString(track.info.name)))
                arrangement.filter->tracks.insert(track.id);
        }
        for (const CounterTrack& counter : m_counterTracks) {
            const QString rank = counter.rank ? tr("rank %1").arg(counter.rank->value) + QLatin1Char(' ') : QString();
            if (matches(rank + m_counters->nameOf(counter.counter)))
                arrangement.filter->counters.insert(counter.counter);
        }
    }
    setArrangement(std::move(arrangement));
}

bool TimelineCanvas::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_rowFilter) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (event->type() == QEvent::ShortcutOverride && key->key() == Qt::Key_Escape) {
        event->accept(); // of the field while it has the focus, not of the view
        return true;
    }
    if (event->type() == QEvent::KeyPress &&
        (key->key() == Qt::Key_Escape || key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
        if (key->key() == Qt::Key_Escape) m_rowFilter->clear();
        setFocus(Qt::ShortcutFocusReason);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void TimelineCanvas::setLabelWidth(int width)
{
    width = std::clamp(width, kNarrowestLabels, std::max(kNarrowestLabels, this->width() / 2));
    if (width == m_labelWidth) return;
    m_labelWidth = width;
    relayout();
    emit labelWidthChanged();
    emit rangeChanged(m_camera.range());
}

bool TimelineCanvas::onLabelEdge(QPointF position) const
{
    return std::abs(position.x() - m_labelWidth) <= kLabelGrip && m_emptyReason.isEmpty();
}

const TimelineRow* TimelineCanvas::rowEndingAt(QPointF position) const
{
    const QRect plot = plotRect();
    if (position.x() >= m_labelWidth - kLabelGrip || position.y() < plot.top() || !m_emptyReason.isEmpty())
        return nullptr;
    const int y = static_cast<int>(position.y()) - plot.top();
    for (const int at : {y, y - kBorderGrip}) {
        const TimelineRow* row = rowAt(at);
        if (!row || row->kind != TimelineRow::Kind::Track) continue;
        const int end = TimelineRenderer::topOf(*row, m_layout, m_scroll) + row->height;
        const int grip = std::min(kBorderGrip, row->height / 5); // of a low row most is its name
        if (std::abs(end - y) <= grip) return row;
    }
    return nullptr;
}

void TimelineCanvas::beginRowDrag(const TimelineRow& row, QPointF position)
{
    m_pressAt = position;
    m_draggedRow = row.track;
    m_draggedHeight = row.height;
    const auto pulled = m_arrangement.streamHeight.find(streamOf(*track(*row.track)));
    m_draggedPercent = pulled == m_arrangement.streamHeight.end() ? 100 : pulled->second;
}

void TimelineCanvas::dragHeight(QPointF to)
{
    const TrackView* view = m_draggedRow ? track(*m_draggedRow) : nullptr;
    if (!view) return;
    const double wanted = m_draggedHeight + to.y() - m_pressAt.y();
    const int percent =
        std::clamp(static_cast<int>(std::lround(m_draggedPercent * wanted / std::max(1, m_draggedHeight))),
                   kLowestRowPercent, kHighestRowPercent);
    const StreamKey stream = streamOf(*view);
    const auto present = m_arrangement.streamHeight.find(stream);
    if ((present == m_arrangement.streamHeight.end() ? 100 : present->second) == percent) return;
    TimelineArrangement arrangement = m_arrangement;
    arrangement.streamHeight[stream] = percent;
    setArrangement(std::move(arrangement));
}

const TimelineRow* TimelineCanvas::rowBelowGap(QPointF position) const
{
    const TimelineRow* dragged = m_draggedRow ? m_layout.rowOf(*m_draggedRow) : nullptr;
    if (!dragged) return nullptr;
    // Among its like: pinned ones, or by rank the tracks of its rank, by stream the streams.
    const int y = static_cast<int>(position.y()) - plotRect().top();
    const bool byStream = m_arrangement.order == RowOrder::ByStream && !dragged->pinned;
    for (const TimelineRow& row : dragged->pinned ? m_layout.pinned : m_layout.rows) {
        if (row.kind != TimelineRow::Kind::Track) continue;
        if (byStream ? !row.startsGroup && row.top > 0 : !dragged->pinned && row.rank != dragged->rank) continue;
        const int top = TimelineRenderer::topOf(row, m_layout, m_scroll);
        if (y < top + row.height / 2) return &row;
    }
    return nullptr;
}

void TimelineCanvas::dropRow(QPointF position)
{
    const TrackView* moved = m_draggedRow ? track(*m_draggedRow) : nullptr;
    const TimelineRow* from = m_draggedRow ? m_layout.rowOf(*m_draggedRow) : nullptr;
    if (!moved || !from || (position - m_pressAt).manhattanLength() < QApplication::startDragDistance()) return;
    const TimelineRow* below = rowBelowGap(position);
    TimelineArrangement arrangement = m_arrangement;
    if (from->pinned) {
        if (below && *below->track == moved->id) return;
        std::erase(arrangement.pinned, moved->id);
        const auto at = below ? std::ranges::find(arrangement.pinned, *below->track) : arrangement.pinned.end();
        arrangement.pinned.insert(at, moved->id);
    } else {
        const std::optional<StreamKey> above = below ? std::optional(streamOf(*track(*below->track))) : std::nullopt;
        moveStream(arrangement, m_tracks, streamOf(*moved), above);
    }
    setArrangement(std::move(arrangement));
}

void TimelineCanvas::moveRow(TrackId id, bool up)
{
    const TimelineRow* row = m_layout.rowOf(id);
    if (!row || row->kind != TimelineRow::Kind::Track || row->pinned) return;
    // The tracks of its rank, top to bottom; by stream the streams, each by its first row.
    std::vector<StreamKey> streams;
    const bool byStream = m_arrangement.order == RowOrder::ByStream;
    for (const TimelineRow& each : m_layout.rows) {
        if (each.kind != TimelineRow::Kind::Track || each.pinned) continue;
        if (byStream ? !each.startsGroup && !streams.empty() : each.rank != row->rank) continue;
        const StreamKey stream = streamOf(*track(*each.track));
        if (std::ranges::find(streams, stream) == streams.end()) streams.push_back(stream);
    }
    const StreamKey moved = streamOf(*track(id));
    const auto at = std::ranges::find(streams, moved) - streams.begin();
    if (up ? at == 0 : at + 1 >= static_cast<std::ptrdiff_t>(streams.size())) return;
    // Down: above the one after the next.
    const auto above = static_cast<std::size_t>(up ? at - 1 : at + 2);
    TimelineArrangement arrangement = m_arrangement;
    moveStream(arrangement, m_tracks, moved, above < streams.size() ? std::optional(streams[above]) : std::nullopt);
    setArrangement(std::move(arrangement));
}

void TimelineCanvas::changeRowHeight(TrackId id, int percent)
{
    const TrackView* view = track(id);
    if (!view) return;
    TimelineArrangement arrangement = m_arrangement;
    const auto present = arrangement.streamHeight.try_emplace(streamOf(*view), 100).first;
    present->second = std::clamp(present->second + percent, kLowestRowPercent, kHighestRowPercent);
    setArrangement(std::move(arrangement));
}

void TimelineCanvas::paintRowDrag(QPainter& painter) const
{
    if (m_drag != Drag::Row || !m_pointer ||
        (*m_pointer - m_pressAt).manhattanLength() < QApplication::startDragDistance())
        return;
    const TimelineRow* dragged = m_draggedRow ? m_layout.rowOf(*m_draggedRow) : nullptr;
    if (!dragged) return;
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    painter.fillRect(
        QRect(0, plot.top() + TimelineRenderer::topOf(*dragged, m_layout, m_scroll), plot.left(), dragged->height),
        theme.selectionFill);
    const TimelineRow* below = rowBelowGap(*m_pointer);
    int y = 0;
    if (below) {
        y = TimelineRenderer::topOf(*below, m_layout, m_scroll);
    } else {
        // Below the last of its like.
        const bool all = dragged->pinned || m_arrangement.order == RowOrder::ByStream;
        for (const TimelineRow& row : dragged->pinned ? m_layout.pinned : m_layout.rows)
            if (row.kind == TimelineRow::Kind::Track && (all || row.rank == dragged->rank))
                y = TimelineRenderer::topOf(row, m_layout, m_scroll) + row.height;
    }
    painter.fillRect(QRect(0, plot.top() + y - 1, plot.right(), 2), theme.accent);
}

QString TimelineCanvas::rowName(const TimelineRow& row) const
{
    if (row.kind == TimelineRow::Kind::Counter) return m_counters->nameOf(row.counter);
    if (row.kind == TimelineRow::Kind::Track) {
        const TrackView* shown = track(*row.track);
        return shown ? trackName(shown->info) : QString();
    }
    const bool open = row.kind == TimelineRow::Kind::Head;
    return open && row.track ? tr("rank %1 \u00b7 step").arg(row.rank.value) : tr("rank %1").arg(row.rank.value);
}

int TimelineCanvas::spokenParts() const
{
    return static_cast<int>(m_layout.pinned.size() + m_layout.rows.size()) + (m_selected ? 1 : 0);
}

const TimelineRow& TimelineCanvas::spokenRow(int part) const
{
    const auto row = static_cast<std::size_t>(part - (m_selected ? 1 : 0)), pinned = m_layout.pinned.size();
    return row < pinned ? m_layout.pinned[row] : m_layout.rows[row - pinned];
}

QString TimelineCanvas::spokenText(int part) const
{
    QStringList texts;
    if (m_selected && part == 0) {
        texts = sliceLines(m_selected->slice, m_selected->op.get());
        if (const TrackView* on = track(m_selected->slice.track))
            texts << tr("rank %1").arg(on->info.rank.value) << trackName(on->info);
    } else {
        const TimelineRow& row = spokenRow(part);
        if (row.kind == TimelineRow::Kind::Track) texts << tr("rank %1").arg(row.rank.value);
        texts << rowName(row);
    }
    return texts.join(QStringLiteral(", "));
}

QRect TimelineCanvas::spokenPlace(int part) const
{
    const bool isSlice = m_selected && part == 0;
    const QRect plot = plotRect();
    const QRect place = isSlice ? sliceRect(m_selected->slice) : labelRect(spokenRow(part));
    return place.intersected(isSlice ? plot : QRect(0, plot.top(), plot.left(), plot.height()));
}

} // namespace fourwalls::views
