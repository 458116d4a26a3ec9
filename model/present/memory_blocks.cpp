// SPDX-License-Identifier: Apache-2.0
// See memory_blocks.h.
#include "model/present/memory_blocks.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace fourwalls {

namespace {

/// Keeps sums of damaged sizes inside 64 bits; no real buffer is a petabyte.
constexpr std::int64_t kLargestBlock = std::int64_t{1} << 50;

std::int64_t heightOf(const AllocationView& item)
{
    return std::clamp<std::int64_t>(item.bytes, 0, kLargestBlock);
}

TimeRange lifeOf(const AllocationView& item, const TimeRange& range)
{
    const Instant end = item.end.value_or(std::max(range.end, item.start));
    return {item.start, std::max(end, item.start + Duration{1})};
}

/// Blocks that have a place, kept by offset so that one pass upwards finds the lowest gap.
class Pile {
public:
    void reserve(std::size_t n) { m_placed.reserve(n); }

    std::int64_t lowestGap(const MemoryBlock& block) const
    {
        std::int64_t offset = 0;
        for (const MemoryBlock& other : m_placed) {
            if (other.offset >= offset + block.bytes) break;
            if (other.life.overlaps(block.life)) offset = std::max(offset, other.offset + other.bytes);
        }
        return offset;
    }

    bool isFree(const MemoryBlock& block) const
    {
        return std::none_of(m_placed.begin(), m_placed.end(), [&](const MemoryBlock& other) {
            return other.offset < block.offset + block.bytes && block.offset < other.offset + other.bytes &&
                   other.life.overlaps(block.life);
        });
    }

    void add(const MemoryBlock& block)
    {
        const auto at = std::upper_bound(m_placed.begin(), m_placed.end(), block.offset,
                                         [](std::int64_t offset, const MemoryBlock& b) { return offset < b.offset; });
        m_placed.insert(at, block);
        m_height = std::max(m_height, block.offset + block.bytes);
    }

    std::int64_t height() const { return m_height; }
    std::vector<MemoryBlock> takeByIndex()
    {
        std::sort(m_placed.begin(), m_placed.end(),
                  [](const MemoryBlock& a, const MemoryBlock& b) { return a.index < b.index; });
        return std::move(m_placed);
    }

private:
    std::vector<MemoryBlock> m_placed;
    std::int64_t m_height = 0;
};

} // namespace

BlockLayout packBlocks(const AllocationList& list, const TimeRange& range, const AllocationList* previousList,
                       const BlockLayout* previous)
{
    std::unordered_map<AllocationId, std::int64_t> known;
    if (previousList && previous && !previous->byAddress) {
        for (const MemoryBlock& block : previous->blocks) {
            if (block.index < previousList->items.size()) known[previousList->items[block.index].id] = block.offset;
        }
    }

    std::vector<std::size_t> order(list.items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rankOf = [&](std::size_t i) {
        const AllocationView& item = list.items[i];
        const TimeRange life = lifeOf(item, range);
        const int layer = isStatic(item.category) ? static_cast<int>(item.category) : kMemoryCategoryCount;
        return std::make_tuple(known.contains(item.id) ? 0 : 1, layer, -life.length().ns, item.start.ns, -item.bytes,
                               item.id.value);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rankOf(a) < rankOf(b); });

    Pile pile;
    pile.reserve(order.size());
    for (const std::size_t i : order) {
        const AllocationView& item = list.items[i];
        if (item.bytes <= 0) continue;
        MemoryBlock block{i, lifeOf(item, range), 0, heightOf(item)};
        const auto kept = known.find(item.id);
        if (kept != known.end()) block.offset = kept->second;
        // An unfreed buffer's life may have grown with the range since it was placed.
        if (kept == known.end() || !pile.isFree(block)) block.offset = pile.lowestGap(block);
        pile.add(block);
    }
    BlockLayout layout;
    layout.height = pile.height();
    layout.blocks = pile.takeByIndex();
    return layout;
}

BlockLayout placeByAddress(const AllocationList& list, const TimeRange& range)
{
    // Addresses that a damaged file wrapped into the negative count as unknown, too.
    const auto unknown = [](const AllocationView& item) {
        return item.bytes > 0 &&
               (item.address <= 0 || item.address > std::numeric_limits<std::int64_t>::max() - kLargestBlock);
    };
    if (std::any_of(list.items.begin(), list.items.end(), unknown)) return packBlocks(list, range);

    // Regions of address space in use at any time, merged; what lies between them is not drawn.
    struct Region {
        std::int64_t begin, end, offset;
    };
    std::vector<Region> regions;
    for (const AllocationView& item : list.items) {
        if (item.bytes > 0) regions.push_back({item.address, item.address + heightOf(item), 0});
    }
    std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
    std::size_t count = 0;
    for (const Region& region : regions) {
        if (count > 0 && region.begin <= regions[count - 1].end) {
            regions[count - 1].end = std::max(regions[count - 1].end, region.end);
        } else {
            regions[count++] = region;
        }
    }
    regions.resize(count);
    std::int64_t height = 0;
    for (Region& region : regions) {
        region.offset = height;
        height += region.end - region.begin;
    }

    BlockLayout layout;
    layout.byAddress = true;
    layout.height = height;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const AllocationView& item = list.items[i];
        if (item.bytes <= 0) continue;
        const auto after = std::upper_bound(regions.begin(), regions.end(), item.address,
                                            [](std::int64_t a, const Region& region) { return a < region.begin; });
        const Region& region = *(after - 1);
        layout.blocks.push_back({i, lifeOf(item, range), region.offset + item.address - region.begin, heightOf(item)});
    }
    return layout;
}

} // namespace fourwalls
