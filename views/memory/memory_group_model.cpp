// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_group_model.h.
#include "views/memory/memory_group_model.h"

#include "views/memory/memory_words.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

namespace fourwalls::views {

void MemoryGroupModel::setGroups(std::vector<MemoryGroup> groups, MemoryGrouping by)
{
    beginResetModel();
    m_groups = std::move(groups);
    m_by = by;
    endResetModel();
}

void MemoryGroupModel::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    m_unit = unit;
    if (!m_groups.empty()) emit dataChanged(index(0, Bytes), index(rowCount() - 1, Bytes));
}

int MemoryGroupModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_groups.size());
}

int MemoryGroupModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString MemoryGroupModel::name(const MemoryGroup& group) const
{
    const QString label = labelOf(group, m_by);
    if (m_by != MemoryGrouping::Buffer || group.remainder) return label;
    QStringList parts;
    if (group.layer) parts << tr("layer %1").arg(group.layer->value);
    parts << label;
    if (group.phase != Phase::None) parts << words(group.phase);
    return parts.join(QStringLiteral(" · "));
}

QVariant MemoryGroupModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    const MemoryGroup& row = group(index.row());
    if (role == Qt::TextAlignmentRole && (index.column() == Bytes || index.column() == Count)) {
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role == kColourRole && (index.column() == Name || index.column() == Share)) {
        return row.remainder ? currentTheme().structure : colourOf(currentTheme(), row.category);
    }
    if (role == kShareRole && index.column() == Share) return row.share;
    switch (index.column()) {
    case Name:
        if (role == Qt::DisplayRole || role == kExactRole || role == Qt::ToolTipRole) return name(row);
        break;
    case Bytes:
        if (role == Qt::DisplayRole) return formatBytes(static_cast<double>(row.bytes), m_unit);
        if (role == kExactRole) return static_cast<qlonglong>(row.bytes);
        break;
    case Share:
        if (role == Qt::DisplayRole) return formatPercent(row.share, row.share < 0.0995 ? 1 : 0);
        if (role == kExactRole) return row.share;
        break;
    case Count:
        if (role == Qt::DisplayRole) return formatCount(row.count);
        if (role == kExactRole) return static_cast<qlonglong>(row.count);
        break;
    }
    return {};
}

QVariant MemoryGroupModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole && (section == Bytes || section == Count)) {
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Name:
        switch (m_by) {
        case MemoryGrouping::Category: return tr("category");
        case MemoryGrouping::Layer: return tr("layer");
        case MemoryGrouping::Operator: return tr("operator");
        case MemoryGrouping::Phase: return tr("phase");
        case MemoryGrouping::Buffer: return tr("buffer");
        }
        break;
    case Bytes: return tr("bytes");
    case Share: return tr("share");
    case Count: return tr("buffers");
    }
    return {};
}

} // namespace fourwalls::views
