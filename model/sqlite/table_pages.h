// SPDX-License-Identifier: Apache-2.0
// Millions of rows into a database without SQL: rows that come by their id, and entries of an index that come in its
// order, become pages of the file, as https://www.sqlite.org/fileformat2.html defines them ("B-tree Pages", "Record
// Format"). What SQLite does for each INSERT is the largest part of writing a trace; these pages are what it would have
// written.
#pragma once

#include "model/base/chunk_store.h"
#include "model/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::sqlite {

/// The leaves of a B-tree, which wait until the database is closed: in memory as far as a budget goes, else in a temporary
/// file. What is the same for tables and indexes.
class TreePages {
public:
    TreePages(const TreePages&) = delete;
    TreePages& operator=(const TreePages&) = delete;

    /// The first failure: of the temporary file, or a row that is too long for a page.
    Status status() const { return m_status.ok() ? m_chunks.status() : m_status; }

    /// Puts the pages into a database that no connection has open. root: the tree's page (sqlite_schema.rootpage).
    /// Call once. Errors: Io.
    Status appendTo(const std::string& path, std::int64_t root);

protected:
    /// longestDivider: of what stands above between two pages.
    TreePages(char leaf, char interior, std::size_t longestDivider, std::size_t pageBytes, const std::string& folder,
              std::size_t budget);
    ~TreePages() = default;

    /// What pages of the level above say of a page: its number, and what is behind it.
    struct Child {
        std::int64_t page = 0;
        std::string divider;
    };
    bool hasRoom(std::size_t cellBytes) const;
    /// Whether such a cell fits into a page at all; if not, the status says so.
    bool canBe(std::size_t cellBytes);
    void put(std::string_view head, std::string_view rest);
    /// The cell that was put last, which is taken out again.
    std::string takeLast();
    /// divider: what stands above between this page and the next one.
    void sealLeaf(std::string divider);

    std::size_t m_cells = 0; ///< of the leaf at hand

private:
    std::string interiorPage(std::span<const Child> children) const;

    char m_leaf, m_interior;
    std::size_t m_longestDivider, m_pageBytes;
    ChunkStore m_chunks;
    ChunkStore::Stream m_leaves; ///< whole pages, a chunk each
    std::vector<std::string> m_dividers;
    std::string m_page; ///< the leaf that is being filled: cells from its end, their places from its begin
    std::size_t m_contentAt, m_lastSize = 0;
    Status m_status;
};

/// The rows of one table. It must be empty and have an INTEGER PRIMARY KEY as its first column, integers or NULL in the
/// others, and perhaps a BLOB as the last. Its indexes are somebody else's (IndexPages).
class TablePages final : public TreePages {
public:
    TablePages(std::size_t pageBytes, const std::string& folder, std::size_t budget);

    /// id: larger than that of the row before. others: the columns behind it, at most kMostColumns. blob: the column behind
    /// those, no longer than longestBlob().
    static constexpr std::size_t kMostColumns = 16;
    void add(std::int64_t id, std::span<const std::optional<std::int64_t>> others,
             std::optional<std::string_view> blob = {});
    static constexpr std::size_t longestBlob(std::size_t pageBytes) { return pageBytes - 256; }

private:
    std::int64_t m_lastId = 0;
};

/// The entries of one index over integers. It must be empty.
class IndexPages final : public TreePages {
public:
    IndexPages(std::size_t pageBytes, const std::string& folder, std::size_t budget);

    /// The indexed columns and the row's id, at most kMostColumns; larger than those before, column by column.
    static constexpr std::size_t kMostColumns = 6;
    void add(std::span<const std::int64_t> entry);
};

} // namespace fourwalls::sqlite
