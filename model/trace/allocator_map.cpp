// SPDX-License-Identifier: Apache-2.0
// See allocator_map.h.
#include "model/trace/allocator_map.h"

#include "model/trace/allocator_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::int64_t kCutUnit = 512;
constexpr std::int64_t kLargeRest = std::int64_t{1} << 20;

/// The segments that exist at the instant, neighbouring parts of an expandable one joined, by address.
std::vector<MapRow> rowsAt(const std::vector<AllocatorSegment>& segments, RankId rank, Instant at)
{
    std::vector<MapRow> rows;
    for (const AllocatorSegment& segment : segments) {
        if (segment.rank != rank || segment.start > at || (segment.end && *segment.end <= at)) continue;
        MapRow row;
        row.segment = segment;
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const MapRow& left, const MapRow& right) {
        return left.segment.address < right.segment.address;
    });
    std::vector<MapRow> joined;
    for (MapRow& row : rows) {
        AllocatorSegment* before = joined.empty() ? nullptr : &joined.back().segment;
        const AllocatorSegment& own = row.segment;
        const bool goesOn = before && before->expandable && own.expandable && before->stream == own.stream &&
                            before->small == own.small && before->privatePool == own.privatePool &&
                            before->address + before->bytes == own.address;
        if (goesOn) {
            before->bytes += own.bytes;
            before->start = std::min(before->start, own.start);
        } else {
            joined.push_back(std::move(row));
        }
    }
    return joined;
}

const AllocatorBlock* blockOf(const std::vector<AllocatorBlock>& blocks, RankId rank, AllocationId buffer)
{
    const auto found = std::lower_bound(blocks.begin(), blocks.end(), std::pair(rank, buffer),
                                        [](const AllocatorBlock& block, const std::pair<RankId, AllocationId>& key) {
                                            return std::pair(block.rank, block.buffer) < key;
                                        });
    return found != blocks.end() && found->rank == rank && found->buffer == buffer ? &*found : nullptr;
}

/// Puts the buffers into the rows; both are met by address.
class MapFiller {
public:
    MapFiller(AllocatorMap& map, const std::vector<AllocatorBlock>& blocks) : m_map(map), m_blocks(blocks) {}

    void fill()
    {
        std::vector<std::size_t> order(m_map.buffers.items.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(), [this](std::size_t left, std::size_t right) {
            return std::tuple(item(left).address, item(left).id) < std::tuple(item(right).address, item(right).id);
        });
        std::size_t next = 0;
        for (MapRow& row : m_map.rows) {
            m_end = row.segment.address;
            while (next < order.size() && item(order[next]).address < row.segment.address) outside(order[next++]);
            const std::int64_t rowEnd = row.segment.address + row.segment.bytes;
            while (next < order.size() && item(order[next]).address < rowEnd) place(row, rowEnd, order[next++]);
            hole(row, rowEnd);
            ++m_map.all.segments;
            m_map.all.reservedBytes += row.segment.bytes;
            m_map.all.freeBytes += row.freeBytes;
            m_map.all.largestFree = std::max(m_map.all.largestFree, row.largestFree);
        }
        while (next < order.size()) outside(order[next++]);
    }

private:
    const AllocationView& item(std::size_t index) const { return m_map.buffers.items[index]; }

    void outside(std::size_t index)
    {
        ++m_map.all.outsideCount;
        m_map.all.outsideBytes += item(index).bytes;
    }

    void place(MapRow& row, std::int64_t rowEnd, std::size_t index)
    {
        const AllocationView& buffer = item(index);
        if (buffer.address < m_end || buffer.bytes > rowEnd - buffer.address) return outside(index);
        const AllocatorBlock* block = blockOf(m_blocks, m_map.rank, buffer.id);
        hole(row, buffer.address);
        MapPiece piece;
        piece.state =
            block && block->letGo && *block->letGo <= m_map.at ? MapPiece::State::Awaited : MapPiece::State::Used;
        piece.address = buffer.address;
        piece.bytes = std::min(block && block->bytes > 0 ? block->bytes : fourwalls::cutBytes(buffer.bytes),
                               rowEnd - buffer.address);
        piece.buffer = index;
        m_end = piece.address + piece.bytes;
        m_map.all.cutBytes += piece.bytes;
        m_map.all.requestedBytes += buffer.bytes;
        if (piece.state == MapPiece::State::Awaited) m_map.all.awaitedBytes += piece.bytes;
        ++row.buffers;
        row.pieces.push_back(piece);
    }

