// SPDX-License-Identifier: Apache-2.0
// See sqlite_exporter.h.
#include "model/export/sqlite_exporter.h"

#include "model/export/trace_tables.h"
#include "model/sqlite/database.h"

#include <cmath>
#include <filesystem>

namespace fourwalls {

namespace {

using sqlite::Database;
using sqlite::Statement;

// What a person types again and again: names instead of numbers, one row per thing.
constexpr const char* kViews = R"(
CREATE INDEX slices_by_start ON slices(start_ns);
CREATE INDEX slices_by_operator ON slices(operator);
CREATE VIEW named_slices AS
  SELECT s.slice, t.rank, t.name AS track, s.lane, o.name, o.kind, o.phase, o.activity, o.layer, s.microbatch,
         s.start_ns, s.duration_ns, o.flops, o.bytes, o.detail
  FROM slices s JOIN tracks t USING (track) JOIN operators o USING (operator);
CREATE VIEW named_collectives AS
  SELECT c.rank, c.operation, g.name AS "group", g.transport, c.sequence, c.start_ns,
         c.last_arrival_ns - c.start_ns AS wait_ns, c.end_ns - c.last_arrival_ns AS transfer_ns, c.payload_bytes,
         c.wire_bytes, c.peer, c.algorithm, c.protocol
  FROM collectives c LEFT JOIN process_groups g USING ("group");
CREATE VIEW named_allocations AS
  SELECT a.rank, a.allocation, a.start_ns, a.end_ns, a.bytes, a.category, o.name AS operator, o.phase, o.layer,
         a.microbatch, a.address
  FROM allocations a LEFT JOIN operators o USING (operator);
CREATE VIEW named_counter_samples AS
  SELECT c.rank, c.name, c.unit, s.at_ns, s.value FROM counter_samples s JOIN counters c USING (counter);
)";

const char* typeName(CellType type)
{
    switch (type) {
    case CellType::Integer: return "INTEGER";
    case CellType::Real: return "REAL";
    case CellType::Text: return "TEXT";
    }
    return "";
}

class SqliteOutput final : public TableOutput {
public:
    explicit SqliteOutput(Database& database) : m_database(database) {}

    Status begin(std::string_view table, std::span<const Column> columns) override
    {
        // "group" is a word of SQL: every name is quoted.
        std::string create = "CREATE TABLE \"" + std::string(table) + "\" (";
        std::string insert = "INSERT INTO \"" + std::string(table) + "\" VALUES (";
        for (std::size_t i = 0; i < columns.size(); ++i) {
            create +=
                std::string(i > 0 ? ", " : "") + '"' + std::string(columns[i].name) + "\" " + typeName(columns[i].type);
            insert += i > 0 ? ", ?" : "?";
        }
        FOURWALLS_TRY(m_database.exec(create + ")"));
        FOURWALLS_TRY_ASSIGN(m_insert, m_database.prepare(insert + ")"));
        m_status = {};
        return {};
    }

    bool row(std::span<const Cell> cells) override
    {
        int index = 1;
        for (const Cell& cell : cells) {
            if (const auto* number = cell.integer())
                m_insert.bind(index, *number);
            else if (const auto* real = cell.real(); real && std::isfinite(*real))
                m_insert.bind(index, *real);
            else if (const auto* text = cell.text())
                m_insert.bind(index, *text);
            else
                m_insert.bindNull(index);
            ++index;
        }
        m_status = m_insert.run();
        return m_status.ok();
    }

    Status end() override
    {
        m_insert = {};
        return m_status;
    }

private:
    Database& m_database;
    Statement m_insert;
    Status m_status;
};

} // namespace

Status exportSqlite(TraceQuery& trace, const std::string& path, const std::function<void(double)>& progress,
                    std::stop_token stop)
{
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    FOURWALLS_TRY_ASSIGN(Database database, Database::open(path, sqlite::OpenMode::Create));
    // The file counts only once it is complete, so nothing needs to survive a crash on the way.
    FOURWALLS_TRY(database.exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=16384; BEGIN"));
    SqliteOutput output(database);
    FOURWALLS_TRY(writeTables(trace, output, progress, stop));
    FOURWALLS_TRY(database.exec(kViews));
    FOURWALLS_TRY(database.exec("COMMIT"));
    return database.close();
}

} // namespace fourwalls
