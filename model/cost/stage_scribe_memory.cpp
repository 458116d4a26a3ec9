// SPDX-License-Identifier: Apache-2.0
// Buffers of one stage.
#include "model/cost/stage_scribe.h"

#include "model/cost/stage_memory.h"

#include <cmath>
#include <map>

namespace fourwalls::cost {

void StageScribe::allocate(const char* what, Phase phase, MemoryCategory category, double bytes, double from,
                           double until, std::int32_t microbatch)
{
    if (!(bytes >= 1)) return;
    AllocationRecord record;
    record.id = AllocationId{m_nextAllocation++};
    record.at = instantOf(from);
    record.bytes = std::llround(bytes);
    record.category = category;
    record.op = plainOp(what, SliceKind::Operator, phase, Activity::None);
    record.microbatch = microbatchOf(microbatch);
    m_producer.allocated(m_rank, record);
    if (until >= 0) m_producer.freed(m_rank, record.id, instantOf(until));
}

void StageScribe::writeStaticMemory()
{
    const MemoryTerms& memory = m_cost.stages[static_cast<std::size_t>(m_index)].memory;
    constexpr double kStays = -1;
    const auto add = [&](const char* what, MemoryCategory category, double bytes) {
        allocate(what, Phase::Setup, category, bytes, 0, kStays, -1);
    };
    add("weights", MemoryCategory::Weights, memory.weights);
    add("gradients", MemoryCategory::Gradients, memory.gradients);
    add("optimizer state", MemoryCategory::OptimizerState, memory.optimizer);
    add("communication buffers", MemoryCategory::CommBuffers, memory.communication);
    add("buffers of the collective library", MemoryCategory::CommBuffers, memory.library);
    add("context of the device", MemoryCategory::Other, memory.context);
    add("slack of the allocator", MemoryCategory::Other, memory.slack);
    if (m_cost.usableMemoryBytes > 0 && m_stage.peakBytes > m_cost.usableMemoryBytes)
        m_producer.event({EventKind::OutOfMemory, m_rank, instantOf(m_stage.peakAt),
                          "the predicted peak is above what the device can hold"});
}

void StageScribe::writeActivations()
{
    struct Passes {
        double forwardBegin = 0, forwardEnd = 0, backwardBegin = -1;
    };
    std::map<std::pair<std::int32_t, std::int32_t>, Passes> begun; // (position, micro-batch)
    for (const SimulatedInterval& interval : m_stage.intervals) {
        const ChunkCost* chunk = interval.position >= 0 ? &m_cost.chunk(interval.position) : nullptr;
        const auto key = std::pair(interval.position, interval.microbatch);
        const bool isSplit = m_cost.shape.splitsBackward();
        const bool isBackward =
            interval.part == SimulatedPart::Recompute || interval.part == SimulatedPart::BackwardInput;
        if (interval.part == SimulatedPart::Forward) begun.emplace(key, Passes{interval.start, interval.end, -1});
        const auto found = begun.find(key);
        if (found == begun.end()) continue;
        Passes& of = found->second;
        if ((isBackward || interval.part == SimulatedPart::BackwardWeight) && of.backwardBegin < 0)
            of.backwardBegin = interval.start;
        // What the first layer kept is the last to go.
        const auto release = [&](double bytes, double from) {
            const int steps = activationSteps(m_cost.shape, *chunk);
            for (int i = 0; i < steps; ++i) {
                const double size = std::round(bytes * (i + 1) / steps) - std::round(bytes * i / steps);
                allocate("activations", Phase::Forward, MemoryCategory::Activations, size,
                         of.forwardBegin + (of.forwardEnd - of.forwardBegin) * i / steps,
                         from + (interval.end - from) * (steps - i) / steps, interval.microbatch);
            }
        };
        if (interval.part == SimulatedPart::BackwardInput && isSplit)
            release(chunk->activationBytes - chunk->weightGradientBytes, of.backwardBegin);
        if (interval.part == SimulatedPart::BackwardWeight)
            release(isSplit ? chunk->weightGradientBytes : chunk->activationBytes,
                    isSplit ? interval.start : of.backwardBegin);
    }
}

} // namespace fourwalls::cost
