// SPDX-License-Identifier: Apache-2.0
// Buffers of one stage.
#include "model/cost/stage_scribe.h"

#include "model/cost/stage_memory.h"

#include <cmath>
#include <map>

namespace fourwalls::cost {

void StageScribe::allocate(const char* what, Phase phase, MemoryCategory category, double bytes, Instant from,
                           std::optional<Instant> until, std::optional<Microbatch> microbatch)
{
    if (!(bytes >= 1)) return;
    AllocationRecord record;
    record.id = AllocationId{m_nextAllocation++};
    record.at = from;
    record.bytes = std::llround(bytes);
    record.category = category;
    record.op = plainOp(what, SliceKind::Operator, phase, Activity::None);
    record.microbatch = microbatch;
    m_producer.allocated(m_rank, record);
    if (until) m_producer.freed(m_rank, record.id, *until);
}

void StageScribe::writeStaticMemory()
{
    const StageCost& stage = m_cost.stages[static_cast<std::size_t>(m_lane.stage)];
    for (const StaticBuffer& buffer : staticBuffers(stage.memory))
        allocate(buffer.name, Phase::Setup, buffer.category, buffer.bytes, Instant{}, std::nullopt, std::nullopt);
    if (!stage.fits(static_cast<double>(m_lane.peakBytes)))
        m_producer.event(
            {EventKind::OutOfMemory, m_rank, m_lane.peakAt, "the predicted peak is above what the device can hold"});
}

void StageScribe::writeActivations()
{
    struct Passes {
        TimeRange forward;
        std::optional<Instant> backwardBegin;
    };
    std::map<std::pair<std::int32_t, std::optional<Microbatch>>, Passes> begun; // (position, micro-batch)
    const bool isSplit = m_cost.shape.splitsBackward();
    for (const DrawnInterval& interval : m_lane.intervals) {
        if (!isPass(interval)) continue;
        const ChunkCost& chunk = m_cost.chunk(interval.position);
        const auto key = std::pair(interval.position, interval.microbatch);
        if (interval.phase == Phase::Forward) {
            begun.emplace(key, Passes{interval.range, std::nullopt});
            continue;
        }
        const auto found = begun.find(key);
        if (found == begun.end()) continue;
        Passes& of = found->second;
        if (!of.backwardBegin) of.backwardBegin = interval.range.begin;
        // What the first layer kept is the last to go.
        const auto release = [&](double bytes, Instant from) {
            const int steps = activationSteps(m_cost.shape, chunk);
            const auto part = [steps](TimeRange range, int i) {
                return range.begin + durationOf(range.length().seconds() * i / steps);
            };
            for (int i = 0; i < steps; ++i) {
                const double size = std::round(bytes * (i + 1) / steps) - std::round(bytes * i / steps);
                allocate("activations", Phase::Forward, MemoryCategory::Activations, size, part(of.forward, i),
                         part({from, interval.range.end}, steps - i), interval.microbatch);
            }
        };
        if (interval.phase == Phase::BackwardInput && isSplit)
            release(chunk.activationBytes - chunk.weightGradientBytes, *of.backwardBegin);
        if (interval.phase == Phase::BackwardWeight)
            release(isSplit ? chunk.weightGradientBytes : chunk.activationBytes,
                    isSplit ? interval.range.begin : *of.backwardBegin);
    }
}

} // namespace fourwalls::cost
