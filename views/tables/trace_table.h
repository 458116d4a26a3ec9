// SPDX-License-Identifier: GPL-3.0-or-later
// Any table of a trace as rows of plain values: what the tables view lists, sorts and copies.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <QHash>
#include <QString>
#include <QStringList>
#include <QVariant>

#include <stop_token>
#include <vector>

namespace fourwalls::views {

enum class TableKind {
    Steps,
    Ranks,
    Memory,
    Operators,
    OperatorSums,
    Slices,
    Collectives,
    CollectiveSums,
    Allocations,
    Counters,
    Events,
    Traffic,
    Groups,
    Audit
};
inline constexpr int kTableKindCount = 14;

/// Stable, as in CSV file names: "steps".
QString tableId(TableKind kind);
/// For a person, translated.
QString tableTitle(TableKind kind);
/// Whether its rows are those of the visible range.
bool followsRange(TableKind kind);
/// Whether its rows are those of the selected rank.
bool followsRank(TableKind kind);

/// How a column's values are written: instants and durations are nanoseconds, shares are fractions.
/// Name: of an operator, shown by its short name.
enum class CellKind { Text, Name, Number, Count, Instant, Duration, Bytes, Share, PerSecond };

struct TraceTableColumn {
    const char* name = nullptr; ///< untranslated, context "TraceTables"
    CellKind kind = CellKind::Text;
    const char* tip = nullptr; ///< likewise; null: the name says it all
};

struct TraceTable {
    TableKind kind = TableKind::Steps;
    std::vector<TraceTableColumn> columns;
    std::vector<std::vector<QVariant>> rows; ///< invalid: unknown
    qint64 total = 0;                        ///< rows there are; more than `rows` if they were limited
    bool limited = false;
    bool longestFirst = false;          ///< limited to the longest rather than to the first
    QHash<QString, QString> shortNames; ///< of its names; different ones never read the same
    /// Tables of operators: those of each row; and the first of the two columns that withPercentiles fills.
    std::vector<std::vector<OpId>> ops;
    std::size_t percentilesAt = 0;
    bool roughPercentiles = false; ///< right within a hundredth only
};

/// What to read.
struct TableQuestion {
    TableKind kind = TableKind::Steps;
    TimeRange range;
    RankId rank;
    std::size_t limit = 20'000;
};

/// Errors: those of the queries; Cancelled.
Result<TraceTable> askTable(TraceQuery& trace, const TableQuestion& question, std::stop_token stop);

/// A table of operators with its percentiles, which take a look at every slice. The same errors.
Result<TraceTable> withPercentiles(TraceQuery& trace, TraceTable table, const std::stop_token& stop);

} // namespace fourwalls::views
