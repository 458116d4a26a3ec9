// SPDX-License-Identifier: Apache-2.0
// See collective_timing.h.
#include "model/trace/collective_timing.h"

#include "model/trace/audit_counter.h"

#include <algorithm>
#include <string>

namespace fourwalls {

namespace {

bool traceHasRank(const TraceInfo& info, RankId rank)
{
    return std::any_of(info.header.ranks.begin(), info.header.ranks.end(),
                       [rank](const RankInfo& each) { return each.rank == rank; });
}

} // namespace

std::string_view name(CollectiveTiming timing)
{
    switch (timing) {
    case CollectiveTiming::Separated: return "separated";
    case CollectiveTiming::WaitAndTransfer: return "wait_and_transfer";
    case CollectiveTiming::RequestsOnly: return "requests_only";
    }
    return "separated";
}

bool ranksShareClock(const TraceInfo& info)
{
    return !hasCounter(info.audit, AuditCounter::ClockNotAligned);
}

GroupCoverage groupCoverage(const TraceInfo& info, GroupId id)
{
    GroupCoverage coverage;
    const auto index = static_cast<std::size_t>(id.value);
    const bool known = id.value >= 0 && index < info.groups.size();
    if (known) {
        const ProcessGroupInfo& group = info.groups[index];
        if (!group.ranks.empty()) coverage.members = group.ranks.size();
        for (const RankId rank : group.ranks)
            if (traceHasRank(info, rank)) ++coverage.present;
        if (group.transport == kRequestsOnly) {
            coverage.timing = CollectiveTiming::RequestsOnly;
            return coverage;
        }
    }
    // A prediction knows every arrival. Where ranks stand for others, those are there, too.
    const TraceSource source = info.header.source;
    if (source == TraceSource::Predicted || source == TraceSource::Synthetic) return coverage;
    if (std::any_of(info.header.ranks.begin(), info.header.ranks.end(),
                    [](const RankInfo& each) { return each.multiplicity > 1; }))
        return coverage;
    const bool all = coverage.members && coverage.present == *coverage.members;
    const bool alone = coverage.members && *coverage.members == 1;
    if (!all || (!alone && !ranksShareClock(info))) coverage.timing = CollectiveTiming::WaitAndTransfer;
    return coverage;
}

CollectiveTiming collectiveTiming(const TraceInfo& info, GroupId group, CollectiveOp operation)
{
    const CollectiveTiming timing = groupCoverage(info, group).timing;
    const bool message = operation == CollectiveOp::Send || operation == CollectiveOp::Receive;
    if (message && timing == CollectiveTiming::Separated && info.header.source == TraceSource::Imported)
        return CollectiveTiming::WaitAndTransfer;
    return timing;
}

std::optional<std::size_t> jobRanks(const TraceInfo& info)
{
    if (info.header.worldSize && *info.header.worldSize > 0) return static_cast<std::size_t>(*info.header.worldSize);
    if (info.header.spec) return static_cast<std::size_t>(std::max(1, info.header.spec->plan.worldSize()));
    std::size_t largest = 0;
    for (const ProcessGroupInfo& group : info.groups) largest = std::max(largest, group.ranks.size());
    if (largest == 0) return std::nullopt;
    return std::max(largest, info.header.ranks.size());
}

RankScope rankScope(const TraceInfo& info, std::optional<RankId> chosen)
{
    RankScope scope;
    for (const RankInfo& rank : info.header.ranks)
        scope.present += static_cast<std::size_t>(std::max(1, rank.multiplicity));
    scope.job = jobRanks(info);
    scope.one = chosen;
    if (!scope.one && scope.present == 1) scope.one = info.header.ranks.front().rank;
    return scope;
}

} // namespace fourwalls
