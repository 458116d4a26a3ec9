// SPDX-License-Identifier: Apache-2.0
// See shard.h.
#include "profiler/engine/nn/shard.h"

#include <cassert>
#include <utility>

namespace fourwalls::engine {

Shard Shard::ofRows(std::int64_t fullRows, std::int64_t fullColumns, IndexRange rows)
{
    assert(rows.first >= 0 && rows.first + rows.count <= fullRows);
    return {fullRows, fullColumns, rows.first, rows.count, {{0, fullColumns}}, rows.count == fullRows};
}

Shard Shard::ofColumns(std::int64_t fullRows, std::int64_t fullColumns, std::vector<Columns> columns)
{
    Shard shard{fullRows, fullColumns, 0, fullRows, std::move(columns), false};
    shard.whole = shard.localColumns() == fullColumns;
    return shard;
}

std::int64_t Shard::localColumns() const
{
    std::int64_t count = 0;
    for (const Columns& range : columns) count += range.count;
    return count;
}

std::int64_t Shard::fullIndex(std::int64_t index) const
{
    if (whole) return index;
    const std::int64_t width = localColumns();
    const std::int64_t row = firstRow + index / width;
    std::int64_t column = index % width;
    for (const Columns& range : columns) {
        if (column < range.count) return row * fullColumns + range.first + column;
        column -= range.count;
    }
    assert(false);
    return 0;
}

} // namespace fourwalls::engine
