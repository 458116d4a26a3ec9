// SPDX-License-Identifier: Apache-2.0
// Runs a plan and its one-rank reference and compares losses, the gradients of every step and the final weights, put
// together from all ranks' shards.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/core/dtype.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/onednn_matmul.h"
#include "profiler/engine/device/reference_device.h"
#include "profiler/engine/train/rank_world.h"
#include "profiler/engine/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fourwalls::engine::testing {

/// Values of whole parameters, as one rank would have them, by name.
using NamedValues = std::map<std::string, std::vector<double>>;

/// What a run came to.
struct PlanOutcome {
    std::string error; ///< empty: it ran
    std::vector<double> losses, norms;
    std::vector<NamedValues> gradients;   ///< by step, before clipping
    NamedValues weights;                  ///< after the last step
    double replicaDifference = 0;         ///< largest between ranks that hold the same element
    std::vector<MemoryStatistics> memory; ///< by rank
    std::vector<int> mostInFlight;        ///< by rank
};

/// A transformer small enough for plain loops in double. Eight layers would not be cheaper per rank, so tests choose.
inline RunSpec paritySpec(const std::string& plan, std::int64_t layers = 4, std::int64_t batch = 8)
{
    TransformerSpec t;
    t.layers = layers;
    t.hidden = 16;
    t.heads = 4;
    t.kvHeads = 4;
    t.ffnHidden = 24;
    t.vocabulary = 256;
    t.sequence = 8;
    RunSpec spec;
    spec.model = {"parity", t};
    auto parsed = parsePlan(plan);
    if (parsed) spec.plan = *parsed;
    spec.training.steps = 5;
    spec.training.batch = batch;
    spec.training.optimizer = Optimizer::Sgd;
    spec.training.learningRate = 0.05;
    spec.training.warmupFraction = 0;
    spec.training.clipNorm = 1.0;
    return spec;
}

namespace detail {

// Adds a rank's part of the parameters to the whole ones; several ranks call it at once.
class Collector {
public:
    template <class Value>
    void add(NamedValues& into, const ParameterStore& store, Value value)
    {
        const std::lock_guard lock(m_mutex);
        for (const ParameterPiece& piece : store.pieces()) {
            const Parameter& p = *piece.parameter;
            const std::int64_t size = p.shard.whole ? p.shape.elements() : p.shard.fullRows * p.shard.fullColumns;
            auto& values = into[p.name];
            if (values.empty()) values.assign(static_cast<std::size_t>(size), std::nan(""));
            for (std::int64_t i = 0; i < piece.weight.elements(); ++i) {
                const std::int64_t full = p.shard.whole ? piece.first + i : p.shard.fullIndex(piece.first + i);
                double& slot = values[static_cast<std::size_t>(full)];
                const double v = value(piece, i);
                if (!std::isnan(slot)) difference = std::max(difference, std::abs(slot - v));
                slot = v;
            }
        }
    }
    double difference = 0;

private:
    std::mutex m_mutex;
};

} // namespace detail

/// Trains `spec` (resolved here) for its steps. format F64/F64 runs on the reference device.
inline PlanOutcome runPlan(RunSpec spec, NumberFormat format)
{
    PlanOutcome outcome;
    if (const Status status = resolve(spec); !status.ok()) {
        outcome.error = status.error().message();
        return outcome;
    }
    const auto world = static_cast<std::size_t>(spec.plan.worldSize());
    outcome.memory.resize(world);
    outcome.mostInFlight.resize(world);
    outcome.gradients.resize(static_cast<std::size_t>(spec.training.steps));
    detail::Collector gradients, weights;
    WorldOptions options;
    options.plan = spec.plan;
    options.format = format;
    if (format.compute == DType::F64)
        options.makeDevice = [](Recorder& recorder, Allocator& allocator) -> std::unique_ptr<Device> {
            return std::make_unique<ReferenceDevice>(recorder, allocator);
        };
    const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
        RankContext& rank = *slot.context;
        const bool first = rank.recorder.rank().value == 0;
        FOURWALLS_TRY_ASSIGN(const auto trainer, Trainer::create(rank, spec));
        for (std::int64_t i = 0; i < spec.training.steps; ++i) {
            trainer->onGradients = [&](const Trainer& t) {
                gradients.add(outcome.gradients[static_cast<std::size_t>(i)], t.store(),
                              [](const ParameterPiece& piece, std::int64_t j) {
                                  return piece.parameter->gradientEmpty ? 0.0 : element(piece.gradient, j);
                              });
            };
            const StepProgress progress = trainer->step(i);
            if (!first) continue;
            outcome.losses.push_back(progress.loss);
            outcome.norms.push_back(progress.gradientNorm);
        }
        weights.add(outcome.weights, trainer->store(),
                    [](const ParameterPiece& piece, std::int64_t j) { return element(piece.weight, j); });
        const auto index = static_cast<std::size_t>(rank.recorder.rank().value);
        outcome.memory[index] = rank.allocator.statistics();
        outcome.mostInFlight[index] = trainer->executor().mostInFlight();
        return {};
    });
    if (!status.ok()) outcome.error = status.error().message();
    outcome.replicaDifference = std::max(gradients.difference, weights.difference);
    return outcome;
}

/// The same training on one rank. equalMicrobatches: cut the batch as finely as the plan does (batch normalisation).
inline RunSpec referenceOf(const RunSpec& spec, bool equalMicrobatches = false)
{
    RunSpec one = spec;
    one.plan = ParallelPlan{};
    one.plan.fuse = spec.plan.fuse;
    one.plan.fusedAttention = spec.plan.fusedAttention;
    one.plan.documents = spec.plan.documents;
    if (equalMicrobatches) one.plan.microbatches = spec.plan.dp * spec.plan.microbatches;
    return one;
}

