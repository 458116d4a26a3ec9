// SPDX-License-Identifier: Apache-2.0
// See drawn_step.h.
#include "model/trace/drawn_step.h"

#include <algorithm>
#include <utility>

namespace fourwalls {

bool isPass(const DrawnInterval& interval)
{
    return interval.phase == Phase::Forward || interval.phase == Phase::Recompute ||
           interval.phase == Phase::BackwardInput || interval.phase == Phase::BackwardWeight;
}

bool isIdle(const DrawnInterval& interval)
{
    return interval.kind == SliceKind::Wait && interval.activity != Activity::PipelineTransfer;
}

const DrawnLane* DrawnStep::laneOf(RankId rank, int stage) const
{
    // The first of the stage, else of the last stage before it, else of the first one behind it.
    const auto orderOf = [stage](const DrawnLane& lane) {
        return std::pair(lane.stage > stage, lane.stage > stage ? lane.stage : -lane.stage);
    };
    const DrawnLane* best = nullptr;
    for (const DrawnLane& lane : lanes) {
        if (byRank && lane.rank == rank) return &lane;
        if (!best || orderOf(lane) < orderOf(*best)) best = &lane;
    }
    return best;
}

void foldPasses(DrawnLane& lane, bool splitsBackward)
{
    const auto continues = [splitsBackward](const DrawnInterval& last, const DrawnInterval& next) {
        if (next.microbatch != last.microbatch || next.position != last.position) return false;
        if (next.phase == Phase::BackwardInput) return last.phase == Phase::Recompute;
        const bool isBackward = last.phase == Phase::Recompute || last.phase == Phase::BackwardInput;
        return next.phase == Phase::BackwardWeight && isBackward && !splitsBackward;
    };
    lane.passes.clear();
    const std::vector<DrawnInterval>& intervals = lane.intervals;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        if (!isPass(intervals[i])) continue;
        const std::size_t first = i;
        while (i + 1 < intervals.size() && continues(intervals[i], intervals[i + 1])) ++i;
        lane.passes.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(i + 1)});
    }
}

std::vector<MemorySample> memoryCurve(const DrawnLane& lane)
{
    std::vector<MemorySample> curve(1);
    curve.reserve(lane.memory.size() + 1);
    for (const DrawnBytes& change : lane.memory) {
        if (curve.back().at != change.at) {
            curve.push_back(curve.back());
            curve.back().at = change.at;
        }
        curve.back().bytes[static_cast<std::size_t>(change.category)] = change.bytes;
    }
    return curve;
}

} // namespace fourwalls
