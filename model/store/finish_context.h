// SPDX-License-Identifier: Apache-2.0
// What the parts of finishing share: where records come from, where rows go, and what is counted on the way.
#pragma once

#include "model/base/chunk_store.h"
#include "model/store/finish.h"
#include "model/store/record_source.h"
#include "model/store/row_output.h"
#include "model/store/slice_stream.h"
#include "model/trace/summary_builder.h"
#include "model/trace/trace_query.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace fourwalls::store {

struct FinishContext {
    RecordSource& source;
    RowOutput& out;
    ChunkStore& chunks;
    const FinishOptions& options;
    FinishThreads threads;

    const Definitions& definitions() const { return source.definitions(); }

    TraceCounts counts = {};
    std::int64_t invalid = 0;         ///< records left out while finishing
    std::int64_t overlapping = 0;     ///< slices that went to a sub-lane
    int stepCount = 0, lostSteps = 0; ///< as in TraceInfo
    std::int64_t firstTime = kLargestTimeNs, lastTime = -kLargestTimeNs;
    std::map<RankId, std::vector<StepRecord>> steps = {}; ///< by time
    std::map<std::int32_t, StepLookup> lookups = {};
    std::map<std::int32_t, StepMarks> marks = {}; ///< of the ranks' threads
    std::map<std::int32_t, StepLookup> shared =
        {}; ///< the ranges over which a rank's time is shared out, see sharedSteps
    std::map<std::int32_t, std::vector<CounterRow>> reserved = {}; ///< "reserved_bytes" by rank

    bool isOp(std::int64_t op) const { return op >= 0 && static_cast<std::uint64_t>(op) < definitions().ops.size(); }
    bool isTrack(std::int64_t track) const
    {
        return track >= 0 && static_cast<std::uint64_t>(track) < definitions().tracks.size();
    }
    bool isString(std::int64_t id) const
    {
        return id >= 0 && static_cast<std::uint64_t>(id) < definitions().strings.size();
    }
    void cover(std::int64_t begin, std::int64_t end)
    {
        firstTime = std::min(firstTime, begin);
        lastTime = std::max(lastTime, end);
    }
    bool covered() const { return firstTime <= lastTime; }

    /// Whether what begins at `at` on that rank counts in the summaries. Traces without steps count as a whole.
    bool isMeasured(std::int32_t rank, std::int64_t at) const
    {
        if (lookups.empty()) return true;
        const auto lookup = lookups.find(rank);
        return lookup != lookups.end() && isMeasuredAt(lookup->second, Instant{at});
    }

    /// A failure of the output or the chunks, or the wish to stop.
    Status status() const
    {
        if (options.stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        FOURWALLS_TRY(chunks.status());
        return out.status();
    }
    /// Reports how far the work is; the error is status(). Of the thread that asked for the finish alone.
    Status checkpoint(double fraction) const
    {
        FOURWALLS_TRY(status());
        if (options.progress) options.progress(fraction);
        return {};
    }
};

} // namespace fourwalls::store
