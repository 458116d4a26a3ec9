// SPDX-License-Identifier: GPL-3.0-or-later
// Who holds memory at the peaks or ends of two traces as a table: buffers by the code or operator that asked for them.
#pragma once

#include "views/compare/compare_models.h"
#include "views/words/format.h"

namespace fourwalls::views {

/// One row per maker and kind of memory, what changed most first.
class CompareMakerModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Kind, CountA, CountB, A, B, Difference, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setComparison(SharedComparison comparison);
    /// At the ends of the traces, not at their peaks.
    void setAtEnd(bool atEnd);
    void setByteUnit(ByteUnit unit);
    void retranslate();
    /// "most: silu · model.py:532: 0 B → 2.42 GB" of the first row; empty without rows.
    QString sentence() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    const std::vector<compare::ComparedMaker>& rows() const;
    QString text(const compare::ComparedMaker& row, int column) const;
    static QVariant exact(const compare::ComparedMaker& row, int column);

    SharedComparison m_comparison;
    ByteUnit m_unit = ByteUnit::GB;
    bool m_atEnd = false;
};

} // namespace fourwalls::views
