// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_cells.h.
#include "views/plot/plot_cells.h"

#include "views/plot/theme.h"

#include <QHeaderView>
#include <QPainter>
#include <QResizeEvent>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kPiecesRole = Qt::UserRole + 20; ///< a list of (share, colour) pairs, flat
}

void CellModel::setContent(std::vector<CellColumn> columns, std::vector<std::vector<CellValue>> rows)
{
    beginResetModel();
    m_columns = std::move(columns);
    m_rows = std::move(rows);
    for (auto& row : m_rows) row.resize(m_columns.size());
    endResetModel();
}

int CellModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int CellModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant CellModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    const CellValue& cell = m_rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
    switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return cell.text;
    case kExactRole: return cell.exact.isValid() ? cell.exact : QVariant(cell.text);
    case kShareRole: return cell.share ? QVariant(*cell.share) : QVariant();
    case kColourRole: return cell.colour.isValid() ? QVariant(cell.colour) : QVariant();
    case Qt::ForegroundRole: return cell.ink.isValid() ? QVariant(cell.ink) : QVariant();
    case Qt::ToolTipRole: return cell.toolTip.isEmpty() ? QVariant() : QVariant(cell.toolTip);
    case Qt::TextAlignmentRole:
        return m_columns[static_cast<std::size_t>(index.column())].isFigure
                   ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                   : QVariant();
    case kPiecesRole: {
        if (cell.pieces.empty()) return {};
        QVariantList pieces;
        for (const BarPiece& piece : cell.pieces) pieces << piece.share << piece.colour;
        return pieces;
    }
    default: return {};
    }
}

QVariant CellModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const CellColumn& column = m_columns[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return column.title;
    if (role == Qt::ToolTipRole && !column.toolTip.isEmpty()) return column.toolTip;
    if (role == Qt::TextAlignmentRole && column.isFigure) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    return {};
}

CellTable::CellTable(QWidget* parent)
    : QTableView(parent)
    , m_model(new CellModel(this))
    , m_sorted(new QSortFilterProxyModel(this))
{
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(kExactRole);
    setModel(m_sorted);
    prepareTable(*this);
    setItemDelegate(new PieceDelegate(this));
    setSelectionMode(QAbstractItemView::SingleSelection);
    connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (!m_quiet && index.isValid()) emit rowChosen(sourceRow(index));
    });
    connect(this, &QTableView::activated, this,
            [this](const QModelIndex& index) { emit rowActivated(sourceRow(index)); });
}

int CellTable::sourceRow(const QModelIndex& index) const
{
    return m_sorted->mapToSource(index).row();
}

int CellTable::rows() const
{
    return m_model->rowCount();
}

int CellTable::widthOf(int column) const
{
    const CellColumn& wanted = m_model->columns()[static_cast<std::size_t>(column)];
    if (wanted.width == 0) return 0;
    int width = std::max(wanted.width + insetBehindFigures(*m_model, column), headingWidth(*this, column));
    if (!wanted.isFigure) return width;
    // Digits are about as wide as one another: only the longest texts are measured.
    constexpr int kMargins = 12;
    const QFontMetrics metrics(font());
    qsizetype longest = 0;
    for (int row = 0; row < m_model->rowCount(); ++row) {
        const QModelIndex index = m_model->index(row, column);
        const QString text = index.data().toString();
        if (text.size() + 1 < longest || index.data(kShareRole).isValid()) continue;
        longest = std::max(longest, text.size());
        width = std::max(width, metrics.horizontalAdvance(text) + kMargins);
    }
    return width;
}

