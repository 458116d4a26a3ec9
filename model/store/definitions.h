// SPDX-License-Identifier: Apache-2.0
// Header, closing and definitions of a trace as rows, the same in a recording and in a finished file.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/store/row_output.h"
#include "model/store/stored_rows.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace fourwalls::store {

/// Of the key "job_steps": see JobStepRule. Files without the key have hulls.
inline constexpr std::string_view kJobStepsByEnds = "ends";
/// Of the key "lost_steps": see markLost. In files without the key no step is lost.
inline constexpr std::string_view kLostStepsTakenAgain = "taken again";

/// The keys of `meta` with their values; text, integers and reals.
using MetaValue = std::variant<std::int64_t, double, std::string>;
using Meta = std::map<std::string, MetaValue>;

/// The keys that say what the trace is. specJson: text of the spec, empty for none.
Meta metaOf(const TraceHeader& header, const std::string& specJson);
void addClosing(Meta& meta, const TraceClosing& closing);
void putMeta(RowOutput& out, const Meta& meta);

void putOp(RowOutput& out, std::size_t id, const OpInfo& info);
void putRank(RowOutput& out, const RankInfo& info);
void putGroup(RowOutput& out, std::size_t id, const ProcessGroupInfo& info);
void putString(RowOutput& out, std::size_t id, const std::string& text);
void putAudit(RowOutput& out, const AuditRecord& record);
/// Of a recording: what is only known when finished is 0.
void putRecordingTrack(RowOutput& out, std::size_t id, const TrackInfo& info);
void putRecordingCounter(RowOutput& out, std::size_t id, const CounterInfo& info);

/// Reads `meta`; rows of a wrong type are left out and counted.
Result<Meta> readMeta(sqlite::Database& database, std::int64_t& damaged);
std::int64_t integerOf(const Meta& meta, const std::string& key, std::int64_t fallback);
std::optional<double> realOf(const Meta& meta, const std::string& key);
std::string textOf(const Meta& meta, const std::string& key);

/// Reads everything but the ops (readOps) and what belongs to finished files only. Damaged rows are replaced by
/// empty definitions and counted, so that ids stay in place.
/// Errors: Unsupported for a newer spec; Cancelled; Io.
Result<Definitions> readDefinitions(sqlite::Database& database, std::int64_t& damaged);
Result<std::vector<OpInfo>> readOps(sqlite::Database& database, std::int64_t& damaged);
/// The op of the current row of "SELECT * FROM op"; absent if it is damaged.
std::optional<OpInfo> opOfRow(const sqlite::Statement& row);

/// Steps through a statement whose first column is an integer key of `table`, calling visit for every readable row.
/// Rows that SQLite cannot give (too large) are counted and passed over.
template <class Visit>
Status forEachRow(sqlite::Database& database, const std::string& table, const std::string& key, std::int64_t& damaged,
                  Visit&& visit)
{
    const std::string sql = "SELECT * FROM " + table + " WHERE " + key + ">?1 ORDER BY " + key;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows, database.prepare(sql));
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    rows.bind(1, last);
    while (true) {
        const int rc = rows.stepCode();
        if (rc == SQLITE_DONE) return {};
        if (rc == SQLITE_ROW) {
            last = rows.integer(0);
            visit(rows);
            continue;
        }
        if (rc != SQLITE_TOOBIG) return database.error(rc);
        // The row itself is unreadable: find its key without its values and go on behind it.
        ++damaged;
        rows.reset();
        FOURWALLS_TRY_ASSIGN(
            const std::optional<std::int64_t> next,
            database.integer("SELECT min(" + key + ") FROM " + table + " WHERE " + key + ">" + std::to_string(last)));
        if (!next) return {};
        last = *next;
        rows.bind(1, last);
    }
}

} // namespace fourwalls::store
