// SPDX-License-Identifier: Apache-2.0
// A step's time, memory and traffic in closed form: the slowest stage at work, the pipeline's fill and drain by
// schedule, and what happens once per step. Quick enough to be asked thousands of times per second; a test bounds its
// difference from the simulation.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_parts.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::cost {

class CostModel;
struct StepCost;

struct Prediction {
    double seconds = 0, low = 0, high = 0; ///< of a step, with its band
    double bubbleSeconds = 0;              ///< of the slowest stage: fill and drain, and waiting for longer documents
    PartSeconds parts;                     ///< of the slowest stage; with the bubble they add up to the step
    CostPart dominant = CostPart::Gemm;    ///< the part that takes most of the step
    bool bubbleDominates = false;          ///< waiting for the pipeline takes more than any part
    double tokensPerSecond = 0;
    double mfu = 0;               ///< 0: the peak is unknown
    double wireBytes = 0;         ///< sent by the busiest rank in one step
    double peakBytes = 0;         ///< of the stage that fills its device most, everything counted
    double peakReservedBytes = 0; ///< of it, what an allocator reports as reserved
    int peakStage = 0;
    bool feasible = true; ///< peakBytes fits the device
};

/// Between which factors of what is believed times of one kind lie.
struct RateBand {
    double low = 1, high = 1;
};
RateBand rateBandOf(RateKind kind, const Calibration& calibration);
/// Half of the whole step's band in the logarithm; 0: by parts. narrow: linear layers are computed in 8 bits or less.
double bandWidth(const RunSpec& spec, const ParallelPlan& plan, const Calibration& calibration, bool narrow);

/// Errors cannot happen: `cost` comes from CostModel. Sources of the bubbles: docs/metrics.md, "bubble_fraction".
Prediction closedForm(const StepCost& cost, const Calibration& calibration);
/// The same of a plan and a batch (samples of the whole job). Errors: those of CostModel::stepCost.
Result<Prediction> closedForm(CostModel& model, const ParallelPlan& plan, std::int64_t batch);

/// Work of each stage for one micro-batch, through all its chunks and both ways [s].
std::vector<double> stageSeconds(const StepCost& cost);

/// Why a prediction does not fit, or empty: names the stage and the largest term.
std::string whyInfeasible(const StepCost& cost, const Prediction& prediction);

} // namespace fourwalls::cost
