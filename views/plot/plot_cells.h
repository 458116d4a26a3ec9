// SPDX-License-Identifier: GPL-3.0-or-later
// A table whose cells are given as values: text to show, the exact figure behind it, a bar. For the analyses that have
// many small tables and nothing to compute in them.
#pragma once

#include "views/plot/plot_table.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QTableView>

#include <optional>
#include <vector>

class QSortFilterProxyModel;

namespace fourwalls::views {

/// A piece of a bar: a share of the cell's width. An invalid colour is hatched (waiting, lost time).
struct BarPiece {
    double share = 0;
    QColor colour;
};

struct CellValue {
    QString text = {};
    QVariant exact = {};              ///< sorting and CSV; the text if invalid
    std::optional<double> share = {}; ///< a bar behind the text, see ShareDelegate
    QColor colour = {};               ///< of the bar, or of a square before the text
    QColor ink = {};                  ///< of the text; invalid: the usual
    QString toolTip = {};
    std::vector<BarPiece> pieces = {}; ///< instead of text: pieces side by side
};

struct CellColumn {
    QString title, toolTip;
    bool isFigure = false; ///< right-aligned
    int width = 80;        ///< at least; 0: takes what is left
    bool spare = false;    ///< left out where the room is needed for the column that takes what is left
    bool hidden = false;   ///< no row has anything to show in it
};

class CellModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setContent(std::vector<CellColumn> columns, std::vector<std::vector<CellValue>> rows);
    const std::vector<CellColumn>& columns() const { return m_columns; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    std::vector<CellColumn> m_columns;
    std::vector<std::vector<CellValue>> m_rows;
};

/// The table. Rows are named by their place in what setContent was given, however they are sorted.
class CellTable : public QTableView {
    Q_OBJECT
public:
    explicit CellTable(QWidget* parent = nullptr);

    /// Keeps the sorting that a person chose as long as there are as many columns. sortBy: at first; -1: as given.
    void setContent(std::vector<CellColumn> columns, std::vector<std::vector<CellValue>> rows, int sortBy = -1,
                    Qt::SortOrder order = Qt::DescendingOrder);
    /// Selects and shows a row without emitting anything; -1: none.
    void showRow(int row);
    QString asCsv() const;
    int rows() const;
    QSize minimumSizeHint() const override { return {160, 60}; }

signals:
    void rowChosen(int row);
    void rowActivated(int row);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    int sourceRow(const QModelIndex& index) const;
    /// That neither the heading nor a figure of the column is cut.
    int widthOf(int column) const;
    void makeRoom();

    CellModel* m_model;
    QSortFilterProxyModel* m_sorted;
    std::vector<int> m_widths; ///< by column, for the content; 0: takes what is left
    bool m_quiet = false;
};

/// Draws bars of pieces; all other cells as ShareDelegate.
class PieceDelegate : public ShareDelegate {
    Q_OBJECT
public:
    using ShareDelegate::ShareDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace fourwalls::views
