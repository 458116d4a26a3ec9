// SPDX-License-Identifier: Apache-2.0
// The drawable form of a simulated step: the one place where the simulation's parts and the cost model's memory terms
// become phases, activities and memory categories of a trace.
#pragma once

#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/spec/parallel_plan.h"
#include "model/trace/drawn_step.h"

namespace fourwalls::cost {

/// One lane per stage, everything modelled. cost: of `plan`. step: simulated from it in detail.
DrawnStep drawnStep(const ParallelPlan& plan, const StepCost& cost, const SimulatedStep& step);

} // namespace fourwalls::cost
