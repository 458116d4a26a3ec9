// SPDX-License-Identifier: GPL-3.0-or-later
// Which rows the timeline shows: the filter in the corner above their names, and the width of these.
#include "model/trace/name_matcher.h"
#include "views/plot/theme.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/words.h"

#include <QKeyEvent>
#include <QLineEdit>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kNarrowestLabels = 96;
constexpr int kLabelGrip = 3; ///< so near to the edge of the names it is dragged [pixels]

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

} // namespace fourwalls::views
