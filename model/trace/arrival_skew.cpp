// SPDX-License-Identifier: Apache-2.0
// See arrival_skew.h.
#include "model/trace/arrival_skew.h"

#include "model/trace/saturating_sum.h"

#include "model/base/median.h"

#include <algorithm>
#include <cmath>
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

double binomialTail(std::int64_t n, std::int64_t k, double chance)
{
    if (k <= 0) return 1;
    if (k > n || chance <= 0) return 0;
    if (chance >= 1) return 1;
    double sum = 0;
    const double logs = std::log(chance), logf = std::log1p(-chance), whole = std::lgamma(static_cast<double>(n) + 1);
    for (std::int64_t i = k; i <= n; ++i) {
        const double hits = static_cast<double>(i), misses = static_cast<double>(n - i);
        const double term =
            std::exp(whole - std::lgamma(hits + 1) - std::lgamma(misses + 1) + hits * logs + misses * logf);
        sum += term;
        if (hits > static_cast<double>(n) * chance && term < sum * 1e-12) break; // the terms only fall from here
    }
    return std::min(1.0, sum);
}

const RankLateness* ArrivalSkew::late(Duration length) const
{
    constexpr double kChance = 0.01, kCost = 0.01;
    const RankLateness* latest = nullptr;
    for (const RankLateness& rank : ranks) {
        if (rank.operations <= 0) continue;
        if (static_cast<double>(rank.delayed.ns) <= kCost * static_cast<double>(length.ns)) continue;
        if (latest && rank.delayed <= latest->delayed) continue;
        const double chance = rank.lastByChance / static_cast<double>(rank.operations);
        // Whoever looks at all ranks finds one of them last by chance more easily.
        const double tries = static_cast<double>(ranks.size());
        if (tries * binomialTail(rank.operations, rank.last, chance) < kChance) latest = &rank;
    }
    return latest;
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
            rank.lastByChance += 1.0 / static_cast<double>(operation.members.size());
            addTo(rank.behind, member.record.start - first);
            addTo(rank.waited, last - member.record.start);
            addTo(waited, last - member.record.start);
        }
        if (last > first) {
            RankLateness& late = ranks[operation.late()];
            ++late.last;
            addTo(late.caused, waited);
            addTo(late.delayed, last - operation.members[operation.members.size() - 2].record.start);
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

Duration waitedOnce(std::span<const JoinedOperation> operations, TimeRange range, std::optional<RankId> late)
{
    std::map<RankId, std::vector<TimeRange>> waits;
    for (const JoinedOperation& operation : operations) {
        if (operation.isMessage() || (late && operation.late() != *late)) continue;
        for (const CollectiveView& member : operation.members) {
            const TimeRange wait = TimeRange{member.record.start, operation.lastArrival}.intersected(range);
            if (!wait.empty()) waits[member.rank].push_back(wait);
        }
    }
    Duration sum;
    for (auto& [rank, ranges] : waits) {
        std::sort(ranges.begin(), ranges.end(),
                  [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
        Instant at = range.begin;
        for (const TimeRange& each : ranges) {
            sum += std::max(Duration{}, each.end - std::max(at, each.begin));
            at = std::max(at, each.end);
        }
    }
    return sum;
}

} // namespace fourwalls
