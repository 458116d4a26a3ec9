// SPDX-License-Identifier: Apache-2.0
// Small SQLite files, as profilers export them, for tests.
#pragma once

#include "tests/model/import/import_helpers.h"

#include <sqlite3.h>

#include <string>

namespace fourwalls::importers::test {

/// A database that these statements make. Returns its path.
inline std::string database(const QTemporaryDir& folder, const std::string& name, const std::string& sql)
{
    const std::string path = pathIn(folder, name);
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    sqlite3_exec(db, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
    char* error = nullptr;
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) qFatal("%s", error);
    sqlite3_close(db);
    return path;
}

} // namespace fourwalls::importers::test
