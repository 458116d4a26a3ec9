// SPDX-License-Identifier: Apache-2.0
// See snapshot_segments.h.
#include "model/import/snapshot/snapshot_segments.h"

#include "model/trace/allocator_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kLastAddress = std::int64_t{1} << 62; ///< so that an end can be added

using Ranges = std::map<std::int64_t, SegmentLife>; ///< by address

bool isOneRange(const SegmentLife& left, const SegmentLife& right)
{
    return left.expandable && right.expandable && left.stream == right.stream && left.small == right.small &&
           left.privatePool == right.privatePool && left.address + left.bytes == right.address;
}

Ranges finalRanges(const MemorySnapshot& snapshot, std::size_t device)
{
    Ranges ranges;
    for (const SnapshotSegment& segment : snapshot.segments) {
        if (static_cast<std::size_t>(segment.device) != device || segment.address < 0 ||
            segment.address > kLastAddress || segment.total <= 0)
            continue;
        SegmentLife life;
        life.address = segment.address;
        life.bytes = segment.total;
        life.stream = segment.stream;
        life.small = segment.small;
        life.privatePool = segment.privatePool;
        life.expandable = segment.expandable;
        ranges.emplace(life.address, life);
    }
    return ranges;
}

/// The first range that reaches into what begins at the address.
Ranges::iterator firstReaching(Ranges& ranges, std::int64_t address)
{
    auto found = ranges.upper_bound(address);
    if (found != ranges.begin()) {
        const auto before = std::prev(found);
        if (before->second.address + before->second.bytes > address) found = before;
    }
    return found;
}

/// Takes [address, address + bytes) out of the ranges; what they have beyond it stays. Returns the bytes that were there.
template <class Visit>
std::int64_t carve(Ranges& ranges, std::int64_t address, std::int64_t bytes, const Visit& visit)
{
    const std::int64_t end = address + bytes;
    std::int64_t found = 0;
    for (auto each = firstReaching(ranges, address); each != ranges.end() && each->first < end;) {
        const SegmentLife whole = each->second;
        const std::int64_t wholeEnd = whole.address + whole.bytes;
        each = ranges.erase(each);
        SegmentLife part = whole;
        part.address = std::max(address, whole.address);
        part.bytes = std::min(end, wholeEnd) - part.address;
        found += part.bytes;
        visit(part);
        if (whole.address < address) {
            SegmentLife left = whole;
            left.bytes = address - whole.address;
            ranges.emplace(left.address, left);
        }
        if (wholeEnd > end) {
            SegmentLife right = whole;
            right.address = end;
            right.bytes = wholeEnd - end;
            each = ranges.emplace(end, right).first;
        }
    }
    return found;
}

/// A segment that an entry gave back: its pool is told by its size, or by what it was a part of.
SegmentLife givenBack(const Ranges& ranges, const SnapshotEntry& entry, std::size_t index)
{
    SegmentLife life;
    life.address = entry.address;
    life.bytes = entry.size;
    life.stream = entry.stream;
    life.expandable = entry.action == SnapshotAction::SegmentUnmap;
    life.small = isSmallSegment(entry.size, life.expandable);
    life.to = index;
    if (!life.expandable) return life;
    const auto behind = ranges.find(life.address + life.bytes);
    auto before = ranges.lower_bound(life.address);
    const SegmentLife* neighbour = nullptr;
    if (behind != ranges.end()) neighbour = &behind->second;
    if (before != ranges.begin() && (--before)->second.address + before->second.bytes == life.address)
        neighbour = &before->second;
    if (neighbour && neighbour->expandable) {
        life.small = neighbour->small;
        life.privatePool = neighbour->privatePool;
    }
    return life;
}

} // namespace

SegmentLives segmentLives(const MemorySnapshot& snapshot, std::size_t device)
{
    SegmentLives lives;
    Ranges ranges = finalRanges(snapshot, device);
    const std::size_t entries = device < snapshot.history.size() ? snapshot.history[device].size() : 0;
    for (std::size_t i = entries; i-- > 0;) {
        const SnapshotEntry entry = snapshot.history[device][i];
        if (entry.address < 0 || entry.address > kLastAddress || entry.size <= 0) continue;
        switch (entry.action) {
        case SnapshotAction::SegmentAlloc:
        case SnapshotAction::SegmentMap: {
            const std::int64_t found = carve(ranges, entry.address, entry.size, [&](SegmentLife part) {
                part.from = i;
                lives.list.push_back(part);
            });
            lives.unmatched += found != entry.size ? 1 : 0;
            break;
        }
        case SnapshotAction::SegmentFree:
        case SnapshotAction::SegmentUnmap: {
            const auto there = firstReaching(ranges, entry.address);
            if (there != ranges.end() && there->first < entry.address + entry.size)
                ++lives.unmatched;
            else
                ranges.emplace(entry.address, givenBack(ranges, entry, i));
            break;
        }
        default: break;
        }
    }
    for (const auto& [address, life] : ranges) lives.list.push_back(life);
    return lives;
}

