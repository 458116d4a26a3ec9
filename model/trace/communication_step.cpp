// SPDX-License-Identifier: Apache-2.0
// See communication_step.h.
#include "model/trace/communication_step.h"

#include "model/trace/saturating_sum.h"

#include "model/trace/group_label.h"
#include "model/trace/interval_union.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace fourwalls {

namespace {

/// How much of an interval the sorted, disjoint ranges leave free.
Duration outside(TimeRange interval, std::span<const TimeRange> ranges)
{
    if (interval.empty()) return {};
    Duration left = interval.length();
    auto range = std::lower_bound(ranges.begin(), ranges.end(), interval.begin,
                                  [](const TimeRange& r, Instant at) { return r.end <= at; });
    for (; range != ranges.end() && range->begin < interval.end; ++range) left -= range->intersected(interval).length();
    return left;
}

std::optional<double> hiddenShareOf(Duration transfer, Duration exposed)
{
    if (transfer.ns <= 0) return std::nullopt;
    return 1 - static_cast<double>(exposed.ns) / static_cast<double>(transfer.ns);
}

/// When a rank computes.
Result<IntervalUnion> computeOf(TraceQuery& trace, RankId rank, TimeRange range, std::int64_t mostRows,
                                Duration& shortest, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const BoundedSlices slices,
                         boundedSlices(trace, workTracks(trace, rank), range, mostRows, stop));
    shortest = std::max(shortest, slices.shortest);
    const auto computes = [&](OpId id) {
        const auto found = slices.ops.find(id);
        return found != slices.ops.end() && found->second->activity == Activity::Compute;
    };
    IntervalUnion computing;
    for (const LaneSlices& lane : slices.lanes) {
        for (const SliceView& slice : lane.exact)
            if (computes(slice.op)) computing.add({slice.start, slice.end()});
        for (const SliceBin& bin : lane.bins)
            if (computes(bin.dominant)) computing.add({bin.start, bin.start + bin.busy});
    }
    return computing;
}

} // namespace

std::string groupName(const TraceInfo& info, GroupId group)
{
    return groupLabel(info, group);
}

Duration KindOfStep::time() const
{
    Duration sum = transfer;
    addTo(sum, wait);
    return sum;
}

Duration KindOfStep::exposed() const
{
    Duration sum = exposedTransfer;
    addTo(sum, exposedWait);
    return sum;
}

Duration CommunicationStep::transfer() const
{
    Duration sum;
    for (const KindOfStep& kind : kinds) addTo(sum, kind.transfer);
    return sum;
}

Duration CommunicationStep::exposedTransfer() const
{
    Duration sum;
    for (const KindOfStep& kind : kinds) addTo(sum, kind.exposedTransfer);
    return sum;
}

std::optional<double> KindOfStep::hiddenShare() const
{
    return hiddenShareOf(transfer, exposedTransfer);
}

bool CommunicationStep::holdsWaiting() const
{
    return std::any_of(kinds.begin(), kinds.end(),
                       [](const KindOfStep& kind) { return kind.timing == CollectiveTiming::WaitAndTransfer; });
}

std::optional<double> CommunicationStep::hiddenShare() const
{
    return hiddenShareOf(transfer(), exposedTransfer());
}

namespace {

/// Operations of the whole trace, as long as counting them reads no more than an analysis does.
Result<std::optional<std::int64_t>> countOperations(TraceQuery& trace)
{
    const TraceInfo& info = trace.info();
    if (info.counts.collectives <= 0) return std::optional<std::int64_t>(0);
    if (info.counts.collectives > static_cast<std::int64_t>(kMostOperationsAnalysed))
        return std::optional<std::int64_t>();
    const TimeRange all{info.range.begin, info.range.end + Duration{1}};
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> records,
                         trace.collectives(std::nullopt, all, kMostOperationsAnalysed));
    return std::optional(static_cast<std::int64_t>(joinOperations(records).size()));
}

/// What is known of who comes late: where every member is there, and on one clock.
void addSkew(CommunicationStep& step, const TraceInfo& info)
{
    std::vector<JoinedOperation> comparable;
    for (const JoinedOperation& operation : step.operations)
        if (groupCoverage(info, operation.group).timing == CollectiveTiming::Separated) comparable.push_back(operation);
    step.skew = arrivalSkew(comparable);
    if (const RankLateness* late = step.skew.late(step.window.range.length())) step.late = *late;
}

