// SPDX-License-Identifier: Apache-2.0
// See layer_shape.h.
#include "model/cost/layer_shape.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::cost {

namespace {

// Bytes of element-wise work done by separate kernels in float, against one fused kernel. RMSNorm: convert, square,
// mean, scale, convert, multiply by the weight; rotary in complex float: convert, multiply, convert.
constexpr double kEagerRmsNorm = 6;
constexpr double kEagerRotary = 5;

} // namespace

LayerShape::LayerShape(const CostContext& c, const LayerSetting& s)
{
    const TransformerSpec& m = c.model;
    const double t = s.tp;
    e = c.rates.elementBytes;
    rows = s.microBatch * s.sequence / s.cp;
    rowsSplit = s.sequenceParallel ? rows / t : rows;
    hidden = static_cast<double>(m.hidden);
    gates = m.activation == Activation::SwiGlu ? 2 : 1;
    heads = static_cast<double>(m.heads) / t;
    const double kvHeads = std::max(1.0, static_cast<double>(m.kvHeads) / t); // fewer than ranks: copied
    const double width = static_cast<double>(m.headSize());
    const LatentAttentionSpec& latent = m.latent;
    const bool isLatent = latent.keyValueRank > 0;
    scoreWidth = width + (isLatent ? static_cast<double>(latent.rotaryWidth) : 0);
    headValueWidth = isLatent ? static_cast<double>(latent.valueWidth) : width;
    queryWidth = heads * scoreWidth;
    keyWidth = isLatent ? heads * scoreWidth : kvHeads * width;
    valueWidth = heads * headValueWidth; // what attention returns
    keyValueWidth = keyWidth + (isLatent ? valueWidth : kvHeads * width);
    qkvWidth = queryWidth + keyValueWidth;
    inner = static_cast<double>(m.ffnHidden) / t;
    normPasses = m.normalization == Normalization::RmsNorm && !c.framework.fusedNorm ? kEagerRmsNorm : 1;
    if (normPasses > 1) normClass = normBackwardClass = MemoryClass::Contiguous;
    fusedAttention = s.fusedAttention && c.framework.flashAttention;
    splitBackward = s.splitBackward;
    residualInside = c.framework.residualInProduct && s.fuse && s.tp == 1;
    if (m.normalization == Normalization::RmsNorm) {
        normName = "norm.rms";
        normBackwardName = "norm.rms.backward";
        normStatistics = 2;
        normNumbers = 1;
    }
    m_batch = s.microBatch;
    m_queries = s.sequence / s.cp;
    m_keys = s.sequence;
    m_attended = s.attended > 0 ? std::min(s.attended, m_keys) : m_keys;
    m_causal = m.causal;

    parameters = hidden * (qkvWidth + valueWidth);
    attentionInputs[0] = {hidden, true};
    qkvAlignment = linearAlignment(qkvWidth);
    if (isLatent) { // low-rank products stand for the full ones
        const auto query = static_cast<double>(latent.queryRank), key = static_cast<double>(latent.keyValueRank);
        const auto rotary = static_cast<double>(latent.rotaryWidth);
        const double queryInput = query > 0 ? query : hidden;
        // Down-projections are whole on every rank, for the rows that it holds; up-projections are cut by heads.
        const double down = hidden * (query + key + rotary);
        const double up = queryInput * queryWidth + key * heads * (width + headValueWidth);
        qkvWidth = ((s.sequenceParallel ? down / t : down) + up) / hidden; // a product of equal work
        parameters = down + up + hidden * valueWidth + query + key;        // an RMSNorm per latent
        if (s.sequenceParallel) partialParameters = down + query + key;
        latentWidth = 2 * (query + key); // before and behind their norms
        normStatistics += query > 0 ? 2 : 1;
        attentionInputs = {{{queryInput, true}, {key, true}, {rotary, false}}};
        qkvAlignment =
            std::min({alignmentOf(hidden), alignmentOf(queryInput), alignmentOf(key), alignmentOf(key + rotary),
                      alignmentOf(queryWidth), alignmentOf(heads * (width + headValueWidth))});
    }
    // Norms, and biases: those behind a sum over the ranks are whole on each.
    parameters += 2 * normNumbers * hidden;
    if (s.sequenceParallel) partialParameters += (2 * normNumbers + (m.biases ? 2 : 0)) * hidden;
    if (m.biases) parameters += qkvWidth + 2 * hidden + (s.mixture ? 0 : gates * inner);
    if (s.mixture) {
        const ExpertSpec& x = m.mixture;
        m_topK = static_cast<double>(x.topK);
        experts = std::max(1.0, static_cast<double>(x.experts) / s.ep);
        const double cut = s.expertTensor();
        expertInner = static_cast<double>(x.expertHidden) / cut;
        sharedInner = static_cast<double>(x.sharedHidden) / t;
        m_routed = (cut < t ? rows / t : rowsSplit) * m_topK;
        expertRows = rows * cut / t * m_topK * (s.naturalRouting && s.ep > 1 ? c.calibration.routingImbalance : 1);
        parameters += hidden * (static_cast<double>(x.experts) + (gates + 1) * sharedInner);
        expertParameters = experts * (gates + 1) * hidden * expertInner;
    } else {
        parameters += (gates + 1) * hidden * inner;
    }
    if (c.framework.asyncTensor && s.tp > 1) {
        m_qkvSeconds = gemmTime(c, {1, rows, qkvWidth, hidden});
        m_upSeconds = gemmTime(c, {1, rows, gates * (s.mixture ? expertInner : inner), hidden});
    } else if (c.framework.overlapTensorBackward && s.tp > 1) {
        m_qkvSeconds = gemmTime(c, {1, qkvWidth, hidden, rows});
        m_upSeconds = gemmTime(c, {1, gates * inner, hidden, rows});
    }
}

