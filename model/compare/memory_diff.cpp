// SPDX-License-Identifier: Apache-2.0
// See memory_diff.h.
#include "model/compare/memory_diff.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

namespace fourwalls::compare {

namespace {

constexpr std::size_t kMostBuffers = 200'000; ///< of a moment, the largest

/// The rank with the largest peak. Absent: no buffers.
Result<std::optional<MemorySummary>> fullest(TraceQuery& trace)
{
    std::optional<MemorySummary> found;
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> summaries, trace.memorySummaries());
    for (const MemorySummary& each : summaries)
        if (!found || each.peakBytes > found->peakBytes) found = each;
    return found;
}

Result<Instant> instantOf(const MemoryMoment& moment, const MemorySummary& summary, TimeRange range)
{
    switch (moment.kind) {
    case MemoryMoment::Kind::Peak: return summary.peakAt;
    case MemoryMoment::Kind::End: return range.end - Duration{1};
    case MemoryMoment::Kind::At: break;
    }
    const Instant at = range.begin + moment.after;
    if (at >= range.begin && at < range.end) return at;
    return Error{ErrorCode::InvalidArgument, "is not within the trace", "--memory-at",
                 "0 to " + std::to_string(range.length().ns / 1'000'000) + " ms"};
}

using MakerKey = std::pair<std::string, MemoryCategory>;

/// Adds what the trace held to one side of the makers.
Result<HeldMemory> readHeld(TraceQuery& trace, const MemorySummary& summary, const MemoryMoment& moment,
                            std::map<MakerKey, ComparedMaker>& makers, std::int64_t ComparedMaker::*bytes,
                            std::int64_t ComparedMaker::*count)
{
    HeldMemory held;
    held.rank = summary.rank;
    FOURWALLS_TRY_ASSIGN(held.at, instantOf(moment, summary, trace.info().range));
    FOURWALLS_TRY_ASSIGN(const AllocationList alive, trace.aliveAt(held.rank, held.at, kMostBuffers));
    held.bytes = alive.totalBytes;
    held.count = alive.totalCount;
    held.notLookedAt = alive.totalBytes;
    for (const AllocationView& buffer : alive.items) {
        const auto op = buffer.op ? alive.ops.find(*buffer.op) : alive.ops.end();
        const std::string name = op != alive.ops.end() ? op->second->name : std::string();
        ComparedMaker& maker = makers[{name, buffer.category}];
        maker.name = name;
        maker.category = buffer.category;
        maker.*bytes += buffer.bytes;
        ++(maker.*count);
        held.notLookedAt -= buffer.bytes;
    }
    return held;
}

} // namespace

Result<MemoryMoment> MemoryMoment::parse(std::string_view text)
{
    if (text == "peak") return MemoryMoment{};
    if (text == "end") return MemoryMoment{Kind::End, {}};
    double milliseconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    constexpr double kMost = 1e12;
    if (failure == std::errc() && end == text.data() + text.size() && milliseconds >= 0 && milliseconds < kMost)
        return MemoryMoment{Kind::At, Duration::fromSeconds(milliseconds / 1e3)};
    return Error{ErrorCode::InvalidArgument, "cannot be '" + std::string(text) + "'", "--memory-at",
                 "peak, end, or milliseconds from the trace's begin"};
}

Result<std::optional<MemoryDifference>> compareMemory(TraceQuery& a, TraceQuery& b, const MemoryMoment& atA,
                                                      const MemoryMoment& atB, const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(const std::optional<MemorySummary> ofA, fullest(a));
    FOURWALLS_TRY_ASSIGN(const std::optional<MemorySummary> ofB, fullest(b));
    if (!ofA || !ofB || a.info().counts.allocations == 0 || b.info().counts.allocations == 0)
        return std::optional<MemoryDifference>();
    MemoryDifference difference;
    std::map<MakerKey, ComparedMaker> makers;
    FOURWALLS_TRY_ASSIGN(difference.a, readHeld(a, *ofA, atA, makers, &ComparedMaker::aBytes, &ComparedMaker::aCount));
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "memory", {}};
    FOURWALLS_TRY_ASSIGN(difference.b, readHeld(b, *ofB, atB, makers, &ComparedMaker::bBytes, &ComparedMaker::bCount));
    difference.makers.reserve(makers.size());
    for (auto& [key, maker] : makers) difference.makers.push_back(std::move(maker));
    std::stable_sort(difference.makers.begin(), difference.makers.end(),
                     [](const ComparedMaker& left, const ComparedMaker& right) {
                         return std::tuple(std::abs(left.difference()), left.bBytes) >
                                std::tuple(std::abs(right.difference()), right.bBytes);
                     });
    return std::optional(std::move(difference));
}

} // namespace fourwalls::compare
