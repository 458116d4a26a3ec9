// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_table_model.h.
#include "views/tables/trace_table_model.h"

#include "views/plot/plot_table.h"

#include <QCoreApplication>

#include <cmath>

namespace fourwalls::views {

namespace {

bool isText(CellKind kind)
{
    return kind == CellKind::Text || kind == CellKind::Name;
}

} // namespace

void TraceTableModel::setTable(std::shared_ptr<const TraceTable> table)
{
    beginResetModel();
    m_table = std::move(table);
    endResetModel();
}

void TraceTableModel::setPercentiles(std::shared_ptr<const TraceTable> table)
{
    m_table = std::move(table);
    if (rowCount() == 0) return;
    const auto first = static_cast<int>(m_table->percentilesAt);
    emit dataChanged(index(0, first), index(rowCount() - 1, first + 1));
}

void TraceTableModel::setByteUnit(ByteUnit unit)
{
    if (m_unit == unit) return;
    m_unit = unit;
    retranslate();
}

void TraceTableModel::retranslate()
{
    if (columnCount() > 0) emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int TraceTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_table ? 0 : static_cast<int>(m_table->rows.size());
}

int TraceTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_table ? 0 : static_cast<int>(m_table->columns.size());
}

QString TraceTableModel::written(const QVariant& value, CellKind kind) const
{
    if (!value.isValid()) return kDash;
    switch (kind) {
    case CellKind::Text: return value.toString();
    case CellKind::Name: return m_table->shortNames.value(value.toString(), value.toString());
    case CellKind::Number:
        return value.typeId() == QMetaType::Double ? formatFigure(value.toDouble(), 5) : value.toString();
    case CellKind::Count: return formatCount(value.toLongLong());
    case CellKind::Instant:
    case CellKind::Duration: {
        const qlonglong ns = value.toLongLong();
        return (ns < 0 ? QString(QChar(0x2212)) : QString()) +
               formatDuration(Duration{std::abs(ns)}, kind == CellKind::Instant ? 7 : 4);
    }
    case CellKind::Bytes: return formatBytes(value.toDouble(), m_unit);
    case CellKind::Share: return formatPercent(value.toDouble());
    case CellKind::PerSecond: return formatRate(value.toDouble(), QString());
    }
    return {};
}

QVariant TraceTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const QVariant& value =
        m_table->rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
    const CellKind kind = m_table->columns[static_cast<std::size_t>(index.column())].kind;
    switch (role) {
    case Qt::DisplayRole: return written(value, kind);
    case Qt::ToolTipRole: return isText(kind) ? value.toString() : QVariant();
    case kFilterRole:
        return isText(kind) ? value.toString() + QLatin1Char('\n') + written(value, kind) : written(value, kind);
    case Qt::TextAlignmentRole: return int((isText(kind) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kExactRole: return value;
    default: return {};
    }
}

QVariant TraceTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const CellKind kind = m_table->columns[static_cast<std::size_t>(section)].kind;
    if (role == Qt::TextAlignmentRole) // as the column's cells
        return int((isText(kind) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    const TraceTableColumn& column = m_table->columns[static_cast<std::size_t>(section)];
    if (role == Qt::ToolTipRole && column.tip) return QCoreApplication::translate("TraceTables", column.tip);
    if (role != Qt::DisplayRole) return {};
    return QCoreApplication::translate("TraceTables", column.name);
}

} // namespace fourwalls::views
