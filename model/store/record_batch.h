// SPDX-License-Identifier: Apache-2.0
// The BLOBs of a recording: one per kind of record and key (track, rank, counter) and batch, delta-coded.
#pragma once

#include "model/store/codec.h"
#include "model/store/stored_rows.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls::store {

/// Kinds of batches; the numbers are stored.
enum class BatchKind : int {
    Slices = 1,      ///< key: track
    Allocations = 2, ///< key: rank
    Counters = 3,    ///< key: counter
    Collectives = 4, ///< key: rank
    Flows = 5,       ///< key: 0
    Steps = 6,       ///< key: rank
    Events = 7       ///< key: 0
};

/// One BLOB being filled.
struct BatchEncoder {
    std::string bytes;
    std::int64_t count = 0;
    std::int64_t previous = 0; ///< the last time, for deltas

    void clear()
    {
        bytes.clear();
        count = 0;
        previous = 0;
    }
};

void encode(BatchEncoder& out, const SliceRow& row);
void encode(BatchEncoder& out, const AllocationEvent& row);
void encode(BatchEncoder& out, const CounterRow& row);
void encode(BatchEncoder& out, const CollectiveRow& row);
void encode(BatchEncoder& out, const FlowRow& row);
void encode(BatchEncoder& out, const StepRecord& row);
void encode(BatchEncoder& out, const EventRow& row);

/// Takes rows out of a BLOB one by one. Damaged BLOBs end early.
class BatchDecoder {
public:
    explicit BatchDecoder(std::string_view bytes) : m_in(bytes) {}

    /// Whether another row may follow.
    bool more() const { return m_in.ok() && !m_in.atEnd(); }
    /// Whether everything so far was readable.
    bool ok() const { return m_in.ok(); }

    /// Reads one row; false if the bytes are damaged.
    bool next(SliceRow& row);
    bool next(AllocationEvent& row);
    bool next(CounterRow& row);
    bool next(CollectiveRow& row);
    bool next(FlowRow& row);
    bool next(StepRecord& row);
    bool next(EventRow& row);

private:
    std::int64_t time();
    std::int64_t optional();

    Decoder m_in;
    std::int64_t m_previous = 0;
};

} // namespace fourwalls::store
