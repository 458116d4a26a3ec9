// SPDX-License-Identifier: Apache-2.0
// See layer_cost.h. Bytes per operator follow what the kernels read and write: e bytes per element, masks one byte.
// Sources: arXiv:2205.05198 (activations, tensor and sequence parallelism), arXiv:2104.04473 (communication).
#include "model/cost/layer_cost.h"

#include "model/cost/layer_shape.h"
#include "model/cost/pass_builder.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

namespace fourwalls::cost {

namespace {

/// Adapters of one linear layer of `in` columns and `out` results on this rank: down to the rank, up again, and added to
/// the layer's own result, in 16 bits also where the layers below are narrower. What their parts send each other over the
/// tensor group, `rank` columns, is left out.
void adapterForward(PassBuilder& pass, const LayerSetting& s, const LayerShape& l, double in, double out)
{
    if (!(s.loraRank > 0)) return;
    pass.wideGemm("adapter.down", {1, l.rows, s.loraRank, in});
    pass.wideGemm("adapter.up", {1, l.rows, out, s.loraRank});
    pass.memory("adapter.sum", 3 * l.e * l.rows * out);
}

void adapterBackward(PassBuilder& pass, const LayerSetting& s, const LayerShape& l, double in, double out)
{
    if (!(s.loraRank > 0)) return;
    pass.wideGemm("adapter.up.input_gradient", {1, l.rows, s.loraRank, out});
    pass.wideGemm("adapter.down.input_gradient", {1, l.rows, in, s.loraRank});
    pass.memory("adapter.sum", 3 * l.e * l.rows * in);
}

/// Columns and results of the linear layers that have adapters.
std::array<std::pair<double, double>, 4> adaptedLayers(const LayerShape& l)
{
    return {{{l.hidden, l.qkvWidth}, {l.valueWidth, l.hidden}, {l.hidden, l.gates * l.inner}, {l.inner, l.hidden}}};
}

double adapterParameters(const LayerSetting& s, const LayerShape& l)
{
    double parameters = 0;
    for (const auto& [in, out] : adaptedLayers(l)) parameters += s.loraRank * (in + out);
    return parameters;
}

void adapterWeightGradients(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    const double output = l.weightGradientBytes(c);
    for (const auto& [in, out] : adaptedLayers(l)) {
        pass.wideGemm("adapter.down.weight_gradient", {1, s.loraRank, in, l.rows}, output);
        pass.wideGemm("adapter.up.weight_gradient", {1, out, s.loraRank, l.rows}, output);
    }
    pass.memory("gradient.accumulate", c.framework.accumulationBytes * adapterParameters(s, l), 8);
}

/// What of a layer is made: all of it, or what its backward pass reads.
enum class MadeAgain { All, WhatIsRead };

/// The feed-forward block of a dense layer. Nothing in the layer reads what its last product makes.
void denseForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l,
                  MadeAgain again = MadeAgain::All)
{
    l.gatherInput(pass, c, s, "mlp.all_gather", l.upForward());
    pass.gemm("mlp.up", {1, l.rows, l.gates * l.inner, l.hidden}, l.linearAlignment(l.inner));
    adapterForward(pass, s, l, l.hidden, l.gates * l.inner);
    l.activationForward(pass, c, l.rows, l.inner);
    if (again == MadeAgain::WhatIsRead) return;
    pass.gemm("mlp.down", {1, l.rows, l.hidden, l.inner}, l.linearAlignment(l.inner));
    adapterForward(pass, s, l, l.inner, l.hidden);
    l.reduceOutput(pass, c, s, "mlp.all_reduce");
}

/// Forward passes, shared by the forward itself and full recomputation.
void makeLayer(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l, MadeAgain again)
{
    const FrameworkPreset& f = c.framework;
    const double e = l.e;
    pass.setCaptured(f.capturesAttention);
    pass.memory("norm", 2 * e * l.rowsSplit * l.hidden * l.normPasses, f.fusedNorm ? 1 : 4, CostPart::MemoryBound,
                l.normName, l.normClass);
    l.gatherAttentionInputs(pass, c, s, l.qkvForward());
    pass.gemm("attention.qkv", {1, l.rows, l.qkvWidth, l.hidden}, l.qkvAlignment);
    adapterForward(pass, s, l, l.hidden, l.qkvWidth);
    l.rotary(pass, c);
    l.attentionForward(pass, c, s);
    pass.gemm("attention.out", {1, l.rows, l.hidden, l.valueWidth}, l.linearAlignment(l.valueWidth));
    adapterForward(pass, s, l, l.valueWidth, l.hidden);
    l.reduceOutput(pass, c, s, "attention.all_reduce");
    l.residualForward(pass, c);
    pass.memory("norm", 2 * e * l.rowsSplit * l.hidden * l.normPasses, f.fusedNorm ? 1 : 4, CostPart::MemoryBound,
                l.normName, l.normClass);
    if (s.mixture) {
        l.mixtureForward(pass, c, s);
    } else {
        pass.setCaptured(false);
        denseForward(pass, c, s, l, again);
    }
    if (again == MadeAgain::All) l.residualForward(pass, c);
}

void forwardPass(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    makeLayer(pass, c, s, l, MadeAgain::All);
}

void selectiveRecompute(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    if (c.framework.selective == SelectiveRecompute::AttentionCore) {
        if (!l.fusedAttention || c.framework.recomputesFused) l.attentionForward(pass, c, s);
        return;
    }
    // Every second product, and everything between them but the fused attention and the reductions.
    const double e = l.e;
    pass.memory("norm", 2 * 2 * e * l.rowsSplit * l.hidden * l.normPasses, 2 * (c.framework.fusedNorm ? 1 : 4),
                CostPart::MemoryBound, nullptr, l.normClass);
    if (c.framework.selective == SelectiveRecompute::AllButProducts) {
        l.rotary(pass, c);
        l.attentionForward(pass, c, s);
        l.residualForward(pass, c);
        l.activationForward(pass, c, s.mixture ? l.expertRows : l.rows, s.mixture ? l.expertInner : l.inner);
        return;
    }
    l.gatherAttentionInputs(pass, c, s, 0);
    pass.gemm("attention.key", {1, l.rows, l.keyWidth, l.hidden});
    l.rotary(pass, c);
    pass.gemm("attention.out", {1, l.rows, l.hidden, l.valueWidth});
    l.residualForward(pass, c);
    l.gatherInput(pass, c, s, "mlp.all_gather", 0);
    if (l.gates > 1) pass.gemm("mlp.gate", {1, l.rows, l.inner, l.hidden});
    l.activationForward(pass, c, l.rows, l.inner);
}

/// The modules that a plan names, each from what it keeps.
void moduleRecompute(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    const auto has = [&s](RecomputeModule module) { return (s.recomputeModules & module) != 0; };
    if (has(kRecomputeLayerNorm))
        pass.memory("norm", 2 * 2 * l.e * l.rowsSplit * l.hidden * l.normPasses, 2 * (c.framework.fusedNorm ? 1 : 4),
                    CostPart::MemoryBound, nullptr, l.normClass);
    if (has(kRecomputeMlaUpProjection)) l.projectLatents(pass, c);
    if (has(kRecomputeCoreAttention)) l.attentionForward(pass, c, s);
    if (s.mixture && has(kRecomputeExperts)) return l.mixtureForward(pass, c, s);
    if (s.mixture && has(kRecomputeExpertActivation)) l.activationForward(pass, c, l.expertRows, l.expertInner);
    if (s.mixture && has(kRecomputeSharedExperts)) l.sharedForward(pass, c, s);
    if (!s.mixture && has(kRecomputeMlp)) denseForward(pass, c, s, l);
}

void backwardInputPass(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    const FrameworkPreset& f = c.framework;
    const double e = l.e;
    l.residualBackward(pass, c);
    if (s.mixture) {
        l.mixtureBackwardInput(pass, c, s);
    } else {
        l.gatherGradient(pass, c, s, "mlp.all_gather_gradient");
        pass.gemm("mlp.down.input_gradient", {1, l.rows, l.inner, l.hidden}, l.linearAlignment(l.inner));
        adapterBackward(pass, s, l, l.inner, l.hidden);
        l.activationBackward(pass, c, l.rows, l.inner);
        pass.gemm("mlp.up.input_gradient", {1, l.rows, l.hidden, l.gates * l.inner}, l.linearAlignment(l.inner));
        adapterBackward(pass, s, l, l.hidden, l.gates * l.inner);
        l.reduceGradient(pass, c, s, "mlp.all_reduce_gradient", l.upForward());
    }
    pass.setCaptured(f.capturesAttention);
    pass.memory("norm.backward", 5 * e * l.rowsSplit * l.hidden * l.normPasses, f.fusedNorm ? 2 : 6,
                CostPart::MemoryBound, l.normBackwardName, l.normBackwardClass);
    l.residualBackward(pass, c);
    l.gatherGradient(pass, c, s, "attention.all_gather_gradient");
    pass.gemm("attention.out.input_gradient", {1, l.rows, l.valueWidth, l.hidden}, l.linearAlignment(l.valueWidth));
    adapterBackward(pass, s, l, l.valueWidth, l.hidden);
    l.attentionBackward(pass, c, s);
    l.rotary(pass, c);
    pass.gemm("attention.qkv.input_gradient", {1, l.rows, l.hidden, l.qkvWidth}, l.qkvAlignment);
    adapterBackward(pass, s, l, l.hidden, l.qkvWidth);
    l.reduceAttentionGradients(pass, c, s, l.qkvForward());
    pass.memory("norm.backward", 5 * e * l.rowsSplit * l.hidden * l.normPasses, f.fusedNorm ? 2 : 6,
                CostPart::MemoryBound, l.normBackwardName, l.normBackwardClass);
}

/// Sums over the rows of what passes a bias.
void biasGradients(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    if (!c.model.biases) return;
    if (!c.framework.residualInProduct) // those of the residual sums are there in the sums' own kernels
        return pass.memory("bias.gradient", l.e * l.rows * (l.qkvWidth + (s.mixture ? 0 : l.gates * l.inner)), 2);
    // A kernel for each product, but where the activation's gradient is summed up in the kernel that makes it.
    const auto sum = [&](const char* name, double rows, double width) {
        pass.memory(name, l.e * rows * width, 1, CostPart::MemoryBound, "bias.gradient");
    };
    const bool withActivation = s.fuse && l.gates == 1 && !s.splitBackward;
    sum("mlp.down.bias_gradient", l.rowsSplit, l.hidden);
    if (!s.mixture && !withActivation) sum("mlp.up.bias_gradient", l.rows, l.gates * l.inner);
    sum("attention.out.bias_gradient", l.rowsSplit, l.hidden);
    sum("attention.qkv.bias_gradient", l.rows, l.qkvWidth);
}

/// Where a rank keeps a share of the gradients, what a micro-batch leaves of them is added to it: two read, one written.
void addToShare(PassBuilder& pass, const LayerSetting& s, double parameters)
{
    constexpr double kBytes = 3 * 4;
    pass.memory("gradient.add", kBytes * s.addedShares * parameters, 1, CostPart::MemoryBound, "residual");
}

void backwardWeightPass(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const LayerShape& l)
{
    if (s.loraRank > 0) return adapterWeightGradients(pass, c, s, l);
    const double output = l.weightGradientBytes(c);
    if (s.mixture) {
        l.mixtureBackwardWeight(pass, c, output);
    } else {
        pass.gemm("mlp.down.weight_gradient", {1, l.hidden, l.inner, l.rows}, l.linearAlignment(l.inner), output);
        pass.gemm("mlp.up.weight_gradient", {1, l.gates * l.inner, l.hidden, l.rows}, l.linearAlignment(l.inner),
                  output);
    }
    pass.setCaptured(c.framework.capturesAttention);
    pass.gemm("attention.out.weight_gradient", {1, l.hidden, l.valueWidth, l.rows}, l.linearAlignment(l.valueWidth),
              output);
    pass.gemm("attention.qkv.weight_gradient", {1, l.qkvWidth, l.hidden, l.rows}, l.qkvAlignment, output);
    biasGradients(pass, c, s, l);
    pass.memory("gradient.accumulate", c.framework.accumulationBytes * (l.parameters + l.expertParameters), 12);
    addToShare(pass, s, l.parameters);
}

} // namespace

