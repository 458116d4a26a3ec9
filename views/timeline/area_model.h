// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of a dragged area as an item model: figures with units, exact values behind them.
#pragma once

#include "model/trace/range_statistics.h"

#include <QAbstractTableModel>
#include <QString>
#include <QStyledItemDelegate>

#include <memory>
#include <vector>

namespace fourwalls::views {

/// A bar for each part of a distribution, as a list of numbers.
inline constexpr int kBarsRole = Qt::UserRole + 20;

/// The table of one grouping, made on a worker.
struct AreaTable {
    RangeGrouping grouping = RangeGrouping::Name;
    std::vector<RangeRow> rows;
    std::vector<std::string> texts; ///< by row; of Name: short names of which no two read the same
    OpDictionary ops;               ///< of the rows
    std::vector<TrackInfo> tracks;  ///< by row
    /// By row: own time, of Name as a share of what is of the same kind, else of all that is selected. Kinds lie within one
    /// another: beside a matrix product that it contains a step's share says nothing.
    std::vector<double> shares;
};

/// rows of `statistics` by `grouping`. Any thread.
AreaTable areaTableOf(const RangeStatistics& statistics, std::span<const TrackView> tracks, RangeGrouping grouping);

class AreaModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Count, Total, Share, Self, Shortest, Median, Percentile99, Longest, Spread };
    static constexpr int kColumns = 10;

    using QAbstractTableModel::QAbstractTableModel;

    void setTable(AreaTable table);
    const AreaTable& table() const { return m_table; }
    /// Header and rows, separated by tabs: names whole, durations in nanoseconds, shares as fractions.
    QString tsv() const;
    void retranslate();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString nameOf(std::size_t row) const;
    QVariant exact(std::size_t row, int column) const;
    QString written(std::size_t row, int column) const;

    AreaTable m_table;
};

/// Draws kBarsRole as a small histogram.
class BarsDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace fourwalls::views
