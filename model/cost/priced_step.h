// SPDX-License-Identifier: Apache-2.0
// What a prediction was made of: the costs of the step's parts and their simulation. Only what writes traces and tells
// details reads it; the figures and the drawable form of a prediction are in predicted_step.h.
#pragma once

#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"

namespace fourwalls::cost {

struct PricedStep {
    StepCost cost;
    SimulatedStep step; ///< without intervals, transfers and memory: those are in PredictedStep::drawn
};

} // namespace fourwalls::cost