std::size_t LayerSettingHash::operator()(const LayerSetting& s) const
{
    std::uint64_t hash = 0;
    const auto add = [&hash](std::uint64_t part) {
        constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15; // 2^64 by the golden ratio
        hash = (hash ^ part) * kOdd;
        hash ^= hash >> 29;
    };
    for (const double each :
         {s.microBatch, s.sequence, s.attended, s.added, s.addedShares, s.besideExchange, s.loraRank})
        add(std::hash<double>()(each));
    for (const int each : {s.tp, s.cp, s.ep, s.etp, s.balanced.ranks, s.balanced.perNode, static_cast<int>(s.recompute),
                           static_cast<int>(s.recomputeModules), static_cast<int>(s.collective)})
        add(static_cast<std::uint64_t>(each));
    for (const bool each : {s.sequenceParallel, s.fusedAttention, s.overlap, s.fuse, s.splitBackward, s.naturalRouting,
                            s.mixture, s.gathersContext, s.oncePerNode, s.overlapExperts})
        hash = 2 * hash + each;
    add(0);
    return hash;
}

double alignmentOf(double length)
{
    double alignment = 1;
    while (alignment < 1024 && std::fmod(length, 2 * alignment) == 0) alignment *= 2;
    return alignment;
}

double paddedVocabulary(const CostContext& context, int tp)
{
    const auto vocabulary = static_cast<double>(context.model.vocabulary);
    if (!context.framework.padVocabulary) return vocabulary;
    const double unit = 128.0 * tp;
    return std::ceil(vocabulary / unit) * unit;
}

