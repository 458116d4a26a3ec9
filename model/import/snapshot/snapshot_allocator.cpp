// SPDX-License-Identifier: Apache-2.0
// See snapshot_allocator.h.
#include "model/import/snapshot/snapshot_allocator.h"

#include "model/import/common/placed_sink.h"
#include "model/trace/allocator_map.h"
#include "model/trace/allocator_text.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

} // namespace

void AllocatorKept::add(const AllocatorBlock& block, std::int64_t lifeNs)
{
    if (block.bytes < 0 || block.bytes > kMostSegmentBytes) {
        ++m_leftOut; // no trace can hold it
        return;
    }
    m_blocks.push_back({block, lifeNs});
    if (m_blocks.size() >= 2 * kMostBlocks) keepLongest();
}

void AllocatorKept::keepLongest()
{
    if (m_blocks.size() <= kMostBlocks) return;
    const auto limit = m_blocks.begin() + static_cast<std::ptrdiff_t>(kMostBlocks);
    std::nth_element(m_blocks.begin(), limit, m_blocks.end(), [](const Kept& left, const Kept& right) {
        return std::tuple(-left.lifeNs, left.block.rank, left.block.buffer) <
               std::tuple(-right.lifeNs, right.block.rank, right.block.buffer);
    });
    m_leftOut += m_blocks.end() - limit;
    m_blocks.erase(limit, m_blocks.end());
}

void AllocatorKept::end(TraceClosing& closing, TraceSink& sink)
{
    keepLongest();
    for (const Kept& each : m_blocks) m_closing.blocks.push_back(each.block);
    AllocatorLeftOut left = limitAllocatorState(m_closing);
    left.blocks += m_leftOut;
    auditLeftOut(left, sink);
    closing.segments = std::move(m_closing.segments);
    closing.blocks = std::move(m_closing.blocks);
}

SnapshotAllocator::SnapshotAllocator(const MemorySnapshot& snapshot, std::size_t device, RankId rank,
                                     std::function<Instant(std::size_t)> at, AllocatorKept& kept)
    : m_snapshot(snapshot)
    , m_device(device)
    , m_rank(rank)
    , m_at(std::move(at))
    , m_lives(segmentLives(snapshot, device))
    , m_kept(kept)
{
    for (std::size_t i = 0; i < m_lives.list.size(); ++i) {
        const SegmentLife& life = m_lives.list[i];
        if (life.from)
            m_broughtBy.emplace(*life.from, i);
        else
            m_holes.map(life);
    }
}

void SnapshotAllocator::begin(std::vector<Standing> buffers)
{
    // From the last address on: each then has the hole up to the next one behind it.
    std::sort(buffers.begin(), buffers.end(),
              [](const Standing& left, const Standing& right) { return left.address > right.address; });
    for (const Standing& each : buffers) {
        Block block;
        block.id = each.id;
        block.requested = each.requested;
        block.bytes = m_holes.take(each.address, each.requested, each.exact);
        block.start = m_at(0);
        block.isStanding = true;
        m_blocks[each.address] = block;
    }
}

void SnapshotAllocator::taken(AllocationId id, const SnapshotEntry& entry, Instant when)
{
    Block block;
    block.id = id;
    block.requested = entry.size;
    block.bytes = m_holes.take(entry.address, entry.size);
    block.start = when;
    m_blocks[entry.address] = block;
}

void SnapshotAllocator::letGo(const SnapshotEntry& entry, Instant when, std::size_t index)
{
    const auto found = m_blocks.find(entry.address);
    if (found == m_blocks.end()) return;
    found->second.letGo = when;
    found->second.letGoBy = index;
}

void SnapshotAllocator::released(std::int64_t address, Instant when, std::size_t index)
{
    const auto found = m_blocks.find(address);
    if (found == m_blocks.end()) return;
    m_holes.release(address);
    Block& block = found->second;
    // Most are free as soon as they are let go.
    if (block.letGo && (index == block.letGoBy + 1 || *block.letGo >= when)) block.letGo.reset();
    keep(block, when);
    m_blocks.erase(found);
}

void SnapshotAllocator::segment(const SnapshotEntry& entry, std::size_t index)
{
    if (entry.action == SnapshotAction::SegmentFree || entry.action == SnapshotAction::SegmentUnmap)
        return m_holes.unmap(entry.address, entry.size);
    const auto [first, last] = m_broughtBy.equal_range(index);
    std::vector<const SegmentLife*> parts;
    for (auto each = first; each != last; ++each) parts.push_back(&m_lives.list[each->second]);
    std::sort(parts.begin(), parts.end(),
              [](const SegmentLife* left, const SegmentLife* right) { return left->address < right->address; });
    for (const SegmentLife* part : parts) m_holes.map(*part);
}

void SnapshotAllocator::keep(const Block& block, std::optional<Instant> end)
{
    if (block.bytes == cutBytes(block.requested) && !block.letGo) return;
    m_kept.add({m_rank, block.id, block.bytes, block.letGo}, end ? (*end - block.start).ns : kForever);
}

void SnapshotAllocator::keepSegments()
{
    for (const SegmentLife& life : m_lives.list) {
        AllocatorSegment made;
        made.rank = m_rank;
        made.address = life.address;
        made.bytes = life.bytes;
        made.start = m_at(life.from.value_or(0));
        if (life.to) made.end = m_at(*life.to);
        made.stream = life.stream;
        made.small = life.small;
        made.privatePool = life.privatePool;
        made.expandable = life.expandable;
        if (!made.end || *made.end > made.start) m_kept.add(made); // else no instant sees it
    }
}

void SnapshotAllocator::end(TraceSink& sink)
{
    const std::size_t entries = m_device < m_snapshot.history.size() ? m_snapshot.history[m_device].size() : 0;
    std::int64_t otherwise = 0;
    for (const SnapshotSegment& segment : m_snapshot.segments) {
        if (static_cast<std::size_t>(segment.device) != m_device) continue;
        for (const SnapshotBlock& final : segment.blocks) {
            const auto found = final.inactive ? m_blocks.end() : m_blocks.find(final.address);
            if (found == m_blocks.end()) continue;
            Block& block = found->second;
            otherwise += block.bytes != final.size ? 1 : 0;
            block.bytes = final.size;
            // Let go without an entry: before the history, or at its end at the latest.
            if (final.awaited && !block.letGo) block.letGo = block.isStanding ? block.start : m_at(entries);
            if (!final.awaited) block.letGo.reset();
        }
    }
    for (const auto& [address, block] : m_blocks) keep(block, std::nullopt);
    keepSegments();
    auditCount(sink, AuditCounter::BlocksCutOtherwise, otherwise);
    auditCount(sink, AuditCounter::SegmentsUnmatched, m_lives.unmatched);
}

} // namespace fourwalls::importers
