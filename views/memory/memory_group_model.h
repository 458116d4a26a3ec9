// SPDX-License-Identifier: GPL-3.0-or-later
// The table of what was alive at one instant, grouped.
#pragma once

#include "model/present/memory_groups.h"

#include <QAbstractTableModel>

namespace fourwalls::views {

class MemoryGroupModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Bytes, Share, Count, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setGroups(std::vector<MemoryGroup> groups, MemoryGrouping by);
    void setByteUnit(ByteUnit unit);
    const MemoryGroup& group(int row) const { return m_groups[static_cast<std::size_t>(row)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString name(const MemoryGroup& group) const;

    std::vector<MemoryGroup> m_groups;
    MemoryGrouping m_by = MemoryGrouping::Category;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
