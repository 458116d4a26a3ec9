// SPDX-License-Identifier: Apache-2.0
// One connection to a finished trace file, as all questions use it: statements that are prepared once, rows by their
// key, and the operators met so far.
#pragma once

#include "model/store/file_data.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace fourwalls::store {

class FileConnection {
public:
    FileConnection(sqlite::Database database, std::shared_ptr<const FileData> data)
        : m_database(std::move(database))
        , m_data(std::move(data))
    {}

    sqlite::Database& database() { return m_database; }
    const std::shared_ptr<const FileData>& data() const { return m_data; }

    /// A statement that is prepared once per connection and reset for every use.
    Result<sqlite::Statement*> statement(const char* sql);
    /// Runs a statement to its end, or until visit returns false; rows too large to read end it early.
    Status forRows(sqlite::Statement& rows, const std::function<bool()>& visit);
    /// Steps through the statement's rows, keyed by their first column; rows too large to read are passed over.
    /// sql must be "... WHERE id>=?1 AND id<=?2" over the table; visit returns false to stop.
    Status forIds(const char* sql, const char* nextSql, std::int64_t first, std::int64_t last,
                  const std::function<bool(const sqlite::Statement&)>& visit);
    /// The first id of the run from which rows that reach beyond `left` must be read.
    Result<std::int64_t> seek(const char* fenceSql, std::int64_t run, std::int64_t first, std::int64_t last,
                              int runClass, std::int64_t left);
    /// Cancelled once a stop was requested.
    Status goOn(const std::stop_token& stop) const;

    /// Errors: NotFound; a damaged operator is "(damaged)".
    Result<std::shared_ptr<const OpInfo>> op(OpId id);
    /// Adds the op to the dictionary; a missing or damaged one is entered as "(damaged)" and counted.
    Status addOp(OpDictionary& ops, OpId id, std::int64_t& damaged);

private:
    Result<std::optional<OpInfo>> readOp(OpId id);

    sqlite::Database m_database;
    std::shared_ptr<const FileData> m_data;
    std::map<std::string, sqlite::Statement, std::less<>> m_statements; ///< after m_database: destroyed before it
    OpDictionary m_ops;
};

} // namespace fourwalls::store
