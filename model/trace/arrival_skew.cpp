// SPDX-License-Identifier: Apache-2.0
// See arrival_skew.h.
#include "model/trace/arrival_skew.h"

#include "model/trace/saturating_sum.h"

#include "model/base/median.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls {

Duration JoinedOperation::skew() const
{
    if (isMessage() || members.size() < 2) return {};
    return members.back().record.start - members.front().record.start;
}

Duration JoinedOperation::wait() const
{
    Duration sum;
    for (const CollectiveView& member : members)
        addTo(sum, std::max(Duration{0}, member.record.lastArrival - member.record.start));
    return sum;
}

std::vector<JoinedOperation> joinOperations(std::span<const CollectiveView> records)
{
    std::vector<JoinedOperation> operations;
    std::map<std::tuple<GroupId, CollectiveOp, std::int64_t>, std::size_t> byKey;
    for (const CollectiveView& view : records) {
        const CollectiveRecord& record = view.record;
        const bool alone = record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
        std::size_t index = operations.size();
        if (!alone) {
            const auto [found, isNew] =
                byKey.try_emplace({record.group, record.operation, record.sequence}, operations.size());
            // The same number twice on one rank: not one operation, whoever wrote the file.
            const bool clash = !isNew && std::any_of(operations[found->second].members.begin(),
                                                     operations[found->second].members.end(),
                                                     [&](const CollectiveView& m) { return m.rank == view.rank; });
            if (clash) found->second = operations.size();
            index = found->second;
        }
        if (index == operations.size()) {
            JoinedOperation operation;
            operation.operation = record.operation;
            operation.group = record.group;
            operation.sequence = record.sequence;
            operation.lastArrival = record.lastArrival;
            operation.end = record.end;
            operations.push_back(std::move(operation));
        }
        JoinedOperation& operation = operations[index];
        operation.members.push_back(view);
        operation.lastArrival = std::max(operation.lastArrival, record.lastArrival);
        operation.end = std::max(operation.end, record.end);
        operation.payloadBytes = std::max(operation.payloadBytes, record.payloadBytes);
        operation.wireBytes = std::max(operation.wireBytes, record.wireBytes);
    }
    for (JoinedOperation& operation : operations)
        std::stable_sort(
            operation.members.begin(), operation.members.end(),
            [](const CollectiveView& a, const CollectiveView& b) { return a.record.start < b.record.start; });
    std::stable_sort(operations.begin(), operations.end(), [](const JoinedOperation& a, const JoinedOperation& b) {
        return a.firstArrival() < b.firstArrival();
    });
    return operations;
}

const RankLateness* ArrivalSkew::worst() const
{
    const RankLateness* worst = nullptr;
    for (const RankLateness& rank : ranks)
        if (rank.caused.ns > 0 && (!worst || rank.caused > worst->caused)) worst = &rank;
    return worst;
}

ArrivalSkew arrivalSkew(std::span<const JoinedOperation> operations)
{
    ArrivalSkew result;
    std::map<RankId, RankLateness> ranks;
    std::vector<Duration> skews;
    for (const JoinedOperation& operation : operations) {
        if (operation.isMessage() || operation.members.size() < 2) continue;
        const Instant first = operation.firstArrival();
        const Instant last = operation.members.back().record.start;
        Duration waited;
        for (const CollectiveView& member : operation.members) {
            RankLateness& rank = ranks[member.rank];
            ++rank.operations;
            addTo(rank.behind, member.record.start - first);
            addTo(rank.waited, last - member.record.start);
            addTo(waited, last - member.record.start);
        }
        if (last > first) {
            RankLateness& late = ranks[operation.late()];
            ++late.last;
            addTo(late.caused, waited);
        }
        addTo(result.totalWait, waited);
        skews.push_back(last - first);
    }
    result.operations = static_cast<std::int64_t>(skews.size());
    if (!skews.empty()) {
        result.medianSkew = upperMedian(skews);
        result.longestSkew = *std::max_element(skews.begin(), skews.end());
    }
    for (auto& [id, rank] : ranks) {
        rank.rank = id;
        result.ranks.push_back(rank);
    }
    return result;
}

} // namespace fourwalls
