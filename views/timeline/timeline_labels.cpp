// SPDX-License-Identifier: GPL-3.0-or-later
// See timeline_labels.h.
#include "views/timeline/timeline_labels.h"

#include "model/trace/name_matcher.h"
#include "views/plot/theme.h"
#include "views/timeline/counter_curves.h"
#include "views/words/words.h"

#include <QApplication>
#include <QFontMetrics>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fourwalls::views {

namespace {
constexpr int kNarrowestNames = 96;
constexpr int kEdgeGrip = 3;   ///< so near to the edge of the column it is dragged [pixels]
constexpr int kBorderGrip = 3; ///< so near to the lower border of a row it is pulled [pixels]
constexpr int kPinZone = 16;   ///< right end of a row's name that pins
constexpr int kLowest = 12;
constexpr int kIndent = 18;
constexpr int kPinSize = 14;

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

/// A small closed or open triangle in front of a rank's name.
void paintTriangle(QPainter& painter, QPointF centre, bool open, const QColor& colour)
{
    QPainterPath path;
    if (open) {
        path.moveTo(centre + QPointF(-3.5, -2));
        path.lineTo(centre + QPointF(3.5, -2));
        path.lineTo(centre + QPointF(0, 2.5));
    } else {
        path.moveTo(centre + QPointF(-2, -3.5));
        path.lineTo(centre + QPointF(2.5, 0));
        path.lineTo(centre + QPointF(-2, 3.5));
    }
    path.closeSubpath();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillPath(path, colour);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintPin(QPainter& painter, const QRectF& rect, bool pinned, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF c = rect.center();
    painter.setPen(QPen(pinned ? theme.accent : theme.secondaryText, 1.2));
    painter.setBrush(pinned ? QBrush(theme.accent) : QBrush(Qt::NoBrush));
    painter.drawEllipse(c + QPointF(0, -2), 3, 3);
    painter.drawLine(c + QPointF(0, 1), c + QPointF(0, 5));
    painter.restore();
}

} // namespace

TimelineLabels::TimelineLabels(TimelineRows& rows, const CounterCurves& counters, QWidget* canvas)
    : QObject(canvas)
    , m_rows(rows)
    , m_counters(counters)
    , m_canvas(canvas)
    , m_filter(new QLineEdit(canvas))
{
    m_filter->setObjectName(QStringLiteral("timeline.rows"));
    m_filter->setFont(fontOf(TextRole::Small));
    m_filter->setClearButtonEnabled(true);
    m_filter->installEventFilter(this);
    m_filter->setFocusPolicy(Qt::StrongFocus);
    connect(m_filter, &QLineEdit::textChanged, this, &TimelineLabels::applyFilter);
    connect(&m_rows, &TimelineRows::filterLifted, m_filter, &QLineEdit::clear);
    retranslate();
}

void TimelineLabels::retranslate()
{
    m_filter->setPlaceholderText(tr("Filter rows"));
    m_filter->setAccessibleName(tr("Filter rows"));
    m_filter->setToolTip(
        tr("Show only rows whose name has these words, such as rank 1 stream 7; an expression behind a slash"));
}

void TimelineLabels::place(const QRect& plot)
{
    m_plot = plot;
    m_filter->setGeometry(8, 3, m_width - 16, plot.top() - 6);
}

void TimelineLabels::setWidth(int width)
{
    width = std::clamp(width, kNarrowestNames, std::max(kNarrowestNames, m_canvas->width() / 2));
    if (width == m_width) return;
    m_width = width;
    emit widthChanged();
}

QString TimelineLabels::filter() const
{
    return m_filter->text();
}

void TimelineLabels::setFilter(const QString& text)
{
    m_filter->setText(text);
}

void TimelineLabels::applyFilter()
{
    const QString typed = m_filter->text().trimmed();
    const bool isExpression = typed.startsWith(QLatin1Char('/'));
    QString expression = isExpression ? typed.mid(1) : QString();
    if (expression.endsWith(QLatin1Char('/'))) expression.chop(1);
    const auto matcher = NameMatcher::create(expression.toStdString(), true);
    QPalette palette = m_canvas->palette();
    if (!matcher.ok()) palette.setColor(QPalette::Text, currentTheme().error);
    m_filter->setPalette(palette);
    if (!matcher.ok()) return; // the rows stay as they are until it is whole

    TimelineArrangement arrangement = m_rows.arrangement();
    arrangement.filter.reset();
    if (!typed.isEmpty() && !(isExpression && expression.isEmpty())) {
        const QStringList words = typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
        const auto matches = [&](const QString& name) {
            if (isExpression) return matcher->matches(name.toStdString());
            return std::all_of(words.begin(), words.end(), [&](const QString& word) { return hasWord(name, word); });
        };
        arrangement.filter.emplace();
        for (const TrackView& track : m_rows.tracks()) {
            const QString rank = tr("rank %1").arg(track.info.rank.value) + QLatin1Char(' ');
            if (matches(rank + trackName(track.info)) || matches(rank + QString::fromStdString(track.info.name)))
                arrangement.filter->tracks.insert(track.id);
        }
        for (const CounterTrack& counter : m_rows.counters()) {
            const QString rank = counter.rank ? tr("rank %1").arg(counter.rank->value) + QLatin1Char(' ') : QString();
            if (matches(rank + m_counters.nameOf(counter.counter)))
                arrangement.filter->counters.insert(counter.counter);
        }
    }
    m_rows.setArrangement(std::move(arrangement));
}

bool TimelineLabels::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_filter) return QObject::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (event->type() == QEvent::ShortcutOverride && key->key() == Qt::Key_Escape) {
        event->accept(); // of the field while it has the focus, not of the view
        return true;
    }
    if (event->type() == QEvent::KeyPress &&
        (key->key() == Qt::Key_Escape || key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
        if (key->key() == Qt::Key_Escape) m_filter->clear();
        m_canvas->setFocus(Qt::ShortcutFocusReason);
        return true;
    }
    return QObject::eventFilter(watched, event);
}

