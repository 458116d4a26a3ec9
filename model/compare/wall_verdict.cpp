// SPDX-License-Identifier: Apache-2.0
// See wall_verdict.h.
#include "model/compare/wall_verdict.h"

#include <algorithm>

namespace fourwalls::compare {

namespace {

struct Cost {
    WallReason reason;
    double share;
};

void take(WallVerdict& verdict, Wall wall, std::initializer_list<Cost> parts)
{
    const auto index = static_cast<std::size_t>(wall);
    double largest = 0;
    for (const Cost& part : parts) {
        if (!(part.share > 0)) continue;
        verdict.loss[index] += part.share;
        if (part.share <= largest) continue;
        largest = part.share;
        verdict.reason[index] = part.reason;
    }
}

std::optional<Wall> costliest(const WallVerdict& verdict, std::optional<Wall> except)
{
    std::optional<Wall> found;
    double most = kLeastLoss;
    for (std::size_t i = 0; i < kWallCount; ++i) {
        if (except && static_cast<std::size_t>(*except) == i) continue;
        if (verdict.loss[i] < most) continue;
        most = verdict.loss[i];
        found = static_cast<Wall>(i);
    }
    return found;
}

} // namespace

std::optional<FullestRank> fullestRank(const TraceMetrics& metrics, const TraceHeader& header)
{
    std::optional<FullestRank> fullest;
    double fullness = -1;
    for (const MemorySummary& memory : metrics.memory) {
        FullestRank each{memory.rank, static_cast<double>(memory.peakBytes), std::nullopt};
        for (const RankInfo& info : header.ranks)
            if (info.rank == memory.rank && info.memoryBytes > 0)
                each.capacityBytes = static_cast<double>(info.memoryBytes);
        if (each.peakBytes <= 0) continue;
        const double full = each.capacityBytes ? each.peakBytes / *each.capacityBytes : 0;
        const bool larger = fullest && each.peakBytes > fullest->peakBytes;
        if (fullest && !(full > fullness || (full == fullness && larger))) continue;
        fullness = full;
        fullest = each;
    }
    return fullest;
}

WallVerdict judgeWalls(const WallFacts& facts)
{
    WallVerdict verdict;
    verdict.reason.fill(WallReason::Nothing);
    using Part = WaterfallPart;
    const Waterfall& shares = facts.shares;
    take(verdict, Wall::Memory, {{WallReason::MemoryPrice, shares[Part::Recompute] + shares[Part::ExposedCopy]}});
    take(verdict, Wall::Communication, {{WallReason::ExposedComm, shares[Part::ExposedComm]}});
    // At the attainable rate the same FLOPs would take achieved / kAttainable of the step.
    const double unavoidable = shares[Part::Achieved] * (1 / kAttainable - 1);
    take(verdict, Wall::Performance,
         {{WallReason::MemoryBound, shares[Part::MemoryBound]},
          {WallReason::Inefficiency, shares[Part::Inefficiency] - unavoidable},
          {WallReason::Idle, shares[Part::Idle] - facts.startUp}});
    // A better plan takes the bubble away, so the two are not added up.
    const double gain = facts.planGain.value_or(0);
    if (gain > shares[Part::Bubble])
        take(verdict, Wall::Tuning, {{WallReason::BetterPlan, gain}});
    else
        take(verdict, Wall::Tuning, {{WallReason::Bubble, shares[Part::Bubble]}});

    const bool full = facts.peakBytes && facts.capacityBytes && *facts.capacityBytes > 0 &&
                      *facts.peakBytes >= kFullMemory * *facts.capacityBytes;
    if (full) {
        verdict.reason[static_cast<std::size_t>(Wall::Memory)] = WallReason::MemoryFull;
        verdict.binding = Wall::Memory;
    } else {
        verdict.binding = costliest(verdict, std::nullopt);
    }
    if (verdict.binding) verdict.next = costliest(verdict, verdict.binding);
    return verdict;
}

} // namespace fourwalls::compare