void CellTable::setContent(std::vector<CellColumn> columns, std::vector<std::vector<CellValue>> rows, int sortBy,
                           Qt::SortOrder order)
{
    m_quiet = true;
    const auto& before = m_model->columns();
    const bool sameShape = columns.size() == before.size();
    bool grew = !sameShape;
    for (std::size_t i = 0; sameShape && i < columns.size(); ++i) grew = grew || columns[i].hidden != before[i].hidden;
    if (!sameShape) m_widths.assign(columns.size(), 0); // first: other rows may resize the table
    m_model->setContent(std::move(columns), std::move(rows));
    for (int i = 0; i < static_cast<int>(m_widths.size()); ++i) {
        // Columns that somebody is reading, or has widened, do not become narrower.
        int& width = m_widths[static_cast<std::size_t>(i)];
        const int needed = widthOf(i);
        if (!sameShape)
            horizontalHeader()->setSectionResizeMode(i, needed == 0 ? QHeaderView::Stretch : QHeaderView::Interactive);
        if (needed <= width) continue;
        width = needed;
        if (!sameShape || columnWidth(i) < needed) setColumnWidth(i, needed);
        grew = true;
    }
    // As given is ascending: Qt 6.8 turns the rows round for a descending order of no column.
    if (!sameShape) sortByColumn(sortBy, sortBy < 0 ? Qt::AscendingOrder : order);
    if (grew) makeRoom();
    m_quiet = false;
}

void CellTable::resizeEvent(QResizeEvent* event)
{
    QTableView::resizeEvent(event);
    makeRoom();
}

void CellTable::makeRoom()
{
    int least = 170; // a name of about twenty letters
    const auto& all = m_model->columns();
    int fixed = 0;
    bool stretches = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (m_widths[i] == 0) {
            stretches = true;
            least = std::max(least, headingWidth(*this, static_cast<int>(i)));
        }
        fixed += all[i].hidden ? 0 : m_widths[i];
    }
    const bool tight = stretches && fixed + least > viewport()->width();
    int shown = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool hidden = all[i].hidden || (all[i].spare && tight);
        setColumnHidden(static_cast<int>(i), hidden);
        if (!hidden) shown += m_widths[i];
    }
    // Where even the others leave no room for a dozen letters of a name, the table scrolls.
    constexpr int kFewestLetters = 100;
    const int names = std::min(least, viewport()->width() / 2);
    const bool scrolls = tight && shown + kFewestLetters > viewport()->width();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (m_widths[i] > 0) continue;
        const auto column = static_cast<int>(i);
        horizontalHeader()->setSectionResizeMode(column, scrolls ? QHeaderView::Interactive : QHeaderView::Stretch);
        if (scrolls) setColumnWidth(column, names);
    }
}

void CellTable::showRow(int row)
{
    m_quiet = true;
    const QModelIndex index = row < 0 ? QModelIndex() : m_sorted->mapFromSource(m_model->index(row, 0));
    if (index.isValid()) {
        setCurrentIndex(index);
        selectRow(index.row());
        scrollTo(index);
    } else {
        clearSelection();
    }
    m_quiet = false;
}

QString CellTable::asCsv() const
{
    return csvOf(*m_sorted);
}

void PieceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QVariantList pieces = index.data(kPiecesRole).toList();
    if (pieces.isEmpty()) {
        QStyleOptionViewItem item = option;
        item.state &= ~QStyle::State_HasFocus; // whole rows are selected; no frame around one cell
        return ShareDelegate::paint(painter, item, index);
    }
    const Theme& t = currentTheme();
    if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, t.selectionFill);
    const QRectF cell = QRectF(option.rect).adjusted(8, 5, -8, -5);
    double left = cell.left();
    for (int i = 0; i + 1 < pieces.size(); i += 2) {
        const double right = left + std::clamp(pieces[i].toDouble(), 0.0, 1.0) * cell.width();
        const QRectF box(QPointF(std::round(left), cell.top()), QPointF(std::round(right), cell.bottom()));
        const QColor colour = pieces[i + 1].value<QColor>();
        if (box.width() >= 1) {
            if (colour.isValid())
                painter->fillRect(box, colour);
            else
                paintHatch(*painter, box, t);
        }
        left = right;
    }
}

} // namespace fourwalls::views