SegmentHoles::Row* SegmentHoles::rowOf(std::int64_t address)
{
    auto found = m_rows.upper_bound(address);
    if (found == m_rows.begin()) return nullptr;
    --found;
    return address < found->second.end() ? &found->second : nullptr;
}

void SegmentHoles::countHole(std::int64_t begin, std::int64_t end, bool add)
{
    if (end <= begin) return;
    if (add)
        m_holes.insert(end - begin);
    else if (const auto found = m_holes.find(end - begin); found != m_holes.end())
        m_holes.erase(found);
}

void SegmentHoles::countHoles(const Row& row, bool add)
{
    std::int64_t begin = row.segment.address;
    for (const auto& [address, bytes] : row.blocks) {
        countHole(begin, address, add);
        begin = address + bytes;
    }
    countHole(begin, row.end(), add);
}

void SegmentHoles::map(const SegmentLife& segment)
{
    Row row;
    row.segment = segment;
    const auto behind = m_rows.lower_bound(segment.address);
    if (behind != m_rows.end() && behind->first < segment.address + segment.bytes) return; // there already
    if (rowOf(segment.address)) return;
    const auto absorb = [&](Rows::iterator other) {
        countHoles(other->second, false);
        row.blocks.merge(other->second.blocks);
        const std::int64_t end = std::max(row.end(), other->second.end());
        row.segment.address = std::min(row.segment.address, other->first);
        row.segment.bytes = end - row.segment.address;
        m_rows.erase(other);
    };
    if (behind != m_rows.begin() && isOneRange(std::prev(behind)->second.segment, segment)) absorb(std::prev(behind));
    if (behind != m_rows.end() && isOneRange(segment, behind->second.segment)) absorb(behind);
    countHoles(row, true);
    const std::int64_t address = row.segment.address;
    m_rows.emplace(address, std::move(row));
}

void SegmentHoles::unmap(std::int64_t address, std::int64_t bytes)
{
    const Row* found = rowOf(address);
    if (!found) return;
    const auto place = m_rows.find(found->segment.address);
    Row whole = std::move(place->second);
    m_rows.erase(place);
    countHoles(whole, false);
    const auto keep = [&](std::int64_t begin, std::int64_t end) {
        if (end <= begin) return;
        Row row;
        row.segment = whole.segment;
        row.segment.address = begin;
        row.segment.bytes = end - begin;
        for (auto block = whole.blocks.lower_bound(begin); block != whole.blocks.end() && block->first < end; ++block)
            row.blocks.emplace(block->first, std::min(block->second, end - block->first));
        countHoles(row, true);
        m_rows.emplace(begin, std::move(row));
    };
    keep(whole.segment.address, address);
    keep(address + bytes, whole.end());
}

std::int64_t SegmentHoles::take(std::int64_t address, std::int64_t requested, std::optional<std::int64_t> exact)
{
    std::int64_t bytes = exact ? *exact : cutBytes(requested);
    Row* row = rowOf(address);
    if (!row) return bytes;
    const auto behind = row->blocks.lower_bound(address);
    const std::int64_t holeEnd = behind == row->blocks.end() ? row->end() : behind->first;
    std::int64_t holeBegin = row->segment.address;
    if (behind != row->blocks.begin()) holeBegin = std::prev(behind)->first + std::prev(behind)->second;
    if (address < holeBegin || address >= holeEnd) return bytes;
    AllocatorSegment rule;
    rule.small = row->segment.small;
    rule.expandable = row->segment.expandable;
    const std::int64_t rest = holeEnd - address - bytes;
    if (rest < 0 || (!exact && rest <= largestRest(rule))) bytes = holeEnd - address;
    countHole(holeBegin, holeEnd, false);
    countHole(holeBegin, address, true);
    countHole(address + bytes, holeEnd, true);
    row->blocks.emplace(address, bytes);
    return bytes;
}

void SegmentHoles::release(std::int64_t address)
{
    Row* row = rowOf(address);
    if (!row) return;
    const auto block = row->blocks.find(address);
    if (block == row->blocks.end()) return;
    const auto behind = std::next(block);
    const std::int64_t end = behind == row->blocks.end() ? row->end() : behind->first;
    std::int64_t begin = row->segment.address;
    if (block != row->blocks.begin()) begin = std::prev(block)->first + std::prev(block)->second;
    const std::int64_t blockEnd = block->first + block->second;
    countHole(begin, block->first, false);
    countHole(blockEnd, end, false);
    countHole(begin, end, true);
    row->blocks.erase(block);
}

} // namespace fourwalls::importers
