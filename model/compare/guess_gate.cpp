// SPDX-License-Identifier: Apache-2.0
// See guess_gate.h.
#include "model/compare/guess_gate.h"

#include "model/trace/memory_facts.h"
#include "model/trace/spec_guess.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace fourwalls::compare {

namespace {

std::string gateNumber(double value)
{
    const double rounded = std::round(value);
    if (std::abs(value - rounded) < 1e-9) return std::to_string(static_cast<std::int64_t>(rounded));
    std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 2);
}

/// A product whatever its pass: the gradients of a product have its three sizes in another order.
Shape sortedSizes(Shape shape)
{
    std::sort(shape.begin(), shape.end());
    return shape;
}

double flopsOf(const Shape& shape)
{
    double flops = 2;
    for (const std::int64_t size : shape) flops *= static_cast<double>(size);
    return flops;
}

/// Products of one kind: ways to write them (queries, keys and values in one or in three), each a list of sizes.
using Ways = std::vector<std::vector<Shape>>;

/// The products with weights of one micro-batch on one rank: those of a layer, and the last one.
void expectedProducts(const RunSpec& spec, std::vector<Ways>& layer, std::vector<Ways>& last)
{
    const TransformerSpec& network = *spec.model.transformer();
    const ParallelPlan& plan = spec.plan;
    const std::int64_t rows =
        spec.training.batch / std::max(1, plan.dp * plan.microbatches) * spec.training.sequence / std::max(1, plan.cp);
    const std::int64_t hidden = network.hidden, queries = network.queryHidden() / plan.tp;
    const std::int64_t keys = network.headSize() * network.kvHeads / plan.tp, inner = network.ffnHidden / plan.tp;
    const auto product = [rows](std::int64_t from, std::int64_t to) { return Shape{rows, from, to}; };
    layer.push_back({{product(hidden, queries + 2 * keys)},
                     {product(hidden, queries), product(hidden, keys), product(hidden, keys)}});
    layer.push_back({{product(queries, hidden)}});
    const bool gated = network.activation == Activation::SwiGlu;
    if (gated)
        layer.push_back({{product(hidden, 2 * inner)}, {product(hidden, inner), product(hidden, inner)}});
    else
        layer.push_back({{product(hidden, inner)}});
    layer.push_back({{product(inner, hidden)}});
    last.push_back({{product(hidden, network.vocabulary / plan.tp)}});
}

/// Takes the products of one kind out of what was recorded, in the way that finds most; how many were expected and found.
std::pair<double, double> takeProducts(const Ways& ways, double times, std::map<Shape, double>& left, double& explained)
{
    double mostShare = -1, bestExpected = 0, bestFound = 0;
    std::map<Shape, double> best;
    for (const std::vector<Shape>& way : ways) {
        std::map<Shape, double> taken;
        for (const Shape& shape : way) taken[sortedSizes(shape)] += times;
        double expected = 0, found = 0;
        for (auto& [shape, count] : taken) {
            expected += count;
            const auto here = left.find(shape);
            count = here == left.end() ? 0 : std::min(count, here->second);
            found += count;
        }
        const double share = expected > 0 ? found / expected : 0;
        if (share <= mostShare) continue;
        mostShare = share;
        bestExpected = expected;
        bestFound = found;
        best = std::move(taken);
    }
    for (const auto& [shape, count] : best) {
        if (count <= 0) continue;
        left[shape] -= count;
        explained += count * flopsOf(shape);
    }
    return {bestExpected, bestFound};
}

void compareProducts(const SpecEvidenceData& evidence, const RunSpec& spec, GuessVerdict& verdict)
{
    const double runs = static_cast<double>(evidence.runs());
    std::map<Shape, double> left;
    double all = 0;
    for (const auto& [shape, count] : evidence.products) {
        const double perStep = static_cast<double>(count) / runs;
        left[sortedSizes(shape)] += perStep;
        all += perStep * flopsOf(shape);
    }
    if (all <= 0) {
        verdict.facts.push_back({"matrix products", "with shapes", "no shapes recorded", false});
        return;
    }
    std::vector<Ways> layer, last;
    expectedProducts(spec, layer, last);
    // Forward, and backward for both operands. A pipeline's ranks share the layers, and the last one out.
    constexpr double kPasses = 3;
    const double passes = kPasses * spec.plan.microbatches / spec.plan.pp;
    double expected = 0, found = 0, explained = 0;
    const auto take = [&](const std::vector<Ways>& kinds, double times) {
        for (const Ways& ways : kinds) {
            const auto [wanted, there] = takeProducts(ways, times, left, explained);
            expected += wanted;
            found += there;
        }
    };
    take(layer, passes * static_cast<double>(spec.model.transformer()->layers));
    take(last, passes);
    verdict.facts.push_back({"matrix products of these shapes per step and rank", gateNumber(expected),
                             gateNumber(found), found >= kLeastMatched * expected});
    verdict.facts.push_back({"share of the recorded products' work that they explain", "90 % or more",
                             gateNumber(100 * explained / all) + " %", explained >= kLeastMatched * all});
}