double LayerShape::linearAlignment(double width) const
{
    return std::min(alignmentOf(width), alignmentOf(hidden));
}

double LayerShape::gemmTime(const CostContext& c, const GemmShape& g) const
{
    return gemmSeconds(c.rates, g.batch, g.m, g.n, g.k);
}

double LayerShape::weightGradientBytes(const CostContext& c) const
{
    // Added to the buffer inside the product: it is read and written.
    return c.framework.accumulationBytes > 0 ? e : 2 * c.framework.gradientBytes;
}

void LayerShape::rotary(PassBuilder& pass, const CostContext& c) const
{
    if (c.model.positions != Positions::Rotary) return;
    const double passes = c.framework.fusedRotary ? 1 : kEagerRotary;
    pass.memory("attention.rotary", 2 * e * rows * (queryWidth + keyWidth) * passes, c.framework.fusedRotary ? 1 : 8);
}

void LayerShape::projectLatents(PassBuilder& pass, const CostContext& c) const
{
    const LatentAttentionSpec& latent = c.model.latent;
    if (latent.keyValueRank <= 0) return;
    const auto queries = static_cast<double>(latent.queryRank), keys = static_cast<double>(latent.keyValueRank);
    if (queries > 0) pass.gemm("attention.queries", {1, rows, queryWidth, queries}, qkvAlignment);
    const double width = scoreWidth - static_cast<double>(latent.rotaryWidth) + headValueWidth;
    pass.gemm("attention.keys_values", {1, rows, heads * width, keys}, qkvAlignment);
    rotary(pass, c);
}

