// SPDX-License-Identifier: Apache-2.0
// One prediction in full: the costs of a step, its simulation, the band around it, what dominates, and whether it fits.
#pragma once

#include "model/base/result.h"
#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/spec/run_spec.h"

#include <memory>
#include <string>

namespace fourwalls::cost {

struct PredictedStep {
    RunSpec spec; ///< resolved
    StepCost cost;
    SimulatedStep step;                     ///< in detail; its time is the prediction
    double lowSeconds = 0, highSeconds = 0; ///< the closed form's band around it
    PartSeconds parts;                      ///< mean seconds per stage and step, with the pipeline's transfers
    double waitSeconds = 0;                 ///< mean time per stage without work
    std::string dominantTerm;               ///< largest of the parts, or "bubble"
    double peakBytes = 0;                   ///< of the fullest stage
    int fullestStage = 0;
    bool feasible = true;
    std::string why; ///< a sentence: what fits, or what does not and by how much
};

/// Predicts one step under the spec's plan and batch. model: created for this spec.
/// Errors: those of CostModel::stepCost and the schedule, naming the field.
Result<PredictedStep> predictStep(CostModel& model, const RunSpec& spec);
/// The same with the framework that the spec names and the published calibration.
Result<PredictedStep> predictStep(const RunSpec& spec);

/// The operators of the passes of a prediction, from the model that made it, which must outlive the result.
OperatorsOfPass operatorsOf(CostModel& model, const PredictedStep& predicted);

/// The trace of a prediction, in memory. model: null for a few slices per pass, else every operator has its own.
Result<std::shared_ptr<const InMemoryTraceData>> traceOf(const PredictedStep& predicted, CostModel* model = nullptr);

/// The summaries and memory curves of that trace alone, without its slices and other records. Errors: as there.
Result<std::shared_ptr<const InMemoryTraceData>> summaryOf(const PredictedStep& predicted);

} // namespace fourwalls::cost
