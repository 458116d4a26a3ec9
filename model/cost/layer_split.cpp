// SPDX-License-Identifier: Apache-2.0
// See layer_split.h.
#include "model/cost/layer_split.h"

#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/cost/step_energy.h"
#include "model/spec/pipeline_schedule.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace fourwalls::cost {

namespace {

/// A split with its price, and what it makes of each stage.
struct PricedSplit {
    SearchedPlan plan;
    double value = 0;                       ///< what is made least: the objective's, or the peak while it does not fit
    std::vector<int> layers;                ///< by stage
    std::vector<std::uint32_t> kinds;       ///< by stage: equal ones cost the same
    std::vector<double> seconds, bytes;     ///< by stage: of a micro-batch; at the peak
    std::vector<double> exposed, optimizer; ///< by stage, once per step
    std::vector<double> loads;              ///< what should become even, largest first

    /// Fewer and smaller loads are better where the values are equal: several stages may be slowest together.
    bool isBetterThan(const PricedSplit& other) const
    {
        return std::tie(other.plan.feasible, value, loads) < std::tie(plan.feasible, other.value, other.loads);
    }
};

std::size_t largest(const std::vector<double>& values)
{
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::optional<PricedSplit> priceSplit(CostModel& model, const ParallelPlan& plan, SearchObjective objective)
{
    const auto cost = model.stepCost(plan);
    if (!cost) return std::nullopt;
    PricedSplit split;
    if (isSimulatedQuickly(plan)) {
        const auto simulated = simulatedPlan(*cost, plan);
        if (!simulated) return std::nullopt;
        split.plan = *simulated;
    } else {
        split.plan = pricedPlan(*cost, plan, closedForm(*cost, model.calibration()));
    }
    split.value = split.plan.feasible ? valueOf(split.plan, objective) : split.plan.peakBytes;
    split.seconds = stageSeconds(*cost);
    for (std::size_t i = 0; i < cost->stages.size(); ++i) {
        const int stage = static_cast<int>(i);
        split.layers.push_back(static_cast<int>(cost->chunk(stage).layers));
        split.kinds.push_back(cost->kindOfPosition[i]);
        split.bytes.push_back(cost->stages[i].memory.total());
        split.exposed.push_back(cost->stages[i].gradientCommExposed);
        split.optimizer.push_back(cost->stages[i].optimizerSeconds);
    }
    const bool byMemory = !split.plan.feasible || objective == SearchObjective::Memory;
    split.loads = byMemory ? split.bytes : split.seconds;
    std::sort(split.loads.begin(), split.loads.end(), std::greater<>());
    return split;
}

/// Where a layer could come from: the slowest stage, or the fullest.
std::vector<std::size_t> sourcesOf(const PricedSplit& split, SearchObjective objective)
{
    if (!split.plan.feasible || objective == SearchObjective::Memory) return {largest(split.bytes)};
    std::vector<std::size_t> sources;
    for (const std::vector<double>* each : {&split.seconds, &split.exposed, &split.optimizer})
        if (std::find(sources.begin(), sources.end(), largest(*each)) == sources.end())
            sources.push_back(largest(*each));
    return sources;
}

/// Where a layer could go: of stages that cost the same, the one with the most memory left.
std::vector<std::size_t> targetsOf(const PricedSplit& split, std::size_t source)
{
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < split.layers.size(); ++i) {
        if (i == source) continue;
        const auto same = std::find_if(targets.begin(), targets.end(),
                                       [&](std::size_t t) { return split.kinds[t] == split.kinds[i]; });
        if (same == targets.end())
            targets.push_back(i);
        else if (split.bytes[i] < split.bytes[*same])
            *same = i;
    }
    return targets;
}

using Moves = std::vector<std::pair<std::size_t, std::size_t>>; ///< of a layer, from a stage to a stage

Moves hopefulMoves(const PricedSplit& split, SearchObjective objective)
{
    Moves moves;
    for (const std::size_t source : sourcesOf(split, objective))
        for (const std::size_t target : targetsOf(split, source)) moves.emplace_back(source, target);
    return moves;
}

/// How long stages wait for each other depends on their order, too; all moves are tried while they are few.
Moves allMoves(const PricedSplit& split)
{
    constexpr std::size_t kFewStages = 8;
    const std::size_t stages = split.layers.size();
    Moves moves;
    const bool areFew = stages <= kFewStages && isSimulatedQuickly(split.plan.plan);
    for (std::size_t source = 0; areFew && source < stages; ++source)
        for (std::size_t target = 0; target < stages; ++target)
            if (source != target) moves.emplace_back(source, target);
    return moves;
}

/// The split that the best of some moves leads to; nothing where none makes it better.
std::optional<PricedSplit> bestMove(CostModel& model, const PricedSplit& from, const Moves& moves,
                                    SearchObjective objective, std::vector<SearchedPlan>& priced)
{
    std::optional<PricedSplit> best;
    for (const auto& [source, target] : moves) {
        if (from.layers[source] < 2) continue;
        ParallelPlan plan = from.plan.plan;
        plan.stageLayers = from.layers;
        --plan.stageLayers[source];
        ++plan.stageLayers[target];
        auto moved = priceSplit(model, plan, objective);
        if (!moved) continue;
        priced.push_back(moved->plan);
        if (moved->isBetterThan(best ? *best : from)) best = std::move(moved);
    }
    return best;
}

} // namespace