/// Keys that one call of the fused kernel works on: in a ring a rank has two stretches, which meet one by one. Where all
/// keys were brought together it may still go through them so. Of documents it is their mean by tokens: with a rate of
/// r keys / (keys + half) their times then add up to the same as document by document. The engine's kernel takes a
/// rank's both stretches at once, and of the others, where it is causal, half of the keys, or all of them for half of the
/// queries: by the time of one and the other, keys of 1 / (1 + 1.5 (cp - 1)) of all.
double LayerShape::keysAtOnce(const CostContext& c, const LayerSetting& s) const
{
    const bool inPieces = !s.gathersContext || c.framework.contextInPieces;
    if (s.cp > 1 && inPieces && c.framework.attentionKernel == "engine")
        return m_attended / (m_causal ? 1 + 1.5 * (s.cp - 1) : s.cp);
    return s.cp > 1 && inPieces ? m_attended / (2 * s.cp) : m_attended;
}

double LayerShape::attentionFlops(const LayerSetting&) const
{
    return 2 * m_batch * m_queries * m_attended * heads * (scoreWidth + headValueWidth);
}

void LayerShape::attentionForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    const double half = m_causal ? 0.5 : 1;
    if (fusedAttention) {
        const double before = pass.computeSeconds();
        // Keys and values copied to every query head, the result brought back into rows.
        pass.memory("attention.copies", c.framework.attentionCopies * e * rows * valueWidth, 3);
        pass.fusedAttention("attention.fused", attentionFlops(s) * half, false, 1,
                            m_causal ? "attention.fused" : "attention.fused.whole", keysAtOnce(c, s), scoreWidth);
        exchangeKeys(pass, c, s, false, pass.computeSeconds() - before);
        return;
    }
    // All pairs are computed and masked, those of different documents as well.
    const double scores = m_batch * heads * m_queries * m_keys, needed = half * m_attended / m_keys;
    const double align = alignmentOf(scoreWidth);
    const double before = pass.computeSeconds();
    pass.attentionGemm("attention.scores", {m_batch * heads, m_queries, m_keys, scoreWidth}, align, needed);
    pass.memory("attention.softmax", (c.framework.fusedSoftmax ? 2 * e : 7 * e) * scores,
                c.framework.fusedSoftmax ? 1 : 4, CostPart::MemoryBound);
    // Around it the tracker of random states reads and sets the device's state, twice each.
    if (c.framework.dropout) {
        pass.memory("attention.dropout", (2 * e + 1) * scores);
        pass.launches(4);
    }
    pass.attentionGemm("attention.values", {m_batch * heads, m_queries, headValueWidth, m_keys}, align, needed);
    exchangeKeys(pass, c, s, false, pass.computeSeconds() - before);
    pass.memory("attention.transpose", 2 * e * rows * valueWidth);
}

void LayerShape::attentionBackward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    const double half = m_causal ? 0.5 : 1;
    const double before = pass.computeSeconds();
    if (fusedAttention) {
        pass.memory("attention.copies.backward", c.framework.attentionCopies * e * rows * valueWidth, 3);
        // Scores are computed again: five products for the forward's two.
        pass.fusedAttention("attention.fused.backward", 2.5 * attentionFlops(s) * half, true, 2 / 2.5,
                            m_causal ? "attention.fused.backward" : "attention.fused.whole.backward", keysAtOnce(c, s),
                            scoreWidth);
        exchangeKeys(pass, c, s, true, pass.computeSeconds() - before);
        return;
    }
    const double scores = m_batch * heads * m_queries * m_keys, needed = half * m_attended / m_keys;
    const double align = alignmentOf(scoreWidth);
    const double batch = m_batch * heads;
    pass.memory("attention.transpose.backward", 2 * e * rows * valueWidth);
    pass.attentionGemm("attention.probability_gradient", {batch, m_queries, m_keys, headValueWidth}, align, needed);
    pass.attentionGemm("attention.value_gradient", {batch, m_keys, headValueWidth, m_queries}, align, needed, true);
    if (c.framework.dropout) pass.memory("attention.dropout.backward", (2 * e + 1) * scores);
    pass.memory("attention.softmax.backward", (c.framework.fusedSoftmax ? 3 * e : 7 * e) * scores,
                c.framework.fusedSoftmax ? 1 : 4);
    pass.attentionGemm("attention.query_gradient", {batch, m_queries, scoreWidth, m_keys}, align, needed);
    pass.attentionGemm("attention.key_gradient", {batch, m_keys, scoreWidth, m_queries}, align, needed, true);
    exchangeKeys(pass, c, s, true, pass.computeSeconds() - before);
}

