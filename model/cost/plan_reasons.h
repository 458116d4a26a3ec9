// SPDX-License-Identifier: Apache-2.0
// Why a search's best plan is the best: what the best plans with the next other degree, schedule or stage would cost.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"
#include "model/cost/predicted_step.h"

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::cost {

/// What a plan's text says of one part of it, as a number that orders its values: degrees themselves, words by their place.
struct PlanPart {
    const char* key; ///< as in a plan: "tp", "schedule"
    int (*valueOf)(const ParallelPlan& plan);
    std::string (*wordOf)(const ParallelPlan& plan);
    bool isOrdered; ///< only the values beside a plan's own are its neighbours; else all are
};

/// The parts that a search chooses, except for dp, which the others leave over.
std::span<const PlanPart> searchedParts();

inline constexpr std::size_t kPlanParts = 11; ///< parts of a plan that a reason can be of

/// Keeps the best plan with each value of each part, while a search prices one after another.
class BestByPart {
public:
    explicit BestByPart(SearchObjective objective) : m_objective(objective) {}

    void add(std::span<const SearchedPlan> plans);
    /// The best plans with another value of one part than `plan` has: the values beside it, or all without an order.
    struct Neighbour {
        const PlanPart* part = nullptr;
        SearchedPlan plan;
    };
    std::vector<Neighbour> neighboursOf(const ParallelPlan& plan) const;

private:
    SearchObjective m_objective;
    std::array<std::map<int, SearchedPlan>, kPlanParts> m_best; ///< by part, by value
};

/// Prices the neighbours and says what they cost more, in the order of the parts. Those that cannot be priced are left out.
/// found: what the search found, simulated, best first and at least one: a neighbour is no worse than those of them that
/// have its value. Errors: of predictFigures for the best plan.
Result<std::vector<PlanReason>> reasonsFor(std::span<const SearchedPlan> found, const BestByPart& seen,
                                           SearchObjective objective, const RunSpec& spec, CostModel& model);

} // namespace fourwalls::cost
