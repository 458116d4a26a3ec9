// SPDX-License-Identifier: Apache-2.0
// Schema, rows and texts of foreign databases.
#include "model/import/common/foreign_tables.h"

#include "model/base/time.h"
#include "model/sqlite/stranger.h"

#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostStrings = 200'000; ///< kept in memory; beyond, strings are looked up again
constexpr const char* kUnused = "NULL";

/// As an identifier of SQL: table names of some formats have hyphens.
std::string quoted(std::string_view name)
{
    std::string text = "\"";
    for (const char c : name) {
        text += c;
        if (c == '"') text += c;
    }
    return text + "\"";
}

} // namespace

bool soundTimes(std::int64_t start, std::int64_t end)
{
    return start >= -kLargestTimeNs && end <= kLargestTimeNs && start <= end && end - start <= kLargestTimeNs;
}

Result<ForeignTables> ForeignTables::open(const std::string& path, const std::string& writtenBy, std::string again)
{
    FOURWALLS_TRY_ASSIGN(const sqlite::FileHeader header, sqlite::readHeader(path, "SQLite database"));
    if (header.walBeside || header.journalBeside)
        return Error{ErrorCode::Unsupported, "the database is still being written", path,
                     "wait until " + writtenBy + " has ended"};
    ForeignTables tables;
    tables.m_again = std::move(again);
    FOURWALLS_TRY_ASSIGN(tables.m_database, sqlite::Database::open(path, sqlite::OpenMode::Immutable));
    FOURWALLS_TRY(sqlite::harden(tables.m_database, std::size_t{8} << 20, 1 << 24));
    FOURWALLS_TRY(tables.readSchema());
    return tables;
}

Status ForeignTables::readSchema()
{
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement names,
        m_database.prepare("SELECT name, type='view' FROM sqlite_master WHERE type IN ('table', 'view') LIMIT 10000"));
    for (;;) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, names.step());
        if (row == sqlite::Row::Done) break;
        const auto name = names.asText(0);
        if (!name) continue;
        if (names.asInteger(1) == 1)
            m_views.insert(std::string(*name));
        else
            m_columns[std::string(*name)];
    }
    FOURWALLS_TRY_ASSIGN(sqlite::Statement info, m_database.prepare("SELECT name FROM pragma_table_info(?1)"));
    for (auto& [table, columns] : m_columns) {
        info.reset();
        info.bind(1, std::string_view(table));
        while (info.stepCode() == SQLITE_ROW)
            if (const auto column = info.asText(0)) columns.insert(std::string(*column));
    }
    return {};
}

bool ForeignTables::has(std::string_view table, std::string_view column) const
{
    const auto found = m_columns.find(table);
    return found != m_columns.end() && found->second.count(std::string(column)) > 0;
}

Status ForeignTables::refuseView(std::string_view table) const
{
    if (m_views.count(table) == 0) return {};
    return Error{ErrorCode::Unsupported,
                 "in this database " + std::string(table) + " is a view, and only tables are read", m_database.path(),
                 m_again};
}

Status ForeignTables::eachRow(const std::string& table, const std::vector<std::string>& columns,
                              const std::function<bool(const sqlite::Statement&)>& visit, const std::stop_token& stop)
{
    FOURWALLS_TRY(refuseView(table));
    if (!has(table)) return {};
    const std::set<std::string>& present = m_columns.find(table)->second;
    std::string sql;
    for (const std::string& column : columns)
        sql += (sql.empty() ? "SELECT " : ",") + (present.count(column) > 0 ? quoted(column) : kUnused);
    return eachResult(sql + " FROM " + quoted(table), visit, stop);
}

Status ForeignTables::eachResult(const std::string& sql, const std::function<bool(const sqlite::Statement&)>& visit,
                                 const std::stop_token& stop)
{
    const sqlite::StopGuard guard(m_database, stop);
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows, m_database.prepare(sql));
    for (;;) {
        const int code = rows.stepCode();
        if (code == SQLITE_ROW) {
            ++m_rows;
            if (!visit(rows)) ++m_badRows;
            continue;
        }
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", m_database.path(), ""};
        // A damaged page ends its table; what came before is kept and the end is counted.
        if (code != SQLITE_DONE) ++m_badRows;
        return {};
    }
}

std::int64_t ForeignTables::lastRow(const std::string& table)
{
    auto last = m_database.prepare("SELECT MAX(rowid) FROM " + quoted(table));
    if (!last.ok() || last->stepCode() != SQLITE_ROW) return 0;
    return last->asInteger(0).value_or(0);
}

const std::string& ForeignStrings::find(ForeignTables& tables, std::int64_t id)
{
    static const std::string kNone;
    if (id < 0) return kNone;
    if (const auto known = m_known.find(id); known != m_known.end()) return known->second;
    if (m_known.size() >= kMostStrings) m_known.clear();
    std::string text;
    if (!m_byId) {
        auto statement = tables.prepare("SELECT " + quoted(m_value) + " FROM " + quoted(m_table) + " WHERE id=?1");
        if (statement.ok()) m_byId = std::move(*statement);
    }
    if (m_byId) {
        m_byId.reset();
        m_byId.bind(1, id);
        if (m_byId.stepCode() == SQLITE_ROW) text = std::string(m_byId.asText(0).value_or(""));
        m_byId.reset();
    }
    return m_known.emplace(id, std::move(text)).first->second;
}

} // namespace fourwalls::importers
