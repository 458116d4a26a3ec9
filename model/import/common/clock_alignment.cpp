// SPDX-License-Identifier: Apache-2.0
// Two tries: operations that overlap as they stand, else operations of equal position whose ends keep one distance.
#include "model/import/common/clock_alignment.h"

#include "model/base/median.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

namespace fourwalls::importers {

namespace {

ClockOffset summarise(const std::vector<std::int64_t>& differences)
{
    ClockOffset offset;
    offset.matched = differences.size();
    offset.offsetNs = upperMedian(differences);
    std::vector<std::int64_t> distances;
    for (const std::int64_t difference : differences) distances.push_back(std::abs(difference - offset.offsetNs));
    offset.residualNs = upperMedian(std::move(distances));
    return offset;
}

/// end(reference) - end(other) of operations of one kind that overlap; both lists by begin.
std::vector<std::int64_t> overlapping(const std::vector<CommunicationMark>& reference,
                                      const std::vector<CommunicationMark>& other)
{
    std::vector<std::int64_t> differences;
    std::size_t from = 0;
    for (const CommunicationMark& mark : other) {
        while (from < reference.size() && reference[from].end <= mark.begin) ++from;
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = from; i < reference.size() && reference[i].begin < mark.end; ++i) {
            const std::int64_t difference = reference[i].end - mark.end;
            if (reference[i].kind == mark.kind && std::abs(difference) < std::abs(best)) best = difference;
        }
        if (best != std::numeric_limits<std::int64_t>::max()) differences.push_back(best);
    }
    return differences;
}

} // namespace

ClockOffset offsetFromDifferences(const std::vector<std::int64_t>& differences)
{
    ClockOffset offset = summarise(differences);
    if (std::abs(offset.offsetNs) > kSameClockNs) return offset;
    offset.sameClock = true;
    offset.residualNs = std::max(offset.residualNs, std::abs(offset.offsetNs));
    offset.offsetNs = 0;
    return offset;
}

std::optional<ClockOffset> estimateOffset(std::vector<CommunicationMark> reference,
                                          std::vector<CommunicationMark> other)
{
    const auto byBegin = [](const CommunicationMark& a, const CommunicationMark& b) { return a.begin < b.begin; };
    std::sort(reference.begin(), reference.end(), byBegin);
    std::sort(other.begin(), other.end(), byBegin);
    const std::size_t fewer = std::min(reference.size(), other.size());
    if (fewer == 0) return std::nullopt;

    const std::vector<std::int64_t> differences = overlapping(reference, other);
    if (!differences.empty()) {
        const ClockOffset offset = offsetFromDifferences(differences);
        if (offset.sameClock && differences.size() * 10 >= fewer * 3) return offset;
    }
    // Position is only trusted where both lists have the same operations in the same order and one shift fits all.
    if (reference.size() != other.size() || fewer < 3) return std::nullopt;
    std::vector<std::int64_t> byPosition;
    for (std::size_t i = 0; i < fewer; ++i) {
        if (reference[i].kind != other[i].kind) return std::nullopt;
        byPosition.push_back(reference[i].end - other[i].end);
    }
    const ClockOffset offset = summarise(byPosition);
    return offset.residualNs <= kSameClockNs ? std::optional(offset) : std::nullopt;
}

void auditClock(TraceSink& sink, RankId rank, const ClockOffset& clock)
{
    const std::string of = std::to_string(rank.value);
    sink.audit(auditRecord(AuditCounter::ClockOffset, clock.offsetNs,
                           "added to this rank's times, from " + std::to_string(clock.matched) + " collectives", of));
    sink.audit(auditRecord(AuditCounter::ClockResidual, clock.residualNs, {}, of));
}

} // namespace fourwalls::importers