double tensorCollective(const CostContext& context, const LayerSetting& setting, Collective collective, double bytes)
{
    return context.collectives.seconds(collective, bytes, placeGroup(setting.tp, 1, context.devicesPerNode),
                                       setting.collective);
}

namespace {

/// Computation that may run beside each exchange with experts: a forward pass runs beside a backward pass of another
/// micro-batch, and the computation of both beside the exchanges of both.
double computationBeside(const CostContext& c, const LayerSetting& s, const LayerShape& shape)
{
    constexpr int kExchanges = 4; // there and back, of either pass
    double seconds = 0;
    for (const auto fill : {forwardPass, backwardInputPass, backwardWeightPass}) {
        PassBuilder pass(c.rates, c.framework, c.calibration);
        fill(pass, c, s, shape);
        seconds += pass.computeSeconds();
    }
    return seconds / kExchanges;
}

} // namespace

LayerCost layerCost(const CostContext& c, const LayerSetting& given, std::int64_t layer, const OperatorLists& lists)
{
    const LayerShape shape(c, given);
    LayerSetting s = given;
    if (s.mixture && s.overlapExperts) s.besideExchange = computationBeside(c, s, shape);
    const auto build = [&](std::vector<OperatorCost>* list, auto&& fill, GemmLayout layout = GemmLayout::Plain) {
        PassBuilder pass(c.rates, c.framework, c.calibration, list);
        pass.setLayer(layer);
        pass.setLayout(layout);
        pass.setAdded(s.added);
        fill(pass, c, s, shape);
        return pass.finish();
    };
    LayerCost cost;
    cost.forward = build(lists.forward, forwardPass);
    if (s.recompute == Recompute::Full) {
        // Random states are kept in the forward and put back, twice, around the recomputation.
        constexpr int kRandomStates = 6;
        const auto again = [](PassBuilder& pass, const CostContext& context, const LayerSetting& setting,
                              const LayerShape& l) {
            if (context.framework.dropout) pass.launches(kRandomStates);
            makeLayer(pass, context, setting, l,
                      context.framework.recomputeStopsEarly ? MadeAgain::WhatIsRead : MadeAgain::All);
        };
        cost.recompute = build(lists.recompute, again);
        cost.recompute.modelFlops = 0;
    } else if (s.recompute == Recompute::Selective) {
        cost.recompute = build(lists.recompute, s.recomputeModules != 0 ? moduleRecompute : selectiveRecompute);
        cost.recompute.modelFlops = 0;
    }
    cost.backwardInput = build(lists.backwardInput, backwardInputPass, GemmLayout::SecondTransposed);
    cost.backwardWeight = build(lists.backwardWeight, backwardWeightPass, GemmLayout::FirstTransposed);
    shape.addMemory(cost, c, s);
    cost.parameters = shape.parameters;
    cost.partialParameters = shape.partialParameters;
    if (s.loraRank > 0) { // what goes down to the adapters' rank is kept for the gradient of the way up
        cost.frozenParameters = cost.parameters;
        cost.parameters += adapterParameters(s, shape);
        cost.partialParameters = 0;
        const double kept = 4 * s.loraRank * shape.rows * shape.e;
        cost.savedBytes += kept;
        cost.savedForWeight += kept;
    }
    cost.expertParameters = shape.expertParameters;
    return cost;
}

