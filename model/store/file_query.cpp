// SPDX-License-Identifier: Apache-2.0
// What all queries need: statements, reopening, and reading on over rows that cannot be read.
#include "model/store/file_query.h"

namespace fourwalls::store {

Result<std::unique_ptr<TraceQuery>> FileQuery::reopen() const
{
    FOURWALLS_TRY_ASSIGN(sqlite::Database database, connect(m_data->path, m_data->cacheBytes));
    return std::unique_ptr<TraceQuery>(std::make_unique<FileQuery>(std::move(database), m_data));
}

Result<sqlite::Statement*> FileQuery::statement(const char* sql)
{
    auto found = m_statements.find(std::string_view(sql));
    if (found == m_statements.end()) {
        FOURWALLS_TRY_ASSIGN(sqlite::Statement prepared, m_database.prepare(sql));
        found = m_statements.emplace(sql, std::move(prepared)).first;
    }
    found->second.reset();
    return &found->second;
}

Status FileQuery::forIds(const char* sql, const char* nextSql, std::int64_t first, std::int64_t last,
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

std::optional<RankId> FileQuery::rankOf(TrackId track) const
{
    if (track.value < 0 || static_cast<std::size_t>(track.value) >= m_data->tracks.size()) return std::nullopt;
    return m_data->tracks[static_cast<std::size_t>(track.value)].info.rank;
}

const std::string& FileQuery::string(std::int64_t id) const
{
    static const std::string kNone;
    if (id < 0 || static_cast<std::uint64_t>(id) >= m_data->strings.size()) return kNone;
    return m_data->strings[static_cast<std::size_t>(id)];
}

} // namespace fourwalls::store
