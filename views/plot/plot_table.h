// SPDX-License-Identifier: GPL-3.0-or-later
// What the tables beside plots have in common: exact values behind the shown text, CSV, a bar for shares.
#pragma once

#include <QColor>
#include <QStyledItemDelegate>
#include <QTableView>

#include <vector>

namespace fourwalls::views {

/// The exact value behind a cell (a number where there is one, invalid where it is unknown): what sorting compares
/// and CSV prints.
inline constexpr int kExactRole = Qt::UserRole + 1;
/// A share 0..1 that ShareDelegate draws as a bar behind the text.
inline constexpr int kShareRole = Qt::UserRole + 2;
/// The colour of that bar, or of the square in front of a name.
inline constexpr int kColourRole = Qt::UserRole + 3;

/// The model's rows as CSV (RFC 4180, with the header row): exact values, empty where unknown.
QString csvOf(const QAbstractItemModel& model);

/// Draws kShareRole as a bar and kColourRole without a share as a small square before the text.
class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// How far a text behind a column of figures stands from the left edge, beyond the style's margin [pixels]; 0 elsewhere.
int insetBehindFigures(const QAbstractItemModel& model, int column);

/// What a heading takes, with its margins and the mark of the sorted column.
int headingWidth(const QTableView& table, int column);

/// Keeps the columns of a table within its width: no heading is cut, and where there is no room, columns that can be
/// spared are left out (the CSV of the table has them).
class ColumnFit : public QObject {
    Q_OBJECT
public:
    struct Column {
        int width = 0;          ///< 0: what its cells take, or for the one that stretches the least
        bool stretches = false; ///< takes what is left
        int spare = 0;          ///< left out where there is no room, the largest first; 0: always there
        bool hidden = false;    ///< has nothing to show
    };
    /// table outlives this, and is its parent.
    ColumnFit(QTableView* table, std::vector<Column> columns);
    void setHidden(int column, bool hidden);
    /// After other rows or another language.
    void fit();
    /// After other cells in one column.
    void fitColumn(int column);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void measure(std::size_t column);
    void place();

    QTableView* m_table;
    std::vector<Column> m_columns;
    std::vector<int> m_widths; ///< what headings and cells take, by column
};

/// Rows without grid, whole rows selected, sortable, Ctrl+C copies the selected rows as CSV.
void prepareTable(QTableView& table);

} // namespace fourwalls::views
