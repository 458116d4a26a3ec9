// SPDX-License-Identifier: Apache-2.0
// See file_connection.h.
#include "model/store/file_connection.h"

#include "model/store/duration_class.h"
#include "model/store/stored_rows.h"

#include <utility>

namespace fourwalls::store {
namespace {

constexpr std::size_t kMostCachedOps = 50'000;

} // namespace

Result<sqlite::Statement*> FileConnection::statement(const char* sql)
{
    auto found = m_statements.find(std::string_view(sql));
    if (found == m_statements.end()) {
        FOURWALLS_TRY_ASSIGN(sqlite::Statement prepared, m_database.prepare(sql));
        found = m_statements.emplace(sql, std::move(prepared)).first;
    }
    found->second.reset();
    return &found->second;
}

Status FileConnection::forRows(sqlite::Statement& rows, const std::function<bool()>& visit)
{
    while (true) {
        const int rc = rows.stepCode();
        if (rc == SQLITE_DONE || rc == SQLITE_TOOBIG) break;
        if (rc != SQLITE_ROW) {
            const Error error = m_database.error(rc);
            rows.reset();
            return error;
        }
        if (!visit()) break;
    }
    rows.reset();
    return {};
}

Status FileConnection::forIds(const char* sql, const char* nextSql, std::int64_t first, std::int64_t last,
                              const std::function<bool(const sqlite::Statement&)>& visit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement(sql));
    rows->bind(1, first);
    rows->bind(2, last);
    std::int64_t next = first; // the first id not seen
    while (true) {
        const int rc = rows->stepCode();
        if (rc == SQLITE_DONE) break;
        if (rc == SQLITE_ROW) {
            next = rows->integer(0) + 1;
            if (!visit(*rows)) break;
            continue;
        }
        const Error error = m_database.error(rc);
        rows->reset();
        if (rc != SQLITE_TOOBIG) return error;
        // Asking for the key alone does not touch the row's values.
        FOURWALLS_TRY_ASSIGN(sqlite::Statement * key, statement(nextSql));
        key->bind(1, next);
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, key->step());
        const bool found = row == sqlite::Row::Some && !key->isNull(0);
        const std::int64_t unreadable = found ? key->integer(0) : last;
        key->reset();
        if (unreadable >= last) break;
        next = unreadable + 1;
        rows->bind(1, next);
    }
    rows->reset();
    return {};
}

Result<std::int64_t> FileConnection::seek(const char* fenceSql, std::int64_t run, std::int64_t first, std::int64_t last,
                                          int runClass, std::int64_t left)
{
    // What lasts less than 4^(class + 1) and reaches beyond `left` starts after left - 4^(class + 1).
    if (runClass >= kClassCount) return first;
    const std::int64_t reach = runClass + 1 >= kClassCount ? kLargestTimeNs : levelWidth(runClass + 1);
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * fence, statement(fenceSql));
    fence->bind(1, run);
    fence->bind(2, left - reach);
    FOURWALLS_TRY_ASSIGN(const sqlite::Row row, fence->step());
    if (row == sqlite::Row::Done) return first;
    const auto id = fence->asInteger(0);
    fence->reset();
    return id && *id >= first && *id <= last ? *id : first;
}

Status FileConnection::goOn(const std::stop_token& stop) const
{
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", m_data->path, ""};
    return {};
}

Result<std::shared_ptr<const OpInfo>> FileConnection::op(OpId id)
{
    if (const auto cached = m_ops.find(id); cached != m_ops.end()) return cached->second;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, statement("SELECT 1 FROM op WHERE id=?1"));
    row->bind(1, std::int64_t{id.value});
    FOURWALLS_TRY_ASSIGN(const sqlite::Row found, row->step());
    row->reset();
    if (found == sqlite::Row::Done)
        return Error{ErrorCode::NotFound, "no operator " + std::to_string(id.value), m_data->path, ""};
    OpDictionary one;
    std::int64_t damaged = 0;
    FOURWALLS_TRY(addOp(one, id, damaged));
    return one.begin()->second;
}

Status FileConnection::addOp(OpDictionary& ops, OpId id, std::int64_t& damaged)
{
    const auto [slot, isNew] = ops.try_emplace(id);
    if (!isNew) return {};
    const auto cached = m_ops.find(id);
    if (cached != m_ops.end()) {
        slot->second = cached->second;
        return {};
    }
    FOURWALLS_TRY_ASSIGN(std::optional<OpInfo> info, readOp(id));
    if (!info) {
        ++damaged;
        info.emplace();
        info->name = "(damaged)";
    }
    if (m_ops.size() >= kMostCachedOps) m_ops.clear();
    slot->second = m_ops[id] = std::make_shared<const OpInfo>(std::move(*info));
    return {};
}

Result<std::optional<OpInfo>> FileConnection::readOp(OpId id)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, statement("SELECT * FROM op WHERE id=?1"));
    row->bind(1, std::int64_t{id.value});
    const int rc = row->stepCode();
    std::optional<OpInfo> info;
    if (rc == SQLITE_ROW)
        info = opOfRow(*row);
    else if (rc != SQLITE_DONE && rc != SQLITE_TOOBIG)
        return m_database.error(rc);
    row->reset();
    return info;
}

} // namespace fourwalls::store
