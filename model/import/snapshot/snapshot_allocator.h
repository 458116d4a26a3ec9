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

/// What is kept of all devices: no more than a trace holds, the longest-lived.
class AllocatorKept {
public:
    void add(const AllocatorSegment& segment) { m_closing.segments.push_back(segment); }
    void add(const AllocatorBlock& block, std::int64_t lifeNs);
    /// Behind the last device.
    void end(TraceClosing& closing, TraceSink& sink);

private:
    struct Kept {
        AllocatorBlock block;
        std::int64_t lifeNs = 0;
    };
    void keepLongest();

    TraceClosing m_closing;
    std::vector<Kept> m_blocks;
    std::int64_t m_leftOut = 0;
};

/// Follows the history of one device, entry by entry.
class SnapshotAllocator {
public:
    /// at: the time of an entry. The snapshot and `kept` must outlive this.
    SnapshotAllocator(const MemorySnapshot& snapshot, std::size_t device, RankId rank,
                      std::function<Instant(std::size_t)> at, AllocatorKept& kept);

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

    /// Behind the last entry: keeps what is still there, and audits what does not fit.
    void end(TraceSink& sink);

private:
    struct Block {
        AllocationId id;
        std::int64_t requested = 0, bytes = 0;
        Instant start;
        std::optional<Instant> letGo;
        std::size_t letGoBy = 0; ///< the entry
        bool isStanding = false; ///< from before the history
    };
    void keep(const Block& block, std::optional<Instant> end);
    void keepSegments();

    const MemorySnapshot& m_snapshot;
    std::size_t m_device;
    RankId m_rank;
    std::function<Instant(std::size_t)> m_at;
    SegmentLives m_lives;
    std::unordered_multimap<std::size_t, std::size_t> m_broughtBy; ///< places in m_lives by entry
    SegmentHoles m_holes;
    std::unordered_map<std::int64_t, Block> m_blocks; ///< alive, by address
    AllocatorKept& m_kept;
};

} // namespace fourwalls::importers
