// SPDX-License-Identifier: Apache-2.0
// See step_energy.h.
#include "model/cost/step_energy.h"

#include <vector>

namespace fourwalls::cost {

namespace {

/// Of one micro-batch through a position [s].
double computingOf(const ChunkCost& chunk)
{
    double seconds = 0;
    for (const PassCost* pass : {&chunk.forward, &chunk.recompute, &chunk.backwardInput, &chunk.backwardWeight})
        for (const CostPart part : {CostPart::Gemm, CostPart::Attention, CostPart::MemoryBound, CostPart::Contention})
            seconds += pass->parts[part];
    return seconds;
}

} // namespace

ComputingSeconds computingSeconds(const StepCost& cost)
{
    std::vector<double> ofKinds;
    ofKinds.reserve(cost.kinds.size());
    for (const ChunkCost& kind : cost.kinds) ofKinds.push_back(computingOf(kind));
    ComputingSeconds sum;
    for (const std::uint32_t kind : cost.kindOfPosition) sum.passes += ofKinds[kind];
    sum.passes *= cost.shape.microbatches;
    for (const StageCost& stage : cost.stages) sum.optimizer += stage.optimizerSeconds;
    return sum;
}

double energyOf(const StepCost& cost, double seconds, double computing)
{
    const double stages = cost.shape.stages, ranksPerStage = cost.devices / stages;
    return cost.deviceWatts * ranksPerStage * (kWaitingPower * seconds * stages + (1 - kWaitingPower) * computing);
}

double energyOf(const StepCost& cost, double seconds)
{
    const ComputingSeconds computing = computingSeconds(cost);
    return energyOf(cost, seconds, computing.passes + computing.optimizer);
}

} // namespace fourwalls::cost
