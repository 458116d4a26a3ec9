// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_makers.h.
#include "views/compare/compare_makers.h"

#include "views/memory/memory_words.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

namespace fourwalls::views {

void CompareMakerModel::setComparison(SharedComparison comparison)
{
    beginResetModel();
    m_comparison = std::move(comparison);
    endResetModel();
}

void CompareMakerModel::setAtEnd(bool atEnd)
{
    if (atEnd == m_atEnd) return;
    beginResetModel();
    m_atEnd = atEnd;
    endResetModel();
}

void CompareMakerModel::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    beginResetModel();
    m_unit = unit;
    endResetModel();
}

void CompareMakerModel::retranslate()
{
    // Names of what is not known, and kinds, are words of the cells, too.
    beginResetModel();
    endResetModel();
}

const std::vector<compare::ComparedMaker>& CompareMakerModel::rows() const
{
    static const std::vector<compare::ComparedMaker> none;
    if (!m_comparison) return none;
    const auto& memory = m_atEnd ? m_comparison->memoryAtEnd : m_comparison->memory;
    return memory ? memory->makers : none;
}

QString CompareMakerModel::sentence() const
{
    if (rows().empty() || rows().front().difference() == 0) return {};
    const compare::ComparedMaker& row = rows().front();
    return tr("most: %1: %2 \u2192 %3").arg(text(row, Name), text(row, A), text(row, B));
}

int CompareMakerModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(rows().size());
}

int CompareMakerModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString CompareMakerModel::text(const compare::ComparedMaker& row, int column) const
{
    switch (column) {
    case Name: return row.name.empty() ? tr("not known") : nameOfMaker(row.name);
    case Kind: return words(row.category);
    case CountA: return formatCount(row.aCount);
    case CountB: return formatCount(row.bCount);
    case A: return formatBytes(static_cast<double>(row.aBytes), m_unit);
    case B: return formatBytes(static_cast<double>(row.bBytes), m_unit);
    case Difference: return signedBytes(static_cast<double>(row.difference()), m_unit);
    default: return {};
    }
}

QVariant CompareMakerModel::exact(const compare::ComparedMaker& row, int column)
{
    switch (column) {
    case Name: return QString::fromStdString(row.name);
    case Kind: return words(row.category);
    case CountA: return static_cast<qint64>(row.aCount);
    case CountB: return static_cast<qint64>(row.bCount);
    case A: return static_cast<qint64>(row.aBytes);
    case B: return static_cast<qint64>(row.bBytes);
    case Difference: return static_cast<qint64>(row.difference());
    default: return {};
    }
}

QVariant CompareMakerModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const compare::ComparedMaker& row = rows()[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::TextAlignmentRole:
        return int((index.column() <= Kind ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ToolTipRole: return index.column() == Name ? QVariant(text(row, Name)) : QVariant();
    case Qt::ForegroundRole:
        if (index.column() != Difference || row.difference() == 0) return {};
        return row.difference() > 0 ? currentTheme().error : currentTheme().ok;
    case kExactRole: return exact(row, index.column());
    default: return {};
    }
}

QVariant CompareMakerModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section <= Kind ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("asked for by");
    case Kind: return tr("kind");
    case CountA: return tr("buffers A");
    case CountB: return tr("buffers B");
    case A: return tr("A");
    case B: return tr("B");
    case Difference: return tr("B \u2212 A");
    default: return {};
    }
}

} // namespace fourwalls::views