void LayerShape::exchangeKeys(PassBuilder& pass, const CostContext& c, const LayerSetting& s, bool backward,
                              double window) const
{
    if (s.cp <= 1) return;
    if (s.gathersContext) return gatherKeys(pass, c, s, backward, window);
    // A ring: every rank passes the keys and values of every other one on, in the backward pass with their gradients,
    // which come home after a whole turn.
    const double own = e * rows * keyValueWidth, piece = backward ? 2 * own : own;
    const GroupPlacement group = placeGroup(s.cp, s.tp, c.devicesPerNode);
    const double seconds = (s.cp - 1) * c.collectives.pointToPoint(piece, group.insideNode());
    const double wire = piece * (s.cp - 1) + (backward ? own : 0);
    pass.communicateBeside("attention.keys", CostPart::ContextComm, Collective::AllGather, seconds, wire, wire,
                           s.overlap ? window * (s.cp - 1) / s.cp : 0);
}

/// Keys and values of all context ranks, before any of them is used or beside the first piece. The backward pass brings
/// them together once more; their gradients are scattered, or go round a ring piece by piece.
void LayerShape::gatherKeys(PassBuilder& pass, const CostContext& c, const LayerSetting& s, bool backward,
                            double window) const
{
    const double own = e * rows * keyValueWidth, all = own * s.cp;
    const GroupPlacement group = placeGroup(s.cp, s.tp, c.devicesPerNode);
    const bool inPieces = c.framework.contextInPieces;
    const auto collective = [&](const char* name, Collective kind, double beside) {
        const double wire = CollectiveTimes::wireBytes(kind, all, s.cp);
        pass.communicateBeside(name, CostPart::ContextComm, kind, c.collectives.seconds(kind, all, group), wire, wire,
                               beside);
    };
    collective("attention.keys", Collective::AllGather, inPieces && s.overlap ? window / s.cp : 0);
    if (!backward) return;
    if (!inPieces) return collective("attention.keys.gradient", Collective::ReduceScatter, 0);
    const double wire = own * s.cp; // home after a whole turn
    pass.communicateBeside("attention.keys.gradient", CostPart::ContextComm, Collective::ReduceScatter,
                           s.cp * c.collectives.pointToPoint(own, group.insideNode()), wire, wire,
                           s.overlap ? window * (s.cp - 1) / s.cp : 0);
}

void LayerShape::activationForward(PassBuilder& pass, const CostContext& c, double tokens, double width) const
{
    const bool fused = c.framework.fusedActivation;
    double passes = gates > 1 ? (fused ? 3 : 5) : 2;
    if (!fused && gates == 1 && c.model.biases) passes += 2;
    pass.memory("mlp.activation", passes * e * tokens * width, fused ? 1 : 2, CostPart::MemoryBound,
                gates > 1 ? "mlp.activation.gated" : nullptr);
}

void LayerShape::activationBackward(PassBuilder& pass, const CostContext& c, double tokens, double width) const
{
    const bool fused = c.framework.fusedActivation;
    const double passes = gates > 1 ? (fused ? 5 : 8) : 3;
    pass.memory("mlp.activation.backward", passes * e * tokens * width, fused ? 1 : 3, CostPart::MemoryBound,
                gates > 1 ? "mlp.activation.gated.backward" : nullptr);
}

void LayerShape::residualForward(PassBuilder& pass, const CostContext& c) const
{
    const FrameworkPreset& f = c.framework;
    if (residualInside)
        return pass.memory("residual", e * rowsSplit * hidden, 1, CostPart::MemoryBound, "residual.inside");
    double bytes = 3 * e + (f.dropout ? 1 : 0);
    if (!f.fusedDropoutAdd) bytes += (f.dropout ? 2 * e : 0) + (c.model.biases ? 2 * e : 0);
    pass.memory("residual", bytes * rowsSplit * hidden, f.fusedDropoutAdd ? 1 : 2);
}

