// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_table.h.
#include "views/plot/plot_table.h"

#include "model/base/csv.h"
#include "views/plot/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QPolygonF>
#include <QShortcut>
#include <QStyleOptionHeader>
#include <QToolTip>

#include <algorithm>

namespace fourwalls::views {

namespace {

struct PlotTable {
    Q_DECLARE_TR_FUNCTIONS(PlotTable)
};

QString quoted(const QString& cell)
{
    return QString::fromStdString(csvField(cell.toStdString()));
}

QString cellText(const QModelIndex& index)
{
    const QVariant value = index.data(kExactRole);
    if (value.typeId() == QMetaType::Double) return QString::number(value.toDouble(), 'g', 12);
    return value.toString();
}

QString csvOfRows(const QAbstractItemModel& model, const QList<int>& rows)
{
    QStringList lines, cells;
    for (int column = 0; column < model.columnCount(); ++column) {
        cells << quoted(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    }
    lines << cells.join(QLatin1Char(','));
    for (const int row : rows) {
        cells.clear();
        for (int column = 0; column < model.columnCount(); ++column)
            cells << quoted(cellText(model.index(row, column)));
        lines << cells.join(QLatin1Char(','));
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

constexpr double kSortMarkWidth = 8, kSortMarkHeight = 5, kSortMarkGap = 5; ///< [pixels]
constexpr int kHeadingPadding = 3;                                          ///< beside a heading [pixels]
constexpr int kBehindFigures = 10; ///< before a text that stands behind a column of figures [pixels]

bool endsAtRight(const QAbstractItemModel& model, int column)
{
    return (model.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignRight) != 0;
}

/// Headings of which the sorted one has a triangle before its text where figures end at the right, else behind it. Qt's
/// own mark stands on the text or above it, too small to be seen.
class SortHeader : public QHeaderView {
public:
    using QHeaderView::QHeaderView;

protected:
    bool viewportEvent(QEvent* event) override
    {
        if (event->type() != QEvent::ToolTip) return QHeaderView::viewportEvent(event);
        const auto* help = static_cast<QHelpEvent*>(event);
        const int section = logicalIndexAt(help->pos());
        if (section < 0) return false;
        const QString heading = model()->headerData(section, Qt::Horizontal).toString();
        const QString tip = model()->headerData(section, Qt::Horizontal, Qt::ToolTipRole).toString();
        const bool isCut =
            fontMetrics().horizontalAdvance(heading) + 2 * kHeadingPadding + kSortMarkWidth + kSortMarkGap >
            sectionSize(section);
        QStringList lines{isCut ? heading : QString(), tip};
        lines.removeAll(QString());
        lines.removeDuplicates();
        QToolTip::showText(help->globalPos(), lines.join(u'\n'), this);
        return true;
    }
    void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override
    {
        QHeaderView::initStyleOptionForIndex(option, section);
        option->sortIndicator = QStyleOptionHeader::None;
        option->text.clear();
    }
    void paintSection(QPainter* painter, const QRect& rect, int section) const override
    {
        painter->save();
        QHeaderView::paintSection(painter, rect, section);
        painter->restore();
        const QVariant own = model()->headerData(section, Qt::Horizontal, Qt::TextAlignmentRole);
        const int alignment = own.isValid() ? own.toInt() : static_cast<int>(defaultAlignment());
        const bool atRight = (alignment & Qt::AlignRight) != 0;
        const bool isSorted = isSortIndicatorShown() && sortIndicatorSection() == section;
        const double mark = isSorted ? kSortMarkWidth + kSortMarkGap : 0;
        const QRectF room =
            QRectF(rect).adjusted(kHeadingPadding + insetBehindFigures(*model(), section), 0, -kHeadingPadding, 0);
        const QString text = fontMetrics().elidedText(model()->headerData(section, Qt::Horizontal).toString(),
                                                      Qt::ElideRight, static_cast<int>(room.width() - mark));
        painter->save();
        painter->setFont(font());
        painter->setPen(currentTheme().secondaryText);
        painter->drawText(room, (atRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter, text);
        if (isSorted) {
            const double width = fontMetrics().horizontalAdvance(text);
            const double x = atRight ? room.right() - width - mark : room.left() + width + kSortMarkGap;
            const double y = room.center().y() + 0.5, half = kSortMarkHeight / 2;
            const double tip = sortIndicatorOrder() == Qt::AscendingOrder ? -half : half;
            painter->setRenderHint(QPainter::Antialiasing, true);
            painter->setPen(Qt::NoPen);
            painter->setBrush(currentTheme().accent);
            painter->drawPolygon(QPolygonF(
                {QPointF(x, y - tip), QPointF(x + kSortMarkWidth, y - tip), QPointF(x + kSortMarkWidth / 2, y + tip)}));
        }
        painter->restore();
    }
};

/// The whole text of a cell that shows less of it, where the model says nothing of its own.
class CutCells : public QObject {
public:
    explicit CutCells(QTableView& table) : QObject(&table), m_table(table)
    {
        table.viewport()->installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::ToolTip) return QObject::eventFilter(watched, event);
        const auto* help = static_cast<QHelpEvent*>(event);
        const QModelIndex index = m_table.indexAt(help->pos());
        if (!index.isValid() || !index.data(Qt::ToolTipRole).toString().isEmpty()) return false;
        constexpr int kBeside = 30; // margins and the square of a colour
        const QString text = index.data(Qt::DisplayRole).toString();
        const QFont own = index.data(Qt::FontRole).value<QFont>();
        const QFontMetrics metrics(index.data(Qt::FontRole).isValid() ? own : m_table.font());
        if (metrics.horizontalAdvance(text) + kBeside <= m_table.visualRect(index).width()) return false;
        QToolTip::showText(help->globalPos(), text, m_table.viewport());
        return true;
    }

private:
    QTableView& m_table;
};

void copySelection(const QTableView& table)
{
    QList<int> rows;
    for (const QModelIndex& index : table.selectionModel()->selectedRows()) rows << index.row();
    std::sort(rows.begin(), rows.end());
    if (!rows.isEmpty()) QApplication::clipboard()->setText(csvOfRows(*table.model(), rows));
}

} // namespace

QString csvOf(const QAbstractItemModel& model)
{
    QList<int> rows(model.rowCount());
    for (int row = 0; row < rows.size(); ++row) rows[row] = row;
    return csvOfRows(model, rows);
}

void ShareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QStyleOptionViewItem item = option;
    const QColor colour = index.data(kColourRole).value<QColor>();
    const QVariant share = index.data(kShareRole);
    if (share.isValid()) {
        // The bar starts where the text column ends, so that figures never lie on it.
        const QRect cell = item.rect.adjusted(4, 5, -6, -5);
        // Rare long figures ("0.016 %") take more than the column: their bars are a pixel wide anyway.
        const QString figure = index.data(Qt::DisplayRole).toString();
        const QFontMetrics metrics(item.font);
        const int text =
            std::max(metrics.horizontalAdvance(QStringLiteral("99.9\u2009%")), metrics.horizontalAdvance(figure)) + 8;
        const double length = std::clamp(share.toDouble(), 0.0, 1.0) * std::max(0, cell.width() - text);
        if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(item.rect, currentTheme().selectionFill);
        painter->fillRect(QRectF(cell.left() + text, cell.top(), std::max(1.0, length), cell.height()), colour);
        painter->setPen(currentTheme().text);
        painter->setFont(item.font);
        painter->drawText(QRect(cell.left(), item.rect.top(), text - 6, item.rect.height()),
                          Qt::AlignRight | Qt::AlignVCenter, figure);
        return;
    }
    const int inset = insetBehindFigures(*index.model(), index.column());
    if ((colour.isValid() || inset > 0) && option.state.testFlag(QStyle::State_Selected))
        painter->fillRect(item.rect, currentTheme().selectionFill);
    item.rect.setLeft(item.rect.left() + inset);
    if (colour.isValid()) {
        painter->fillRect(QRect(item.rect.left() + 6, item.rect.center().y() - 4, 9, 9), colour);
        item.rect.setLeft(item.rect.left() + 18);
        item.textElideMode = Qt::ElideMiddle; // what tells names apart stands at both ends
    }
    QStyledItemDelegate::paint(painter, item, index);
}

int insetBehindFigures(const QAbstractItemModel& model, int column)
{
    return column > 0 && endsAtRight(model, column - 1) && !endsAtRight(model, column) ? kBehindFigures : 0;
}

int headingWidth(const QTableView& table, int column)
{
    constexpr int kMargins = 26;
    const QString heading = table.model()->headerData(column, Qt::Horizontal).toString();
    return table.horizontalHeader()->fontMetrics().horizontalAdvance(heading) + kMargins +
           insetBehindFigures(*table.model(), column);
}

ColumnFit::ColumnFit(QTableView* table, std::vector<Column> columns)
    : QObject(table)
    , m_table(table)
    , m_columns(std::move(columns))
    , m_widths(m_columns.size())
{
    for (std::size_t i = 0; i < m_columns.size(); ++i)
        table->horizontalHeader()->setSectionResizeMode(
            static_cast<int>(i), m_columns[i].stretches ? QHeaderView::Stretch : QHeaderView::Interactive);
    table->viewport()->installEventFilter(this);
}

void ColumnFit::setHidden(int column, bool hidden)
{
    m_columns[static_cast<std::size_t>(column)].hidden = hidden;
}

void ColumnFit::measure(std::size_t column)
{
    const QAbstractItemView& view = *m_table; // says publicly what cells take
    const int index = static_cast<int>(column), given = m_columns[column].width;
    const int cells =
        (given > 0 ? given : view.sizeHintForColumn(index) + 6) + insetBehindFigures(*m_table->model(), index);
    m_widths[column] = std::max(headingWidth(*m_table, index), cells);
}

void ColumnFit::fit()
{
    for (std::size_t i = 0; i < m_columns.size(); ++i) measure(i);
    place();
}

void ColumnFit::fitColumn(int column)
{
    measure(static_cast<std::size_t>(column));
    place();
}

void ColumnFit::place()
{
    int sum = 0, spares = 0;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        if (!m_columns[i].hidden) sum += m_widths[i];
        spares = std::max(spares, m_columns[i].spare);
    }
    int kept = spares; // spares up to here are shown
    for (; kept > 0 && sum > m_table->viewport()->width(); --kept)
        for (std::size_t i = 0; i < m_columns.size(); ++i)
            if (m_columns[i].spare == kept && !m_columns[i].hidden) sum -= m_widths[i];
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const int index = static_cast<int>(i);
        m_table->setColumnHidden(index, m_columns[i].hidden || m_columns[i].spare > kept);
        if (!m_columns[i].stretches) m_table->setColumnWidth(index, m_widths[i]);
    }
}

bool ColumnFit::eventFilter(QObject* object, QEvent* event)
{
    if (event->type() == QEvent::Resize) fit();
    return QObject::eventFilter(object, event);
}

void prepareTable(QTableView& table)
{
    auto* headings = new SortHeader(Qt::Horizontal, &table);
    headings->setSectionsClickable(true);
    table.setHorizontalHeader(headings);
    new CutCells(table);
    table.setShowGrid(false);
    table.setFrameShape(QFrame::NoFrame);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setSelectionMode(QAbstractItemView::ExtendedSelection);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    table.setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table.setSortingEnabled(true);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false); // Tab leaves the table, as from every other widget
    table.setItemDelegate(new ShareDelegate(&table));
    table.verticalHeader()->hide();
    table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table.verticalHeader()->setDefaultSectionSize(22);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table.horizontalHeader()->setMinimumSectionSize(36);
    table.horizontalHeader()->setStyleSheet(
        QStringLiteral(
            "QHeaderView { background: transparent; border: none; } QHeaderView::section { padding: 4px %1px; }")
            .arg(kHeadingPadding));
    auto* copy = new QShortcut(QKeySequence::Copy, &table);
    copy->setContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QShortcut::activated, &table, [&table] { copySelection(table); });
    table.setContextMenuPolicy(Qt::CustomContextMenu);
    QObject::connect(&table, &QWidget::customContextMenuRequested, &table, [&table](const QPoint& at) {
        const QModelIndex index = table.indexAt(at);
        if (!index.isValid()) return;
        auto* menu = new QMenu(&table);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        const QString cell = index.data().toString();
        QObject::connect(menu->addAction(PlotTable::tr("Copy the cell")), &QAction::triggered, &table,
                         [cell] { QApplication::clipboard()->setText(cell); });
        QObject::connect(menu->addAction(PlotTable::tr("Copy the selected rows as CSV")), &QAction::triggered, &table,
                         [&table] { copySelection(table); });
        QObject::connect(menu->addAction(PlotTable::tr("Copy the whole table as CSV")), &QAction::triggered, &table,
                         [&table] { QApplication::clipboard()->setText(csvOf(*table.model())); });
        menu->popup(table.viewport()->mapToGlobal(at));
    });
}

} // namespace fourwalls::views
