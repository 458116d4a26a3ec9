// SPDX-License-Identifier: GPL-3.0-or-later
// The item model over one table of a trace: values with their units, exact ones behind them.
#pragma once

#include "views/tables/trace_table.h"
#include "views/words/format.h"

#include <QAbstractTableModel>

#include <memory>

namespace fourwalls::views {

class TraceTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    /// What a filter looks through: the whole name beside the short one.
    static constexpr int kFilterRole = Qt::UserRole + 30;

    void setTable(std::shared_ptr<const TraceTable> table);
    /// The same table with its percentiles: rows keep their places, and what is selected stays so.
    void setPercentiles(std::shared_ptr<const TraceTable> table);
    const std::shared_ptr<const TraceTable>& table() const { return m_table; }
    void setByteUnit(ByteUnit unit);
    void retranslate();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString written(const QVariant& value, CellKind kind) const;

    std::shared_ptr<const TraceTable> m_table;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