void LayerShape::residualBackward(PassBuilder& pass, const CostContext& c) const
{
    const FrameworkPreset& f = c.framework;
    if (f.residualInProduct) { // the norms add to the gradient that passes by
        if (splitBackward) pass.memory("copy", 2 * e * rowsSplit * hidden);
        return;
    }
    const double bytes = 3 * e + (f.dropout ? 2 * e + 1 : 0) + (c.model.biases ? e : 0);
    pass.memory("residual.backward", bytes * rowsSplit * hidden, f.dropout ? 4 : 2);
}

void LayerShape::gatherInput(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name,
                             double window, std::optional<double> width) const
{
    if (s.tp <= 1 || !s.sequenceParallel) return;
    const double bytes = e * rows * width.value_or(hidden);
    const double seconds = tensorCollective(c, s, Collective::AllGather, bytes);
    const double hidable = c.framework.asyncTensor && s.overlap ? window * (s.tp - 1) / s.tp : 0;
    pass.communicateBeside(name, CostPart::TensorComm, Collective::AllGather, seconds, bytes,
                           CollectiveTimes::wireBytes(Collective::AllGather, bytes, s.tp),
                           std::min(hidable, seconds * (s.tp - 1) / s.tp));
    placeSequences(pass, c, bytes);
}

void LayerShape::placeSequences(PassBuilder& pass, const CostContext& c, double bytes) const
{
    if (c.framework.copiesSequences && !c.framework.asyncTensor && m_batch > 1) pass.memory("sequences", 2 * bytes);
}

void LayerShape::reduceOutput(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    if (s.tp <= 1) return;
    const double bytes = e * rows * hidden;
    const Collective kind = s.sequenceParallel ? Collective::ReduceScatter : Collective::AllReduce;
    if (s.sequenceParallel) placeSequences(pass, c, bytes);
    const double seconds = tensorCollective(c, s, kind, bytes);
    const double hidable = c.framework.asyncTensor && s.sequenceParallel && s.overlap ? m_qkvSeconds / 3 : 0;
    pass.communicateBeside(name, CostPart::TensorComm, kind, seconds, bytes,
                           CollectiveTimes::wireBytes(kind, bytes, s.tp),
                           std::min(hidable, seconds * (s.tp - 1) / s.tp));
}

// The window of computation is shared by width.
void LayerShape::gatherAttentionInputs(PassBuilder& pass, const CostContext& c, const LayerSetting& s,
                                       double window) const
{
    for (const AttentionInput& input : attentionInputs)
        if (input.width > 0) gatherInput(pass, c, s, "attention.all_gather", window * shareOf(input), input.width);
}

void LayerShape::reduceAttentionGradients(PassBuilder& pass, const CostContext& c, const LayerSetting& s,
                                          double window) const
{
    for (const AttentionInput& input : attentionInputs)
        if (input.width > 0)
            reduceGradient(pass, c, s, "attention.all_reduce_gradient", window * shareOf(input), input.ofProduct,
                           input.width);
}

double LayerShape::shareOf(const AttentionInput& input) const
{
    double all = 0;
    for (const AttentionInput& each : attentionInputs) all += each.width;
    return input.width / all;
}

void LayerShape::gatherGradient(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    gatherInput(pass, c, s, name, m_qkvSeconds / 3);
}

