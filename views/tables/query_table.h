// SPDX-License-Identifier: GPL-3.0-or-later
// The item model over the rows of a person's own SQL.
#pragma once

#include "model/trace/user_query.h"

#include <QAbstractTableModel>

#include <memory>

namespace fourwalls::views {

class QueryTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;

    void setRows(std::shared_ptr<const UserRows> rows);
    const UserRows* rows() const { return m_rows.get(); }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    std::shared_ptr<const UserRows> m_rows;
};

} // namespace fourwalls::views
