// SPDX-License-Identifier: Apache-2.0
// Millions of rows of integers into a database without SQL: rows that come by their id become pages of the file, as
// https://www.sqlite.org/fileformat2.html defines them ("B-tree Pages", "Record Format"). What SQLite does for each INSERT
// is the largest part of writing a trace; these pages are what it would have written.
#pragma once

#include "model/base/chunk_store.h"
#include "model/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::sqlite {

/// The rows of one table. It must be empty, have an INTEGER PRIMARY KEY as its first column, integers or NULL in the
/// others, and no index.
class TablePages {
public:
    /// Pages wait until the database is closed: in memory as far as `budget` goes, else in a temporary file in `folder`.
    TablePages(std::size_t pageBytes, const std::string& folder, std::size_t budget);

    /// id: larger than that of the row before. others: the columns behind it, at most kMostColumns.
    static constexpr std::size_t kMostColumns = 16;
    void add(std::int64_t id, std::span<const std::optional<std::int64_t>> others);
    /// The first failure of the temporary file.
    Status status() const { return m_chunks.status(); }

    /// Puts the pages into a database that no connection has open. root: the table's page (sqlite_schema.rootpage).
    /// Call once. Errors: Io.
    Status appendTo(const std::string& path, std::int64_t root);

private:
    /// A page and the largest id below it.
    struct Child {
        std::int64_t page = 0, lastId = 0;
    };
    void sealLeaf();

    std::size_t m_pageBytes;
    ChunkStore m_chunks;
    ChunkStore::Stream m_leaves; ///< whole pages, a chunk each
    std::vector<std::int64_t> m_lastIds;
    std::string m_page; ///< the leaf that is being filled: cells from its end, their places from its begin
    std::size_t m_cells = 0, m_contentAt = 0;
    std::int64_t m_lastId = 0;
};

} // namespace fourwalls::sqlite
