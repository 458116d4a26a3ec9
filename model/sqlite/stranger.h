// SPDX-License-Identifier: Apache-2.0
// Opening files, databases above all, that may come from a stranger: the first bytes are read before SQLite sees the
// file, and the connection is closed to everything that a file could carry besides rows.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fourwalls::sqlite {

/// What the first 100 bytes of a database file say, and the file around them.
struct FileHeader {
    std::int64_t fileBytes = 0;
    std::int64_t pageSize = 0;
    std::int64_t pageCount = 0; ///< as the header has it; 0 if the header says it is not valid
    std::uint32_t applicationId = 0;
    std::uint32_t userVersion = 0;
    bool wal = false; ///< in write-ahead mode: being written, or left behind by a kill
    bool schemaOnFirstPage = false;
    bool walBeside = false, journalBeside = false; ///< non-empty PATH-wal, PATH-journal
};

/// A descriptor to read a file with, or -1 and errno as of open(2). Never waits for the other end of a pipe; waits for a
/// file that a file server has lent to somebody (a lease), which is given back soon.
int openForReading(const std::string& path);

/// Reads the header in constant time. kind: what the file should be, for the sentence ("Fourwalls trace").
/// Errors: NotFound; Io for directories, devices and files without permission; Format for empty files and for
/// anything that is no SQLite database.
Result<FileHeader> readHeader(const std::string& path, const std::string& kind);

/// Closes a connection to everything but plain tables: defensive, untrusted schema, no triggers, views, extensions
/// or memory map, cell checks on, limits on lengths and columns, read-only queries unless `writable`.
/// longestValue: largest string, blob or row [bytes].
Status harden(Database& database, std::size_t cacheBytes, int longestValue, bool writable = false);

} // namespace fourwalls::sqlite