void LayerShape::reduceGradient(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name,
                                double window, bool gathersAgain, std::optional<double> width) const
{
    if (s.tp <= 1) return;
    const double bytes = e * rows * width.value_or(hidden);
    // Where weight gradients are put off, they are not there to hide it.
    const bool beside = s.overlap && (c.framework.asyncTensor || (c.framework.overlapTensorBackward && !splitBackward));
    const double room = beside ? window : 0;
    const auto exchange = [&](const char* what, Collective kind) {
        pass.communicateBeside(what, CostPart::TensorComm, kind, tensorCollective(c, s, kind, bytes), bytes,
                               CollectiveTimes::wireBytes(kind, bytes, s.tp), room);
    };
    if (!s.sequenceParallel) return exchange(name, Collective::AllReduce);
    // The input is gathered again for the weight gradient, beside the input gradient's product.
    if (gathersAgain) exchange("gather_again", Collective::AllGather);
    placeSequences(pass, c, gathersAgain ? 2 * bytes : bytes);
    exchange(name, Collective::ReduceScatter);
}

double LayerShape::savedAttention(const CostContext& c, const LayerSetting&) const
{
    if (fusedAttention) return 4 * m_batch * heads * m_queries; // the rows' sums
    const double scores = m_batch * heads * m_queries * m_keys;
    return (c.framework.dropout ? 2 * e + 1 : e) * scores;
}

// What backward needs when nothing is recomputed, without the attention core. Source: arXiv:2205.05198, section 4.1,
// taken apart: 10 sbh + 24 sbh/t for a GELU block of width 4h with dropout.
double LayerShape::savedWithout(const CostContext& c, const LayerSetting& s) const
{
    double split = 2 * (2 * e) + (c.framework.dropout ? 2 : 0); // inputs of the norms and of the products, masks
    split *= rowsSplit * hidden;
    double own = e * rows * (queryWidth + keyValueWidth) + e * rows * valueWidth;
    own += e * rowsSplit * latentWidth;
    if (s.mixture)
        own += e * expertRows * (hidden + (gates + 1) * expertInner) + e * rows * (gates + 1) * sharedInner;
    else
        own += e * rows * (gates + 1) * inner;
    if (!c.framework.fusedNorm && normPasses > 1) split += 2 * 4 * rowsSplit * hidden; // the norms' float copies
    if (!c.framework.fusedActivation && gates > 1) own += e * rows * inner;            // the gate's activation
    return split + own;
}

double LayerShape::savedInModules(const CostContext& c, const LayerSetting& s) const
{
    const auto has = [&s](RecomputeModule module) { return (s.recomputeModules & module) != 0; };
    double bytes = 0;
    if (has(kRecomputeLayerNorm)) bytes += 2 * e * rowsSplit * hidden;
    if (has(kRecomputeMlaUpProjection) && latentWidth > 0) bytes += e * rows * (queryWidth + keyValueWidth);
    if (has(kRecomputeCoreAttention)) bytes += savedAttention(c, s);
    if (!s.mixture && has(kRecomputeMlp)) bytes += e * rows * (gates + 1) * inner;
    const double shared = e * rows * (gates + 1) * sharedInner;
    if (s.mixture && has(kRecomputeExperts))
        bytes += e * expertRows * (hidden + (gates + 1) * expertInner) + shared;
    else if (s.mixture)
        bytes += (has(kRecomputeExpertActivation) ? e * expertRows * expertInner : 0) +
                 (has(kRecomputeSharedExperts) ? shared : 0);
    return bytes;
}

double LayerShape::workingAtOnce(const CostContext& c, const LayerSetting& s) const
{
    const double passing = e * rowsSplit * hidden; // the gradient on its way down
    const double wide = e * rows * (s.mixture ? expertInner * m_topK : inner);
    // The gradient of the inner width; gated, both halves come while it is there, and the product of both has gone.
    const double feedForward = passing + (gates > 1 ? 2 * wide : wide);
    if (fusedAttention || s.recompute == Recompute::Full) return feedForward;
    // The gradient of the probabilities beside them, when the feed-forward block's buffers have gone.
    const double scores = e * m_batch * heads * m_queries * m_keys;
    const double attention = 2 * passing + e * rows * (qkvWidth + valueWidth) + scores - (gates + 1) * wide -
                             2 * passing + (s.recompute == Recompute::Selective ? savedAttention(c, s) : 0);
    return std::max(feedForward, attention);
}

