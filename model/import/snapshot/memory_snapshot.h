// SPDX-License-Identifier: Apache-2.0
// A PyTorch memory snapshot as plain records: segments, blocks and the history of each device.
#pragma once

#include "model/base/paged_array.h"
#include "model/base/result.h"
#include "model/base/time.h"
#include "model/import/common/trace_facts.h"
#include "model/import/snapshot/snapshot_stacks.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

enum class SnapshotAction : std::uint8_t {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    OutOfMemory,
    Other
};

struct SnapshotEntry {
    std::int64_t address = 0; ///< of an out-of-memory entry: bytes free on the device, -1 if not said
    std::int64_t size = 0, stream = 0;
    std::int64_t timeUs = -1; ///< since 1970; -1: the file has no times
    std::int32_t frame = -1;  ///< its stack; -1: none
    SnapshotAction action = SnapshotAction::Other;
};

struct SnapshotBlock {
    std::int64_t address = 0, size = 0, requested = 0;
    std::int32_t frame = -1;
    bool inactive = false;
    bool awaited = false; ///< let go, and not to be used again yet
};

struct SnapshotSegment {
    std::int64_t device = 0, stream = 0, address = 0, total = 0, allocated = 0, active = 0, requested = 0;
    bool small = false, privatePool = false, expandable = false;
    std::vector<SnapshotBlock> blocks;
};

struct SnapshotAnnotation {
    std::string name;
    std::int64_t device = 0, timeUs = 0;
    bool start = true;
};

/// The entries of all devices as the file has them, in bounded memory.
struct SnapshotEntries {
    explicit SnapshotEntries(const std::string& scratchFolder) : chunks(scratchFolder, kBudget), list(chunks) {}
    static constexpr std::size_t kBudget = std::size_t{32} << 20;
    ChunkStore chunks;
    PagedArray<SnapshotEntry> list;
};

/// The entries of one device, oldest first.
class SnapshotHistory {
public:
    explicit SnapshotHistory(const SnapshotEntries& entries) : m_entries(&entries) {}
    /// Appends entries that follow each other in the file.
    void append(std::size_t first, std::size_t count);
    std::size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }
    SnapshotEntry operator[](std::size_t index) const;

private:
    struct Run {
        std::size_t begin = 0; ///< its first entry's place in the history
        std::size_t first = 0; ///< and in the file
    };
    const SnapshotEntries* m_entries;
    std::vector<Run> m_runs;
    std::size_t m_size = 0;
};

struct MemorySnapshot {
    std::vector<SnapshotSegment> segments;
    std::unique_ptr<SnapshotEntries> entries;
    std::vector<SnapshotHistory> history; ///< by device
    std::vector<SnapshotAnnotation> annotations;
    SnapshotStacks stacks;
    std::map<std::string, std::int64_t> actions;
    std::int64_t unreadable = 0; ///< records without the fields they need
    std::string damage;          ///< of the packed stream; see ByteSource
};

/// scratchFolder: see ImportOptions. Errors: as readPickle; Unsupported for a pickle that is no snapshot.
Result<MemorySnapshot> readMemorySnapshot(const std::string& path, std::stop_token stop = {},
                                          const std::string& scratchFolder = {});

/// Live requested and reserved bytes of one device before the first entry of its history, walked back from the end
/// (the history is a ring buffer: counting up from zero would be wrong), and the largest met on the way.
struct SnapshotWalk {
    std::int64_t requestedAtStart = 0, reservedAtStart = 0;
    std::int64_t peakRequested = 0, peakReserved = 0;
};
SnapshotWalk walkBack(const MemorySnapshot& snapshot, std::size_t device);

/// Whether what the allocator took at once is for small buffers: 2 MiB, or parts of an expandable segment that are not
/// whole 20 MiB. Source: pytorch c10/cuda/CUDACachingAllocator.cpp, kSmallBuffer and kLargeBuffer.
bool isSmallSegment(std::int64_t bytes, bool expandable);

TraceFacts snapshotFacts(const MemorySnapshot& snapshot);

} // namespace fourwalls::importers
