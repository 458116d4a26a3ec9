// SPDX-License-Identifier: GPL-3.0-or-later
// A call tree as an item model, the most time first.
#pragma once

#include "model/trace/call_tree.h"

#include <QAbstractItemModel>

#include <memory>
#include <vector>

namespace fourwalls::views {

/// A node's name for the screen, short or whole, and its phase where it has one.
QString callText(const CallNode& node, bool isShort);

class CallTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { Name, Total, Share, Self, Device, DeviceSelf, Count, ColumnCount };

    using QAbstractItemModel::QAbstractItemModel;

    void setTree(std::shared_ptr<const CallTree> tree);
    const CallTree* tree() const { return m_tree.get(); }
    std::uint32_t nodeOf(const QModelIndex& index) const { return static_cast<std::uint32_t>(index.internalId()); }
    /// All nodes with their depth, durations in nanoseconds, columns separated by tabs.
    QString tsv() const;
    void retranslate();

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    const std::vector<std::uint32_t>& childrenOf(const QModelIndex& parent) const;

    std::shared_ptr<const CallTree> m_tree;
    std::vector<std::vector<std::uint32_t>> m_children; ///< by node
    std::vector<int> m_rows;                            ///< of each node below its parent
};

} // namespace fourwalls::views
