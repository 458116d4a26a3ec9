// SPDX-License-Identifier: Apache-2.0
// Figures, steps and layers of two traces.
#include "model/compare/trace_compare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace fourwalls::compare {

namespace {

std::vector<ComparedFigure> compareFigures(const TraceMetrics& a, const TraceMetrics& b)
{
    std::vector<ComparedFigure> figures;
    for (const FigureInfo& info : figureTable())
        if (info.use.compared) figures.push_back({&info, {}, info.of(a), info.of(b)});
    for (std::size_t i = 0; i < kWaterfallParts; ++i) {
        const auto part = static_cast<WaterfallPart>(i);
        const ComparedFigure figure{&infoOf(part), part, a.waterfall.at(part), b.waterfall.at(part)};
        if (figure.a || figure.b) figures.push_back(figure);
    }
    return figures;
}

/// Lengths of the measured steps, by number.
Result<std::vector<Duration>> stepLengths(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    std::vector<Duration> lengths;
    for (const JobStep& step : steps)
        if (step.state == StepState::Measured) lengths.push_back(step.range.length());
    return lengths;
}

using LayerKey = std::pair<Phase, std::int32_t>; // -1: no layer

/// Compute time by phase and layer, per rank and measured step.
Result<std::map<LayerKey, Duration>> layerTimes(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, trace.stepSummaries());
    std::int64_t rankSteps = 0;
    for (const StepSummary& summary : summaries) rankSteps += summary.state == StepState::Measured ? 1 : 0;
    std::map<LayerKey, Duration> times;
    if (rankSteps == 0) return times;
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> ops, trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
    for (const OpSummary& summary : ops) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        if (op->activity != Activity::Compute) continue;
        times[{op->phase, op->layer ? op->layer->value : -1}] += summary.total;
    }
    for (auto& [key, time] : times) time.ns /= rankSteps;
    return times;
}

} // namespace

std::string ComparedFigure::name() const
{
    return part ? std::string("waterfall.") + info->key : info->key;
}

std::optional<double> ComparedFigure::difference() const
{
    return a && b ? std::optional(*b - *a) : std::nullopt;
}

std::optional<double> ComparedFigure::percent() const
{
    return a && b && *a != 0 ? std::optional(100 * (*b - *a) / *a) : std::nullopt;
}

std::optional<double> ComparedFigure::worsePercent() const
{
    const auto change = percent();
    if (!change || info->better == Better::Neither) return std::nullopt;
    return info->better == Better::Less ? *change : -*change;
}

const ComparedFigure* TraceComparison::worst() const
{
    const ComparedFigure* worst = nullptr;
    for (const ComparedFigure& figure : figures) {
        if (!figure.info->use.judged || !figure.worsePercent()) continue;
        if (!worst || *figure.worsePercent() > *worst->worsePercent()) worst = &figure;
    }
    return worst;
}

Result<TraceComparison> compareTraces(TraceQuery& a, TraceQuery& b, std::stop_token stop, const MemoryMoment& atA,
                                      const MemoryMoment& atB)
{
    const Error cancelled{ErrorCode::Cancelled, "a newer question came", "comparison", {}};
    TraceComparison comparison;
    FOURWALLS_TRY_ASSIGN(comparison.a, computeMetrics(a));
    if (stop.stop_requested()) return cancelled;
    FOURWALLS_TRY_ASSIGN(comparison.b, computeMetrics(b));
    if (stop.stop_requested()) return cancelled;
    comparison.figures = compareFigures(comparison.a, comparison.b);

    FOURWALLS_TRY_ASSIGN(const std::vector<Duration> stepsOfA, stepLengths(a));
    FOURWALLS_TRY_ASSIGN(const std::vector<Duration> stepsOfB, stepLengths(b));
    for (std::size_t i = 0; i < std::max(stepsOfA.size(), stepsOfB.size()); ++i) {
        const auto at = [i](const std::vector<Duration>& steps) {
            return i < steps.size() ? std::optional(steps[i]) : std::nullopt;
        };
        comparison.steps.push_back({static_cast<int>(i), at(stepsOfA), at(stepsOfB)});
    }

    FOURWALLS_TRY_ASSIGN(comparison.operators, compareOperators(a, b, stop));
    FOURWALLS_TRY_ASSIGN(comparison.memory, compareMemory(a, b, atA, atB, stop));
    FOURWALLS_TRY_ASSIGN(const auto layersOfA, layerTimes(a));
    if (stop.stop_requested()) return cancelled;
    FOURWALLS_TRY_ASSIGN(const auto layersOfB, layerTimes(b));
    std::set<LayerKey> keys;
    for (const auto* layers : {&layersOfA, &layersOfB})
        for (const auto& [key, time] : *layers) keys.insert(key);
    for (const LayerKey& key : keys) {
        const auto at = [&key](const std::map<LayerKey, Duration>& layers) {
            const auto found = layers.find(key);
            return found == layers.end() ? std::nullopt : std::optional(found->second);
        };
        const auto layer = key.second < 0 ? std::nullopt : std::optional(LayerIndex{key.second});
        comparison.layers.push_back({layer, key.first, at(layersOfA), at(layersOfB)});
    }
    return comparison;
}

} // namespace fourwalls::compare
