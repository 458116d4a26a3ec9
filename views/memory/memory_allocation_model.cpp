// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_allocation_model.h.
#include "views/memory/memory_allocation_model.h"

#include "views/memory/memory_words.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

namespace fourwalls::views {

namespace {

bool isNumber(int column)
{
    using M = MemoryAllocationModel;
    return column == M::Bytes || column == M::Layer || column == M::Micro || column == M::Made || column == M::Lived ||
           column == M::Address;
}

const OpInfo* opOf(const AllocationList& list, const AllocationView& item)
{
    if (!item.op) return nullptr;
    const auto found = list.ops.find(*item.op);
    return found == list.ops.end() ? nullptr : found->second.get();
}

} // namespace

void MemoryAllocationModel::setList(std::shared_ptr<const AllocationList> list, Instant origin)
{
    beginResetModel();
    m_list = std::move(list);
    m_origin = origin;
    endResetModel();
}

void MemoryAllocationModel::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    m_unit = unit;
    if (rowCount() > 0) emit dataChanged(index(0, Bytes), index(rowCount() - 1, Bytes));
}

int MemoryAllocationModel::rowOf(AllocationId id) const
{
    for (int row = 0; row < rowCount(); ++row) {
        if (item(row).id == id) return row;
    }
    return -1;
}

int MemoryAllocationModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_list ? 0 : static_cast<int>(m_list->items.size());
}

int MemoryAllocationModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant MemoryAllocationModel::exact(const AllocationView& item, int column) const
{
    const OpInfo* op = opOf(*m_list, item);
    switch (column) {
    case Bytes: return static_cast<qlonglong>(item.bytes);
    case Category: return words(item.category);
    case Operator: return op ? nameOfMaker(op->name) : QString();
    case Layer: return op && op->layer ? QVariant(op->layer->value) : QVariant();
    case PhaseName: return op && op->phase != Phase::None ? words(op->phase) : QString();
    case Micro: return item.microbatch ? QVariant(item.microbatch->value) : QVariant();
    case Made: return static_cast<qlonglong>((item.start - m_origin).ns);
    case Lived: return item.end ? QVariant(static_cast<qlonglong>((*item.end - item.start).ns)) : QVariant();
    case Address: return item.address > 0 ? QVariant(static_cast<qlonglong>(item.address)) : QVariant();
    }
    return {};
}

QVariant MemoryAllocationModel::shown(const AllocationView& item, int column) const
{
    switch (column) {
    case Bytes: return formatBytes(static_cast<double>(item.bytes), m_unit);
    case Made: return formatDuration(item.start - m_origin);
    case Lived:
        if (!item.end) return tr("never freed");
        // On the device's clock a buffer may come and go within one operator, in no time.
        return *item.end > item.start ? formatDuration(*item.end - item.start) : tr("no time");
    case Address: return item.address > 0 ? QStringLiteral("0x%1").arg(item.address, 0, 16) : QString(kDash);
    default: break;
    }
    const QVariant value = exact(item, column);
    return value.isValid() && !value.toString().isEmpty() ? value.toString() : QString(kDash);
}

QVariant MemoryAllocationModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || !m_list) return {};
    const AllocationView& row = item(index.row());
    switch (role) {
    case Qt::DisplayRole: return shown(row, index.column());
    case kExactRole: return exact(row, index.column());
    case Qt::ToolTipRole: return originOf(row, m_list->ops);
    case kColourRole: return index.column() == Category ? QVariant(colourOf(currentTheme(), row.category)) : QVariant();
    case Qt::TextAlignmentRole:
        return isNumber(index.column()) ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
    default: return {};
    }
}

QVariant MemoryAllocationModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole && isNumber(section)) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Bytes: return tr("bytes");
    case Category: return tr("category");
    case Operator: return tr("operator");
    case Layer: return tr("layer");
    case PhaseName: return tr("phase");
    case Micro: return tr("micro-batch");
    case Made: return tr("made at");
    case Lived: return tr("lives for");
    case Address: return tr("address");
    }
    return {};
}

} // namespace fourwalls::views
