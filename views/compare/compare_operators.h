// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels or operators of two traces as a table: what each took in A and in B, matched by name and shape.
#pragma once

#include "views/compare/compare_models.h"

namespace fourwalls::views {

/// One row per name and shape, what changed most first.
class CompareOperatorModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Shape, CountA, CountB, A, B, Difference, Change, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setComparison(SharedComparison comparison);
    void retranslate();
    /// "most: gemm: 1.2 ms → 1.9 ms (+58 %)" of the first row; empty without rows.
    QString sentence() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString text(std::size_t row, int column) const;
    QVariant exact(const compare::ComparedOperator& row, int column) const;

    SharedComparison m_comparison;
    std::vector<QString> m_names; ///< by row: short ones of which no two read the same
};

} // namespace fourwalls::views
