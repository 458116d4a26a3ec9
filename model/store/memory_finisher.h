// SPDX-License-Identifier: Apache-2.0
// Memory of one rank: the lives of its buffers by lifetime class, the curve's level of detail, summaries, and what
// was alive at the peaks.
#pragma once

#include "model/base/sorted_rows.h"
#include "model/store/finish_context.h"
#include "model/trace/memory_curve.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

/// More than any rank has, and little enough that sums do not overflow.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 58;

/// One bin of the memory curve: the instant of its largest total and its last instant.
struct MemoryBin {
    std::int64_t index = 0;
    MemorySample peak, last;
};

void encodeMemoryTile(std::string& out, std::int64_t tile, int level, const std::vector<MemoryBin>& bins);
/// Reads a tile; false if the BLOB is damaged (the readable part is in `bins`).
bool decodeMemoryTile(std::string_view bytes, std::int64_t tile, int level, std::vector<MemoryBin>& bins);

/// Row ids (ascending) as a BLOB, one after the other: there are as many lists at a time as steps.
class IdEncoder {
public:
    void add(std::int64_t id);
    std::int64_t count() const { return m_count; }
    const std::string& bytes() const { return m_bytes; }

private:
    std::string m_bytes;
    std::int64_t m_previous = 0, m_count = 0;
};
bool decodeIds(std::string_view bytes, std::vector<std::int64_t>& ids);

/// Puts allocation, allocation_run, allocation_fence, memory_timeline, memory_bin, memory_summary and peak_alive
/// rows, rank by rank.
class MemoryFinisher {
public:
    explicit MemoryFinisher(FinishContext& context) : m_context(context) {}
    Status finishRank(std::int32_t rank);

private:
    /// The order of the table: by lifetime class, then by start.
    struct TableOrder {
        bool operator()(const AllocationRow& a, const AllocationRow& b) const;
    };
    struct EventOrder {
        bool operator()(const MemoryEvent& a, const MemoryEvent& b) const { return memoryEventOrder(a, b); }
    };
    using Lives = SortedRows<AllocationRow, TableOrder>;
    using Events = SortedRows<MemoryEvent, EventOrder>;

    Status read(std::int32_t rank, Lives& lives, Events& events);
    void putLives(std::int32_t rank, Lives& lives);
    void putBins(std::int32_t rank, Events& events, std::int64_t allocations);
    void putPeaks(std::int32_t rank, Lives& lives, const std::vector<MemorySummary>& summaries);

    FinishContext& m_context;
    std::int64_t m_firstRow = 1, m_firstRun = 1; ///< of the current rank
    std::int64_t m_nextRow = 1, m_nextRun = 1, m_nextBin = 1, m_nextPeak = 1;
};

} // namespace fourwalls::store
