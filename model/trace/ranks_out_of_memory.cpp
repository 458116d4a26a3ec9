// SPDX-License-Identifier: Apache-2.0
// See ranks_out_of_memory.h.
#include "model/trace/ranks_out_of_memory.h"

namespace fourwalls {

namespace {

constexpr std::size_t kMostEvents = 100'000; // a job that fails and goes on may have many

} // namespace

Result<std::vector<RankId>> ranksOutOfMemory(TraceQuery& trace)
{
    std::vector<RankId> ranks;
    const TraceInfo& info = trace.info();
    if (info.header.source == TraceSource::Predicted) return ranks;
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events,
                         trace.events({info.range.begin, info.range.end + Duration{1}}, kMostEvents, EventKind::OutOfMemory));
    for (const EventRecord& event : events)
        if (event.rank) ranks.push_back(*event.rank);
    return ranks;
}

} // namespace fourwalls
