// SPDX-License-Identifier: Apache-2.0
// Records as the writer keeps and the finisher sorts them: small, with interned strings, ordered so that the same
// records give the same file whatever order they came in.
#pragma once

#include "model/base/time.h"
#include "model/trace/records.h"
#include "model/trace/summary_builder.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace fourwalls::store {

/// A step's state as a file has it; what no version wrote counts as a warm-up: it is left out of figures.
inline StepState stepStateOf(std::int64_t stored)
{
    return stored >= 0 && stored < kStepStateCount ? static_cast<StepState>(stored) : StepState::Warmup;
}

/// An absent integer inside a row; never a legal value of any field that uses it.
inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

/// Operators, tracks, groups and texts are counted in 32 bits.
inline constexpr std::int64_t kLargestId = std::numeric_limits<std::int32_t>::max();

struct SliceRow {
    std::int64_t start = 0, duration = 0;
    std::int64_t correlation = kAbsent;
    std::int64_t microbatch = kAbsent;
    std::int32_t op = 0;

    std::int64_t end() const { return start + duration; }
    /// The order that lanes are assigned in, made total.
    friend bool operator<(const SliceRow& a, const SliceRow& b)
    {
        if (a.start != b.start) return a.start < b.start;
        if (a.duration != b.duration) return a.duration > b.duration;
        return std::tie(a.op, a.microbatch, a.correlation) < std::tie(b.op, b.microbatch, b.correlation);
    }
    friend bool operator==(const SliceRow&, const SliceRow&) = default;
};

/// An allocation (free == false) or the free of one.
struct AllocationEvent {
    bool free = false;
    std::int64_t buffer = 0, at = 0;
    std::int64_t bytes = 0, address = 0; ///< of an allocation
    std::int64_t op = kAbsent, microbatch = kAbsent;
    MemoryCategory category = MemoryCategory::Other;
};

/// One buffer's life.
struct AllocationRow {
    std::int64_t start = 0;
    std::int64_t duration = kAbsent; ///< absent: never freed
    std::int64_t bytes = 0, address = 0, buffer = 0;
    std::int64_t op = kAbsent, microbatch = kAbsent;
    MemoryCategory category = MemoryCategory::Other;

    friend bool operator<(const AllocationRow& a, const AllocationRow& b)
    {
        return std::tie(a.start, a.buffer, a.duration, a.bytes, a.address, a.op, a.microbatch, a.category) <
               std::tie(b.start, b.buffer, b.duration, b.bytes, b.address, b.op, b.microbatch, b.category);
    }
};

struct CounterRow {
    std::int64_t at = 0;
    double value = 0;
};

struct CollectiveRow {
    std::int32_t track = 0;
    std::int64_t start = 0, lastArrival = 0, end = 0;
    std::uint8_t operation = 0;
    std::int32_t group = 0;
    std::int64_t sequence = 0;
    std::int64_t payloadBytes = kAbsent, wireBytes = kAbsent; ///< absent: unknown
    std::int64_t peer = kAbsent;
    std::int64_t algorithm = 0, protocol = 0; ///< string ids

    friend auto operator<=>(const CollectiveRow&, const CollectiveRow&) = default;
};

struct FlowRow {
    std::int64_t kind = 0; ///< string id
    std::int32_t fromTrack = 0;
    std::int64_t from = 0;
    std::int32_t toTrack = 0;
    std::int64_t to = 0;

    friend bool operator<(const FlowRow& a, const FlowRow& b)
    {
        return std::tie(a.from, a.fromTrack, a.to, a.toTrack, a.kind) <
               std::tie(b.from, b.fromTrack, b.to, b.toTrack, b.kind);
    }
};

struct EventRow {
    std::int64_t at = 0;
    std::uint8_t kind = 0;
    std::int64_t rank = kAbsent;
    std::string text;

    friend auto operator<=>(const EventRow&, const EventRow&) = default;
};

/// Shares per bin of rank_bin in files from before waiting had a class of its own.
inline constexpr int kClassesWithoutWaiting = 3;

/// Everything that is defined rather than recorded.
struct Definitions {
    TraceHeader header;
    TraceClosing closing;
    bool closed = false;                  ///< the recording was ended in order (finish was called)
    std::vector<OpInfo> ops;              ///< by OpId
    std::vector<TrackInfo> tracks;        ///< by TrackId
    std::vector<ProcessGroupInfo> groups; ///< by GroupId
    std::vector<CounterInfo> counters;    ///< by CounterId
    std::vector<std::string> strings;     ///< by string id
    std::vector<AuditRecord> audit;
    std::string specJson;                        ///< of header.spec, kept as it was; empty: none
    std::int64_t windowBegin = 0, windowEnd = 0; ///< the range of times met while recording
    JobStepRule jobStepRule = JobStepRule::Ends;
    bool marksLost = true;                     ///< steps that were taken again, see markLost
    int activityClasses = kActivityClassCount; ///< shares per bin of rank_bin
};

constexpr bool validTime(std::int64_t ns)
{
    return ns >= -kLargestTimeNs && ns <= kLargestTimeNs;
}

/// Whether a value of a row is there and is a time, or counts operators, tracks, groups or texts.
constexpr bool isTime(const std::optional<std::int64_t>& value)
{
    return value && validTime(*value);
}
constexpr bool isId(const std::optional<std::int64_t>& value)
{
    return value && *value >= 0 && *value <= kLargestId;
}

/// Whether a slice or buffer may have these times: inside the allowed range and not negative.
constexpr bool validSpan(std::int64_t start, std::int64_t duration)
{
    return validTime(start) && duration >= 0 && duration <= kLargestTimeNs && validTime(start + duration);
}

/// Whether a stored micro-batch (or none) fits its type.
constexpr bool validMicrobatch(std::int64_t value)
{
    return value == kAbsent ||
           (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max());
}

} // namespace fourwalls::store
