// SPDX-License-Identifier: Apache-2.0
// The changes of a plan that the cost model predicts would help most: every neighbour of the plan that differs in one
// decision is simulated, and those that fit and are quicker are ranked.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_model.h"
#include "model/spec/run_spec.h"

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

namespace fourwalls::compare {

/// The decision in which a suggestion differs.
enum class PlanChange {
    Microbatches, ///< more or fewer of them, batch kept
    Recomputation,
    Sharding,      ///< ZeRO stage
    TensorAndData, ///< devices move between tensor and data parallelism
    PipelineAndData,
    TensorAndPipeline,
    ContextAndData,
    SequenceParallel,
    Schedule, ///< of the pipeline, with its chunks
    Overlap,
    Fusion,
    FusedAttention,
    Offload
};

struct PlanSuggestion {
    PlanChange change = PlanChange::Microbatches;
    ParallelPlan plan;
    double seconds = 0, peakBytes = 0; ///< predicted
    double timeChange = 0;             ///< seconds against the plan as it is: -0.12 is 12 % quicker
    double memoryChange = 0;           ///< bytes against the plan as it is
};

struct PlanSuggestions {
    double seconds = 0, peakBytes = 0; ///< predicted for the plan as it is
    double usableBytes = 0;            ///< of a device; 0 unknown
    bool feasible = true;              ///< whether that fits into memory
    std::vector<PlanSuggestion> best;  ///< quickest first, one per kind of change; all of them fit
    int evaluated = 0;                 ///< neighbours that could be predicted
    int tooLarge = 0;                  ///< of them: quicker, but do not fit into memory
};

/// A change that saves less than this share of the step is not worth suggesting (the model is no more exact).
inline constexpr double kLeastGain = 0.01;

/// The plans that differ in one decision, with that decision; not checked against the network.
std::vector<std::pair<PlanChange, ParallelPlan>> neighbours(const RunSpec& spec);

/// Evaluates the neighbours of spec.plan on its number of devices. model: made for this spec. limit: suggestions
/// wanted. Where the plan itself does not fit, the quickest neighbours that do are returned, even if they are slower.
/// Errors: those of the prediction of the plan itself; Cancelled.
Result<PlanSuggestions> suggestChanges(cost::CostModel& model, const RunSpec& spec, std::size_t limit,
                                       std::stop_token stop = {});

} // namespace fourwalls::compare
