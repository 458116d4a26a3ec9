// SPDX-License-Identifier: Apache-2.0
// See drawn_prediction.h.
#include "model/cost/drawn_prediction.h"

#include "model/cost/stage_memory.h"
#include "model/spec/rank_layout.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::cost {

namespace {

Instant drawnInstant(double seconds)
{
    return {std::llround(seconds * 1e9)};
}

/// Less than a byte is nothing.
std::int64_t wholeBytes(double bytes)
{
    return bytes >= 1 ? std::llround(bytes) : 0;
}

std::optional<Microbatch> drawnMicrobatch(std::int32_t index)
{
    return index < 0 ? std::nullopt : std::optional(Microbatch{index});
}

struct DrawnWork {
    SliceKind kind = SliceKind::Phase;
    Phase phase = Phase::None;
    Activity activity = Activity::Compute;
};

DrawnWork drawnWorkOf(SimulatedPart part)
{
    switch (part) {
    case SimulatedPart::Fixed: return {SliceKind::Phase, Phase::None, Activity::Synchronisation};
    case SimulatedPart::Forward: return {SliceKind::Phase, Phase::Forward, Activity::Compute};
    case SimulatedPart::Recompute: return {SliceKind::Phase, Phase::Recompute, Activity::Compute};
    case SimulatedPart::BackwardInput: return {SliceKind::Phase, Phase::BackwardInput, Activity::Compute};
    case SimulatedPart::BackwardWeight: return {SliceKind::Phase, Phase::BackwardWeight, Activity::Compute};
    case SimulatedPart::Send: return {SliceKind::Collective, Phase::None, Activity::PipelineTransfer};
    case SimulatedPart::Receive: return {SliceKind::Wait, Phase::None, Activity::PipelineTransfer};
    case SimulatedPart::PipelineWait: return {SliceKind::Wait, Phase::None, Activity::PipelineWait};
    case SimulatedPart::GradientSync: return {SliceKind::Collective, Phase::GradientSync, Activity::Transfer};
    case SimulatedPart::OptimizerWait: return {SliceKind::Wait, Phase::Optimizer, Activity::Synchronisation};
    case SimulatedPart::Agreement: return {SliceKind::Collective, Phase::Optimizer, Activity::Transfer};
    case SimulatedPart::Optimizer: return {SliceKind::Phase, Phase::Optimizer, Activity::Compute};
    }
    return {};
}

void drawIntervals(DrawnLane& lane, const SimulatedStage& stage)
{
    lane.intervals.reserve(stage.intervals.size());
    for (const SimulatedInterval& each : stage.intervals) {
        const DrawnWork work = drawnWorkOf(each.part);
        lane.intervals.push_back({{drawnInstant(each.start), drawnInstant(each.end)},
                                  drawnMicrobatch(each.microbatch),
                                  each.position,
                                  work.kind,
                                  work.phase,
                                  work.activity,
                                  Provenance::Modelled});
    }
}

void drawTransfers(DrawnLane& lane, const SimulatedStage& stage, const StepCost& cost)
{
    lane.sent.reserve(stage.sent.size());
    for (const SimulatedTransfer& each : stage.sent) {
        const int boundary = std::min(each.what.fromPosition, each.what.toPosition);
        DrawnTransfer& transfer = lane.sent.emplace_back();
        transfer.range = {drawnInstant(each.start), drawnInstant(each.end)};
        transfer.microbatch = drawnMicrobatch(each.what.microbatch);
        transfer.phase = each.what.tensor == PipelineTensor::Activation ? Phase::Forward : Phase::BackwardInput;
        transfer.toLane = each.what.toStage;
        transfer.bytes = std::llround(cost.boundaries[static_cast<std::size_t>(boundary)].bytes);
    }
}

void drawMemory(DrawnLane& lane, const SimulatedStage& stage, const MemoryTerms& terms)
{
    CategoryBytes still{};
    for (const StaticBuffer& buffer : staticBuffers(terms))
        still[static_cast<std::size_t>(buffer.category)] += wholeBytes(buffer.bytes);
    lane.memory.reserve(stage.memory.size() * 3 / 2 + 8);
    for (std::size_t i = 0; i < still.size(); ++i)
        if (still[i] > 0) lane.memory.push_back({{}, static_cast<MemoryCategory>(i), still[i]});
    std::int64_t activations = 0, temporaries = 0;
    const auto change = [&lane](Instant at, MemoryCategory category, double bytes, std::int64_t& live) {
        const std::int64_t whole = wholeBytes(bytes);
        if (whole != live) lane.memory.push_back({at, category, whole});
        live = whole;
    };
    for (const SimulatedBytes& each : stage.memory) {
        const Instant at = drawnInstant(each.at);
        change(at, MemoryCategory::Activations, each.activations, activations);
        change(at, MemoryCategory::Temporaries, each.transient, temporaries);
    }
    lane.peakAt = drawnInstant(stage.peakAt);
    lane.peakBytes = std::llround(stage.peakBytes);
}

} // namespace

DrawnStep drawnStep(const ParallelPlan& plan, const StepCost& cost, const SimulatedStep& step)
{
    DrawnStep drawn;
    drawn.length = Duration{drawnInstant(step.seconds).ns};
    drawn.splitsBackward = cost.shape.splitsBackward();
    const RankLayout layout(plan);
    drawn.lanes.resize(step.stages.size());
    for (std::size_t i = 0; i < step.stages.size(); ++i) {
        const SimulatedStage& stage = step.stages[i];
        DrawnLane& lane = drawn.lanes[i];
        lane.stage = static_cast<int>(i);
        lane.rank = layout.onStage(RankId{0}, lane.stage);
        lane.multiplicity = plan.worldSize() / plan.pp;
        lane.step = {Instant{}, drawnInstant(stage.end)};
        lane.passesRange = {drawnInstant(stage.firstForward), drawnInstant(stage.lastBackward)};
        lane.busy = Duration{drawnInstant(stage.busy).ns};
        drawIntervals(lane, stage);
        drawTransfers(lane, stage, cost);
        drawMemory(lane, stage, cost.stages[i].memory);
        foldPasses(lane, drawn.splitsBackward);
    }
    return drawn;
}

} // namespace fourwalls::cost