/// Largest difference of any entry, as a share of the largest entry of the same parameter (or, for what is nothing but
/// rounding noise, such as the gradients of key biases, of a thousandth of the largest at all); 1e300 if names or sizes
/// differ or an element belongs to no rank. Says in `where` which parameter it was.
inline double largestDifference(const NamedValues& actual, const NamedValues& expected, std::string& where)
{
    double floor = 0;
    for (const auto& [name, values] : expected)
        for (const double v : values) floor = std::max(floor, 1e-3 * std::abs(v));
    double worst = 0;
    if (actual.size() != expected.size()) {
        where = "the number of parameters";
        return 1e300;
    }
    for (const auto& [name, values] : expected) {
        const auto found = actual.find(name);
        if (found == actual.end() || found->second.size() != values.size()) {
            where = name;
            return 1e300;
        }
        double scale = floor;
        for (const double v : values) scale = std::max(scale, std::abs(v));
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double d = std::abs(found->second[i] - values[i]) / scale;
            if (d <= worst) continue;
            where = name + "[" + std::to_string(i) + "]";
            if (std::isnan(d)) return 1e300;
            worst = d;
        }
    }
    return worst;
}

/// What is allowed between a plan and its reference.
struct ParityTolerance {
    double loss = 0, gradient = 0, weight = 0;
    bool compareWeights = true; ///< not under AdamW, which amplifies rounding noise (gradients of key biases)
};

/// Rounding of different orders of summation, over the steps of a run, in the given format.
inline ParityTolerance parityTolerance(NumberFormat format)
{
    // Sums of a few hundred terms through a few dozen operators; later steps start from weights that differ by as much.
    const double u = unitRoundoff(format.master), c = unitRoundoff(format.compute);
    if (format.compute == format.master) return {200 * u, 4000 * u, 2000 * u, true};
    // Roundings to bf16 are independent, so that about the root of their number counts; weights move by rate times that.
    return {4 * c, 40 * c, 4 * c, true};
}

/// The largest differences between a plan and its reference, as shares.
struct ParityDifferences {
    double loss = 0, gradient = 0, weight = 0;
};

/// Empty if the plan's outcome equals the reference's; else what differs. met: how large the differences were.
inline std::string compareOutcomes(const PlanOutcome& actual, const PlanOutcome& expected, const ParityTolerance& t,
                                   ParityDifferences& met)
{
    if (!actual.error.empty()) return "the plan failed: " + actual.error;
    if (!expected.error.empty()) return "the reference failed: " + expected.error;
    if (actual.losses.size() != expected.losses.size()) return "another number of steps";
    const auto differs = [](const std::string& what, std::size_t step, double by, double allowed) {
        char text[200];
        std::snprintf(text, sizeof text, "%s in step %zu by %.3g, allowed are %.3g", what.c_str(), step, by, allowed);
        return std::string(text);
    };
    std::string where;
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
        const double loss = std::abs(actual.losses[i] - expected.losses[i]) / std::abs(expected.losses[i]);
        met.loss = std::max(met.loss, loss);
        if (!(loss <= t.loss)) return differs("the loss differs", i, loss, t.loss);
        const double gradient = largestDifference(actual.gradients[i], expected.gradients[i], where);
        met.gradient = std::max(met.gradient, gradient);
        if (!(gradient <= t.gradient)) return differs("the gradient of " + where + " differs", i, gradient, t.gradient);
        const double norm = std::abs(actual.norms[i] - expected.norms[i]) / expected.norms[i];
        if (!(norm <= t.gradient)) return differs("the gradient norm differs", i, norm, t.gradient);
    }
    if (actual.replicaDifference != 0)
        return differs("replicas differ", expected.losses.size(), actual.replicaDifference, 0);
    if (!t.compareWeights) return {};
    const double weight = met.weight = largestDifference(actual.weights, expected.weights, where);
    if (!(weight <= t.weight))
        return differs("the weight " + where + " differs", expected.losses.size(), weight, t.weight);
    return {};
}

/// What a test program's comparisons came to, by kind ("f32"); said when it ends.
class ParityTally {
public:
    /// compareOutcomes, counted.
    std::string compare(const std::string& kind, const PlanOutcome& actual, const PlanOutcome& expected,
                        const ParityTolerance& tolerance)
    {
        ParityDifferences met;
        std::string difference = compareOutcomes(actual, expected, tolerance, met);
        Sum& sum = m_sums[kind];
        ++(difference.empty() ? sum.equal : sum.different);
        sum.allowed = tolerance;
        sum.largest.loss = std::max(sum.largest.loss, met.loss);
        sum.largest.gradient = std::max(sum.largest.gradient, met.gradient);
        sum.largest.weight = std::max(sum.largest.weight, met.weight);
        return difference;
    }

    /// A line per kind.
    std::vector<std::string> lines() const
    {
        std::vector<std::string> lines;
        for (const auto& [kind, sum] : m_sums) {
            char text[300];
            const ParityDifferences& met = sum.largest;
            const int length = std::snprintf(
                text, sizeof text,
                "%s: %d plans equal the one-rank run, %d do not; largest differences (allowed): losses %.2g (%.2g), "
                "gradients %.2g (%.2g)",
                kind.c_str(), sum.equal, sum.different, met.loss, sum.allowed.loss, met.gradient, sum.allowed.gradient);
            if (sum.allowed.compareWeights)
                std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), ", weights %.2g (%.2g)",
                              met.weight, sum.allowed.weight);
            lines.push_back(text);
        }
        return lines;
    }

private:
    struct Sum {
        int equal = 0, different = 0;
        ParityTolerance allowed;
        ParityDifferences largest;
    };
    std::map<std::string, Sum> m_sums;
};

} // namespace fourwalls::engine::testing
