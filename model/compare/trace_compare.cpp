// SPDX-License-Identifier: Apache-2.0
// Figures, steps and layers of two traces.
#include "model/compare/trace_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace fourwalls::compare {

namespace {

std::optional<double> milliseconds(const std::optional<Duration>& duration)
{
    return duration ? std::optional(duration->milliseconds()) : std::nullopt;
}

/// The largest peak over the ranks.
std::optional<double> largestPeak(const TraceMetrics& metrics)
{
    std::optional<double> peak;
    for (const MemorySummary& memory : metrics.memory)
        peak = std::max(peak.value_or(0), static_cast<double>(memory.peakBytes));
    return peak;
}

std::optional<double> shareOf(const TraceMetrics& metrics, const std::string& part)
{
    for (const auto& [name, share] : metrics.waterfall)
        if (name == part) return share;
    return std::nullopt;
}

std::optional<double> wireBytes(const TraceMetrics& metrics)
{
    if (metrics.collectives.empty()) return std::nullopt;
    double sum = 0;
    for (const CollectiveMetrics& collective : metrics.collectives) {
        if (!collective.summary.wireBytes) return std::nullopt;
        sum += static_cast<double>(*collective.summary.wireBytes);
    }
    return sum;
}

std::vector<ComparedFigure> compareFigures(const TraceMetrics& a, const TraceMetrics& b)
{
    std::vector<ComparedFigure> figures;
    const auto add = [&](std::string name, const auto& of, bool lessIsBetter, bool judged = false) {
        figures.push_back({std::move(name), of(a), of(b), lessIsBetter, judged});
    };
    using Metrics = const TraceMetrics&;
    add(
        "step_time_ms", [](Metrics m) { return milliseconds(m.stepTime); }, true, true);
    add(
        "tokens_per_s", [](Metrics m) { return m.tokensPerSecond; }, false, true);
    add(
        "samples_per_s", [](Metrics m) { return m.samplesPerSecond; }, false, true);
    add(
        "mfu", [](Metrics m) { return m.mfu; }, false);
    add(
        "mfu_full_attention", [](Metrics m) { return m.mfuFullAttention; }, false);
    add(
        "hfu", [](Metrics m) { return m.hfu; }, false);
    add("peak_bytes", largestPeak, true, true);
    add(
        "bubble_fraction", [](Metrics m) { return m.bubbleFraction; }, true);
    add(
        "exposed_comm_fraction", [](Metrics m) { return m.exposedCommFraction; }, true);
    add(
        "exposed_copy_fraction", [](Metrics m) { return m.exposedCopyFraction; }, true);
    add(
        "idle_fraction", [](Metrics m) { return m.idleFraction; }, true);
    add("wire_bytes", wireBytes, true);
    add(
        "recorder_overhead_fraction", [](Metrics m) { return m.recorderOverheadFraction; }, true);
    std::vector<std::string> parts;
    for (const TraceMetrics* metrics : {&a, &b})
        for (const auto& [part, share] : metrics->waterfall)
            if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    for (const std::string& part : parts) {
        const bool lessIsBetter = part != "achieved" && part != "compute" && part != "other_compute";
        add(
            "waterfall." + part, [&part](Metrics m) { return shareOf(m, part); }, lessIsBetter);
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
    if (!change) return std::nullopt;
    return lessIsBetter ? *change : -*change;
}

const ComparedFigure* TraceComparison::worst() const
{
    const ComparedFigure* worst = nullptr;
    for (const ComparedFigure& figure : figures) {
        if (!figure.judged || !figure.worsePercent()) continue;
        if (!worst || *figure.worsePercent() > *worst->worsePercent()) worst = &figure;
    }
    return worst;
}

Result<TraceComparison> compareTraces(TraceQuery& a, TraceQuery& b, std::stop_token stop)
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
