// SPDX-License-Identifier: Apache-2.0
// See plan_reasons.h.
#include "model/cost/plan_reasons.h"

#include "model/base/format.h"
#include "model/spec/names.h"
#include "model/trace/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fourwalls::cost {

namespace {

template <int ParallelPlan::*Degree>
constexpr PlanPart degree(const char* key)
{
    return {key, [](const ParallelPlan& plan) { return plan.*Degree; },
            [](const ParallelPlan& plan) { return std::to_string(plan.*Degree); }, true};
}

/// What differs by stage is a value of its own.
int recomputeValue(const ParallelPlan& plan)
{
    constexpr int kByStage = 3;
    return plan.stageRecompute.empty() ? static_cast<int>(plan.recompute) : kByStage;
}

std::string layersInWords(const ParallelPlan& plan)
{
    std::string text;
    for (const int each : plan.stageLayers) text += (text.empty() ? "" : ",") + std::to_string(each);
    return text.empty() ? "even" : text;
}

const PlanPart kParts[] = {
    degree<&ParallelPlan::tp>("tp"),
    degree<&ParallelPlan::pp>("pp"),
    degree<&ParallelPlan::cp>("cp"),
    degree<&ParallelPlan::ep>("ep"),
    degree<&ParallelPlan::vpp>("vpp"),
    degree<&ParallelPlan::microbatches>("microbatches"),
    degree<&ParallelPlan::zero>("zero"),
    {"recompute", recomputeValue, recomputeText, false},
    {"schedule", [](const ParallelPlan& plan) { return static_cast<int>(plan.schedule); },
     [](const ParallelPlan& plan) { return std::string(name(plan.schedule)); }, false},
    {"order", [](const ParallelPlan& plan) { return static_cast<int>(plan.order); },
     [](const ParallelPlan& plan) { return std::string(wordOf(kOrderWords, plan.order)); }, false},
    {"layers", [](const ParallelPlan& plan) { return static_cast<int>(!plan.stageLayers.empty()); }, layersInWords,
     false},
};
static_assert(std::size(kParts) == kPlanParts, "BestByPart has a map for each");

bool isBetter(const SearchedPlan& a, const SearchedPlan& b, SearchObjective objective)
{
    if (a.feasible != b.feasible) return a.feasible;
    if (!a.feasible) return a.peakBytes < b.peakBytes;
    return valueOf(a, objective) < valueOf(b, objective);
}

/// What differs most between two steps, in what the search made least: "+60 ms gradient_comm, -20 ms gemm". What is small
/// against the largest difference is left out.
std::string differences(const PredictedStep& best, const PredictedStep& other, SearchObjective objective)
{
    const bool memory = objective == SearchObjective::Memory;
    std::vector<std::pair<double, std::string_view>> parts;
    if (memory) {
        for (std::size_t i = 0; i < kMemoryCategoryCount; ++i)
            parts.emplace_back(other.peakByCategory[i] - best.peakByCategory[i], name(static_cast<MemoryCategory>(i)));
    } else {
        for (std::size_t i = 0; i < kCostParts; ++i)
            parts.emplace_back(other.parts.seconds[i] - best.parts.seconds[i], name(static_cast<CostPart>(i)));
        parts.emplace_back(other.waitSeconds - best.waitSeconds, "pipeline bubble and waits");
    }
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
    constexpr std::size_t kMost = 3;
    constexpr double kWorthSaying = 0.2; // of the largest
    std::string text;
    for (std::size_t i = 0; i < kMost; ++i) {
        const auto& [difference, part] = parts[i];
        if (difference == 0 || std::abs(difference) < kWorthSaying * std::abs(parts.front().first)) break;
        const double size = std::abs(difference);
        text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", difference > 0 ? "+" : "-",
                            memory ? formatBytes(size) : formatTime(Duration::fromSeconds(size)), part);
    }
    return text;
}

/// What is more or less.
const char* measureOf(SearchObjective objective)
{
    switch (objective) {
    case SearchObjective::Time: return "time";
    case SearchObjective::Memory: return "memory";
    case SearchObjective::Cost: return "device time";
    case SearchObjective::Energy: return "energy";
    }
    return "";
}

