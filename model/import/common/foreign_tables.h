// SPDX-License-Identifier: Apache-2.0
// A stranger's SQLite database, read by introspection: tables and columns come and go between versions of its writer, so
// only what is there is asked for. Only tables and columns that a reader names are read; no view is ever run.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class ForeignTables {
public:
    /// writtenBy: what is still running where a journal lies beside the file ("nsys export"). again: how to make a file
    /// without views. Errors: NotFound, Io, Format; Unsupported for a database that is still being written.
    static Result<ForeignTables> open(const std::string& path, const std::string& writtenBy, std::string again);

    const std::string& path() const { return m_database.path(); }
    bool has(std::string_view table) const { return m_columns.count(table) > 0; }
    bool has(std::string_view table, std::string_view column) const;
    /// Columns of each table, by name.
    const std::map<std::string, std::set<std::string>, std::less<>>& tables() const { return m_columns; }

    /// A view is a query of whoever made the file, which may never end. Errors: Unsupported if `table` is one.
    Status refuseView(std::string_view table) const;

    /// Rows in the file's order with the columns that exist, NULL for others. `visit` says whether a row was sound. A
    /// damaged page ends its table and is counted. Errors: Cancelled, and as refuseView.
    Status eachRow(const std::string& table, const std::vector<std::string>& columns,
                   const std::function<bool(const sqlite::Statement&)>& visit, const std::stop_token& stop);

    /// The same for a query over tables that are known to be there and to be no views.
    Status eachResult(const std::string& sql, const std::function<bool(const sqlite::Statement&)>& visit,
                      const std::stop_token& stop);

    /// The largest row number, which counting would read the whole table for; 0: no rows, or not to be read.
    std::int64_t lastRow(const std::string& table);

    /// Counts of one pass: call before it.
    void restartCounts() { m_rows = m_badRows = 0; }
    std::int64_t rows() const { return m_rows; }
    std::int64_t badRows() const { return m_badRows; }

    Result<sqlite::Statement> prepare(const std::string& sql) { return m_database.prepare(sql); }

private:
    Status readSchema();

    sqlite::Database m_database;
    std::string m_again;
    std::map<std::string, std::set<std::string>, std::less<>> m_columns;
    std::set<std::string, std::less<>> m_views;
    std::int64_t m_rows = 0, m_badRows = 0;
};

/// Texts that rows refer to by number. Those that nothing refers to are never read.
class ForeignStrings {
public:
    ForeignStrings() = default;
    ForeignStrings(std::string table, std::string value) : m_table(std::move(table)), m_value(std::move(value)) {}

    /// "" if there is none.
    const std::string& find(ForeignTables& tables, std::int64_t id);

private:
    std::string m_table, m_value;
    sqlite::Statement m_byId;
    std::unordered_map<std::int64_t, std::string> m_known;
};

/// A column's whole number, or what stands for a missing one.
inline std::int64_t columnOr(const sqlite::Statement& row, int column, std::int64_t fallback)
{
    return row.asInteger(column).value_or(fallback);
}

/// Whether both instants, and what lies between, are times that a trace can hold [ns].
bool soundTimes(std::int64_t start, std::int64_t end);

} // namespace fourwalls::importers
