// SPDX-License-Identifier: Apache-2.0
// Buffers from the profiler's [memory] instants: allocations and frees by address, in any order in the file.
#pragma once

#include "model/base/ids.h"
#include "model/import/chrome/chrome_event.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class AllocatorEvents {
public:
    /// instant: from the file's time to the trace's. Buffers that were there before the first event begin with it.
    /// cpuOnly: no accelerator did anything, so that the processor's buffers are those of the rank's device; else they are
    /// a counter.
    AllocatorEvents(TraceSink& sink, TraceProducer& producer, RankId rank, bool cpuOnly,
                    std::function<Instant(std::int64_t)> instant);

    /// Takes a [memory] event. False if it lacks what it needs.
    bool add(const ChromeEvent& event, std::int64_t ts);

    /// Hands over everything. Call once.
    void finish();

    std::int64_t allocations() const { return m_allocations; }
    std::int64_t freesBeforeWindow() const { return m_freesBeforeWindow; }
    std::int64_t reusedWithoutFree() const { return m_reusedWithoutFree; }

private:
    struct Entry {
        std::int64_t at, bytes, address, allocated, reserved; ///< totals: -1 if not said
        std::int32_t device;
        bool ofDevice;
    };
    struct Live {
        std::int64_t bytes;
        AllocationId id;
    };
    void replay();
    void allocate(const Entry& entry, std::int64_t at, std::int64_t bytes);
    void count(std::optional<CounterId>& id, const char* name, std::int64_t at, std::int64_t value);

    TraceSink& m_sink;
    TraceProducer& m_producer;
    RankId m_rank;
    bool m_cpuOnly;
    std::function<Instant(std::int64_t)> m_instant;
    std::vector<Entry> m_entries;
    std::map<std::int32_t, std::unordered_map<std::int64_t, Live>> m_live; ///< by device, then address
    std::map<std::int32_t, std::int64_t> m_unknownAtStart;                 ///< bytes alive before the first entry
    std::optional<std::int64_t> m_first;
    std::optional<CounterId> m_reserved, m_cpuAllocated, m_allocated, m_absolute;
    std::int64_t m_sum = 0;
    std::int64_t m_withTotal = 0, m_withoutTotal = 0; ///< events with an address
    std::int64_t m_nextId = 1;
    std::int64_t m_allocations = 0, m_freesBeforeWindow = 0, m_reusedWithoutFree = 0;
};

/// Makes `record` what the profiler's [OutOfMemory] instant says: what was asked for, and what was taken already.
void describeOutOfMemory(const ChromeEvent& event, EventRecord& record);

} // namespace fourwalls::importers