QString TimelineLabels::nameOf(const TimelineRow& row) const
{
    if (row.kind == TimelineRow::Kind::Counter) return m_counters.nameOf(row.counter);
    if (row.kind == TimelineRow::Kind::Track) {
        const TrackView* shown = m_rows.track(*row.track);
        return shown ? trackName(shown->info) : QString();
    }
    const bool open = row.kind == TimelineRow::Kind::Head;
    return open && row.track ? tr("rank %1 \u00b7 step").arg(row.rank.value) : tr("rank %1").arg(row.rank.value);
}

QRect TimelineLabels::rectOf(const TimelineRow& row) const
{
    return {0, m_plot.top() + m_rows.topOf(row), m_plot.left() - 8, row.height};
}

bool TimelineLabels::isOnEdge(QPointF at) const
{
    return std::abs(at.x() - m_width) <= kEdgeGrip;
}

const TimelineRow* TimelineLabels::rowEndingAt(QPointF at) const
{
    if (at.x() >= m_width - kEdgeGrip || at.y() < m_plot.top()) return nullptr;
    const int line = lineOf(at);
    for (const int above : {line, line - kBorderGrip}) {
        const TimelineRow* row = m_rows.rowAt(above);
        if (!row || row->kind != TimelineRow::Kind::Track) continue;
        const int grip = std::min(kBorderGrip, row->height / 5); // of a low row most is its name
        if (std::abs(m_rows.topOf(*row) + row->height - line) <= grip) return row;
    }
    return nullptr;
}

void TimelineLabels::beginRowDrag(Drag drag, const TimelineRow& row)
{
    m_drag = drag;
    m_dragged = *row.track;
    m_draggedHeight = row.height;
    m_draggedPercent = m_rows.heightPercent(m_dragged);
}

bool TimelineLabels::press(QPointF at, const TimelineRow* named)
{
    m_pressed = at;
    if (isOnEdge(at)) {
        m_drag = Drag::Edge;
        return true;
    }
    if (const TimelineRow* row = rowEndingAt(at)) {
        beginRowDrag(Drag::Height, *row);
        return true;
    }
    if (at.x() >= m_plot.left()) return false;
    if (!named || named->kind == TimelineRow::Kind::Counter) return true;
    TimelineArrangement arrangement = m_rows.arrangement();
    if (named->kind != TimelineRow::Kind::Track) {
        if (!arrangement.collapsed.erase(named->rank)) arrangement.collapsed.insert(named->rank);
    } else if (at.x() > rectOf(*named).right() - kPinZone) {
        const TrackId id = *named->track;
        if (std::erase(arrangement.pinned, id) == 0) arrangement.pinned.push_back(id);
    } else {
        beginRowDrag(Drag::Row, *named);
        return true;
    }
    m_rows.setArrangement(std::move(arrangement));
    return true;
}

bool TimelineLabels::resetHeightAt(QPointF at)
{
    const TimelineRow* row = rowEndingAt(at);
    if (row) m_rows.resetHeight(*row->track);
    return row;
}

bool TimelineLabels::hasMoved(QPointF to) const
{
    return (to - m_pressed).manhattanLength() >= QApplication::startDragDistance();
}