std::string changeInWords(double change, SearchObjective objective)
{
    constexpr double kNothing = 0.0005;
    if (std::abs(change) < kNothing) return "no difference";
    if (objective == SearchObjective::Time)
        return fmt::format("{:.1f} % {}", 100 * std::abs(change), change > 0 ? "slower" : "faster");
    return fmt::format("{:.1f} % {} {}", 100 * std::abs(change), change > 0 ? "more" : "less", measureOf(objective));
}

} // namespace

std::span<const PlanPart> searchedParts()
{
    return kParts;
}

void BestByPart::add(std::span<const SearchedPlan> plans)
{
    for (const SearchedPlan& plan : plans)
        for (std::size_t i = 0; i < std::size(kParts); ++i) {
            const auto [at, isNew] = m_best[i].try_emplace(kParts[i].valueOf(plan.plan), plan);
            if (!isNew && isBetter(plan, at->second, m_objective)) at->second = plan;
        }
}

std::vector<BestByPart::Neighbour> BestByPart::neighboursOf(const ParallelPlan& plan) const
{
    std::vector<Neighbour> list;
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
        const int own = kParts[i].valueOf(plan);
        const auto above = m_best[i].upper_bound(own), at = m_best[i].lower_bound(own);
        if (kParts[i].isOrdered) {
            if (at != m_best[i].begin()) list.push_back({&kParts[i], std::prev(at)->second});
            if (above != m_best[i].end()) list.push_back({&kParts[i], above->second});
            continue;
        }
        for (const auto& [value, best] : m_best[i])
            if (value != own) list.push_back({&kParts[i], best});
    }
    return list;
}

Result<std::vector<PlanReason>> reasonsFor(std::span<const SearchedPlan> found, const BestByPart& seen,
                                           SearchObjective objective, const RunSpec& spec, CostModel& model)
{
    const SearchedPlan& best = found.front();
    RunSpec each = spec;
    each.plan = best.plan;
    FOURWALLS_TRY_ASSIGN(const PredictedStep chosen, predictFigures(model, each));
    const auto searched = [](const PredictedStep& step) {
        return SearchedPlan{step.spec.plan, step.seconds, step.peakBytes, step.feasible, step.joules};
    };
    std::vector<PlanReason> reasons;
    for (const BestByPart::Neighbour& neighbour : seen.neighboursOf(best.plan)) {
        const PlanPart* part = neighbour.part;
        each.plan = neighbour.plan.plan;
        auto step = predictFigures(model, each);
        if (!step) continue;
        // A price in closed form may hide a plan that the simulation likes better.
        const SearchedPlan seenBest = searched(*step);
        const int value = part->valueOf(each.plan);
        const auto better = std::find_if(found.begin(), found.end(), [&](const SearchedPlan& plan) {
            return part->valueOf(plan.plan) == value && isBetter(plan, seenBest, objective);
        });
        if (better != found.end()) {
            each.plan = better->plan;
            auto other = predictFigures(model, each);
            if (other) step = std::move(other);
        }
        PlanReason reason;
        reason.key = part->key;
        reason.chosen = part->wordOf(best.plan);
        reason.instead = part->wordOf(step->spec.plan);
        reason.plan = step->spec.plan;
        reason.seconds = step->seconds;
        reason.peakBytes = step->peakBytes;
        reason.feasible = step->feasible;
        reason.change = valueOf(searched(*step), objective) / valueOf(searched(chosen), objective) - 1;
        if (!reason.feasible) {
            reason.sentence = fmt::format("does not fit: needs {} of {}", formatBytes(step->peakBytes),
                                          formatBytes(step->usableMemoryBytes));
        } else {
            reason.sentence = changeInWords(reason.change, objective);
            const std::string why = differences(chosen, *step, objective);
            if (!why.empty()) reason.sentence += " (" + why + ")";
        }
        reason.sentence += ", at best with " + formatPlan(reason.plan);
        reasons.push_back(std::move(reason));
    }
    return reasons;
}

} // namespace fourwalls::cost
