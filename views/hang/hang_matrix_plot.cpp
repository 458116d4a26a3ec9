// SPDX-License-Identifier: GPL-3.0-or-later
// See hang_matrix_plot.h.
#include "views/hang/hang_matrix_plot.h"

#include "views/hang/hang_words.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kHangRow = 20, kHangHead = 38, kColumnGap = 14, kNarrowestCell = 9, kWidestCell = 30;

void paintCell(QPainter& painter, const QRectF& rect, HangCell cell, const Theme& theme)
{
    const QRectF inside = rect.adjusted(1, 1.5, -1, -1.5);
    switch (cell) {
    case HangCell::Finished: painter.fillRect(inside, finishedColour(theme)); break;
    case HangCell::Entered: painter.fillRect(inside, theme.communication); break;
    case HangCell::NotEntered: {
        QPen pen(theme.error, 1.2, Qt::CustomDashLine);
        pen.setDashPattern({2.5, 2});
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(inside.adjusted(0.5, 0.5, -0.5, -0.5));
        break;
    }
    case HangCell::Unknown:
        painter.fillRect(QRectF(inside.left(), inside.center().y(), inside.width(), 1), theme.line);
        break;
    }
}

} // namespace

QColor finishedColour(const Theme& theme)
{
    QColor colour = theme.ok;
    colour.setAlphaF(0.45F);
    return colour;
}

HangMatrixPlot::HangMatrixPlot(QWidget* parent) : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Who is where"));
}

void HangMatrixPlot::setRows(HangRows rows)
{
    m_rows = std::move(rows);
    const QFontMetrics metrics(fontOf(TextRole::Small));
    m_labelWidth = 0;
    for (const HangRow& each : m_rows.rows)
        m_labelWidth = std::max(m_labelWidth, metrics.horizontalAdvance(labelOf(each)));
    fitScrollBar();
    // What is named is in sight.
    const auto named = std::find_if(m_rows.rows.begin(), m_rows.rows.end(),
                                    [](const HangRow& row) { return row.kind == HangRowKind::Named; });
    const auto row = named == m_rows.rows.end() ? 0 : static_cast<int>(named - m_rows.rows.begin());
    verticalScrollBar()->setValue((row + 2) * kHangRow - verticalScrollBar()->pageStep());
    viewport()->update();
}

void HangMatrixPlot::setChosen(int rank)
{
    m_chosen = rank;
    tellCurrent(*this);
    viewport()->update();
}

void HangMatrixPlot::fitScrollBar()
{
    const int room = std::max(kHangRow, viewport()->height() - kHangHead);
    const int all = static_cast<int>(m_rows.rows.size()) * kHangRow;
    verticalScrollBar()->setRange(0, std::max(0, all - room));
    verticalScrollBar()->setPageStep(room);
    verticalScrollBar()->setSingleStep(kHangRow);
}

void HangMatrixPlot::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    fitScrollBar();
}

HangMatrixPlot::Layout HangMatrixPlot::layoutOf(int width) const
{
    Layout layout;
    layout.label = std::min(std::max(m_labelWidth + 24, 80), std::clamp(width / 4, 110, 230));
    const int room = width - layout.label;
    int cells = 0;
    for (const HangColumn& column : m_rows.columns) {
        const int more = cells + column.cells;
        if (layout.shown > 0 && more * kNarrowestCell + (layout.shown + 1) * kColumnGap > room) break;
        cells = more;
        ++layout.shown;
    }
    if (cells > 0) layout.cell = std::clamp((room - layout.shown * kColumnGap) / cells, kNarrowestCell, kWidestCell);
    return layout;
}

QString HangMatrixPlot::labelOf(const HangRow& row) const
{
    if (row.ranks.size() == 1) return rankWords(row.ranks);
    return tr("%1 (%n)", nullptr, static_cast<int>(row.ranks.size())).arg(rankWords(row.ranks));
}

QString HangMatrixPlot::tipOf(const HangRow& row) const
{
    QStringList lines{labelOf(row)};
    for (std::size_t c = 0; c < m_rows.columns.size(); ++c)
        if (const QString lag = lagOf(row, c); !lag.isEmpty()) lines << lag;
    return lines.join(QLatin1Char('\n'));
}

