// SPDX-License-Identifier: GPL-3.0-or-later
// See predicted_lanes.h.
#include "views/pipeline/predicted_lanes.h"

#include "model/spec/rank_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fourwalls::views {

namespace {

using cost::SimulatedInterval;
using cost::SimulatedPart;

Instant instantOf(double seconds)
{
    return {std::llround(seconds * 1e9)};
}

std::optional<Phase> phaseOf(SimulatedPart part)
{
    switch (part) {
    case SimulatedPart::Forward: return Phase::Forward;
    case SimulatedPart::Recompute: return Phase::Recompute;
    case SimulatedPart::BackwardInput: return Phase::BackwardInput;
    case SimulatedPart::BackwardWeight: return Phase::BackwardWeight;
    case SimulatedPart::Optimizer: return Phase::Optimizer;
    default: return std::nullopt;
    }
}

/// Recomputation, input and weight gradient of one micro-batch in a row are one backward.
bool continues(const StagePass& pass, std::int32_t position, const SimulatedInterval& next, Phase phase, bool splits)
{
    if (pass.phase != Phase::BackwardInput || pass.pieces.empty() || position != next.position) return false;
    if (!pass.microbatch || pass.microbatch->value != next.microbatch) return false;
    if (phase == Phase::BackwardInput) return pass.pieces.back().phase == Phase::Recompute;
    return phase == Phase::BackwardWeight && !splits && pass.pieces.back().phase == Phase::BackwardInput;
}

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

std::vector<StagePass> passesOf(const cost::SimulatedStage& stage, bool splits)
{
    std::vector<StagePass> passes;
    // Recomputation, and the weight gradient where it is not split off, begin no pass of their own.
    const auto begins = [splits](const SimulatedInterval& each) {
        return each.part != SimulatedPart::Recompute && (splits || each.part != SimulatedPart::BackwardWeight);
    };
    passes.reserve(static_cast<std::size_t>(std::count_if(stage.intervals.begin(), stage.intervals.end(), begins)));
    std::int32_t position = -1; // of the last pass
    for (const SimulatedInterval& interval : stage.intervals) {
        const std::optional<Phase> phase = phaseOf(interval.part);
        const TimeRange range{instantOf(interval.start), instantOf(interval.end)};
        if (!phase || range.empty()) continue;
        if (!passes.empty() && continues(passes.back(), position, interval, *phase, splits)) {
            passes.back().pieces.push_back({range, *phase});
            passes.back().range.end = range.end;
            continue;
        }
        StagePass& pass = passes.emplace_back();
        pass.range = range;
        const bool isBackwardOfInputs = *phase == Phase::Recompute || *phase == Phase::BackwardInput;
        pass.phase = isBackwardOfInputs ? Phase::BackwardInput : *phase;
        if (interval.microbatch >= 0) pass.microbatch = Microbatch{interval.microbatch};
        if (isBackwardOfInputs) {
            constexpr std::size_t kMost = 3; // recomputation, input and weight gradient
            pass.pieces.reserve(kMost);
            pass.pieces.push_back({range, *phase});
        }
        position = interval.position;
    }
    for (StagePass& pass : passes) finishPieces(pass);
    return passes;
}

} // namespace

PipelinePicture predictedPicture(const cost::PredictedStep& predicted)
{
    PipelinePicture picture;
    const cost::SimulatedStep& step = predicted.step;
    picture.step.range = {Instant{}, instantOf(step.seconds)};
    const RankLayout layout(predicted.spec.plan);
    const bool splits = predicted.cost.shape.splitsBackward();
    for (std::size_t i = 0; i < step.stages.size(); ++i) {
        const cost::SimulatedStage& stage = step.stages[i];
        StageLane& lane = picture.lanes.emplace_back();
        lane.stage = static_cast<int>(i);
        lane.rank = layout.onStage(RankId{0}, lane.stage);
        lane.step = {Instant{}, instantOf(stage.end)};
        lane.passes = passesOf(stage, splits);
        completeLane(lane);
        for (const StagePass& pass : lane.passes) {
            if (pass.weight > 0 || pass.recompute > 0 || splits) picture.finerKnown = true;
            if (!isPipelinePass(pass)) continue;
            picture.chunks = std::max(picture.chunks, pass.chunk + 1);
            if (pass.microbatch) picture.microbatches = std::max(picture.microbatches, pass.microbatch->value + 1);
        }
    }
    picture.window = pipelineWindow(picture.lanes);
    picture.times = meanPassTimes(picture.lanes);
    for (std::size_t i = 0; i < step.stages.size(); ++i) {
        const bool isPipeline = step.stages.size() > 1 && picture.window;
        picture.shares.push_back(isPipeline ? stageShares(picture.lanes[i], *picture.window,
                                                          Duration{std::llround(step.stages[i].busy * 1e9)})
                                            : std::nullopt);
    }
    return picture;
}

} // namespace fourwalls::views
