// SPDX-License-Identifier: Apache-2.0
// A PyTorch memory snapshot as plain records: segments, blocks and the history of each device.
#pragma once

#include "model/base/result.h"
#include "model/base/time.h"
#include "model/import/trace_facts.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

enum class SnapshotAction : std::uint8_t {
    Alloc, FreeRequested, FreeCompleted, SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap, Snapshot, OutOfMemory, Other
};

struct SnapshotEntry {
    std::int64_t address = 0;          ///< of an out-of-memory entry: bytes free on the device, -1 if not said
    std::int64_t size = 0, stream = 0;
    std::int64_t timeUs = -1;          ///< since 1970; -1: the file has no times
    std::int32_t frame = -1;           ///< index into frames; -1: none
    SnapshotAction action = SnapshotAction::Other;
};

struct SnapshotBlock {
    std::int64_t address = 0, size = 0, requested = 0;
    std::int32_t frame = -1;
    bool inactive = false;
};

struct SnapshotSegment {
    std::int64_t device = 0, address = 0, total = 0, allocated = 0, active = 0, requested = 0;
    bool privatePool = false, expandable = false;
    std::vector<SnapshotBlock> blocks;
};

struct SnapshotAnnotation {
    std::string name;
    std::int64_t device = 0, timeUs = 0;
    bool start = true;
};

struct MemorySnapshot {
    std::vector<SnapshotSegment> segments;
    std::vector<std::deque<SnapshotEntry>> history;   ///< by device, oldest first
    std::vector<SnapshotAnnotation> annotations;
    std::vector<std::string> frames;                   ///< "function (file:line)" of the caller nearest to the user
    std::map<std::string, std::int64_t> actions;
    std::int64_t unreadable = 0;                       ///< records without the fields they need
};

/// Errors: as readPickle; Unsupported for a pickle that is no snapshot.
Result<MemorySnapshot> readMemorySnapshot(const std::string& path, std::stop_token stop = {});

/// Live requested and reserved bytes of one device before the first entry of its history, walked back from the end
/// (the history is a ring buffer: counting up from zero would be wrong), and the largest met on the way.
struct SnapshotWalk {
    std::int64_t requestedAtStart = 0, reservedAtStart = 0;
    std::int64_t peakRequested = 0, peakReserved = 0;
};
SnapshotWalk walkBack(const MemorySnapshot& snapshot, std::size_t device);

TraceFacts snapshotFacts(const MemorySnapshot& snapshot);

} // namespace fourwalls::importers