void compareLayers(const SpecEvidenceData& evidence, const RunSpec& spec, GuessVerdict& verdict)
{
    std::int64_t attention = 0, softmax = 0;
    for (const auto& [shape, count] : evidence.attentions()) attention += count;
    for (const auto& [shape, count] : evidence.softmax) softmax += count;
    const double found =
        static_cast<double>(attention > 0 ? attention : softmax) / static_cast<double>(evidence.runs());
    const double expected =
        static_cast<double>(spec.model.transformer()->layers) * spec.plan.microbatches / spec.plan.pp;
    verdict.facts.push_back({"attention per step and rank (layers times micro-batches)", gateNumber(expected),
                             gateNumber(found), std::abs(found - expected) < 0.5});
}

/// Collectives of the kinds that reduce or put together, in groups of one size.
double reductionsIn(const SpecEvidenceData& evidence, int groupSize)
{
    double count = 0;
    for (const RecordedCollectives& each : evidence.collectives) {
        const bool kind = each.operation == CollectiveOp::AllReduce || each.operation == CollectiveOp::ReduceScatter ||
                          each.operation == CollectiveOp::AllGather;
        if (kind && each.groupSize == groupSize) count += each.perStep;
    }
    return count;
}

void compareCollectives(const SpecEvidenceData& evidence, const RunSpec& spec, GuessVerdict& verdict)
{
    const ParallelPlan& plan = spec.plan;
    const int world = evidence.worldSize.value_or(evidence.ranks);
    verdict.facts.push_back(
        {"ranks", std::to_string(plan.worldSize()), std::to_string(world), plan.worldSize() == world});
    if (plan.tp > 1) {
        // Two in the forward and two in the backward pass of a layer; with sequence parallelism each is two operations.
        const double expected =
            4.0 * static_cast<double>(spec.model.transformer()->layers) * plan.microbatches / plan.pp;
        const double found = reductionsIn(evidence, plan.tp);
        constexpr double kMostMore = 2.5; // twice as many, and those of embedding, loss and norm
        verdict.facts.push_back({"collectives of tensor parallelism per step and rank",
                                 gateNumber(expected) + " or more", gateNumber(found),
                                 found >= expected && found <= kMostMore * expected + 8});
    }
    const int replicas = plan.dp * plan.cp;
    if (replicas > 1) {
        const double found = reductionsIn(evidence, replicas);
        verdict.facts.push_back({"reductions of gradients per step and rank",
                                 "1 or more, in groups of " + std::to_string(replicas), gateNumber(found), found >= 1});
    }
    // No group is left that no degree explains.
    std::set<int> explained{1, world};
    const int degrees[] = {plan.tp, plan.pp, plan.cp, plan.dp, plan.ep};
    for (const int a : degrees)
        for (const int b : degrees) explained.insert(a), explained.insert(a * b);
    for (const RecordedCollectives& each : evidence.collectives) {
        if (explained.contains(each.groupSize) && (world > 1 || each.groupSize <= 1)) continue;
        verdict.facts.push_back({"groups of collectives", "of the plan's degrees",
                                 "of " + std::to_string(each.groupSize) + " ranks", false});
        break;
    }
}

} // namespace

GuessVerdict judgeGuess(const TraceInfo& info, const SpecEvidenceData& evidence, const RunSpec* guess,
                        std::vector<std::string> missing, std::optional<double> recordedSeconds,
                        std::optional<double> predictedSeconds)
{
    GuessVerdict verdict;
    verdict.missing = std::move(missing);
    verdict.recordedSeconds = recordedSeconds;
    verdict.predictedSeconds = predictedSeconds;
    const std::string passes = std::string(evidence.hasBackward ? "backward" : "no backward") + ", " +
                               (evidence.hasOptimizer ? "optimizer" : "no optimizer");
    verdict.facts.push_back({"passes", "backward, optimizer", passes, evidence.hasBackward && evidence.hasOptimizer});
    verdict.sawBackward = evidence.hasBackward;
    verdict.sawOptimizer = evidence.hasOptimizer;
    if (!verdict.facts.back().matches) {
        verdict.reason = isMemoryOnly(info) ? GateReason::OnlyMemory : GateReason::NotTraining;
        return verdict;
    }
    const std::string device = info.header.ranks.empty() ? std::string() : info.header.ranks.front().device;
    bool exact = false;
    if (!clusterWithDevice(device, exact)) {
        verdict.facts.push_back({"device", "one whose rates are known", device.empty() ? "not named" : device, false});
        verdict.reason = GateReason::UnknownDevice;
        return verdict;
    }
    if (!guess || !guess->model.transformer()) {
        verdict.reason = GateReason::NoGuess;
        return verdict;
    }
    compareLayers(evidence, *guess, verdict);
    compareProducts(evidence, *guess, verdict);
    compareCollectives(evidence, *guess, verdict);
    const bool matches =
        std::all_of(verdict.facts.begin(), verdict.facts.end(), [](const GateFact& fact) { return fact.matches; });
    if (!matches)
        verdict.reason = GateReason::FactsDiffer;
    else if (!recordedSeconds || *recordedSeconds <= 0)
        verdict.reason = GateReason::StepUnknown;
    else if (predictedSeconds && std::abs(*predictedSeconds / *recordedSeconds - 1) > kMostStepError)
        verdict.reason = GateReason::StepDiffers;
    else
        verdict.reason = GateReason::Allowed;
    return verdict;
}

} // namespace fourwalls::compare
