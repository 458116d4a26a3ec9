// SPDX-License-Identifier: Apache-2.0
// Which part of a parameter a rank holds, and how a length is cut over ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

/// [first, first + count).
struct IndexRange {
    std::int64_t first = 0, count = 0;
    friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Part `index` of `parts` consecutive parts of `total` whose lengths differ by at most one, the longer ones first.
/// parts >= 1, 0 <= index < parts.
constexpr IndexRange splitEvenly(std::int64_t total, std::int64_t parts, std::int64_t index)
{
    const std::int64_t least = total / parts, longer = total % parts;
    return {index * least + (index < longer ? index : longer), least + (index < longer ? 1 : 0)};
}

/// Which part of the one-rank parameter a rank holds: rows [firstRow, firstRow + rows) and, side by side, the given
/// ranges of columns, of a matrix fullRows x fullColumns (a vector is a matrix of one row).
struct Shard {
    using Columns = IndexRange;

    std::int64_t fullRows = 0, fullColumns = 0;
    std::int64_t firstRow = 0, rows = 0;
    std::vector<Columns> columns; ///< in the order in which they lie in the rank's tensor
    bool whole = true;            ///< the rank holds everything; the other fields need not be filled

    /// Some rows of a matrix, all of its columns.
    static Shard ofRows(std::int64_t fullRows, std::int64_t fullColumns, IndexRange rows);
    /// All rows, the given ranges of columns. A vector has one row.
    static Shard ofColumns(std::int64_t fullRows, std::int64_t fullColumns, std::vector<Columns> columns);

    /// Columns of the rank's tensor; not for whole parameters.
    std::int64_t localColumns() const;
    /// Place in the full matrix, row-major, of the element at `index` of the rank's tensor (row-major).
    std::int64_t fullIndex(std::int64_t index) const;
    friend bool operator==(const Shard&, const Shard&) = default;
};

} // namespace fourwalls::engine