LayerCost embeddingCost(const CostContext& c, const LayerSetting& s, const OperatorLists& lists)
{
    const LayerShape l(c, s);
    const double e = l.e;
    const double activations = l.rows * l.hidden;
    const bool positions = c.model.positions == Positions::Learned;
    LayerCost cost;
    PassBuilder forward(c.rates, c.framework, c.calibration, lists.forward);
    forward.memory("embedding", 2 * e * activations * (positions ? 1.5 : 1) / 1, positions ? 3 : 1);
    if (c.framework.dropout) forward.memory("dropout", (2 * e + 1) * activations);
    if (c.model.embeddingNorm) forward.memory("norm", 2 * e * activations);
    const auto exchange = [&](PassBuilder& pass, const char* name, Collective kind) {
        pass.communicate(name, CostPart::TensorComm, kind, tensorCollective(c, s, kind, e * activations),
                         e * activations, CollectiveTimes::wireBytes(kind, e * activations, s.tp));
    };
    exchange(forward, "embedding.all_reduce", s.sequenceParallel ? Collective::ReduceScatter : Collective::AllReduce);
    cost.forward = forward.finish();
    PassBuilder backward(c.rates, c.framework, c.calibration, s.loraRank > 0 ? nullptr : lists.backwardWeight);
    // Every rank adds up its part of the table over all rows.
    if (s.sequenceParallel) exchange(backward, "embedding.all_gather_gradient", Collective::AllGather);
    // Rows are sorted and added: read the gradient, read and write the rows that occur.
    backward.memory("embedding.weight_gradient", 4 * e * activations, 3);
    const double vocabulary = paddedVocabulary(c, s.tp);
    cost.parameters =
        l.hidden * (vocabulary / s.tp + (positions ? static_cast<double>(c.model.sequence) : 0) +
                    static_cast<double>(c.model.tokenTypes) + (c.model.embeddingNorm ? l.normNumbers : 0));
    if (!c.model.tiedEmbeddings) addToShare(backward, s, cost.parameters);
    cost.backwardWeight = backward.finish();
    if (s.sequenceParallel) cost.partialParameters = cost.parameters - l.hidden * vocabulary / s.tp;
    if (s.loraRank > 0) { // nothing is trained here
        cost.backwardWeight = {};
        cost.frozenParameters = cost.parameters;
        cost.partialParameters = 0;
    }
    if (c.framework.dropout) cost.savedBytes = l.rowsSplit * l.hidden; // the mask
    return cost;
}

