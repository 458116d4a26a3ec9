// SPDX-License-Identifier: Apache-2.0
// Live bytes over time from the lives of buffers: the exact step function, its reduction to pixels, and the
// summaries (peaks, resident part) that every trace stores. Lives are half-open: a buffer freed at t is not alive
// at t, so at equal times frees come before allocations.
#pragma once

#include "model/trace/records.h"
#include "model/trace/step_summary.h"
#include "model/trace/trace_query.h"

#include <span>
#include <utility>
#include <vector>

namespace fourwalls {

/// Live bytes of one category grow (delta > 0) or shrink (delta < 0).
struct MemoryEvent {
    Instant at;
    std::int64_t delta = 0;
    MemoryCategory category = MemoryCategory::Other;
};

/// By time; frees before allocations at the same instant.
constexpr bool memoryEventOrder(const MemoryEvent& a, const MemoryEvent& b)
{
    return a.at != b.at ? a.at < b.at : (a.delta < 0) > (b.delta < 0);
}

/// The events of one rank's buffers in memoryEventOrder. Buffers that never live (end <= start) give none.
std::vector<MemoryEvent> memoryEvents(std::span<const AllocationView> allocations);

/// The exact curve: one sample per instant at which something changed, holding until the next one.
/// events: of one rank, in memoryEventOrder.
std::vector<MemorySample> memoryCurve(std::span<const MemoryEvent> events);

/// The curve inside `range` for a screen of `pixels` columns: the first sample stands at range.begin with what was
/// live there; every column that something changed in contributes the instant of its largest total and its last one.
std::vector<MemorySample> reduceMemory(std::span<const MemorySample> curve, TimeRange range, int pixels);

/// Builds the memory summaries of one rank from its events in memoryEventOrder, streaming.
class MemorySummarizer {
public:
    /// steps: of this rank, in any order.
    MemorySummarizer(RankId rank, std::span<const StepRecord> steps);

    void add(const MemoryEvent& event);

    /// First the summary without a step (over all measured steps, gaps between them included; over everything when
    /// there are none), then one per step by time. peakReservedBytes stays absent: see addReserved.
    std::vector<MemorySummary> finish();

    /// A sample of the rank's "reserved_bytes" counter, in any order: it holds until the next one.
    void addReserved(Instant at, std::int64_t bytes) { m_reserved.emplace_back(at, bytes); }

private:
    struct Window {
        TimeRange range;
        MemorySummary summary;
        bool started = false;
    };
    void closeInstant();
    void startWindows(Instant before);
    void endWindows(const MemoryEvent& next);
    void observe(Window& window, Instant at) const;
    void summarizeReserved();

    std::vector<Window> m_windows;      ///< by the order of the result
    std::vector<std::size_t> m_waiting; ///< windows not begun, latest first
    std::vector<std::size_t> m_active;
    std::vector<std::pair<Instant, std::int64_t>> m_reserved;
    CategoryBytes m_live{};
    std::int64_t m_total = 0;
    Instant m_now{-kLargestTimeNs};
    bool m_changed = false;
};

} // namespace fourwalls