QString HangMatrixPlot::lagOf(const HangRow& row, std::size_t column) const
{
    const HangLag& lag = row.lags[column];
    if (!lag.entered && !lag.completed) return {};
    const QString kind = groupKindWords(m_rows.columns[column].kind);
    const qint64 entered = lag.entered.value_or(0), finished = lag.completed.value_or(entered);
    if (entered == 0 && finished == 0) return tr("%1: finished everything that its group entered").arg(kind);
    return tr("%1: entered all but the newest %2, finished all but the newest %3").arg(kind).arg(entered).arg(finished);
}

QString HangMatrixPlot::lossOf(const HangRow& row)
{
    if (row.kind == HangRowKind::Missing) return tr("no dump: the process ended, or could not write");
    return row.kind == HangRowKind::Unreadable ? tr("the dump is damaged") : QString();
}

int HangMatrixPlot::spokenColumns() const
{
    return static_cast<int>(m_rows.columns.size());
}

int HangMatrixPlot::spokenRows() const
{
    return static_cast<int>(m_rows.rows.size());
}

QString HangMatrixPlot::spokenCell(Cell cell) const
{
    const HangRow& row = m_rows.rows[static_cast<std::size_t>(cell.first)];
    const QString loss = lossOf(row);
    const QString what = loss.isEmpty() ? lagOf(row, static_cast<std::size_t>(cell.second)) : loss;
    return what.isEmpty() ? labelOf(row) : labelOf(row) + QStringLiteral(", ") + what;
}

QRect HangMatrixPlot::spokenCellPlace(Cell cell) const
{
    const Layout layout = layoutOf(viewport()->width());
    const int column = cell.second;
    if (column >= layout.shown) return {};
    int left = layout.label;
    for (int c = 0; c < column; ++c)
        left += m_rows.columns[static_cast<std::size_t>(c)].cells * layout.cell + kColumnGap;
    const int top = kHangHead + cell.first * kHangRow - verticalScrollBar()->value();
    const int width = m_rows.columns[static_cast<std::size_t>(column)].cells * layout.cell;
    return QRect(left, top, width, kHangRow).intersected(viewport()->rect().adjusted(0, kHangHead, 0, 0));
}

std::optional<SpokenTable::Cell> HangMatrixPlot::spokenCurrentCell() const
{
    const auto row = chosenRow();
    return row ? std::optional(Cell{static_cast<int>(*row), 0}) : std::nullopt;
}

QString HangMatrixPlot::spokenHeading(Qt::Orientation orientation, int section) const
{
    const auto at = static_cast<std::size_t>(section);
    if (orientation == Qt::Vertical) return at < m_rows.rows.size() ? labelOf(m_rows.rows[at]) : QString();
    return at < m_rows.columns.size() ? groupKindWords(m_rows.columns[at].kind) : QString();
}

void HangMatrixPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const Theme& theme = currentTheme();
    const int width = viewport()->width(), height = viewport()->height();
    painter.fillRect(viewport()->rect(), theme.card);
    const Layout layout = layoutOf(width);
    painter.setFont(fontOf(TextRole::Small));
    const int offset = verticalScrollBar()->value();
    painter.save();
    painter.setClipRect(0, kHangHead, width, height - kHangHead);
    const auto first = static_cast<std::size_t>(offset / kHangRow);
    for (std::size_t r = first; r < m_rows.rows.size(); ++r) {
        const int top = kHangHead + static_cast<int>(r) * kHangRow - offset;
        if (top > height) break;
        const HangRow& row = m_rows.rows[r];
        if (m_chosen && std::binary_search(row.ranks.begin(), row.ranks.end(), *m_chosen))
            painter.fillRect(0, top, width, kHangRow, theme.selectionFill);
        const bool isNamed = row.kind == HangRowKind::Named || row.kind == HangRowKind::Missing;
        QFont font = fontOf(TextRole::Small);
        font.setBold(isNamed);
        painter.setFont(font);
        painter.setPen(isNamed ? theme.error : row.kind == HangRowKind::InSet ? theme.warning : theme.text);
        const QString label = painter.fontMetrics().elidedText(labelOf(row), Qt::ElideMiddle, layout.label - 10);
        painter.drawText(QRect(2, top, layout.label - 8, kHangRow), Qt::AlignVCenter | Qt::AlignLeft, label);
        if (const QString loss = lossOf(row); !loss.isEmpty()) {
            painter.drawText(QRect(layout.label, top, width - layout.label, kHangRow), Qt::AlignVCenter | Qt::AlignLeft,
                             loss);
            continue;
        }
        int left = layout.label;
        for (int c = 0; c < layout.shown; ++c) {
            const HangColumn& column = m_rows.columns[static_cast<std::size_t>(c)];
            for (int cell = 0; cell < column.cells; ++cell)
                paintCell(painter, QRectF(left + cell * layout.cell, top, layout.cell, kHangRow),
                          row.cell(column, static_cast<std::size_t>(c), cell), theme);
            left += column.cells * layout.cell + kColumnGap;
        }
    }
    painter.restore();
    int left = layout.label;
    for (int c = 0; c < layout.shown; ++c) {
        const HangColumn& column = m_rows.columns[static_cast<std::size_t>(c)];
        const int columnWidth = column.cells * layout.cell;
        QFont bold = fontOf(TextRole::Small);
        bold.setBold(true);
        painter.setFont(bold);
        painter.setPen(theme.text);
        const QString kind =
            painter.fontMetrics().elidedText(groupKindWords(column.kind), Qt::ElideMiddle, columnWidth);
        painter.drawText(QRect(left, 0, columnWidth, 18), Qt::AlignVCenter | Qt::AlignLeft, kind);
        painter.setFont(fontOf(TextRole::Small));
        painter.setPen(theme.secondaryText);
        const QString newest = column.newest ? formatCount(*column.newest) : tr("newest");
        painter.drawText(QRect(left - kColumnGap, 18, columnWidth + kColumnGap, 16), Qt::AlignVCenter | Qt::AlignRight,
                         newest);
        left += columnWidth + kColumnGap;
    }
    const int hidden = static_cast<int>(m_rows.columns.size()) - layout.shown;
    if (hidden > 0) {
        painter.setPen(theme.secondaryText);
        painter.drawText(QRect(2, 0, layout.label - 8, 18), Qt::AlignVCenter | Qt::AlignLeft,
                         tr("%n more kind(s) of groups", nullptr, hidden));
    }
}

std::optional<std::size_t> HangMatrixPlot::rowAt(QPoint place) const
{
    if (place.y() < kHangHead) return std::nullopt;
    const auto row = static_cast<std::size_t>((place.y() - kHangHead + verticalScrollBar()->value()) / kHangRow);
    return row < m_rows.rows.size() ? std::optional(row) : std::nullopt;
}

std::optional<std::size_t> HangMatrixPlot::chosenRow() const
{
    for (std::size_t i = 0; m_chosen && i < m_rows.rows.size(); ++i) {
        const std::vector<int>& ranks = m_rows.rows[i].ranks;
        if (std::binary_search(ranks.begin(), ranks.end(), *m_chosen)) return i;
    }
    return std::nullopt;
}

void HangMatrixPlot::mousePressEvent(QMouseEvent* event)
{
    if (const auto row = rowAt(event->pos())) emit rankChosen(m_rows.rows[*row].ranks.front());
}

void HangMatrixPlot::keyPressEvent(QKeyEvent* event)
{
    const int step = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
    if (step == 0 || m_rows.rows.empty()) return QAbstractScrollArea::keyPressEvent(event);
    const auto at = chosenRow();
    const std::ptrdiff_t now = at ? static_cast<std::ptrdiff_t>(*at) + step : 0;
    const auto last = static_cast<std::ptrdiff_t>(m_rows.rows.size()) - 1;
    const std::ptrdiff_t next = std::clamp<std::ptrdiff_t>(now, 0, last);
    const int top = static_cast<int>(next) * kHangRow;
    QScrollBar* bar = verticalScrollBar();
    bar->setValue(std::clamp(bar->value(), top + kHangRow - bar->pageStep(), top));
    emit rankChosen(m_rows.rows[static_cast<std::size_t>(next)].ranks.front());
}

bool HangMatrixPlot::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto row = rowAt(help->pos());
        if (row)
            QToolTip::showText(help->globalPos(), tipOf(m_rows.rows[*row]), viewport());
        else
            QToolTip::hideText();
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace fourwalls::views
