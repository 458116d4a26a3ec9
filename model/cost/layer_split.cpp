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
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace fourwalls::cost {

namespace {

/// A split with its price, and what it makes of each stage.
struct PricedSplit {
    SearchedPlan plan;
    double value = 0;                 ///< what is made least: the objective's, or how full a device is that is overfull
    std::vector<int> layers;          ///< by stage
    std::vector<std::uint32_t> kinds; ///< by stage: equal ones cost the same
    std::vector<double> seconds, bytes;     ///< by stage: of a micro-batch; at the peak
    std::vector<double> exposed, optimizer; ///< by stage, once per step
    std::vector<double> peaks;              ///< by stage, as simulated where that is quick
    std::vector<double> usable;             ///< by stage: bytes of a device; 0 unknown
    std::vector<double> fullness;           ///< by stage: of its device's capacity, as `bytes`
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

/// What every stage recomputes so that it is as little as fits: what a stage needs depends on no other one, and a quicker
/// stage makes the step no longer. Where the peak itself is made least, what fits is the least that the fullest stage needs.
/// peaks: bytes by choice and stage; usable: by stage. Returns the place of the choice, by stage.
std::vector<std::size_t> leastRecompute(std::span<const std::vector<double>> peaks, std::span<const double> usable,
                                        SearchObjective objective)
{
    const auto smallest = [&](std::size_t stage) {
        const auto best = std::min_element(peaks.begin(), peaks.end(),
                                           [stage](const auto& a, const auto& b) { return a[stage] < b[stage]; });
        return static_cast<std::size_t>(best - peaks.begin());
    };
    const std::size_t stages = peaks.front().size();
    double least = 0; // that the fullest stage needs
    for (std::size_t i = 0; i < stages; ++i) least = std::max(least, peaks[smallest(i)][i]);
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < stages; ++i) {
        const double capacity = usable[i] > 0 ? usable[i] : std::numeric_limits<double>::infinity();
        const double limit = objective == SearchObjective::Memory ? std::min(least, capacity) : capacity;
        const auto fits =
            std::find_if(peaks.begin(), peaks.end(), [&](const std::vector<double>& each) { return each[i] <= limit; });
        chosen.push_back(fits == peaks.end() ? smallest(i) : static_cast<std::size_t>(fits - peaks.begin()));
    }
    return chosen;
}

SearchedPlan searchedPlan(const StepCost& cost, const ParallelPlan& plan, const SimulatedStep& step)
{
    const std::size_t fullest = fullestStage(cost, step);
    const double peak = step.stages[fullest].peakBytes;
    return {plan, step.seconds, peak, cost.stages[fullest].fits(peak), energyOf(cost, step.seconds)};
}

std::vector<double> peaksOf(const StepCost& cost)
{
    std::vector<double> peaks;
    for (const StageCost& stage : cost.stages) peaks.push_back(stage.memory.total());
    return peaks;
}

/// Where a layer could come from: the slowest stage, or the fullest.
std::vector<std::size_t> sourcesOf(const PricedSplit& split, SearchObjective objective)
{
    if (!split.plan.feasible) return {largest(split.fullness)};
    if (objective == SearchObjective::Memory) return {largest(split.bytes)};
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

/// Of some layers from a stage to another.
struct Move {
    std::size_t source = 0, target = 0;
    int layers = 1;
};
using Moves = std::vector<Move>;

Moves hopefulMoves(const PricedSplit& split, SearchObjective objective)
{
    Moves moves;
    for (const std::size_t source : sourcesOf(split, objective))
        for (const std::size_t target : targetsOf(split, source)) moves.push_back({source, target, 1});
    return moves;
}

/// How long stages wait for each other depends on their order, too; all moves are tried while they are few.
Moves allMoves(const PricedSplit& split, int layers)
{
    constexpr std::size_t kFewStages = 8;
    const std::size_t stages = split.layers.size();
    Moves moves;
    const bool areFew = stages <= kFewStages && isSimulatedQuickly(split.plan.plan);
    for (std::size_t source = 0; areFew && source < stages; ++source)
        for (std::size_t target = 0; target < stages; ++target)
            if (source != target && split.layers[source] > layers) moves.push_back({source, target, layers});
    return moves;
}

/// Whether a pipeline never has a micro-batch for each of its stages. Then none is the slowest one, all wait for each other,
/// and what a split is worth rises and falls from layer to layer.
bool isNeverFull(const ParallelPlan& plan)
{
    return plan.microbatches < plan.pp;
}

/// Prices splits of one pipeline, which all have its shape.
class StagePricer {
public:
    /// priced: gets every plan that was looked at.
    StagePricer(CostModel& model, const StageFreedom& freedom, SearchObjective objective,
                std::vector<SearchedPlan>& priced)
        : m_model(model)
        , m_freedom(freedom)
        , m_objective(objective)
        , m_priced(priced)
    {}

    /// plan: its layers; what its stages recompute is the best of what they may.
    std::optional<PricedSplit> priceStages(ParallelPlan plan);
    /// A better split, the best of those that some moves lead to; nothing where none is found.
    std::optional<PricedSplit> betterSplit(const PricedSplit& from);

private:
    std::optional<PricedSplit> bestMove(const PricedSplit& from, const Moves& moves);
    std::optional<PricedSplit> priceSplit(const ParallelPlan& plan);

    CostModel& m_model;
    const StageFreedom& m_freedom;
    SearchObjective m_objective;
    std::vector<SearchedPlan>& m_priced;
    ScheduleSimulation m_simulation;
};

std::optional<PricedSplit> StagePricer::priceSplit(const ParallelPlan& plan)
{
    const auto cost = m_model.stepCost(plan);
    if (!cost) return std::nullopt;
    PricedSplit split;
    if (isSimulatedQuickly(plan)) {
        const auto step = m_simulation.run(*cost);
        if (!step) return std::nullopt;
        split.plan = searchedPlan(*cost, plan, *step);
        for (const SimulatedStage& stage : step->stages) split.peaks.push_back(stage.peakBytes);
    } else {
        split.plan = pricedPlan(*cost, plan, closedForm(*cost, m_model.calibration()));
        split.peaks = peaksOf(*cost);
    }
    split.seconds = stageSeconds(*cost);
    double overfull = 0;
    for (std::size_t i = 0; i < cost->stages.size(); ++i) {
        const int stage = static_cast<int>(i);
        split.usable.push_back(cost->stages[i].usableMemoryBytes);
        split.fullness.push_back(cost->stages[i].fullness(cost->stages[i].memory.total()));
        overfull = std::max(overfull, cost->stages[i].fullness(split.peaks[i]));
        split.layers.push_back(static_cast<int>(cost->chunk(stage).layers));
        split.kinds.push_back(cost->kindOfPosition[i]);
        split.bytes.push_back(cost->stages[i].memory.total());
        split.exposed.push_back(cost->stages[i].gradientCommExposed);
        split.optimizer.push_back(cost->stages[i].optimizerSeconds);
    }
    split.value = split.plan.feasible ? valueOf(split.plan, m_objective) : overfull;
    const bool byMemory = m_objective == SearchObjective::Memory;
    split.loads = !split.plan.feasible ? split.fullness : byMemory ? split.bytes : split.seconds;
    std::sort(split.loads.begin(), split.loads.end(), std::greater<>());
    return split;
}

std::optional<PricedSplit> StagePricer::priceStages(ParallelPlan plan)
{
    const auto price = [&] {
        auto split = priceSplit(plan);
        if (split) m_priced.push_back(split->plan);
        return split;
    };
    if (m_freedom.recompute.empty()) return price();
    std::vector<PricedSplit> alike;
    std::vector<std::vector<double>> peaks;
    for (const Recompute choice : m_freedom.recompute) {
        plan.setRecompute(choice);
        auto split = price();
        if (!split || (alike.empty() && split->plan.feasible && m_objective != SearchObjective::Memory)) return split;
        peaks.push_back(split->peaks);
        alike.push_back(std::move(*split));
    }
    std::vector<Recompute> chosen;
    for (const std::size_t choice : leastRecompute(peaks, alike.front().usable, m_objective))
        chosen.push_back(m_freedom.recompute[choice]);
    plan.setRecompute(std::move(chosen));
    for (PricedSplit& each : alike)
        if (each.plan.plan == plan) return std::move(each);
    return price();
}

std::optional<PricedSplit> StagePricer::bestMove(const PricedSplit& from, const Moves& moves)
{
    std::optional<PricedSplit> best;
    for (const auto& [source, target, layers] : moves) {
        if (from.layers[source] <= layers) continue;
        ParallelPlan plan = from.plan.plan;
        plan.stageLayers = from.layers;
        plan.stageLayers[source] -= layers;
        plan.stageLayers[target] += layers;
        auto moved = priceStages(std::move(plan));
        if (!moved) continue;
        if (moved->isBetterThan(best ? *best : from)) best = std::move(moved);
    }
    return best;
}

std::optional<PricedSplit> StagePricer::betterSplit(const PricedSplit& from)
{
    auto better = bestMove(from, hopefulMoves(from, m_objective));
    if (!better) better = bestMove(from, allMoves(from, 1));
    const int most = isNeverFull(from.plan.plan) ? *std::max_element(from.layers.begin(), from.layers.end()) : 0;
    for (int layers = 2; !better && layers < most; layers *= 2) better = bestMove(from, allMoves(from, layers));
    return better;
}

} // namespace

namespace {

/// What stages work for a micro-batch [s], however layers are split.
struct Balance {
    double each = 0;  ///< of each stage, where all work equally long: no split has less in its slowest stage
    double least = 0; ///< of all together, where every layer is on the quickest device
};

/// work: of each stage under the even split. A layer takes longer on a slower device, so that a stage of such gets fewer.
Balance balanceOf(const StepCost& even, const std::vector<double>& work)
{
    double all = 0, saved = 0, weighted = 0, weights = 0, quickest = even.stages.front().layerSeconds;
    for (const StageCost& stage : even.stages) quickest = std::min(quickest, stage.layerSeconds);
    for (std::size_t i = 0; i < work.size(); ++i) {
        const double layer = even.stages[i].layerSeconds;
        const double weight = layer > 0 ? 1 / layer : 1;
        all += work[i];
        weighted += weight * work[i];
        weights += weight;
        saved += static_cast<double>(even.chunk(static_cast<int>(i)).layers) * (layer - quickest);
    }
    return {weighted / weights, std::max(0.0, all - saved)};
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
    const Balance balance = balanceOf(even, work);
    const double once = prediction.seconds - prediction.bubbleSeconds - even.shape.microbatches * slowest -
                        (mostExposed - exposed / stages) -
                        (mostOptimizer - (balance.least < all ? 0 : optimizer / stages));
    // A zero-bubble schedule may fill the whole bubble.
    const double bubble = even.shape.splitsBackward() ? 0
                                                      : prediction.bubbleSeconds - even.unevenSeconds + slowest - all +
                                                            balance.least - balance.each;
    bound.seconds = even.shape.microbatches * balance.each + bubble + once;
    bound.joules = energyOf(even, bound.seconds, computingSeconds(even).passes * (all > 0 ? balance.least / all : 1));
    return bound;
}

SplitHope hopeOf(CostModel& model, ParallelPlan plan, const StepCost& even, const Prediction& prediction,
                 const StageFreedom& freedom, SearchObjective objective)
{
    const SplitBound bound = boundOfSplits(even, prediction);
    SplitHope hope{bound, bound};
    if (freedom.recompute.empty() || (prediction.feasible && objective != SearchObjective::Memory)) return hope;
    std::vector<SplitBound> bounds{bound};
    std::vector<std::vector<double>> peaks{peaksOf(even)};
    for (const Recompute choice : freedom.recompute.subspan(1)) {
        plan.setRecompute(choice);
        const auto cost = model.stepCost(plan);
        if (!cost) return hope;
        const SplitBound other = boundOfSplits(*cost, closedForm(*cost, model.calibration()));
        hope.least = {std::min(hope.least.seconds, other.seconds), std::min(hope.least.peakBytes, other.peakBytes),
                      std::min(hope.least.joules, other.joules)};
        bounds.push_back(other);
        peaks.push_back(peaksOf(*cost));
    }
    // A bound grows with the work of the stages together: that of a mixture lies between those of its parts.
    std::vector<double> usable;
    for (const StageCost& stage : even.stages) usable.push_back(stage.usableMemoryBytes);
    const std::vector<std::size_t> chosen = leastRecompute(peaks, usable, objective);
    const auto stages = static_cast<double>(chosen.size());
    hope.likely = {0, peaks[chosen[0]][0], 0};
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        hope.likely.seconds += bounds[chosen[i]].seconds / stages;
        hope.likely.joules += bounds[chosen[i]].joules / stages;
        hope.likely.peakBytes = std::min(hope.likely.peakBytes, peaks[chosen[i]][i]);
    }
    return hope;
}

SearchedPlan pricedPlan(const StepCost& cost, const ParallelPlan& plan, const Prediction& prediction)
{
    return {plan, prediction.seconds, prediction.peakBytes, prediction.feasible, energyOf(cost, prediction.seconds)};
}

std::optional<SearchedPlan> simulatedPlan(const StepCost& cost, const ParallelPlan& plan)
{
    const auto step = simulateSchedule(cost);
    if (!step) return std::nullopt;
    return searchedPlan(cost, plan, *step);
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

SearchedPlan bestSplit(CostModel& model, const SearchedPlan& even, const StageFreedom& freedom,
                       SearchObjective objective, std::vector<SearchedPlan>& priced)
{
    StagePricer stages(model, freedom, objective, priced);
    std::optional<PricedSplit> best = stages.priceStages(even.plan);
    // The others were looked at before.
    const auto isNew = [](const SearchedPlan& each) { return !each.plan.stageRecompute.empty(); };
    std::erase_if(priced, [&](const SearchedPlan& each) { return freedom.recompute.empty() || !isNew(each); });
    if (!best || !freedom.layers) return best ? best->plan : even;
    const std::size_t mostMoves = 4 * best->layers.size();
    for (std::size_t move = 0; move < mostMoves; ++move) {
        auto next = stages.betterSplit(*best);
        if (!next) break;
        best = std::move(next);
    }
    return best->plan;
}

} // namespace fourwalls::cost