void TimelineLabels::drag(QPointF to)
{
    if (m_drag == Drag::Edge) {
        setWidth(static_cast<int>(std::lround(to.x())));
    } else if (m_drag == Drag::Height) {
        const double wanted = m_draggedHeight + to.y() - m_pressed.y();
        m_rows.setHeightPercent(
            m_dragged, static_cast<int>(std::lround(m_draggedPercent * wanted / std::max(1, m_draggedHeight))));
    } else if (m_drag == Drag::Row && hasMoved(to)) {
        m_canvas->setCursor(Qt::ClosedHandCursor);
    }
}

void TimelineLabels::release(QPointF at)
{
    const Drag drag = std::exchange(m_drag, Drag::None);
    if (drag == Drag::Row && hasMoved(at)) m_rows.drop(m_dragged, lineOf(at));
}

void TimelineLabels::paint(QPainter& painter, const TimelineRow* hovered) const
{
    const Theme& theme = currentTheme();
    const int pinnedHeight = m_rows.layout().pinnedHeight;
    painter.save();
    if (pinnedHeight > 0) {
        painter.setClipRect(0, m_plot.top(), m_plot.left(), pinnedHeight);
        for (const auto& row : m_rows.layout().pinned) paintRow(painter, row, &row == hovered);
    }
    painter.setClipRect(0, m_plot.top() + pinnedHeight, m_plot.left(), m_plot.height() - pinnedHeight);
    int free = -1000; // below the last name: flat rows leave names away that would touch
    for (const auto& row : m_rows.visible()) {
        const QRect rect = rectOf(row);
        if (row.startsGroup) {
            painter.setPen(theme.line);
            painter.drawLine(0, rect.top() - 2, m_plot.left(), rect.top() - 2);
        }
        if (row.height < kLowest) {
            if (rect.top() < free) continue;
            free = rect.top() + kLowest + 2;
        }
        paintRow(painter, row, &row == hovered);
    }
    painter.setClipping(false);
    painter.setPen(theme.line);
    if (pinnedHeight > 0) painter.drawLine(0, m_plot.top() + pinnedHeight, m_plot.left(), m_plot.top() + pinnedHeight);
    painter.restore();
}

void TimelineLabels::paintRow(QPainter& painter, const TimelineRow& row, bool hovered) const
{
    const Theme& theme = currentTheme();
    const QRect rect = rectOf(row);
    if (hovered) painter.fillRect(rect.adjusted(4, 1, 4, -1), theme.hover);
    QFont font = fontOf(TextRole::Small);
    QString text = nameOf(row);
    const int firstLane = row.kind == TimelineRow::Kind::Head
                              ? row.height
                              : std::min(row.height, std::max(kLowest + 2, row.laneHeight + 4));
    QRect place(rect.left() + kIndent, rect.top(), rect.width() - kIndent, firstLane);
    if (row.kind == TimelineRow::Kind::Track) {
        const bool byStream = m_rows.arrangement().order == RowOrder::ByStream;
        if (row.pinned || byStream) text = tr("r%1 \u00b7 %2", "rank and track, short").arg(row.rank.value).arg(text);
        if (hovered || row.pinned) {
            paintPin(painter, QRectF(place.right() - kPinSize + 2, place.top() + 2, kPinSize, place.height() - 3),
                     row.pinned, theme);
            place.setRight(place.right() - kPinSize);
        }
        painter.setPen(theme.secondaryText);
    } else if (row.kind == TimelineRow::Kind::Counter) {
        place.setHeight(row.height);
        painter.setPen(theme.secondaryText);
    } else {
        const bool open = row.kind == TimelineRow::Kind::Head;
        if (row.height >= kLowest) {
            paintTriangle(painter, QPointF(rect.left() + 10, place.center().y() + 1), open, theme.secondaryText);
        } else {
            place.setHeight(kLowest);
        }
        if (open) font.setWeight(QFont::Bold);
        painter.setPen(open ? theme.text : theme.secondaryText);
    }
    painter.setFont(font);
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(font).elidedText(text, Qt::ElideMiddle, place.width()));
}

void TimelineLabels::paintDrag(QPainter& painter, QPointF pointer) const
{
    const TimelineRow* row = m_drag == Drag::Row && hasMoved(pointer) ? m_rows.layout().rowOf(m_dragged) : nullptr;
    if (!row) return;
    const Theme& theme = currentTheme();
    painter.fillRect(QRect(0, m_plot.top() + m_rows.topOf(*row), m_plot.left(), row->height), theme.selectionFill);
    const int gap = m_plot.top() + m_rows.gapAt(*row, lineOf(pointer));
    painter.fillRect(QRect(0, gap - 1, m_plot.right(), 2), theme.accent);
}

} // namespace fourwalls::views
