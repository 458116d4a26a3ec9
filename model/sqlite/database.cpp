// SPDX-License-Identifier: Apache-2.0
// Connections and statements.
#include "model/sqlite/database.h"

#include <fmt/format.h>

namespace fourwalls::sqlite {
namespace {

/// A path as a file: URI; SQLite reads '?', '#' and '%' in URIs as its own.
std::string fileUri(const std::string& path, const char* query)
{
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '?' || c == '#' || c == '%') {
            uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
        } else {
            uri += c;
        }
    }
    return uri + query;
}

} // namespace

Error errorFor(int rc, const std::string& message, const std::string& where)
{
    switch (rc & 0xff) {
    case SQLITE_INTERRUPT: return {ErrorCode::Cancelled, "cancelled", where, ""};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return {ErrorCode::Format, "the database is damaged: " + message, where, "fetch the file again"};
    case SQLITE_FULL: return {ErrorCode::Io, "the disk is full", where, "free some space"};
    case SQLITE_CANTOPEN:
        return {ErrorCode::Io, "cannot open the file: " + message, where,
                "check that the folder exists and can be written"};
    case SQLITE_READONLY:
    case SQLITE_PERM: return {ErrorCode::Io, "the file cannot be written: " + message, where, "check its permissions"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {ErrorCode::Io, "another program is using the file", where, "wait until it has finished"};
    case SQLITE_NOMEM: return {ErrorCode::Io, "out of memory", where, ""};
    case SQLITE_IOERR: return {ErrorCode::Io, "reading or writing failed: " + message, where, "check the disk"};
    case SQLITE_TOOBIG: return {ErrorCode::Format, "a value is larger than a trace may hold", where, ""};
    default: return {ErrorCode::Internal, message, where, ""};
    }
}

Result<Row> Statement::step()
{
    const int rc = sqlite3_step(m_statement.get());
    if (rc == SQLITE_ROW) return Row::Some;
    if (rc == SQLITE_DONE) return Row::Done;
    return errorFor(rc, sqlite3_errmsg(sqlite3_db_handle(m_statement.get())), m_where);
}

Status Statement::run()
{
    const int rc = sqlite3_step(m_statement.get());
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        sqlite3_reset(m_statement.get());
        return {};
    }
    const Error error = errorFor(rc, sqlite3_errmsg(sqlite3_db_handle(m_statement.get())), m_where);
    sqlite3_reset(m_statement.get());
    return error;
}

std::string_view Statement::text(int column) const
{
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(m_statement.get(), column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

std::string_view Statement::blob(int column) const
{
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(m_statement.get(), column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

std::optional<double> Statement::asReal(int column) const
{
    const int t = type(column);
    if (t != SQLITE_FLOAT && t != SQLITE_INTEGER) return std::nullopt;
    return real(column);
}

std::optional<std::string_view> Statement::asText(int column) const
{
    if (type(column) != SQLITE_TEXT) return std::nullopt;
    return text(column);
}

std::optional<std::string_view> Statement::asBlob(int column) const
{
    if (type(column) != SQLITE_BLOB) return std::nullopt;
    return blob(column);
}

Result<Database> Database::open(const std::string& path, OpenMode mode)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI;
    std::string name = fileUri(path, "");
    switch (mode) {
    case OpenMode::Create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    case OpenMode::ReadWrite: flags |= SQLITE_OPEN_READWRITE; break;
    case OpenMode::ReadOnly: flags |= SQLITE_OPEN_READONLY; break;
    case OpenMode::Immutable:
        flags |= SQLITE_OPEN_READONLY;
        name = fileUri(path, "?immutable=1");
        break;
    case OpenMode::Memory:
        flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
        name = ":memory:";
        break;
    }
    sqlite3* handle = nullptr;
    const int rc = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
    Database database;
    database.m_database.reset(handle);
    database.m_path = path;
    if (rc != SQLITE_OK) return errorFor(rc, handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc), path);
    return database;
}

Status Database::exec(const char* sql)
{
    const int rc = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
    if (rc != SQLITE_OK) return error(rc);
    return {};
}

Result<Statement> Database::prepare(std::string_view sql)
{
    sqlite3_stmt* statement = nullptr;
    const int rc = sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
    if (rc != SQLITE_OK) return error(rc);
    return Statement(statement, m_path);
}

Result<std::optional<std::int64_t>> Database::integer(std::string_view sql)
{
    FOURWALLS_TRY_ASSIGN(Statement statement, prepare(sql));
    FOURWALLS_TRY_ASSIGN(const Row row, statement.step());
    if (row == Row::Done) return std::optional<std::int64_t>();
    return statement.asInteger(0);
}

Error Database::error(int rc) const
{
    return errorFor(rc, sqlite3_errmsg(handle()), m_path);
}

Status Database::close()
{
    const int rc = sqlite3_close(m_database.get());
    if (rc != SQLITE_OK) return error(rc);
    static_cast<void>(m_database.release());
    return {};
}

StopGuard::StopGuard(Database& database, std::stop_token stop) : m_database(database.handle()), m_stop(std::move(stop))
{
    if (!m_stop.stop_possible()) {
        m_database = nullptr;
        return;
    }
    const auto poll = [](void* token) { return static_cast<std::stop_token*>(token)->stop_requested() ? 1 : 0; };
    sqlite3_progress_handler(m_database, 2000, poll, &m_stop);
}

StopGuard::~StopGuard()
{
    if (m_database) sqlite3_progress_handler(m_database, 0, nullptr, nullptr);
}

} // namespace fourwalls::sqlite
