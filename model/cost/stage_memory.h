// SPDX-License-Identifier: Apache-2.0
// Peak memory of a rank of each stage, by term.
#pragma once

#include "model/cost/replica_groups.h"
#include "model/cost/step_cost.h"
#include "model/spec/framework_preset.h"
#include "model/spec/parallel_plan.h"
#include "model/trace/vocabulary.h"

#include <array>

namespace fourwalls::cost {

/// What a stage holds, before sharding over data parallelism.
struct StageContents {
    double parameters = 0;        ///< on this rank, experts left out
    double expertParameters = 0;  ///< on this rank
    double partialParameters = 0; ///< as in LayerCost
    double frozenParameters = 0;  ///< likewise
    double trained() const { return parameters - frozenParameters; }
    double largestLayer = 0;      ///< parameters of the largest unit that ZeRO-3 gathers at once
    double gatheredBytes = 2;     ///< of a gathered weight
    ReplicaGroups dense, experts; ///< ranks that hold the same parameters, of experts and others
};

/// The most (micro-batch, chunk) activations that a stage holds. Closed forms of the schedules in
/// model/spec/pipeline_schedule.h, which a test compares with their lists.
int mostInFlight(const PipelineShape& shape, int stage);

/// States of parameters: bytes per parameter by ZeRO stage 0..3, for w bytes of weights, g of gradients, s of optimizer
/// states. Source: arXiv:1910.02054, section 5.
MemoryTerms stateMemory(const StageContents& contents, const FrameworkPreset& framework, const ParallelPlan& plan,
                        double weightBytes);

/// All terms of one stage. cost: with kinds and shape filled.
MemoryTerms stageMemory(const StepCost& cost, int stage, const StageContents& contents,
                        const FrameworkPreset& framework, const ParallelPlan& plan, double weightBytes);

/// A buffer that a rank holds over the whole step.
struct StaticBuffer {
    const char* name = "";
    MemoryCategory category = MemoryCategory::Other;
    double bytes = 0;
};
/// Everything of a stage's memory that does not come and go with its passes.
std::array<StaticBuffer, 7> staticBuffers(const MemoryTerms& memory);

/// In how many equal steps the activations of a chunk climb through its forward and fall through its backward: one for
/// each of its layers, at its begin and at the end of its backward; fewer where a stage has so many passes in a step that
/// the passes themselves are the steps.
int activationSteps(const PipelineShape& shape, const ChunkCost& chunk);

} // namespace fourwalls::cost
