// SPDX-License-Identifier: GPL-3.0-or-later
// What the kernel, link or rank of the selected row would gain.
#include "views/tables/tables_view.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"

#include <QSortFilterProxyModel>
#include <QTableView>

#include <algorithm>

namespace fourwalls::views {

namespace {

using GainKind = replay::GainSubject::Kind;
using Subjects = std::vector<replay::GainSubject>;

/// The value of a row in the column of that name; invalid: there is none.
QVariant valueIn(const TraceTable& table, std::size_t row, const char* column)
{
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (QLatin1String(table.columns[i].name) == QLatin1String(column)) return table.rows[row][i];
    return {};
}

/// Kernels and operators of a row by name; several names are no one thing that could be better.
Result<Subjects> kernelOf(TraceQuery& trace, const std::vector<OpId>& ops)
{
    std::string name;
    for (const OpId id : ops) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(id));
        const bool works =
            op->activity == Activity::Compute && (op->kind == SliceKind::Kernel || op->kind == SliceKind::Operator);
        if (!works || op->name.empty() || (!name.empty() && op->name != name)) return Subjects();
        name = op->name;
    }
    return name.empty() ? Subjects() : Subjects{{GainKind::Kernel, name, {}}};
}

} // namespace

bool TablesView::isGainPending() const
{
    return m_gain->isPending();
}

void TablesView::askGain()
{
    m_gain->setReplayer(whatIf() ? &whatIf()->replayer() : nullptr);
    const QModelIndexList chosen = m_table->selectionModel()->selectedRows(); // the current one is still that before
    const QModelIndex index = chosen.isEmpty() ? QModelIndex() : m_sorted->mapToSource(chosen.front());
    const TraceTable* table = m_model->table().get();
    if (m_isQuery || !table || !session() || !index.isValid()) return m_gain->ask(Subjects());
    const auto row = static_cast<std::size_t>(index.row());
    if (table->kind == TableKind::Ranks)
        return m_gain->ask(Subjects{{GainKind::Rank, {}, RankId{valueIn(*table, row, "rank").toInt()}}});
    if (table->kind == TableKind::Collectives || table->kind == TableKind::CollectiveSums) {
        const std::string group = valueIn(*table, row, "group").toString().toStdString();
        const std::vector<ProcessGroupInfo>& groups = session()->info().groups;
        const bool moves = std::ranges::any_of(
            groups, [&](const ProcessGroupInfo& each) { return each.name == group && each.ranks.size() > 1; });
        return m_gain->ask(moves ? Subjects{{GainKind::Link, group, {}}} : Subjects());
    }
    if (row >= table->ops.size()) return m_gain->ask(Subjects());
    session()->ask<Subjects>(
        this, "tables.gain",
        [ops = table->ops[row]](TraceQuery& trace, std::stop_token) { return kernelOf(trace, ops); },
        [this](const Answer<Subjects>& answer) { m_gain->ask(answer.ok() ? *answer : Subjects()); });
}

} // namespace fourwalls::views
