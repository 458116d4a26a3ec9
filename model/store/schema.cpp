// SPDX-License-Identifier: Apache-2.0
// The SQL text. A change of any statement is a change of the format: raise kFormatVersion with it.
#include "model/store/schema.h"

#include <array>

namespace fourwalls::store {
namespace {

constexpr std::array<TableSchema, kTableCount> kTables{{
    {"meta", 2, "CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID", "", "key"},
    {"string", 2, "CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL)", "", "id"},
    {"rank", 6,
     "CREATE TABLE rank(id INTEGER PRIMARY KEY, device TEXT, host TEXT, stage INTEGER, memory_bytes INTEGER, "
     "multiplicity INTEGER)",
     "", "id"},
    {"process_group", 4, "CREATE TABLE process_group(id INTEGER PRIMARY KEY, name TEXT, transport TEXT, ranks TEXT)",
     "", "id"},
    {"track", 9,
     "CREATE TABLE track(id INTEGER PRIMARY KEY, rank INTEGER, kind INTEGER, name TEXT, ord INTEGER, lanes INTEGER, "
     "slices INTEGER, first_run INTEGER, last_run INTEGER)",
     "", "id"},
    {"op", 9,
     "CREATE TABLE op(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, phase INTEGER, activity INTEGER, "
     "layer INTEGER, flops REAL, bytes INTEGER, detail TEXT)",
     "", "id"},
    {"counter", 7,
     "CREATE TABLE counter(id INTEGER PRIMARY KEY, rank INTEGER, name TEXT, unit INTEGER, samples INTEGER, "
     "finest INTEGER, top INTEGER)",
     "", "id"},
    {"audit", 4,
     "CREATE TABLE audit(name TEXT NOT NULL, severity INTEGER NOT NULL, count INTEGER, detail TEXT, "
     "PRIMARY KEY(name, severity)) WITHOUT ROWID",
     "", "name, severity"},
    {"run", 6,
     "CREATE TABLE run(id INTEGER PRIMARY KEY, track INTEGER, lane INTEGER, class INTEGER, first INTEGER, "
     "last INTEGER)",
     "", "id"},
    {"slice", 7,
     "CREATE TABLE slice(id INTEGER PRIMARY KEY, run INTEGER, start INTEGER, dur INTEGER, op INTEGER, mb INTEGER, "
     "corr INTEGER)",
     "", "id"},
    {"fence", 3,
     "CREATE TABLE fence(run INTEGER, start INTEGER, id INTEGER, PRIMARY KEY(run, start, id)) WITHOUT ROWID", "",
     "run, start, id"},
    {"lane", 5,
     "CREATE TABLE lane(track INTEGER, lane INTEGER, slices INTEGER, finest INTEGER, top INTEGER, "
     "PRIMARY KEY(track, lane)) WITHOUT ROWID",
     "", "track, lane"},
    {"slice_bin", 6,
     "CREATE TABLE slice_bin(id INTEGER PRIMARY KEY, track INTEGER, lane INTEGER, level INTEGER, tile INTEGER, "
     "data BLOB)",
     "CREATE UNIQUE INDEX slice_bin_tile ON slice_bin(track, lane, level, tile)", "id"},
    {"op_run", 5,
     "CREATE TABLE op_run(op INTEGER, run INTEGER, first INTEGER, last INTEGER, count INTEGER, "
     "PRIMARY KEY(op, run)) WITHOUT ROWID",
     "", "op, run"},
    {"op_summary", 4, "CREATE TABLE op_summary(op INTEGER PRIMARY KEY, count INTEGER, total INTEGER, longest INTEGER)",
     "", "op"},
    {"rank_bin", 4,
     "CREATE TABLE rank_bin(rank INTEGER, level INTEGER, tile INTEGER, data BLOB, "
     "PRIMARY KEY(rank, level, tile)) WITHOUT ROWID",
     "", "rank, level, tile"},
    {"allocation_run", 5,
     "CREATE TABLE allocation_run(id INTEGER PRIMARY KEY, rank INTEGER, class INTEGER, first INTEGER, last INTEGER)",
     "", "id"},
    {"allocation", 10,
     "CREATE TABLE allocation(id INTEGER PRIMARY KEY, run INTEGER, start INTEGER, dur INTEGER, bytes INTEGER, "
     "address INTEGER, category INTEGER, op INTEGER, mb INTEGER, buffer INTEGER)",
     "", "id"},
    {"allocation_fence", 3,
     "CREATE TABLE allocation_fence(run INTEGER, start INTEGER, id INTEGER, PRIMARY KEY(run, start, id)) "
     "WITHOUT ROWID",
     "", "run, start, id"},
    {"memory_timeline", 6,
     "CREATE TABLE memory_timeline(rank INTEGER PRIMARY KEY, allocations INTEGER, finest INTEGER, top INTEGER, "
     "first_run INTEGER, last_run INTEGER)",
     "", "rank"},
    {"memory_bin", 5,
     "CREATE TABLE memory_bin(id INTEGER PRIMARY KEY, rank INTEGER, level INTEGER, tile INTEGER, data BLOB)",
     "CREATE UNIQUE INDEX memory_bin_tile ON memory_bin(rank, level, tile)", "id"},
    {"memory_summary", 23,
     "CREATE TABLE memory_summary(rank INTEGER, seq INTEGER, step INTEGER, peak INTEGER, at INTEGER, "
     "weights INTEGER, gradients INTEGER, optimizer_state INTEGER, activations INTEGER, temporaries INTEGER, "
     "comm_buffers INTEGER, workspace INTEGER, other INTEGER, "
     "peak_weights INTEGER, peak_gradients INTEGER, peak_optimizer_state INTEGER, peak_activations INTEGER, "
     "peak_temporaries INTEGER, peak_comm_buffers INTEGER, peak_workspace INTEGER, peak_other INTEGER, "
     "resident INTEGER, reserved INTEGER, PRIMARY KEY(rank, seq)) WITHOUT ROWID",
     "", "rank, seq"},
    {"peak_alive", 5,
     "CREATE TABLE peak_alive(id INTEGER PRIMARY KEY, rank INTEGER, at INTEGER, count INTEGER, data BLOB)",
     "CREATE INDEX peak_alive_at ON peak_alive(rank, at)", "id"},
    {"counter_sample", 4,
     "CREATE TABLE counter_sample(counter INTEGER, at INTEGER, seq INTEGER, value REAL, "
     "PRIMARY KEY(counter, at, seq)) WITHOUT ROWID",
     "", "counter, at, seq"},
    {"counter_bin", 5,
     "CREATE TABLE counter_bin(id INTEGER PRIMARY KEY, counter INTEGER, level INTEGER, tile INTEGER, data BLOB)",
     "CREATE UNIQUE INDEX counter_bin_tile ON counter_bin(counter, level, tile)", "id"},
    {"step", 11,
     "CREATE TABLE step(rank INTEGER, seq INTEGER, step INTEGER, start INTEGER, end INTEGER, loss REAL, "
     "learning_rate REAL, gradient_norm REAL, samples INTEGER, tokens INTEGER, warmup INTEGER, "
     "PRIMARY KEY(rank, seq)) WITHOUT ROWID",
     "", "rank, seq"},
    {"job_step", 10,
     "CREATE TABLE job_step(step INTEGER PRIMARY KEY, start INTEGER, end INTEGER, warmup INTEGER, complete INTEGER, "
     "loss REAL, learning_rate REAL, gradient_norm REAL, samples INTEGER, tokens INTEGER)",
     "", "step"},
    {"step_summary", 35,
     "CREATE TABLE step_summary(rank INTEGER, seq INTEGER, step INTEGER, start INTEGER, end INTEGER, warmup INTEGER, "
     "compute INTEGER, exposed_comm INTEGER, exposed_copy INTEGER, bubble INTEGER, idle_data INTEGER, "
     "idle_launch INTEGER, idle_sync INTEGER, idle_other INTEGER, compute_sum INTEGER, collective_wait INTEGER, "
     "pipeline_window INTEGER, pipeline_busy INTEGER, model_flops REAL, recompute_flops REAL, "
     "recompute_time INTEGER, memory_bound_excess INTEGER, inefficiency_excess INTEGER, "
     "phase_none INTEGER, phase_forward INTEGER, phase_backward_input INTEGER, phase_backward_weight INTEGER, "
     "phase_recompute INTEGER, phase_optimizer INTEGER, phase_gradient_sync INTEGER, phase_data_loading INTEGER, "
     "phase_checkpoint_save INTEGER, phase_checkpoint_load INTEGER, phase_evaluation INTEGER, phase_setup INTEGER, "
     "PRIMARY KEY(rank, seq)) WITHOUT ROWID",
     "CREATE INDEX step_summary_step ON step_summary(step)", "rank, seq"},
    {"collective", 15,
     "CREATE TABLE collective(id INTEGER PRIMARY KEY, rank INTEGER, class INTEGER, track INTEGER, start INTEGER, "
     "last_arrival INTEGER, end INTEGER, operation INTEGER, grp INTEGER, sequence INTEGER, payload_bytes INTEGER, "
     "wire_bytes INTEGER, peer INTEGER, algorithm INTEGER, protocol INTEGER)",
     "CREATE INDEX collective_start ON collective(rank, class, start)", "id"},
    {"collective_summary", 7,
     "CREATE TABLE collective_summary(operation INTEGER, grp INTEGER, count INTEGER, payload_bytes INTEGER, "
     "wire_bytes INTEGER, time INTEGER, wait INTEGER, PRIMARY KEY(operation, grp)) WITHOUT ROWID",
     "", "operation, grp"},
    {"flow", 6,
     "CREATE TABLE flow(id INTEGER PRIMARY KEY, kind INTEGER, from_track INTEGER, from_at INTEGER, to_track INTEGER, "
     "to_at INTEGER)",
     "CREATE INDEX flow_from ON flow(from_track, from_at); CREATE INDEX flow_to ON flow(to_track, to_at)", "id"},
    {"event", 5, "CREATE TABLE event(id INTEGER PRIMARY KEY, at INTEGER, kind INTEGER, rank INTEGER, text TEXT)",
     "CREATE INDEX event_at ON event(at)", "id"},
    {"checksum", 4,
     "CREATE TABLE checksum(tbl TEXT NOT NULL, block INTEGER NOT NULL, count INTEGER, sum INTEGER, "
     "PRIMARY KEY(tbl, block)) WITHOUT ROWID",
     "", "tbl, block"},
}};

constexpr const char* kRecordBatchSql =
    "CREATE TABLE record_batch(id INTEGER PRIMARY KEY, kind INTEGER, key INTEGER, count INTEGER, data BLOB); "
    "CREATE INDEX record_batch_key ON record_batch(kind, key, id, count)";

struct SchemaRow {
    std::string type, name, table, sql;
    friend bool operator==(const SchemaRow&, const SchemaRow&) = default;
};

Result<std::vector<SchemaRow>> readSchema(sqlite::Database& database, std::size_t limit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows,
                         database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"));
    std::vector<SchemaRow> schema;
    while (schema.size() <= limit) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, rows.step());
        if (row == sqlite::Row::Done) break;
        schema.push_back({std::string(rows.text(0)), std::string(rows.text(1)), std::string(rows.text(2)),
                          std::string(rows.text(3))});
    }
    return schema;
}