LayerCost headCost(const CostContext& c, const LayerSetting& s, const OperatorLists& lists)
{
    const LayerShape l(c, s);
    const double e = l.e;
    const double vocabulary = paddedVocabulary(c, s.tp) / s.tp;
    const double logits = l.rows * vocabulary;
    LayerCost cost;
    PassBuilder forward(c.rates, c.framework, c.calibration, lists.forward);
    PassBuilder input(c.rates, c.framework, c.calibration, lists.backwardInput);
    PassBuilder weight(c.rates, c.framework, c.calibration, lists.backwardWeight);
    // Where the gradients come with the loss, all of it is done in the forward pass.
    PassBuilder& inputGradient = c.framework.lossWithForward ? forward : input;
    PassBuilder& weightGradient = c.framework.lossWithForward ? forward : weight;
    const char* loss = s.tp > 1 ? "loss.sharded" : "loss";

    forward.memory("norm", 2 * e * l.rowsSplit * l.hidden * l.normPasses, 1, CostPart::MemoryBound, l.normName,
                   l.normClass);
    l.gatherInput(forward, c, s, "head.all_gather", 0);
    forward.setLayout(GemmLayout::SecondTransposed); // the table's rows are the vocabulary
    forward.gemm("head.logits", {1, l.rows, vocabulary, l.hidden});
    forward.memory("loss", c.framework.lossBytesPerLogit / 2 * logits, 4, CostPart::MemoryBound, loss);
    const double each = 12 * l.rows / c.framework.lossAllReduces;
    if (s.tp > 1)
        forward.communicate("loss.all_reduce", CostPart::TensorComm, Collective::AllReduce,
                            c.framework.lossAllReduces * tensorCollective(c, s, Collective::AllReduce, each),
                            12 * l.rows, CollectiveTimes::wireBytes(Collective::AllReduce, 12 * l.rows, s.tp));

    inputGradient.memory("loss.backward", c.framework.lossBytesPerLogit / 2 * logits, 3, CostPart::MemoryBound, loss);
    inputGradient.setLayout(GemmLayout::Plain);
    inputGradient.gemm("head.logits.input_gradient", {1, l.rows, l.hidden, vocabulary});
    const bool withLoss = c.framework.lossWithForward; // its gradients are all there before their reduction begins
    l.reduceGradient(inputGradient, c, s, "head.all_reduce_gradient",
                     withLoss ? 0 : l.gemmTime(c, {1, vocabulary, l.hidden, l.rows}), !withLoss);
    input.memory("norm.backward", 5 * e * l.rowsSplit * l.hidden * l.normPasses, 2, CostPart::MemoryBound,
                 l.normBackwardName, l.normBackwardClass);

    if (!(s.loraRank > 0)) {
        weightGradient.setLayout(GemmLayout::FirstTransposed);
        weightGradient.setAdded(s.added);
        weightGradient.gemm("head.logits.weight_gradient", {1, l.hidden, vocabulary, l.rows}, 8,
                            l.weightGradientBytes(c));
        weightGradient.memory("gradient.accumulate", c.framework.accumulationBytes * vocabulary * l.hidden);
        addToShare(weightGradient, s, vocabulary * l.hidden);
    }
    cost.forward = forward.finish();
    cost.backwardInput = input.finish();
    cost.backwardWeight = weight.finish();
    cost.parameters = vocabulary * l.hidden;
    cost.normParameters = c.model.postNorm ? 0 : l.normNumbers * l.hidden;
    if (s.sequenceParallel && !(s.loraRank > 0)) cost.partialParameters = cost.normParameters;
    const bool cut = s.tp > 1 && c.framework.shardedLogitBytes > 0;
    const double logitBytes = cut ? c.framework.shardedLogitBytes : c.framework.logitBytes;
    cost.workingBytes = logitBytes * logits;
    cost.savedBytes = e * l.rowsSplit * l.hidden * 2;
    cost.savedForWeight = cost.savedBytes;
    if (c.framework.logitsAtOnce > 0) {
        constexpr double kLeastRows = 256; // the engine's OutputHead
        const double atOnce =
            s.fuse ? std::max(kLeastRows, std::floor(c.framework.logitsAtOnce / vocabulary / 16) * 16) : l.rows;
        cost.workingBytes = logitBytes * std::min(l.rows, atOnce) * vocabulary;
    }
    if (c.framework.lossWithForward) {
        // With the loss comes the gradient, which takes the place of the norm's result; with the input of the norm it
        // is gone when the first layer below begins.
        cost.workingForwardBytes = cost.workingBytes + e * l.rowsSplit * l.hidden;
        if (s.sequenceParallel) cost.workingForwardBytes += 2 * e * l.rows * l.hidden; // all rows and their gradient
        cost.workingBytes = 0;
        cost.freedBeforeBytes = cost.savedBytes;
        cost.savedForWeight = 0;
    }
    return cost;
}

} // namespace fourwalls::cost
