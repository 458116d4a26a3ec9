// SPDX-License-Identifier: Apache-2.0
// Where finishing gets its records from: the batches of a recording, or, for check, the rows of a finished trace.
#pragma once

#include "model/base/chunk_store.h"
#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/store/stored_rows.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace fourwalls::store {

/// Records that were left out, by reason, for the audit and for check.
struct Skipped {
    std::int64_t invalid = 0;         ///< undefined ids, times out of range, ends before starts, unknown kinds
    std::int64_t unreadable = 0;      ///< batches whose bytes are damaged
    std::int64_t frees = 0;           ///< frees of buffers that are not known
    std::int64_t repeatedBuffers = 0; ///< allocations whose id is already alive
    friend bool operator==(const Skipped&, const Skipped&) = default;
};

/// Records of sound types; ids and times are checked by whoever finishes. One thread at a time.
class RecordSource {
public:
    virtual ~RecordSource() = default;
    virtual const Definitions& definitions() const = 0;
    /// Every rank that records or definitions name.
    virtual const std::set<std::int32_t>& ranks() const = 0;

    /// Calls visit with the track's slices, batch after batch as they were recorded; visit may take the vector and
    /// returns false to stop. May be called again.
    virtual Status slices(std::int32_t track, const std::function<bool(std::vector<SliceRow>&)>& visit) = 0;
    /// Calls visit with every buffer's life, in any order. chunks: for what must be sorted on the way.
    virtual Status allocations(std::int32_t rank, ChunkStore& chunks,
                               const std::function<void(const AllocationRow&)>& visit) = 0;
    virtual Status counters(std::int32_t counter, std::vector<CounterRow>& rows) = 0;
    virtual Status collectives(std::int32_t track, std::vector<CollectiveRow>& rows) = 0;
    virtual Status flows(const std::function<void(const FlowRow&)>& visit) = 0;
    virtual Status events(std::vector<EventRow>& rows) = 0;
    virtual Status steps(std::int32_t rank, std::vector<StepRecord>& rows) = 0;
    virtual const Skipped& skipped() const = 0;
};

/// The source behind finishRecording. The database must outlive it.
Result<std::unique_ptr<RecordSource>> openBatchSource(sqlite::Database& recording);

} // namespace fourwalls::store
