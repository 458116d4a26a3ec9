// SPDX-License-Identifier: GPL-3.0-or-later
// The table of buffers: what asked for each, when it was made and how long it lived.
#pragma once

#include "model/trace/trace_query.h"
#include "views/words/format.h"

#include <QAbstractTableModel>

#include <memory>

namespace fourwalls::views {

class MemoryAllocationModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Bytes, Category, Operator, Layer, PhaseName, Micro, Made, Lived, Address, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    /// origin: shown times count from here. Null empties the table.
    void setList(std::shared_ptr<const AllocationList> list, Instant origin);
    void setByteUnit(ByteUnit unit);
    const AllocationView& item(int row) const { return m_list->items[static_cast<std::size_t>(row)]; }
    /// The row of a buffer; -1 if it is not in the table.
    int rowOf(AllocationId id) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QVariant exact(const AllocationView& item, int column) const;
    QVariant shown(const AllocationView& item, int column) const;

    std::shared_ptr<const AllocationList> m_list;
    Instant m_origin;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
