// SPDX-License-Identifier: Apache-2.0
// The tracked caching allocator: every buffer of a rank has a category and is reported with the operator, layer,
// phase and micro-batch that asked for it. Freed memory is kept in segments for reuse, so bytes reserved from the
// system and bytes allocated by the engine are two different figures, and both are known.
#pragma once

#include "model/trace/vocabulary.h"
#include "profiler/engine/core/rank_memory.h"
#include "profiler/engine/core/recorder.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// The first multiple that is not below the value. Neither is negative.
inline std::int64_t roundUp(std::int64_t value, std::int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/// Bytes in use now and at most, in total and per category.
struct MemoryStatistics {
    std::array<std::int64_t, kMemoryCategoryCount> current{};
    std::array<std::int64_t, kMemoryCategoryCount> categoryPeaks{}; ///< each at its own time
    std::int64_t allocated = 0;
    std::int64_t peakAllocated = 0;
    std::int64_t reserved = 0;
    std::int64_t peakReserved = 0;
    std::int64_t liveBuffers = 0;
    std::int64_t systemAllocations = 0; ///< segments ever taken from the system
};

/// Gives out 64-byte aligned buffers. Requests of up to 1 MiB share 2 MiB segments; larger ones are cut from segments
/// of at least 32 MiB or get their own. Free neighbours are joined; best fit. One thread.
class Allocator {
public:
    static constexpr std::int64_t kAlignment = 64;
    static constexpr std::int64_t kSmallLimit = 1 << 20;
    static constexpr std::int64_t kSmallSegment = 2 << 20;
    static constexpr std::int64_t kLargeSegment = 32 << 20;

    /// Device: buffers are allocations of the rank. Host: a second pool; only its size is told, as a counter.
    enum class Pool { Device, Host };

    /// limitBytes: capacity; exceeding it throws EngineError. 0: no limit but the machine's. memory: of a rank whose
    /// device has memory of its own, else null. Then buffers that the host reads and writes, and all of a host pool, lie
    /// where both can; they are used again only when the device is done with them, and do not count as reserved.
    Allocator(Recorder& recorder, std::int64_t limitBytes, Pool pool = Pool::Device, RankMemory* memory = nullptr);
    ~Allocator();
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;

    struct Block;

    /// bytes >= 0; a buffer of 0 bytes has an address of its own. Contents are undefined.
    /// Throws EngineError naming category and sizes if the memory runs out.
    /// hostReads: the host reads or writes it, too.
    Block* allocate(std::int64_t bytes, MemoryCategory category, bool hostReads = false);
    void free(Block* block);
    static void* address(const Block* block);
    /// The memory that a buffer lies in if the host cannot touch it; else null.
    static RankMemory* deviceMemory(const Block* block);

    /// Of the rank; null on the CPU.
    RankMemory* memory() const { return m_memory; }

    /// Returns segments without live buffers to the system.
    void trim();

    const MemoryStatistics& statistics() const { return m_statistics; }
    /// Starts the peaks again from what is alive now.
    void resetPeaks();

private:
    struct BySizeThenAddress {
        bool operator()(const Block* a, const Block* b) const;
    };
    using FreeSet = std::set<Block*, BySizeThenAddress>;

    std::size_t classOf(bool small, bool onHost) const { return (small ? 1u : 0u) + (onHost ? 2u : 0u); }
    Block* takeFree(std::int64_t size, std::size_t sizeClass);
    Block* newSegment(std::int64_t size, std::size_t sizeClass);
    void* takeSegment(std::int64_t bytes, bool onHost);
    void giveSegment(Block* first);
    void putBack(Block* block);
    void reclaimPassed();
    void split(Block* block, std::int64_t size);
    void reportReserved();
    void reportHost();

    Recorder& m_recorder;
    std::int64_t m_limit;
    Pool m_pool;
    RankMemory* m_memory;
    CounterId m_counter;           // "reserved_bytes", or "host_bytes" (allocated); one sample per change
    std::array<FreeSet, 4> m_free; // by classOf
    std::deque<std::pair<RankMemory::Fence, Block*>> m_leaving; // freed host buffers that the device may still use
    std::vector<Block*> m_segments;                             // first block of each
    std::int64_t m_nextId = 0;
    MemoryStatistics m_statistics;
};

} // namespace fourwalls::engine
