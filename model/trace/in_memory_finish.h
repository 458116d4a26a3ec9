// SPDX-License-Identifier: Apache-2.0
// What the in-memory trace's producers collect, and the step that turns it into sorted, laned, summarised data.
#pragma once

#include "model/trace/in_memory_trace.h"

#include <iterator>
#include <utility>

namespace fourwalls {

struct RankAllocation {
    RankId rank;
    AllocationRecord record;
};

struct RankFree {
    RankId rank;
    AllocationId id;
    Instant at;
};

/// Records as they were handed over, in no order.
struct InMemoryRecords {
    std::vector<SliceRecord> slices;
    std::vector<RankAllocation> allocations;
    std::vector<RankFree> frees;
    std::vector<CounterRecord> counters;
    std::vector<CollectiveRecord> collectives;
    std::vector<FlowRecord> flows;
    std::vector<StepView> steps;
    std::vector<EventRecord> events;
    std::int64_t count = 0;

    /// Moves everything of `other` behind what is here.
    void take(InMemoryRecords& other)
    {
        const auto append = [](auto& to, auto& from) {
            if (to.empty()) return to.swap(from);
            to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
            from.clear();
        };
        append(slices, other.slices);
        append(allocations, other.allocations);
        append(frees, other.frees);
        append(counters, other.counters);
        append(collectives, other.collectives);
        append(flows, other.flows);
        append(steps, other.steps);
        append(events, other.events);
        count += std::exchange(other.count, 0);
    }
};

/// Fills everything of `data` that comes from records; definitions, header and closing are already there. Returns how
/// many records were left out because they name undefined ids or impossible times.
std::int64_t finishInMemory(InMemoryTraceData& data, InMemoryRecords records);

} // namespace fourwalls