void LayerShape::addMemory(LayerCost& cost, const CostContext& c, const LayerSetting& s) const
{
    const double input = e * rowsSplit * hidden;
    const double everything = savedWithout(c, s) + savedAttention(c, s);
    // Wide temporaries of the block at its widest: gradients of the inner width.
    const double wide = e * rows * (s.mixture ? expertInner * m_topK : inner), widest = 2 * wide * gates;
    switch (s.recompute) {
    case Recompute::None:
        cost.savedBytes = everything;
        cost.workingBytes = widest;
        break;
    case Recompute::Selective:
        if (s.recomputeModules != 0) {
            cost.workingBytes = savedInModules(c, s);
            cost.savedBytes = everything - cost.workingBytes;
        } else if (c.framework.selective == SelectiveRecompute::AttentionCore) {
            cost.savedBytes = savedWithout(c, s) + (fusedAttention ? savedAttention(c, s) : 0);
            cost.workingBytes = fusedAttention ? 0 : savedAttention(c, s);
        } else if (c.framework.selective == SelectiveRecompute::AllButProducts) {
            const double inside =
                s.mixture ? expertRows * gates * expertInner + rows * gates * sharedInner : rows * gates * inner;
            cost.savedBytes = 2 * input + e * (rows * qkvWidth + inside);
            cost.workingBytes = everything;
        } else {
            // The block's input, queries, values, the attention's result, one of the inner products, and what the first
            // reduction over the tensor group left. Step by step the last product and its reduction are kept like the
            // others; a compiled graph drops them, since no gradient needs them.
            const bool reduced = s.tp > 1 && s.sequenceParallel;
            const double product = s.mixture ? e * (expertRows * expertInner + rows * sharedInner) : e * rows * inner;
            cost.savedBytes = e * rows * (queryWidth + keyWidth + valueWidth) + product + (reduced ? 2 : 1) * input +
                              savedAttention(c, s);
            if (!c.framework.fusedActivation) cost.savedBytes += e * rows * hidden + (reduced ? input : 0);
            cost.workingBytes = everything;
        }
        cost.workingBytes += widest;
        break;
    case Recompute::Full:
        cost.savedBytes = input;
        cost.workingBytes = everything + widest;
        break;
    }
    if (s.gathersContext) { // keys and values of all context ranks, in the backward pass with their gradients
        const double all = e * rows * keyValueWidth * s.cp;
        cost.workingForwardBytes += all;
        cost.workingBytes += 2 * all;
    }
    cost.savedForWeight = cost.savedBytes * 0.6; // inputs of the products are most of it
    if (!c.framework.freesAtOnce) return;
    cost.savedBytes += 4 * rowsSplit * normStatistics;
    // The results of the experts for the gradients of the gates; probabilities, choices, gates and places of tokens.
    if (s.mixture && s.recompute != Recompute::Full) {
        const double routing = 4 * rows * (static_cast<double>(c.model.mixture.experts) + 3 * m_topK);
        cost.savedBytes += e * expertRows * hidden + routing;
    }
    // Its attention has one width for queries, keys and values: those of latent attention are filled up, and so is what
    // comes out.
    if (latentWidth > 0 && s.recompute != Recompute::Full)
        cost.savedBytes += 2 * e * rows * heads * (scoreWidth - headValueWidth);
    cost.workingBytes = workingAtOnce(c, s);
    if (s.recompute == Recompute::Full) {
        cost.savedBytes = input;
        cost.workingBytes += everything - input;
    }
    // Inputs of the four products and their gradients.
    const double deferred = e * (2 * rowsSplit * hidden + rows * valueWidth) + wide +
                            e * (2 * rowsSplit * hidden + rows * qkvWidth) + gates * wide;
    cost.savedForWeight = std::min(cost.savedBytes, deferred);
}

} // namespace fourwalls::cost
