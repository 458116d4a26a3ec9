// SPDX-License-Identifier: Apache-2.0
// See stage_memory.h.
#include "model/cost/stage_memory.h"

#include <algorithm>

namespace fourwalls::cost {

int mostInFlight(const PipelineShape& shape, int stage)
{
    const int p = shape.stages, m = shape.microbatches, v = shape.chunks;
    switch (shape.schedule) {
    case PipelineSchedule::Naive: return v;
    case PipelineSchedule::GPipe: return m * v;
    case PipelineSchedule::OneFOneB: return std::min(m, p - stage);
    case PipelineSchedule::ZeroBubbleH1: return std::min(m, p);
    case PipelineSchedule::ZeroBubble2p: return std::min(m, 2 * p - 1);
    case PipelineSchedule::ZeroBubbleV: return std::min(m * v, 2 * p);
    case PipelineSchedule::Interleaved:
        if (v == 1) return std::min(m, p - stage);
        return std::min(m * v, (p - stage - 1) * 2 + (v - 1) * p + 1);
    }
    return m * v;
}

std::array<StaticBuffer, 7> staticBuffers(const MemoryTerms& memory)
{
    return {{{"weights", MemoryCategory::Weights, memory.weights},
             {"gradients", MemoryCategory::Gradients, memory.gradients},
             {"optimizer state", MemoryCategory::OptimizerState, memory.optimizer},
             {"communication buffers", MemoryCategory::CommBuffers, memory.communication},
             {"buffers of the collective library", MemoryCategory::CommBuffers, memory.library},
             {"context of the device", MemoryCategory::Other, memory.context},
             {"slack of the allocator", MemoryCategory::Other, memory.slack}}};
}

int activationSteps(const PipelineShape& shape, const ChunkCost& chunk)
{
    constexpr std::int64_t kMost = 128; // of a stage
    const std::int64_t passes = std::int64_t{shape.microbatches} * shape.chunks;
    return static_cast<int>(std::clamp<std::int64_t>(kMost / passes, 1, std::max<std::int64_t>(1, chunk.layers)));
}

MemoryTerms stateMemory(const StageContents& contents, const FrameworkPreset& framework, const ParallelPlan& plan,
                        double weightBytes)
{
    const bool shardStates = plan.zero >= 1 || framework.shardOptimizer;
    MemoryTerms memory;
    const auto add = [&](double parameters, double trained, double shards) {
        // Where they are reduced once a step, whole ones add up until then.
        const bool cut = plan.zero >= 3 || (plan.zero == 2 && !(framework.reducesOnce && plan.pp > 1));
        const double states = shardStates ? shards : 1, gradients = cut ? shards : 1;
        const double weights = plan.zero >= 3 ? shards : 1;
        memory.weights += weightBytes * parameters / weights;
        memory.gradients += framework.gradientBytes * trained / gradients;
        memory.optimizer += framework.stateBytes * trained / states;
    };
    add(contents.parameters, contents.trained(), contents.dense.shards());
    add(contents.expertParameters, contents.expertParameters, contents.experts.shards());
    if (plan.offloadOptimizer) memory.optimizer = 0;
    if (plan.offloadParameters) memory.weights = std::min(memory.weights, 2 * weightBytes * contents.largestLayer);
    return memory;
}

MemoryTerms stageMemory(const StepCost& cost, int stage, const StageContents& contents,
                        const FrameworkPreset& framework, const ParallelPlan& plan, double weightBytes)
{
    MemoryTerms memory = stateMemory(contents, framework, plan, weightBytes);
    const PipelineShape& shape = cost.shape;
    // Activations in flight, spread over the chunks: the lower ones are filled first.
    const int inFlight = mostInFlight(shape, stage);
    double working = 0, head = 0;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        const ChunkCost& kind = cost.chunk(shape.positionOf(stage, chunk));
        const int held = inFlight / shape.chunks + (chunk < inFlight % shape.chunks ? 1 : 0);
        memory.activations += kind.activationBytes * held;
        const double own = std::max(kind.transientForwardBytes, kind.transientBackwardBytes);
        if (kind.holdsHead)
            head = std::max(head, own);
        else
            working = std::max(working, own);
    }
    memory.logits = head;
    memory.transient = head > 0 ? 0 : working;

    // Gathered weights of the layer at work and the next, and their gradient before it is scattered.
    const bool perPass = shape.stages == 1 || framework.gathersEachPass;
    const double all = contents.parameters + contents.expertParameters;
    if (plan.zero >= 3 && perPass && contents.dense.shards() > 1)
        memory.communication += contents.gatheredBytes * (plan.reshard ? 2 * contents.largestLayer : all) +
                                framework.reduceBytes * contents.largestLayer;
    // With a pipeline the weights stay gathered and the gradients whole through the step (see step_traffic.h).
    if (plan.zero >= 3 && !perPass && contents.dense.shards() > 1)
        memory.communication += (contents.gatheredBytes + framework.reduceBytes) * all;
    const double messages = framework.freesAtOnce ? 1 : 4; // at once on their way
    if (shape.stages > 1) memory.communication += messages * cost.boundaries.front().bytes;
    // Whole gradients of two buckets while they are reduced into shards.
    if (plan.zero == 2 && framework.freesAtOnce && contents.dense.shards() > 1) {
        constexpr double kBucketBytes = 4 << 20;
        const double underWay = std::min(framework.gradientBytes * all,
                                         2 * std::max(kBucketBytes, framework.gradientBytes * contents.largestLayer));
        // From the second micro-batch on a reduced share is added to what is there already.
        memory.communication += underWay * (1 + (shape.microbatches > 1 ? 1.0 / contents.dense.shards() : 0));
    }
    memory.library = framework.libraryBytes;
    memory.context = framework.contextBytes;
    memory.slack = framework.slackFraction * memory.allocated();
    return memory;
}

} // namespace fourwalls::cost
