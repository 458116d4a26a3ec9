// SPDX-License-Identifier: Apache-2.0
// What a trace knows about memory beside its buffers: when it ran out, what a profiler's allocator counted, and whether
// it is about memory alone.
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Names of operators of buffers whose makers an import does not know. Views translate them.
inline constexpr std::string_view kBeforeHistory = "from before the history", kNoStack = "no stack recorded";

/// A moment at which memory was not enough. Sizes are absent where nobody said them.
struct OutOfMemory {
    std::optional<RankId> rank;
    Instant at;
    std::optional<std::int64_t> askedBytes; ///< what was wanted
    std::optional<std::int64_t> freeBytes;  ///< what the device had
    std::optional<std::int64_t> allocatedBytes, reservedBytes;
    std::string text; ///< as recorded
};

/// The event's text as importers write it: "out of memory: 512 bytes wanted, 128 bytes free on the device".
std::string textOf(const OutOfMemory& moment);
/// Reads such a text; of any other one the sizes stay absent.
OutOfMemory outOfMemoryOf(const EventRecord& event);

/// Every moment of every rank, by time; none of a prediction. Errors: those of the query.
Result<std::vector<OutOfMemory>> outOfMemoryMoments(TraceQuery& trace);

/// Whether nothing but memory was recorded (an allocator's snapshot): it has no steps, no kernels, no communication.
bool isMemoryOnly(const TraceInfo& info);
/// Whether only the lengths of steps were written down, and nothing of what was done in them (a job's own log).
bool isLogOnly(const TraceInfo& info);
/// Whether the trace has operators in their order, and no times (an execution trace).
bool hasOrderOnly(const TraceInfo& info);
/// Whether the trace is a memory snapshot, alone or beside a profile: its buffers begin with what its history begins with.
bool hasMemorySnapshot(const TraceInfo& info);
/// Whether the curve of the buffers counts from the start of the profile, because the profiler did not say what was
/// there before.
bool isMemoryRelative(const TraceInfo& info);

/// What a profiler's allocator counted, where it recorded no buffers.
struct AllocatorCurve {
    bool relative = false;              ///< bytes since the start of the profile, of either sign; else all bytes
    bool ofProcessor = false;           ///< main memory, not the device's
    std::vector<CounterSample> samples; ///< by time; holds until the next one
    double lowest = 0, highest = 0;     ///< [bytes], of the samples
};

/// The curve of a rank over a range for a screen of `pixels` columns; absent if there is none. Ranks with buffers have
/// their curve in TraceQuery::memory. Errors: those of the query.
Result<std::optional<AllocatorCurve>> allocatorCurve(TraceQuery& trace, RankId rank, TimeRange range, int pixels);
/// Whether there is one for any rank.
bool hasAllocatorCurve(const TraceInfo& info);

/// The smallest total that is alive within a range [bytes]: what stands below everything that comes and goes.
Result<std::int64_t> standingMemory(TraceQuery& trace, RankId rank, TimeRange range);
/// Whether memory is a reservation or resident data rather than a need of what ran: it hardly changes (by less than 2 % of
/// its peak), and nothing says what it is for. A framework that takes 93 % of a device in advance meets no wall.
bool isStanding(const MemorySummary& summary, std::int64_t standing);

} // namespace fourwalls