    void hole(MapRow& row, std::int64_t end)
    {
        if (end <= m_end) return;
        MapPiece piece;
        piece.address = m_end;
        piece.bytes = end - m_end;
        row.freeBytes += piece.bytes;
        row.largestFree = std::max(row.largestFree, piece.bytes);
        row.pieces.push_back(piece);
        m_end = end;
    }

    AllocatorMap& m_map;
    const std::vector<AllocatorBlock>& m_blocks;
    std::int64_t m_end = 0; ///< of the last piece of the row
};

} // namespace

std::int64_t cutBytes(std::int64_t requested)
{
    const std::int64_t sane = std::min(requested, kMostAddress); // a damaged file may say anything
    return std::max(kCutUnit, (sane + kCutUnit - 1) / kCutUnit * kCutUnit);
}

std::int64_t largestRest(const AllocatorSegment& segment)
{
    return segment.small || segment.expandable ? kCutUnit - 1 : kLargeRest;
}

bool hasAllocatorSegments(const TraceInfo& info)
{
    return !info.closing.segments.empty();
}

Result<AllocatorMap> allocatorMap(TraceQuery& trace, RankId rank, Instant at, std::size_t mostBuffers)
{
    AllocatorMap map;
    map.rank = rank;
    map.at = at;
    const TraceClosing& closing = trace.info().closing;
    map.rows = rowsAt(closing.segments, rank, at);
    FOURWALLS_TRY_ASSIGN(map.buffers, trace.aliveAt(rank, at, mostBuffers));
    if (static_cast<std::size_t>(map.buffers.totalCount) > map.buffers.items.size())
        return Error{ErrorCode::Unsupported,
                     "more than " + std::to_string(mostBuffers) + " buffers are alive: too many for a map",
                     "rank " + std::to_string(rank.value), "choose another moment"};
    MapFiller(map, closing.blocks).fill();
    return map;
}

double fragmentation(const AllocatorFigures& figures)
{
    if (figures.freeBytes <= 0) return 0;
    return 1 - static_cast<double>(figures.largestFree) / static_cast<double>(figures.freeBytes);
}

Refusal refusalOf(const OutOfMemory& moment, const AllocatorFigures& figures)
{
    if (!moment.askedBytes || figures.segments == 0) return Refusal::Unknown;
    const std::int64_t asked = cutBytes(*moment.askedBytes);
    if (figures.largestFree >= asked) return Refusal::Unknown; // a hole of another stream or pool
    if (figures.freeBytes + moment.freeBytes.value_or(0) >= asked) return Refusal::Fragmented;
    return moment.freeBytes ? Refusal::Full : Refusal::Unknown; // the device may have had enough
}

Result<std::vector<AllocatorMoment>> allocatorMoments(TraceQuery& trace)
{
    using Kind = AllocatorMoment::Kind;
    constexpr std::size_t kMostRefusals = 3;
    std::vector<AllocatorMoment> moments;
    if (!hasAllocatorSegments(trace.info())) return moments;
    std::set<RankId> ranks;
    for (const AllocatorSegment& segment : trace.info().closing.segments) ranks.insert(segment.rank);
    FOURWALLS_TRY_ASSIGN(const std::vector<OutOfMemory> refusals, outOfMemoryMoments(trace));
    for (const RankId rank : ranks) {
        const std::size_t first = moments.size();
        FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> peak, trace.memorySummaries(rank, 1));
        if (!peak.empty()) moments.push_back({Kind::Peak, rank, peak.front().peakAt, {}, std::nullopt});
        std::size_t told = 0;
        for (const OutOfMemory& each : refusals)
            if (each.rank == rank && told++ < kMostRefusals)
                moments.push_back({Kind::OutOfMemory, rank, each.at, {}, each});
        moments.push_back({Kind::End, rank, trace.info().range.end, {}, std::nullopt});
        for (std::size_t i = first; i < moments.size();) {
            Result<AllocatorMap> map = allocatorMap(trace, rank, moments[i].at);
            if (!map.ok() && map.error().code != ErrorCode::Unsupported) return map.error();
            if (map.ok())
                moments[i++].figures = map->all;
            else
                moments.erase(moments.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    return moments;
}

} // namespace fourwalls
