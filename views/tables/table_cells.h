// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of a trace's tables from the vocabulary's values, and the tables about operators and slices.
#pragma once

#include "model/trace/trace_query.h"
#include "views/tables/trace_table.h"
#include "views/words/words.h"

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace fourwalls::views {

using CellRow = std::vector<QVariant>;

inline QVariant textCell(const std::string& value)
{
    return QString::fromStdString(value);
}
inline QVariant textCell(std::string_view value)
{
    return QString::fromUtf8(value.data(), static_cast<qsizetype>(value.size()));
}
inline QVariant figure(std::optional<std::int64_t> value)
{
    return value ? QVariant::fromValue<qlonglong>(*value) : QVariant();
}
/// As the screen calls it; empty for none.
inline QVariant phaseText(Phase phase)
{
    return phase == Phase::None ? QString() : words(phase);
}
template <class T>
QVariant known(const std::optional<T>& value)
{
    return value ? QVariant(*value) : QVariant();
}
template <class IdType>
QVariant idOf(const std::optional<IdType>& id)
{
    return id ? QVariant::fromValue<qlonglong>(id->value) : QVariant();
}

inline void addOp(CellRow& row, const OpDictionary& ops, std::optional<OpId> id)
{
    const auto found = id ? ops.find(*id) : ops.end();
    const OpInfo* op = found == ops.end() ? nullptr : found->second.get();
    row.push_back(op ? textCell(opName(*op).toStdString()) : QVariant());
    row.push_back(op ? phaseText(op->phase) : QVariant());
    row.push_back(op ? idOf(op->layer) : QVariant());
}

/// By operator of one layer, and by name and phase over all layers; times over the measured steps of all ranks.
Status readOperators(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop);
Status readOperatorSums(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop);
/// Of the range: all, or the longest where there are more than rows.
Status readSlices(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop);

} // namespace fourwalls::views
