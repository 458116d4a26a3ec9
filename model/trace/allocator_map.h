// SPDX-License-Identifier: Apache-2.0
// What a caching allocator's memory looks like at an instant: its segments, the buffers that are cut out of them, and the
// holes between. And what it could still serve.
#pragma once

#include "model/trace/memory_facts.h"
#include "model/trace/trace_query.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fourwalls {

/// The counter of the largest hole over time [bytes].
inline constexpr std::string_view kLargestFreeCounter = "largest_inactive_block_bytes";

/// Bytes that PyTorch's allocator cuts out for a request: at least one unit, in whole units.
/// Source: pytorch c10/cuda/CUDACachingAllocator.cpp, round_size and kMinBlockSize.
std::int64_t cutBytes(std::int64_t requested);
/// A rest of at most so many bytes behind a block is left to the block: a hole of this size would serve nothing.
/// Source: the same file, should_split and kSmallSize.
std::int64_t largestRest(const AllocatorSegment& segment);

/// A piece of a row: pieces tile their row.
struct MapPiece {
    enum class State : std::uint8_t {
        Used,
        Awaited, ///< let go, and not to be used again yet
        Free
    };
    State state = State::Free;
    std::int64_t address = 0, bytes = 0;
    std::size_t buffer = 0; ///< of a piece that is not free: its place in AllocatorMap::buffers
};

/// A segment, or all neighbouring parts of an expandable one.
struct MapRow {
    AllocatorSegment segment;
    std::vector<MapPiece> pieces; ///< by address
    std::int64_t freeBytes = 0, largestFree = 0;
    std::size_t buffers = 0;
};

/// Sums over all rows.
struct AllocatorFigures {
    std::int64_t segments = 0;
    std::int64_t reservedBytes = 0;  ///< of all segments
    std::int64_t cutBytes = 0;       ///< of all pieces that are not free, rests included
    std::int64_t requestedBytes = 0; ///< of the buffers in them
    std::int64_t awaitedBytes = 0;   ///< of the pieces that are let go
    std::int64_t freeBytes = 0, largestFree = 0;
    /// Buffers that lie in no segment or upon another one, or that have no address.
    std::int64_t outsideCount = 0, outsideBytes = 0;
};

struct AllocatorMap {
    RankId rank;
    Instant at;
    std::vector<MapRow> rows; ///< by address
    AllocationList buffers;   ///< that are alive, largest first
    AllocatorFigures all;
};

/// Whether the trace says where the allocator's segments were.
bool hasAllocatorSegments(const TraceInfo& info);

/// Errors: those of aliveAt; Unsupported if more than `mostBuffers` buffers are alive (holes would be told where the
/// smallest of them lie).
Result<AllocatorMap> allocatorMap(TraceQuery& trace, RankId rank, Instant at, std::size_t mostBuffers = 500'000);

/// How much of the free memory one request cannot have, 0 to 1: 1 - largest hole / free. 0 without free memory.
double fragmentation(const AllocatorFigures& figures);

/// Why a request was refused.
enum class Refusal : std::uint8_t {
    Unknown,    ///< also: it is not known what the device had, and the segments alone had too little
    Fragmented, ///< enough was free in the segments and on the device together, and no piece of it was large enough
    Full        ///< all that was free together was less than the request
};
/// figures: at the instant of the moment.
Refusal refusalOf(const OutOfMemory& moment, const AllocatorFigures& figures);

/// The figures of one rank at a moment that matters.
struct AllocatorMoment {
    enum class Kind : std::uint8_t { Peak, End, OutOfMemory };
    Kind kind = Kind::Peak;
    RankId rank;
    Instant at;
    AllocatorFigures figures;
    std::optional<OutOfMemory> refused; ///< of OutOfMemory
};
/// Of every rank with segments: its peak, the first moments at which its memory was not enough, and its end; without
/// moments at which too many buffers are alive for a map. Errors: those of the queries.
Result<std::vector<AllocatorMoment>> allocatorMoments(TraceQuery& trace);

} // namespace fourwalls
