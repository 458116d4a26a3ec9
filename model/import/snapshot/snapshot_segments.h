// SPDX-License-Identifier: Apache-2.0
// When each segment of a snapshot's allocator existed, and which holes its buffers left as they came and went.
#pragma once

#include "model/import/snapshot/memory_snapshot.h"
#include "model/trace/records.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace fourwalls::importers {

/// Entries of the history between which a segment, or a part of an expandable one, existed.
struct SegmentLife {
    std::int64_t address = 0, bytes = 0, stream = 0;
    bool small = false, privatePool = false, expandable = false;
    std::optional<std::size_t> from; ///< the entry that brought it; absent: it was there before
    std::optional<std::size_t> to;   ///< the entry that gave it back; absent: it is there at the end
};

struct SegmentLives {
    std::vector<SegmentLife> list;
    std::int64_t unmatched = 0; ///< entries that bring what was not there behind them, or give back what was
};
/// Of one device, walked back from the final state.
SegmentLives segmentLives(const MemorySnapshot& snapshot, std::size_t device);

/// The holes of the segments of one device.
class SegmentHoles {
public:
    void map(const SegmentLife& segment);
    void unmap(std::int64_t address, std::int64_t bytes);

    /// A buffer begins at the address. exact: its bytes where the file says them; else what the allocator's rule makes of
    /// `requested` and of the hole there. Returns its bytes; what lies in no hole changes nothing.
    std::int64_t take(std::int64_t address, std::int64_t requested, std::optional<std::int64_t> exact = std::nullopt);
    void release(std::int64_t address);

    std::int64_t largest() const { return m_holes.empty() ? 0 : *m_holes.rbegin(); }

private:
    struct Hole {
        std::int64_t begin, end;
    };
    const SegmentLife* rowOf(std::int64_t address) const;
    /// Of a row: what lies between the block before the address and the first one at or behind it.
    Hole holeAt(const SegmentLife& row, std::int64_t address) const;
    void count(Hole hole, bool add);

    std::map<std::int64_t, SegmentLife> m_rows;    ///< by address; of an expandable one all parts that touch
    std::map<std::int64_t, std::int64_t> m_blocks; ///< bytes by address, each within a row
    std::multiset<std::int64_t> m_holes;
};

} // namespace fourwalls::importers
