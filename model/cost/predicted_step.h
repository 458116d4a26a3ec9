// SPDX-License-Identifier: Apache-2.0
// One prediction in full: its figures, the band around it, what dominates, whether it fits, and its drawable form.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_parts.h"
#include "model/spec/run_spec.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"

#include <array>
#include <memory>
#include <string>

namespace fourwalls::cost {

class CostModel;
struct PricedStep;

struct PredictedStep {
    RunSpec spec;                           ///< resolved
    double seconds = 0;                     ///< of the step, as simulated
    double lowSeconds = 0, highSeconds = 0; ///< the closed form's band around it
    double bubbleFraction = 0;              ///< mean over the stages, as docs/metrics.md defines it
    PartSeconds parts;                      ///< mean seconds per stage and step, with the pipeline's transfers
    double waitSeconds = 0;                 ///< mean time per stage without work
    std::string dominantTerm;               ///< largest of the parts, or "bubble"
    double tokensPerStep = 0;               ///< or samples, for models without a sequence
    double modelFlopsPerStep = 0;           ///< of the whole job
    double peakFlops = 0;                   ///< of one device in the precision that runs [FLOP/s]; 0 unknown
    int devices = 1;
    double joules = 0;    ///< of all devices in the step (energyOf); 0 unknown
    double timeScale = 1; ///< that all times of the model were multiplied by
    double peakBytes = 0; ///< of the stage that fills its device most
    int fullestStage = 0;
    std::array<double, kMemoryCategoryCount> peakByCategory{}; ///< they add up to peakBytes
    double usableMemoryBytes = 0;                              ///< of that stage's device; 0 unknown
    bool feasible = true;
    std::string why; ///< a sentence: what fits, or what does not and by how much
    DrawnStep drawn;
    std::shared_ptr<const PricedStep> priced; ///< what all of this comes from; never null
};

/// Predicts one step under the spec's plan and batch. model: created for this spec. timeScale: on all times, for a step that
/// is known to be that much slower than the model says.
/// Errors: those of CostModel::stepCost and the schedule, naming the field.
Result<PredictedStep> predictStep(CostModel& model, const RunSpec& spec, double timeScale = 1);
/// The same with the framework that the spec names and the published calibration.
Result<PredictedStep> predictStep(const RunSpec& spec);
/// Its figures alone: `drawn` stays empty. Of long schedules drawing is most of the work.
Result<PredictedStep> predictFigures(CostModel& model, const RunSpec& spec);

/// The trace of a prediction, in memory. model: null for a few slices per pass, else every operator has its own.
Result<std::shared_ptr<const InMemoryTraceData>> traceOf(const PredictedStep& predicted, CostModel* model = nullptr);

/// The summaries and memory curves of that trace alone, without its slices and other records. Errors: as there.
Result<std::shared_ptr<const InMemoryTraceData>> summaryOf(const PredictedStep& predicted);

} // namespace fourwalls::cost
