// SPDX-License-Identifier: Apache-2.0
// The file while it is being recorded: batches as BLOBs in write-ahead mode, committed one at a time.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/store/definitions.h"
#include "model/store/record_batch.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::store {

/// The BLOBs of one batch, by kind and key. Kept between batches, so that its memory is reused.
class Batch {
public:
    BatchEncoder& at(BatchKind kind, std::int32_t key);
    std::int64_t rows() const { return m_rows; }
    std::size_t bytes() const { return m_bytes; }
    template <class RowType>
    void add(BatchKind kind, std::int32_t key, const RowType& row)
    {
        BatchEncoder& encoder = at(kind, key);
        const std::size_t before = encoder.bytes.size();
        encode(encoder, row);
        m_bytes += encoder.bytes.size() - before;
        ++m_rows;
    }
    /// Widens the range of times that the recording has met.
    void cover(std::int64_t begin, std::int64_t end);
    bool covered() const { return m_begin <= m_end; }
    std::int64_t begin() const { return m_begin; }
    std::int64_t end() const { return m_end; }

private:
    friend class Recording;
    std::vector<BatchEncoder> m_slices; ///< by track: the frequent ones without a search
    std::map<std::pair<BatchKind, std::int32_t>, BatchEncoder> m_others;
    std::int64_t m_rows = 0;
    std::size_t m_bytes = 0;
    std::int64_t m_begin = kLargestTimeNs, m_end = -kLargestTimeNs; ///< over the whole recording
};

/// The definitions that a batch needs and the file does not have yet.
struct NewDefinitions {
    std::size_t firstOp = 0, firstTrack = 0, firstGroup = 0, firstCounter = 0, firstString = 0;
    std::vector<OpInfo> ops;
    std::vector<TrackInfo> tracks;
    std::vector<ProcessGroupInfo> groups;
    std::vector<CounterInfo> counters;
    std::vector<std::string> strings;
    std::vector<AuditRecord> audit; ///< all of them, when any changed

    bool empty() const
    {
        return ops.empty() && tracks.empty() && groups.empty() && counters.empty() && strings.empty() && audit.empty();
    }
};

class Recording {
public:
    /// Replaces a trace at `path` by a fresh recording.
    /// Errors: InvalidArgument if something else lies there; Io.
    static Result<Recording> create(const std::string& path, const TraceHeader& header);

    /// Writes definitions and batch in one transaction and empties the batch. durable: returns only when the disk
    /// has it.
    Status commit(const NewDefinitions& definitions, Batch& batch, bool durable);

    /// Notes that the recording ended in order, folds the write-ahead log into the file and closes it.
    Status close(const TraceClosing& closing);

private:
    sqlite::Database m_database;
    sqlite::Statement m_insertBatch;
    bool m_durable = true;
};

} // namespace fourwalls::store
