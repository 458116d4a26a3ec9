// SPDX-License-Identifier: Apache-2.0
// The action lists of the pipeline schedules.
#include "model/spec/pipeline_schedule.h"

#include "model/spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace fourwalls {

namespace {

using Actions = std::vector<PipelineAction>;
using enum PipelinePass;

constexpr std::int64_t kMostActions = 50'000'000;

Error impossible(const char* field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

/// Appends passes of one chunk, counting micro-batches up by itself. Micro-batches beyond the last one are left out,
/// so that a pattern made for many also serves few.
class ActionList {
public:
    /// passes: of a micro-batch through a chunk.
    ActionList(int microbatches, int chunks, int passes)
        : m_microbatches(microbatches)
        , m_next(static_cast<std::size_t>(chunks))
    {
        m_actions.reserve(m_next.size() * static_cast<std::size_t>(microbatches) * static_cast<std::size_t>(passes));
    }

    void add(PipelinePass pass, int chunk = 0)
    {
        int& next = m_next[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(pass)];
        if (next < m_microbatches) m_actions.push_back({pass, next, chunk});
        ++next;
    }
    int count(PipelinePass pass, int chunk = 0) const
    {
        return m_next[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(pass)];
    }
    Actions take() { return std::move(m_actions); }

private:
    int m_microbatches;
    std::vector<std::array<int, 4>> m_next;
    Actions m_actions;
};

Actions naive(int microbatches)
{
    ActionList list(microbatches, 1, 2);
    for (int i = 0; i < microbatches; ++i) {
        list.add(Forward);
        list.add(Backward);
    }
    return list.take();
}

Actions gpipe(int microbatches)
{
    ActionList list(microbatches, 1, 2);
    for (int i = 0; i < microbatches; ++i) list.add(Forward);
    for (int i = 0; i < microbatches; ++i) list.add(Backward);
    return list.take();
}

/// Warm-up forwards until the first gradient can be there, then one forward and one backward in turn.
Actions oneFOneB(int stages, int stage, int microbatches)
{
    ActionList list(microbatches, 1, 2);
    const int warmup = std::min(microbatches, stages - stage - 1);
    for (int i = 0; i < warmup; ++i) list.add(Forward);
    for (int i = warmup; i < microbatches; ++i) {
        list.add(Forward);
        list.add(Backward);
    }
    for (int i = 0; i < warmup; ++i) list.add(Backward);
    return list.take();
}

/// 1F1B over micro-batches of chunks: groups of `stages` micro-batches go through chunk 0, then chunk 1, …
Actions interleaved(const PipelineShape& shape, int stage)
{
    const int group = shape.stages * shape.chunks;
    const int total = shape.microbatches * shape.chunks;
    const auto action = [&](PipelinePass pass, int k) {
        const int chunk = k % group / shape.stages;
        return PipelineAction{pass, k / group * shape.stages + k % shape.stages,
                              pass == Forward ? chunk : shape.chunks - 1 - chunk};
    };
    Actions actions;
    actions.reserve(static_cast<std::size_t>(total) * 2);
    const int warmup = std::min(total, (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages);
    for (int k = 0; k < warmup; ++k) actions.push_back(action(Forward, k));
    for (int k = warmup; k < total; ++k) {
        actions.push_back(action(Forward, k));
        actions.push_back(action(Backward, k - warmup));
    }
    for (int k = total - warmup; k < total; ++k) actions.push_back(action(Backward, k));
    return actions;
}

/// Warm-up forwards, then forward, input gradient and a weight gradient that lags by `lag` micro-batches, so that all
/// stages hold equally many micro-batches and late weight gradients fill the waits of the cool-down.
Actions lateWeights(int warmup, int lag, int microbatches)
{
    ActionList list(microbatches, 1, 3);
    for (int i = 0; i < std::min(warmup, microbatches); ++i) list.add(Forward);
    for (int i = 0; i < microbatches; ++i) {
        // The forward comes before the gradient where the warm-up left room for one more micro-batch.
        list.add(BackwardInput);
        if (i >= lag) list.add(BackwardWeight);
        list.add(Forward);
    }
    while (list.count(BackwardWeight) < microbatches) list.add(BackwardWeight);
    return list.take();
}

/// The V: chunk 0 goes down the stages, chunk 1 comes back up, so that the last position is on stage 0 and every
/// stage holds 2 x stages chunk activations. The pattern is that of at least 2 x stages - 1 micro-batches.
Actions zeroBubbleV(int stages, int stage, int microbatches)
{
    ActionList list(microbatches, 2, 3);
    const int pattern = std::max(microbatches, 2 * stages - 1);
    const auto backward = [&list](int chunk) {
        list.add(BackwardInput, chunk);
        list.add(BackwardWeight, chunk);
    };
    for (int i = 0; i < 2 * (stages - stage) - 1; ++i) list.add(Forward, 0);
    for (int i = 0; i < stage; ++i) {
        list.add(Forward, 1);
        list.add(Forward, 0);
    }
    for (int i = 0; i < stages - stage; ++i) {
        list.add(Forward, 1);
        backward(1);
    }
    while (list.count(Forward, 1) < list.count(Forward, 0) || list.count(Forward, 0) < pattern) {
        if (list.count(Forward, 0) < pattern) list.add(Forward, 0);
        backward(0);
        list.add(Forward, 1);
        backward(1);
    }
    // Cool-down: late stages postpone weight gradients, because input gradients are what the others wait for.
    for (int i = 0; i < stage; ++i) {
        list.add(BackwardInput, 0);
        list.add(BackwardInput, 1);
    }
    for (int i = 0; i < stages - stage; ++i) {
        list.add(BackwardInput, 0);
        list.add(BackwardWeight, 0);
    }
    while (list.count(BackwardWeight, 1) < pattern) list.add(BackwardWeight, 1);
    while (list.count(BackwardWeight, 0) < pattern) list.add(BackwardWeight, 0);
    return list.take();
}

Actions actionsOf(const PipelineShape& shape, int stage)
{
    const int left = shape.stages - stage; // stages from this one to the last
    switch (shape.schedule) {
    case PipelineSchedule::Naive: return naive(shape.microbatches);
    case PipelineSchedule::GPipe: return gpipe(shape.microbatches);
    case PipelineSchedule::OneFOneB: return oneFOneB(shape.stages, stage, shape.microbatches);
    case PipelineSchedule::Interleaved: return interleaved(shape, stage);
    case PipelineSchedule::ZeroBubbleH1: return lateWeights(left, stage, shape.microbatches);
    case PipelineSchedule::ZeroBubble2p: return lateWeights(2 * left - 1, 2 * stage, shape.microbatches);
    case PipelineSchedule::ZeroBubbleV: return zeroBubbleV(shape.stages, stage, shape.microbatches);
    }
    return {};
}

} // namespace

int PipelineShape::positionOf(int stage, int chunk) const
{
    if (schedule == PipelineSchedule::ZeroBubbleV) return chunk == 0 ? stage : 2 * stages - 1 - stage;
    return chunk * stages + stage;
}

int PipelineShape::stageOf(int position) const
{
    if (schedule == PipelineSchedule::ZeroBubbleV) return position < stages ? position : 2 * stages - 1 - position;
    return position % stages;
}

int PipelineShape::chunkOf(int position) const
{
    return position / stages;
}

bool PipelineShape::splitsBackward() const
{
    return schedule == PipelineSchedule::ZeroBubbleH1 || schedule == PipelineSchedule::ZeroBubble2p ||
           schedule == PipelineSchedule::ZeroBubbleV;
}

std::optional<PipelineTransfer> PipelineShape::needs(int stage, const PipelineAction& action) const
{
    if (action.pass == BackwardWeight) return std::nullopt;
    const int to = positionOf(stage, action.chunk);
    const int from = action.pass == Forward ? to - 1 : to + 1;
    if (from < 0 || from >= positions()) return std::nullopt;
    return PipelineTransfer{action.pass == Forward ? PipelineTensor::Activation : PipelineTensor::Gradient,
                            action.microbatch,
                            from,
                            to,
                            stageOf(from),
                            stage};
}

std::optional<PipelineTransfer> PipelineShape::gives(int stage, const PipelineAction& action) const
{
    if (action.pass == BackwardWeight) return std::nullopt;
    const int from = positionOf(stage, action.chunk);
    const int to = action.pass == Forward ? from + 1 : from - 1;
    if (to < 0 || to >= positions()) return std::nullopt;
    return PipelineTransfer{action.pass == Forward ? PipelineTensor::Activation : PipelineTensor::Gradient,
                            action.microbatch,
                            from,
                            to,
                            stage,
                            stageOf(to)};
}

PipelineShape pipelineShape(const ParallelPlan& plan)
{
    const bool isV = plan.schedule == PipelineSchedule::ZeroBubbleV;
    return {plan.schedule, plan.pp, isV && plan.vpp == 1 ? 2 : plan.vpp, plan.microbatches};
}

void dropMisfittingStages(ParallelPlan& plan)
{
    if (pipelineShape(plan).positions() != static_cast<int>(plan.stageLayers.size())) plan.stageLayers.clear();
    if (plan.pp != static_cast<int>(plan.stageRecompute.size())) plan.stageRecompute.clear();
}

Status checkPipeline(const PipelineShape& shape)
{
    if (shape.stages < 1) return impossible("pp", "a pipeline needs at least one stage", "pp=1 or more");
    if (shape.microbatches < 1)
        return impossible("microbatches", "a step needs at least one micro-batch", "microbatches=1 or more");
    if (shape.chunks < 1) return impossible("vpp", "a stage needs at least one chunk", "vpp=1 or more");
    const auto schedule = [&shape] { return "schedule=" + std::string(name(shape.schedule)); };
    switch (shape.schedule) {
    case PipelineSchedule::Interleaved:
        if (shape.chunks < 2)
            return impossible("vpp", schedule() + " needs at least two virtual stages per rank", "vpp=2 or more");
        if (shape.microbatches % shape.stages != 0)
            return impossible(
                "microbatches",
                fmt::format("{} goes round in groups of pp={} micro-batches, which {} is not a multiple of", schedule(),
                            shape.stages, shape.microbatches),
                fmt::format("a multiple of {}", shape.stages));
        break;
    case PipelineSchedule::ZeroBubbleV:
        if (shape.chunks != 2)
            return impossible(
                "vpp", fmt::format("{} has two virtual stages per rank, not {}", schedule(), shape.chunks), "vpp=2");
        break;
    default:
        if (shape.chunks != 1)
            return impossible("schedule", fmt::format("{} has no virtual stages (vpp={})", schedule(), shape.chunks),
                              "schedule=interleaved");
    }
    return {};
}

Result<std::vector<std::vector<PipelineAction>>> pipelineActions(const PipelineShape& shape)
{
    FOURWALLS_TRY(checkPipeline(shape));
    const std::int64_t perStage = std::int64_t{shape.chunks} * shape.microbatches * (shape.splitsBackward() ? 3 : 2);
    if (perStage > kMostActions / shape.stages)
        return impossible("microbatches",
                          fmt::format("a pipeline of {} stages and {} micro-batches is too long to list", shape.stages,
                                      shape.microbatches),
                          "fewer micro-batches or stages");
    std::vector<Actions> byStage;
    byStage.reserve(static_cast<std::size_t>(shape.stages));
    for (int stage = 0; stage < shape.stages; ++stage) byStage.push_back(actionsOf(shape, stage));
    return byStage;
}

int mostInFlight(const std::vector<PipelineAction>& actions)
{
    int live = 0, most = 0;
    for (const PipelineAction& action : actions) {
        if (action.pass == Forward)
            most = std::max(most, ++live);
        else if (action.pass != BackwardInput)
            --live;
    }
    return most;
}

} // namespace fourwalls
