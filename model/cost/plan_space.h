// SPDX-License-Identifier: Apache-2.0
// The combinations that a plan search looks at, in families of equal degrees.
#pragma once

#include "model/cost/plan_search.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace fourwalls::cost {

/// The divisors of a positive number, ascending.
std::vector<int> divisorsOf(std::int64_t number);

/// Plans of equal dp, tp, pp, cp and ep; the rest of the plan varies inside.
struct PlanFamily {
    ParallelPlan degrees;
};

/// Families of a number of devices; also of the numbers that divide it where the objective may use fewer. Degrees that cannot divide
/// the network are left out; `considered` counts them too.
std::vector<PlanFamily> planFamilies(const RunSpec& spec, const FrameworkPreset& framework,
                                     const SearchOptions& options, std::int64_t& considered);

/// Visits the plans of a family in an order in which neighbours share layer shapes. Of plans that are the same
/// computation in this framework only the simplest is visited. visit returns false to stop.
void visitPlans(const RunSpec& spec, const FrameworkPreset& framework, const PlanFamily& family, bool offloadOptimizer,
                const std::function<bool(const ParallelPlan&)>& visit);

/// What a layer can recompute in this framework, the quickest first. Selective recomputation is left out where it
/// recomputes nothing: fused attention keeps nothing that could be.
std::vector<Recompute> recomputeChoices(const RunSpec& spec, const FrameworkPreset& framework);

/// A lower bound of the states (weights, gradients, optimizer) that a rank holds [bytes], without building anything.
double leastStateBytes(double parameters, double expertParameters, const FrameworkPreset& framework,
                       const ParallelPlan& plan);

} // namespace fourwalls::cost
