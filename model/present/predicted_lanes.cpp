// SPDX-License-Identifier: Apache-2.0
// See predicted_lanes.h.
#include "model/present/predicted_lanes.h"

#include <algorithm>
#include <utility>

namespace fourwalls {

namespace {

void finishPieces(StagePass& pass)
{
    const double whole = static_cast<double>(pass.range.length().ns);
    for (const PassPiece& piece : pass.pieces) {
        const double share = whole > 0 ? static_cast<double>(piece.range.length().ns) / whole : 0;
        if (piece.phase == Phase::Recompute) pass.recompute += share;
        if (piece.phase == Phase::BackwardWeight) pass.weight += share;
    }
    if (pass.pieces.size() == 1) pass.pieces.clear();
}

StagePass passOf(std::span<const DrawnInterval> intervals)
{
    StagePass pass;
    const DrawnInterval& first = intervals.front();
    pass.range = {first.range.begin, intervals.back().range.end};
    pass.microbatch = first.microbatch;
    const bool isBackwardOfInputs = first.phase == Phase::Recompute || first.phase == Phase::BackwardInput;
    pass.phase = isBackwardOfInputs ? Phase::BackwardInput : first.phase;
    if (!isBackwardOfInputs) return pass;
    pass.pieces.reserve(intervals.size());
    for (const DrawnInterval& interval : intervals)
        if (!interval.range.empty()) pass.pieces.push_back({interval.range, interval.phase});
    finishPieces(pass);
    return pass;
}

/// The passes, and what the lane computes once per step.
std::vector<StagePass> passesOf(const DrawnLane& lane)
{
    std::vector<StagePass> passes;
    passes.reserve(lane.passes.size() + 1);
    for (const DrawnPass& pass : lane.passes)
        if (StagePass found = passOf(lane.intervalsOf(pass)); !found.range.empty()) passes.push_back(std::move(found));
    for (const DrawnInterval& interval : lane.intervals)
        if (interval.kind == SliceKind::Phase && interval.phase == Phase::Optimizer && !interval.range.empty())
            passes.push_back(passOf({&interval, 1}));
    // They usually are in order, and there may be millions.
    const auto isEarlier = [](const StagePass& a, const StagePass& b) { return a.range.begin < b.range.begin; };
    if (!std::is_sorted(passes.begin(), passes.end(), isEarlier))
        std::stable_sort(passes.begin(), passes.end(), isEarlier);
    return passes;
}

} // namespace

PipelinePicture predictedPicture(const DrawnStep& predicted, std::span<const RankId> ranks)
{
    PipelinePicture picture;
    picture.step.range = {Instant{}, Instant{predicted.length.ns}};
    std::vector<const DrawnLane*> lanes;
    for (const DrawnLane& lane : predicted.lanes)
        if (predicted.byRank && std::find(ranks.begin(), ranks.end(), lane.rank) != ranks.end()) lanes.push_back(&lane);
    if (lanes.empty())
        for (const DrawnLane& lane : predicted.lanes) lanes.push_back(&lane);
    std::stable_sort(lanes.begin(), lanes.end(),
                     [](const DrawnLane* a, const DrawnLane* b) { return a->stage < b->stage; });
    for (const DrawnLane* drawn : lanes) {
        StageLane& lane = picture.lanes.emplace_back();
        lane.stage = drawn->stage;
        lane.rank = drawn->rank;
        lane.step = drawn->step;
        lane.passes = passesOf(*drawn);
        completeLane(lane);
        for (const StagePass& pass : lane.passes) {
            if (pass.weight > 0 || pass.recompute > 0 || predicted.splitsBackward) picture.finerKnown = true;
            if (!isPipelinePass(pass)) continue;
            picture.chunks = std::max(picture.chunks, pass.chunk + 1);
            if (pass.microbatch) picture.microbatches = std::max(picture.microbatches, pass.microbatch->value + 1);
        }
    }
    picture.window = pipelineWindow(picture.lanes);
    picture.times = meanPassTimes(picture.lanes);
    const bool isPipeline = lanes.size() > 1 && picture.window;
    for (std::size_t i = 0; i < lanes.size(); ++i)
        picture.shares.push_back(isPipeline ? stageShares(picture.lanes[i], *picture.window, lanes[i]->busy)
                                            : std::nullopt);
    return picture;
}

} // namespace fourwalls