/// The operations of a window that begin in one of `parts`, by time and disjoint.
Result<CommunicationStep> communicationIn(TraceQuery& trace, StepWindow window, const std::vector<TimeRange>& parts,
                                          std::optional<RankId> rank, std::stop_token stop)
{
    CommunicationStep result;
    result.rank = rank;
    result.window = std::move(window);
    FOURWALLS_TRY_ASSIGN(result.operationsInTrace, countOperations(trace));
    if (result.window.range.empty()) return result;
    FOURWALLS_TRY_ASSIGN(std::vector<CollectiveView> records,
                         trace.collectives(std::nullopt, result.window.range, kMostOperationsAnalysed + 1));
    result.limited = records.size() > kMostOperationsAnalysed;
    if (result.limited) records.pop_back();
    // An operation belongs to the step in which its last member arrived, with all its members: one that came earlier may
    // have begun to wait before the others' step began.
    std::erase_if(records, [&](const CollectiveView& view) {
        const auto part = std::upper_bound(parts.begin(), parts.end(), view.record.lastArrival,
                                           [](Instant at, const TimeRange& each) { return at < each.end; });
        return part == parts.end() || view.record.lastArrival < part->begin;
    });
    result.operations = joinOperations(records);
    const TraceInfo& info = trace.info();
    addSkew(result, info);
    const auto isLookedAt = [&](RankId member) { return !rank || member == *rank; };
    std::erase_if(result.operations, [&](const JoinedOperation& operation) {
        return std::ranges::none_of(operation.members, isLookedAt, &CollectiveView::rank);
    });

    const auto shown = rank ? std::size_t{1} : std::min(result.window.ranks.size(), kMostRanksAnalysed);
    const std::int64_t budget = kMostSlicesAnalysed / static_cast<std::int64_t>(std::max<std::size_t>(1, shown));
    std::map<RankId, IntervalUnion> computing;
    for (const auto& [each, range] : result.window.ranks) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        if (!isLookedAt(each)) continue;
        if (computing.size() >= shown) break;
        FOURWALLS_TRY_ASSIGN(IntervalUnion own, computeOf(trace, each, range, budget, result.shortest, stop));
        computing.emplace(each, std::move(own));
    }

    std::map<std::pair<CollectiveOp, std::string>, KindOfStep> kinds;
    for (const JoinedOperation& operation : result.operations) {
        KindOfStep& kind = kinds[{operation.operation, groupName(info, operation.group)}];
        ++kind.operations;
        kind.anyGroup = operation.group;
        const CollectiveTiming timing = collectiveTiming(info, operation.group, operation.operation);
        kind.timing = std::max(kind.timing, timing);
        addKnown(kind.payloadBytes, operation.payloadBytes);
        for (const CollectiveView& member : operation.members) {
            const CollectiveRecord& record = member.record;
            if (!isLookedAt(member.rank)) continue;
            ++kind.members;
            addKnown(kind.wireBytes, record.wireBytes);
            const Instant moved = timing == CollectiveTiming::Separated ? record.lastArrival : record.start;
            const TimeRange waiting{record.start, moved}, moving{moved, record.end};
            const auto found = computing.find(member.rank);
            const std::span<const TimeRange> busy =
                found == computing.end() ? std::span<const TimeRange>() : found->second.ranges();
            addTo(kind.transfer, moving.length());
            addTo(kind.wait, waiting.length());
            addTo(kind.exposedTransfer, outside(moving, busy));
            addTo(kind.exposedWait, outside(waiting, busy));
        }
    }
    for (auto& [key, kind] : kinds) {
        std::tie(kind.operation, kind.group) = key;
        result.kinds.push_back(std::move(kind));
    }
    std::stable_sort(result.kinds.begin(), result.kinds.end(),
                     [](const KindOfStep& a, const KindOfStep& b) { return a.time() > b.time(); });
    return result;
}

} // namespace

Result<CommunicationStep> communicationStep(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop,
                                            std::optional<RankId> rank)
{
    FOURWALLS_TRY_ASSIGN(StepWindow window, stepWindow(trace, wanted));
    const std::vector<TimeRange> parts{window.range};
    return communicationIn(trace, std::move(window), parts, rank, stop);
}

Result<CommunicationStep> communicationOfSteps(TraceQuery& trace, std::stop_token stop, std::optional<RankId> rank)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    StepWindow window;
    std::vector<TimeRange> parts;
    for (const JobStep& step : steps) {
        if (!step.complete || step.state != StepState::Measured) continue;
        window.range = parts.empty() ? step.range
                                     : TimeRange{std::min(window.range.begin, step.range.begin),
                                                 std::max(window.range.end, step.range.end)};
        parts.push_back(step.range);
    }
    if (parts.size() < 2) return communicationStep(trace, std::nullopt, stop, rank);
    std::sort(parts.begin(), parts.end(), [](const TimeRange& a, const TimeRange& b) { return a.end < b.end; });
    window.steps = static_cast<int>(parts.size());
    for (const RankInfo& each : trace.info().header.ranks) window.ranks[each.rank] = window.range;
    return communicationIn(trace, std::move(window), parts, rank, stop);
}

} // namespace fourwalls
