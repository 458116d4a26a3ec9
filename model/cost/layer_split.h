// SPDX-License-Identifier: Apache-2.0
// What may differ from stage to stage of a pipeline, for the search: how many of the network's layers each holds, and what
// it recomputes.
#pragma once

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"

#include <optional>
#include <span>
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

/// What a search may choose by stage.
struct StageFreedom {
    bool layers = false;                  ///< how many each holds
    std::span<const Recompute> recompute; ///< what each may recompute, the quickest first; none: as the plan says
    bool isNone() const { return !layers && recompute.empty(); }
};

/// What the best choice for each stage could make of a plan.
struct SplitHope {
    SplitBound least;  ///< no choice needs less
    SplitBound likely; ///< of any split whose stages recompute as those of the even one must
};

/// even, prediction: as for boundOfSplits, where every stage recomputes the first that it may.
SplitHope hopeOf(CostModel& model, ParallelPlan plan, const StepCost& even, const Prediction& prediction,
                 const StageFreedom& freedom, SearchObjective objective);

/// Whether the schedule of a plan is short enough to simulate it for each split of its layers; else the closed form has to do.
bool isSimulatedQuickly(const ParallelPlan& plan);

/// Whether layers of this plan may be moved between stages: a pipeline whose stages hold one piece of a transformer each, in
/// a framework that can be told.
bool splitsFreely(const RunSpec& spec, const FrameworkPreset& framework, const ParallelPlan& plan);

/// A plan as the closed form prices it.
SearchedPlan pricedPlan(const StepCost& cost, const ParallelPlan& plan, const Prediction& prediction);

/// A plan as the simulation of its schedule prices it; nothing where it cannot be simulated.
std::optional<SearchedPlan> simulatedPlan(const StepCost& cost, const ParallelPlan& plan);

/// The plan with the stages that are best under `objective`: layers are moved from the stage that is slowest (or
/// fullest, while it does not fit) to others as long as that makes it better, and for each split every stage recomputes as
/// little as fits. The plan as it is where none is better. Short schedules are simulated: the closed form does not know in
/// which order stages wait for each other. even: a priced plan that names no split. Without any freedom it is only priced so.
/// priced: gets the other plans that were looked at.
SearchedPlan bestSplit(CostModel& model, const SearchedPlan& even, const StageFreedom& freedom,
                       SearchObjective objective, std::vector<SearchedPlan>& priced);

} // namespace fourwalls::cost
