// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_operators.h.
#include "views/compare/compare_operators.h"

#include "model/trace/short_name.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"

#include <cmath>

namespace fourwalls::views {

namespace {

QString timeText(const std::optional<compare::OperatorTime>& side)
{
    return side ? formatDuration(side->time, 3) : QString(kDash);
}

QString countText(const std::optional<compare::OperatorTime>& side)
{
    return side ? formatFigure(side->count, 3) : QString(kDash);
}

QString addedText(Duration duration)
{
    if (duration.ns == 0) return QStringLiteral("\u00b10");
    return (duration.ns < 0 ? QString(kMinus) : QStringLiteral("+")) +
           formatDuration(Duration{std::abs(duration.ns)}, 3);
}

} // namespace

void CompareOperatorModel::setComparison(SharedComparison comparison)
{
    beginResetModel();
    m_comparison = std::move(comparison);
    m_names.clear();
    if (m_comparison) {
        std::vector<std::string> names;
        for (const compare::ComparedOperator& row : m_comparison->operators) names.push_back(row.name);
        for (const std::string& name : fourwalls::shortNames(names)) m_names.push_back(QString::fromStdString(name));
    }
    endResetModel();
}

void CompareOperatorModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
}

QString CompareOperatorModel::sentence() const
{
    if (!m_comparison || m_comparison->operators.empty()) return {};
    const compare::ComparedOperator& row = m_comparison->operators.front();
    if (row.difference().ns == 0) return {};
    return tr("most: %1: %2 \u2192 %3 (%4)")
        .arg(m_names.front(), timeText(row.a), timeText(row.b), changeText(row.percent()));
}

int CompareOperatorModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_names.size());
}

int CompareOperatorModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString CompareOperatorModel::text(std::size_t index, int column) const
{
    const compare::ComparedOperator& row = m_comparison->operators[index];
    switch (column) {
    case Name: return m_names[index];
    case Shape:
        return row.match == compare::OperatorMatch::Name ? tr("other shapes") : QString::fromStdString(row.shape);
    case CountA: return countText(row.a);
    case CountB: return countText(row.b);
    case A: return timeText(row.a);
    case B: return timeText(row.b);
    case Difference: return addedText(row.difference());
    case Change:
        if (!row.a) return tr("only in B");
        return row.b ? changeText(row.percent()) : tr("only in A");
    default: return {};
    }
}

QVariant CompareOperatorModel::exact(const compare::ComparedOperator& row, int column) const
{
    const auto of = [](const std::optional<compare::OperatorTime>& side, bool count) {
        return side ? QVariant(count ? side->count : side->time.milliseconds()) : QVariant();
    };
    switch (column) {
    case Name: return QString::fromStdString(row.name);
    case Shape: return QString::fromStdString(row.shape);
    case CountA: return of(row.a, true);
    case CountB: return of(row.b, true);
    case A: return of(row.a, false);
    case B: return of(row.b, false);
    case Difference: return row.difference().milliseconds();
    case Change: return row.percent() ? QVariant(*row.percent()) : QVariant();
    default: return {};
    }
}

QVariant CompareOperatorModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const auto row = static_cast<std::size_t>(index.row());
    const compare::ComparedOperator& each = m_comparison->operators[row];
    switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::TextAlignmentRole:
        return int((index.column() <= Shape ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (index.column() == Name) return QString::fromStdString(each.name);
        return index.column() == Shape ? QVariant(QString::fromStdString(each.shape)) : QVariant();
    case Qt::ForegroundRole: {
        const auto percent = each.percent();
        if (index.column() != Change || (percent && std::fabs(*percent) < kLeastChange)) return {};
        return each.difference().ns > 0 ? currentTheme().error : currentTheme().ok;
    }
    case kExactRole: return exact(each, index.column());
    default: return {};
    }
}

QVariant CompareOperatorModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section <= Shape ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("name");
    case Shape: return tr("shape");
    case CountA: return tr("count A");
    case CountB: return tr("count B");
    case A: return tr("A");
    case B: return tr("B");
    case Difference: return tr("B \u2212 A");
    case Change: return tr("change");
    default: return {};
    }
}

} // namespace fourwalls::views
