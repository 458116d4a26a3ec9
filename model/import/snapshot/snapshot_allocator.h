// SPDX-License-Identifier: Apache-2.0
// What the allocator of a snapshot did beside handing out buffers: its segments over time, how much it cut out for each
// buffer, which buffers waited to be used again, and the largest hole.
#pragma once

#include "model/import/snapshot/snapshot_segments.h"
#include "model/trace/trace_sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// Follows the history of one device, entry by entry.
class SnapshotAllocator {
public:
    /// at: the time of an entry. The snapshot must outlive this.
    SnapshotAllocator(const MemorySnapshot& snapshot, std::size_t device, RankId rank,
                      std::function<Instant(std::size_t)> at);

    bool knowsSegments() const { return !m_lives.list.empty(); }
    std::int64_t largestHole() const { return m_holes.largest(); }

    /// A buffer from before the history. exact: what the final state says of it.
    struct Standing {
        AllocationId id;
        std::int64_t address = 0, requested = 0;
        std::optional<std::int64_t> exact;
    };
    /// All of them, before any entry.
    void begin(std::vector<Standing> buffers);

    void taken(AllocationId id, const SnapshotEntry& entry, Instant when);
    void letGo(const SnapshotEntry& entry, Instant when, std::size_t index);
    void released(std::int64_t address, Instant when, std::size_t index);
    void segment(const SnapshotEntry& entry, std::size_t index);

    /// Behind the last entry: adds what is known to the closing, and audits what does not fit or is left out.
    void end(TraceClosing& closing, TraceSink& sink);

private:
    struct Block {
        AllocationId id;
        std::int64_t requested = 0, bytes = 0;
        Instant start;
        std::optional<Instant> letGo;
        std::size_t letGoBy = 0; ///< the entry
    };
    struct Kept {
        AllocatorBlock block;
        std::int64_t lifeNs = 0;
    };
    void keep(const Block& block, std::optional<Instant> end);
    void keepLongest();
    void addSegments(TraceClosing& closing, TraceSink& sink) const;

    const MemorySnapshot& m_snapshot;
    std::size_t m_device;
    RankId m_rank;
    std::function<Instant(std::size_t)> m_at;
    SegmentLives m_lives;
    std::unordered_multimap<std::size_t, std::size_t> m_broughtBy; ///< places in m_lives by entry
    SegmentHoles m_holes;
    std::unordered_map<std::int64_t, Block> m_blocks; ///< alive, by address
    std::vector<Kept> m_kept;
    std::int64_t m_leftOut = 0;
};

} // namespace fourwalls::importers
