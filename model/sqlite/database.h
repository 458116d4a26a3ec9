// SPDX-License-Identifier: Apache-2.0
// Small RAII around SQLite: connections and statements whose failures are Results that name the file.
#pragma once

#include "model/base/result.h"

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace fourwalls::sqlite {

/// What a step of a statement gave.
enum class Row { Some, Done };

/// A prepared statement. Bind positions count from 1, columns from 0, as in SQLite.
/// Text and blobs that are bound must live until the next step or reset.
class Statement {
public:
    Statement() = default;
    Statement(sqlite3_stmt* statement, std::string where) : m_statement(statement), m_where(std::move(where)) {}

    void bind(int index, std::int64_t value) { sqlite3_bind_int64(m_statement.get(), index, value); }
    void bind(int index, double value) { sqlite3_bind_double(m_statement.get(), index, value); }
    void bind(int index, std::string_view text)
    {
        sqlite3_bind_text64(m_statement.get(), index, text.data() ? text.data() : "", text.size(), SQLITE_STATIC,
                            SQLITE_UTF8);
    }
    void bindBlob(int index, std::string_view bytes)
    {
        sqlite3_bind_blob64(m_statement.get(), index, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_STATIC);
    }
    void bindNull(int index) { sqlite3_bind_null(m_statement.get(), index); }

    /// The next row. Errors: what SQLite said; Cancelled when a stop was requested.
    Result<Row> step();
    /// The next row as SQLite's own code (SQLITE_ROW, SQLITE_DONE or an error), for readers that skip bad rows.
    int stepCode() { return sqlite3_step(m_statement.get()); }
    /// Runs a statement that gives no rows, and resets it.
    Status run();
    void reset() { sqlite3_reset(m_statement.get()); }

    int columns() const { return sqlite3_column_count(m_statement.get()); }
    int type(int column) const { return sqlite3_column_type(m_statement.get(), column); }
    bool isNull(int column) const { return type(column) == SQLITE_NULL; }
    /// The value without any check of its type (SQLite converts).
    std::int64_t integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
    double real(int column) const { return sqlite3_column_double(m_statement.get(), column); }
    std::string_view text(int column) const;
    std::string_view blob(int column) const;
    /// The value only if it has that very type; numbers of either kind count as real.
    std::optional<std::int64_t> asInteger(int column) const
    {
        // Fetching the value once and asking it twice: this is where reading many rows spends its time.
        sqlite3_value* const value = sqlite3_column_value(m_statement.get(), column);
        if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
        return sqlite3_value_int64(value);
    }
    /// Into `value` if the column is an integer; false if it is neither that nor NULL.
    bool integerOrNull(int column, std::optional<std::int64_t>& value) const
    {
        sqlite3_value* const stored = sqlite3_column_value(m_statement.get(), column);
        const int storedType = sqlite3_value_type(stored);
        if (storedType == SQLITE_INTEGER) value = sqlite3_value_int64(stored);
        return storedType == SQLITE_INTEGER || storedType == SQLITE_NULL;
    }
    std::optional<double> asReal(int column) const;
    std::optional<std::string_view> asText(int column) const;
    std::optional<std::string_view> asBlob(int column) const;

    sqlite3_stmt* handle() const { return m_statement.get(); }
    explicit operator bool() const { return m_statement != nullptr; }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> m_statement;
    std::string m_where;
};

enum class OpenMode {
    Create,    ///< read and write; the file is made if it is missing
    ReadWrite, ///< read and write; the file must exist
    ReadOnly,
    Immutable, ///< read-only without locks; journals beside the file are ignored
    Memory     ///< a private database in memory; the path is only a name for errors
};

/// One connection, used by one thread at a time.
class Database {
public:
    Database() = default;
    static Result<Database> open(const std::string& path, OpenMode mode);

    Status exec(const char* sql);
    Status exec(const std::string& sql) { return exec(sql.c_str()); }
    Result<Statement> prepare(std::string_view sql);
    /// The first column of the first row of a query; absent if there is no row or it is no integer.
    Result<std::optional<std::int64_t>> integer(std::string_view sql);

    /// An Error in this connection's words for SQLite's code rc.
    Error error(int rc) const;
    const std::string& path() const { return m_path; }
    sqlite3* handle() const { return m_database.get(); }
    bool isOpen() const { return m_database != nullptr; }
    /// Closes early and reports what closing met.
    Status close();

private:
    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    std::unique_ptr<sqlite3, Close> m_database;
    std::string m_path;
};

/// While it lives, statements of the connection end with SQLITE_INTERRUPT once a stop was requested.
class StopGuard {
public:
    StopGuard(Database& database, std::stop_token stop);
    ~StopGuard();
    StopGuard(const StopGuard&) = delete;
    StopGuard& operator=(const StopGuard&) = delete;

private:
    sqlite3* m_database;
    std::stop_token m_stop;
};

/// An Error for SQLite's code. where: usually the file. message: SQLite's own words.
Error errorFor(int rc, const std::string& message, const std::string& where);

} // namespace fourwalls::sqlite
