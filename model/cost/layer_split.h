// SPDX-License-Identifier: Apache-2.0
// Uneven splits of a network's layers over a pipeline: the one under which a plan is best, for the search.
#pragma once

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"

#include <optional>
#include <vector>

namespace fourwalls::cost {

/// What a plan needs at least, however its layers are split over its stages.
struct SplitBound {
    double seconds = 0, peakBytes = 0, joules = 0;
};

/// even: costs of the plan with its layers shared out by the framework's rule, a layer or more on each stage;
/// prediction: closedForm of them. As any split has a stage with no fewer layers than here, none needs less memory than
/// the stage that needs least here; and none is quicker than stages that all work equally long. Moving layers changes what
/// the optimizer takes; the energy of it is left out.
SplitBound boundOfSplits(const StepCost& even, const Prediction& prediction);

/// Whether the schedule of a plan is short enough to simulate it for each split of its layers; else the closed form has to do.
bool isSimulatedQuickly(const ParallelPlan& plan);

/// Whether layers of this plan may be moved between stages: a pipeline whose stages hold one piece of a transformer each, in
/// a framework that can be told.
bool splitsFreely(const RunSpec& spec, const FrameworkPreset& framework, const ParallelPlan& plan);

/// A plan as the closed form prices it.
SearchedPlan pricedPlan(const StepCost& cost, const ParallelPlan& plan, const Prediction& prediction);

/// A plan as the simulation of its schedule prices it; nothing where it cannot be simulated.
std::optional<SearchedPlan> simulatedPlan(const StepCost& cost, const ParallelPlan& plan);

/// The plan with the split that is best under `objective`: single layers are moved from the stage that is slowest (or
/// fullest, while it does not fit) to others as long as that makes it better. The plan as it is where none is better.
/// Short schedules are simulated: the closed form does not know in which order stages wait for each other. even: a priced plan that names no split. mayMove: false
/// only prices it so. priced: gets every split that was looked at.
SearchedPlan bestSplit(CostModel& model, const SearchedPlan& even, bool mayMove, SearchObjective objective,
                       std::vector<SearchedPlan>& priced);

} // namespace fourwalls::cost
