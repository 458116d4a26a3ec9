// SPDX-License-Identifier: Apache-2.0
// See snapshot_segments.h.
#include "model/import/snapshot/snapshot_segments.h"

#include "model/trace/allocator_map.h"
#include "model/trace/allocator_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fourwalls::importers {

namespace {

using Ranges = std::map<std::int64_t, SegmentLife>; ///< by address

std::int64_t endOf(const SegmentLife& segment)
{
    return segment.address + segment.bytes;
}

/// Whether a trace can hold it.
bool isSound(std::int64_t address, std::int64_t bytes)
{
    return address >= 0 && address <= kMostAddress && bytes > 0 && bytes <= kMostSegmentBytes;
}

bool isOneRange(const SegmentLife& left, const SegmentLife& right)
{
    return left.expandable && right.expandable && left.stream == right.stream && left.small == right.small &&
           left.privatePool == right.privatePool && endOf(left) == right.address;
}

Ranges finalRanges(const MemorySnapshot& snapshot, std::size_t device)
{
    Ranges ranges;
    for (const SnapshotSegment& segment : snapshot.segments) {
        if (static_cast<std::size_t>(segment.device) != device || !isSound(segment.address, segment.total)) continue;
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
        if (!isSound(entry.address, entry.size)) continue;
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

const SegmentLife* SegmentHoles::rowOf(std::int64_t address) const
{
    auto found = m_rows.upper_bound(address);
    if (found == m_rows.begin()) return nullptr;
    --found;
    return address < endOf(found->second) ? &found->second : nullptr;
}

SegmentHoles::Hole SegmentHoles::holeAt(const SegmentLife& row, std::int64_t address) const
{
    Hole hole{row.address, endOf(row)};
    const auto behind = m_blocks.lower_bound(address);
    if (behind != m_blocks.end()) hole.end = std::min(hole.end, behind->first);
    if (behind != m_blocks.begin())
        hole.begin = std::max(hole.begin, std::prev(behind)->first + std::prev(behind)->second);
    return hole;
}

void SegmentHoles::count(Hole hole, bool add)
{
    if (hole.end <= hole.begin) return;
    if (add)
        m_holes.insert(hole.end - hole.begin);
    else if (const auto found = m_holes.find(hole.end - hole.begin); found != m_holes.end())
        m_holes.erase(found);
}

void SegmentHoles::map(const SegmentLife& segment)
{
    const auto behind = m_rows.lower_bound(segment.address);
    if (behind != m_rows.end() && behind->first < endOf(segment)) return; // there already
    if (rowOf(segment.address)) return;
    const bool joinsBehind = behind != m_rows.end() && isOneRange(segment, behind->second);
    SegmentLife* row = nullptr;
    if (behind != m_rows.begin() && isOneRange(std::prev(behind)->second, segment)) {
        row = &std::prev(behind)->second;
        count(holeAt(*row, endOf(*row)), false);
        row->bytes += segment.bytes;
    } else {
        row = &m_rows.emplace(segment.address, segment).first->second;
    }
    if (joinsBehind) {
        count(holeAt(behind->second, behind->first), false);
        row->bytes += behind->second.bytes;
        m_rows.erase(behind);
    }
    count(holeAt(*row, segment.address), true);
}

void SegmentHoles::unmap(std::int64_t address, std::int64_t bytes)
{
    const SegmentLife* found = rowOf(address);
    if (!found || bytes <= 0) return;
    const SegmentLife whole = *found;
    const std::int64_t wholeEnd = endOf(whole), cutEnd = bytes < wholeEnd - address ? address + bytes : wholeEnd;
    // The blocks there go, one that reaches in ends there.
    count(holeAt(whole, address), false);
    auto block = m_blocks.lower_bound(address);
    if (block != m_blocks.begin() && std::prev(block)->first >= whole.address)
        std::prev(block)->second = std::min(std::prev(block)->second, address - std::prev(block)->first);
    while (block != m_blocks.end() && block->first < cutEnd) {
        const std::int64_t blockEnd = block->first + block->second;
        block = m_blocks.erase(block);
        count({blockEnd, block == m_blocks.end() ? wholeEnd : std::min(wholeEnd, block->first)}, false);
    }
    m_rows.erase(whole.address);
    const auto keep = [&](std::int64_t begin, std::int64_t end, std::int64_t beside) {
        if (end <= begin) return;
        SegmentLife row = whole;
        row.address = begin;
        row.bytes = end - begin;
        count(holeAt(m_rows.emplace(begin, row).first->second, beside), true);
    };
    keep(whole.address, address, address);
    keep(cutEnd, wholeEnd, cutEnd);
}

std::int64_t SegmentHoles::take(std::int64_t address, std::int64_t requested, std::optional<std::int64_t> exact)
{
    std::int64_t bytes = exact ? *exact : cutBytes(requested);
    const SegmentLife* row = rowOf(address);
    if (!row || bytes <= 0) return bytes;
    const Hole hole = holeAt(*row, address);
    if (address < hole.begin || address >= hole.end) return bytes;
    AllocatorSegment rule;
    rule.small = row->small;
    rule.expandable = row->expandable;
    const std::int64_t rest = hole.end - address - bytes;
    if (rest < 0 || (!exact && rest <= largestRest(rule))) bytes = hole.end - address;
    count(hole, false);
    count({hole.begin, address}, true);
    count({address + bytes, hole.end}, true);
    m_blocks.emplace(address, bytes);
    return bytes;
}

void SegmentHoles::release(std::int64_t address)
{
    const SegmentLife* row = rowOf(address);
    const auto block = m_blocks.find(address);
    if (!row || block == m_blocks.end()) return;
    count(holeAt(*row, address), false);
    count(holeAt(*row, address + block->second), false);
    m_blocks.erase(block);
    count(holeAt(*row, address), true);
}

} // namespace fourwalls::importers