/// The rows of sqlite_schema that our statements make, as this SQLite writes them.
Result<std::vector<SchemaRow>> expectedSchema(const std::string& sql)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Database memory, sqlite::Database::open("the schema", sqlite::OpenMode::Memory));
    FOURWALLS_TRY(memory.exec(sql));
    return readSchema(memory, 1000);
}

std::string sqlOfTables(int count)
{
    std::string sql;
    for (int i = 0; i < count; ++i) {
        const TableSchema& table = kTables[static_cast<std::size_t>(i)];
        sql += table.sql;
        sql += ";\n";
        if (*table.indexes) sql += std::string(table.indexes) + ";\n";
    }
    return sql;
}

} // namespace

const TableSchema& schemaOf(Table table)
{
    return kTables[static_cast<std::size_t>(table)];
}

std::string finishedSchemaSql()
{
    return sqlOfTables(kTableCount);
}
std::string recordingSchemaSql()
{
    return sqlOfTables(kSharedTableCount) + kRecordBatchSql + ";\n";
}

Result<SchemaKind> compareSchema(sqlite::Database& database)
{
    // Computed once: both are the same for every file.
    static const Result<std::vector<SchemaRow>> finished = expectedSchema(finishedSchemaSql());
    static const Result<std::vector<SchemaRow>> before = expectedSchema(sqlOfTables(kTableCount - 1));
    static const Result<std::vector<SchemaRow>> recording = expectedSchema(recordingSchemaSql());
    if (!finished.ok()) return finished.error();
    if (!before.ok()) return before.error();
    if (!recording.ok()) return recording.error();
    FOURWALLS_TRY_ASSIGN(const std::vector<SchemaRow> found, readSchema(database, finished.value().size()));
    if (found == finished.value() || found == before.value()) return SchemaKind::Finished;
    if (found == recording.value()) return SchemaKind::Recording;
    return SchemaKind::Unknown;
}

Status createSchema(sqlite::Database& database, SchemaKind kind)
{
    FOURWALLS_TRY(database.exec("PRAGMA page_size=" + std::to_string(kPageSize)));
    FOURWALLS_TRY(database.exec("PRAGMA auto_vacuum=NONE"));
    FOURWALLS_TRY(database.exec("PRAGMA encoding='UTF-8'"));
    FOURWALLS_TRY(database.exec("PRAGMA application_id=" + std::to_string(kApplicationId)));
    FOURWALLS_TRY(database.exec("PRAGMA user_version=" + std::to_string(kFormatVersion)));
    return database.exec(kind == SchemaKind::Recording ? recordingSchemaSql() : finishedSchemaSql());
}

} // namespace fourwalls::store