SplitBound boundOfSplits(const StepCost& even, const Prediction& prediction)
{
    double all = 0, slowest = 0, exposed = 0, mostExposed = 0, optimizer = 0, mostOptimizer = 0;
    const std::vector<double> work = stageSeconds(even);
    SplitBound bound{0, prediction.peakBytes, 0};
    for (std::size_t i = 0; i < even.stages.size(); ++i) {
        const StageCost& stage = even.stages[i];
        all += work[i];
        slowest = std::max(slowest, work[i]);
        exposed += stage.gradientCommExposed;
        mostExposed = std::max(mostExposed, stage.gradientCommExposed);
        optimizer += stage.optimizerSeconds;
        mostOptimizer = std::max(mostOptimizer, stage.optimizerSeconds);
        bound.peakBytes = std::min(bound.peakBytes, stage.memory.total());
    }
    const auto stages = static_cast<double>(std::max<std::size_t>(1, even.stages.size()));
    const double once = prediction.seconds - prediction.bubbleSeconds - even.shape.microbatches * slowest -
                        (mostExposed - exposed / stages) - (mostOptimizer - optimizer / stages);
    // A zero-bubble schedule may fill the whole bubble.
    const double bubble = even.shape.splitsBackward() ? 0 : prediction.bubbleSeconds + slowest - all / stages;
    bound.seconds = even.shape.microbatches * all / stages + bubble + once;
    bound.joules = energyOf(even, bound.seconds, computingSeconds(even).passes);
    return bound;
}

SearchedPlan pricedPlan(const StepCost& cost, const ParallelPlan& plan, const Prediction& prediction)
{
    return {plan, prediction.seconds, prediction.peakBytes, prediction.feasible, energyOf(cost, prediction.seconds)};
}

std::optional<SearchedPlan> simulatedPlan(const StepCost& cost, const ParallelPlan& plan)
{
    const auto step = simulateSchedule(cost);
    if (!step) return std::nullopt;
    SearchedPlan simulated{plan, step->seconds, 0, true, energyOf(cost, step->seconds)};
    for (const SimulatedStage& stage : step->stages)
        simulated.peakBytes = std::max(simulated.peakBytes, stage.peakBytes);
    simulated.feasible = cost.usableMemoryBytes <= 0 || simulated.peakBytes <= cost.usableMemoryBytes;
    return simulated;
}

bool isSimulatedQuickly(const ParallelPlan& plan)
{
    constexpr std::int64_t kFewPasses = 1024;
    return std::int64_t{plan.pp} * plan.vpp * plan.microbatches <= kFewPasses;
}

bool splitsFreely(const RunSpec& spec, const FrameworkPreset& framework, const ParallelPlan& plan)
{
    return framework.takesLayerCounts && spec.model.transformer() && plan.pp > 1 && pipelineShape(plan).chunks == 1 &&
           plan.stageLayers.empty();
}

SearchedPlan bestSplit(CostModel& model, const SearchedPlan& even, bool mayMove, SearchObjective objective,
                       std::vector<SearchedPlan>& priced)
{
    std::optional<PricedSplit> best = priceSplit(model, even.plan, objective);
    if (!best || !mayMove) return best ? best->plan : even;
    const std::size_t mostMoves = 4 * best->layers.size();
    for (std::size_t move = 0; move < mostMoves; ++move) {
        auto next = bestMove(model, *best, hopefulMoves(*best, objective), objective, priced);
        if (!next) next = bestMove(model, *best, allMoves(*best), objective, priced);
        if (!next) break;
        best = std::move(next);
    }
    return best->plan;
}

} // namespace fourwalls::cost
