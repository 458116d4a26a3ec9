// SPDX-License-Identifier: Apache-2.0
// See communication_step.h.
#include "model/trace/communication_step.h"

#include "model/trace/saturating_sum.h"

#include "model/trace/interval_union.h"

#include <algorithm>
#include <map>

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
    const auto index = static_cast<std::size_t>(group.value);
    if (group.value < 0 || index >= info.groups.size()) return std::to_string(group.value);
    return info.groups[index].name;
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

std::optional<double> CommunicationStep::hiddenShare() const
{
    return hiddenShareOf(transfer(), exposedTransfer());
}

Result<CommunicationStep> communicationStep(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    CommunicationStep result;
    FOURWALLS_TRY_ASSIGN(result.window, stepWindow(trace, wanted));
    if (result.window.range.empty()) return result;
    FOURWALLS_TRY_ASSIGN(std::vector<CollectiveView> records,
                         trace.collectives(std::nullopt, result.window.range, kMostOperationsAnalysed + 1));
    result.limited = records.size() > kMostOperationsAnalysed;
    if (result.limited) records.pop_back();
    // What only reaches into the step belongs to the one before.
    std::erase_if(records, [&](const CollectiveView& view) { return view.record.start < result.window.range.begin; });
    result.operations = joinOperations(records);

    const auto shown = std::min(result.window.ranks.size(), kMostRanksAnalysed);
    const std::int64_t budget = kMostSlicesAnalysed / static_cast<std::int64_t>(std::max<std::size_t>(1, shown));
    std::map<RankId, IntervalUnion> computing;
    for (const auto& [rank, range] : result.window.ranks) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        if (computing.size() >= shown) break;
        FOURWALLS_TRY_ASSIGN(IntervalUnion own, computeOf(trace, rank, range, budget, result.shortest, stop));
        computing.emplace(rank, std::move(own));
    }

    std::map<std::pair<CollectiveOp, std::string>, KindOfStep> kinds;
    for (const JoinedOperation& operation : result.operations) {
        KindOfStep& kind = kinds[{operation.operation, groupName(trace.info(), operation.group)}];
        ++kind.operations;
        addTo(kind.payloadBytes, operation.payloadBytes);
        for (const CollectiveView& member : operation.members) {
            const CollectiveRecord& record = member.record;
            ++kind.members;
            addTo(kind.wireBytes, record.wireBytes);
            const TimeRange waiting{record.start, record.lastArrival}, moving{record.lastArrival, record.end};
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

} // namespace fourwalls
