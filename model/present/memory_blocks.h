// SPDX-License-Identifier: Apache-2.0
// Places every buffer as a block over its life: time across, a height of its bytes, so that no two blocks that live
// at the same time overlap. Two placements: packed (a tidy pile) and by address (what fragmentation looked like).
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <vector>

namespace fourwalls {

/// One buffer with its place. `index` is its position in AllocationList::items.
struct MemoryBlock {
    std::size_t index = 0;
    TimeRange life;          ///< an unfreed buffer lives to the end of the asked range
    std::int64_t offset = 0; ///< lower edge [bytes]
    std::int64_t bytes = 0;
};

struct BlockLayout {
    std::vector<MemoryBlock> blocks; ///< by index
    std::int64_t height = 0;         ///< upper edge of the highest block [bytes]
    bool byAddress = false;
};

/// Whether the list has every buffer of its range.
inline bool isComplete(const AllocationList& list)
{
    return list.leftOut == 0 && list.totalCount == static_cast<std::int64_t>(list.items.size());
}

/// First fit: static categories first, one on the other, then longest life first (then earlier, then larger). What
/// stays lies at the bottom as in the stacked areas, and buffers that are freed in the reverse order of their making
/// pile up like the memory curve itself.
/// previous: an earlier layout of the same rank; blocks of the same buffers keep their offsets, so that a picture
/// does not jump when zooming brings in smaller buffers. Time: quadratic in the number of blocks, about 10 ns each.
BlockLayout packBlocks(const AllocationList& list, const TimeRange& range, const AllocationList* previousList = nullptr,
                       const BlockLayout* previous = nullptr);

/// Blocks at their recorded addresses, with address space that no buffer ever used squeezed out.
/// A list with an unknown address cannot be placed like this: it comes back packed (byAddress false).
BlockLayout placeByAddress(const AllocationList& list, const TimeRange& range);

} // namespace fourwalls
