// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_table.h.
#include "views/tuning/plan_table.h"

#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/whatif/cost_words.h"
#include "views/words/plan_words.h"

namespace fourwalls::views {

namespace {

/// Breaks lines only after its dots, so that "dp 4" stays together.
QString wrapping(QString summary)
{
    constexpr QChar kNoBreak(0xA0);
    summary.replace(QLatin1Char(' '), kNoBreak);
    return summary.replace(QStringLiteral("\u00a0\u00b7\u00a0"), QStringLiteral("\u00a0\u00b7 "));
}

} // namespace

void PlanTableModel::setRows(std::vector<PlanRow> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

void PlanTableModel::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    m_unit = unit;
    if (!m_rows.empty()) emit dataChanged(index(0, Memory), index(rowCount() - 1, Memory));
}

int PlanTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int PlanTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant PlanTableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const PlanRow& row = m_rows[static_cast<std::size_t>(index.row())];
    const bool exact = role == kExactRole;
    if (role == Qt::TextAlignmentRole)
        return QVariant(Qt::AlignVCenter | (index.column() == Plan ? Qt::AlignLeft : Qt::AlignRight));
    if (role == Qt::ForegroundRole && index.column() == Memory && !row.feasible) return currentTheme().wallEdge;
    if (role == Qt::ToolTipRole) return QString::fromStdString(formatPlan(row.plan));
    if (role != Qt::DisplayRole && !exact) return {};
    switch (index.column()) {
    case Plan: return exact ? QString::fromStdString(formatPlan(row.plan)) : wrapping(planSummary(row.plan));
    case Time: return exact ? QVariant(row.seconds) : formatDuration(Duration::fromSeconds(row.seconds), 3);
    case Memory: return exact ? QVariant(row.bytes) : formatBytes(row.bytes, m_unit);
    case Throughput:
        if (!(row.tokensPerSecond > 0)) return exact ? QVariant() : QVariant(QString(kDash));
        return exact ? QVariant(row.tokensPerSecond) : formatRate(row.tokensPerSecond, tr("tok/s"));
    case Energy:
        if (!(row.joules > 0)) return exact ? QVariant() : QVariant(QString(kDash));
        return exact ? QVariant(row.joules) : formatRate(row.joules, QStringLiteral("J"));
    default: return {};
    }
}

QVariant PlanTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant(Qt::AlignVCenter | (section == Plan ? Qt::AlignLeft : Qt::AlignRight));
    if (role == Qt::ToolTipRole && section == Energy)
        return tr("Energy of all devices in a step, modelled: each draws its power limit while it computes and half of "
                  "it while it waits");
    if (role == Qt::ToolTipRole && section == Memory) return tr("Peak memory of the rank that fills its device most");
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Plan: return tr("plan");
    case Time: return tr("step time");
    case Memory: return tr("peak"); // short: in a small window plans need the room
    case Throughput: return tr("throughput");
    case Energy: return tr("energy");
    default: return {};
    }
}

} // namespace fourwalls::views
