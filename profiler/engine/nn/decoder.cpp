// SPDX-License-Identifier: Apache-2.0
// See decoder.h. n = samples * sequence; C = hidden; V = vocabulary.
#include "profiler/engine/nn/decoder.h"

#include "profiler/engine/nn/offloaded_layers.h"
#include "profiler/engine/nn/sequence_split.h"

#include <algorithm>
#include <utility>

namespace fourwalls::engine {

struct Decoder::State final : ForwardState {
    std::vector<DecoderLayer::Saved> layers;
    OffloadedLayers away; // what of them is in the host's pool
    TokenEmbedding::Saved embedding;
    Tensor last, normed; // input and output of the final norm; without one they are the same
    Norm::Saved finalNorm;
    Tensor gradient; // with respect to `normed`, from loss()
};

Decoder::Decoder(const RankContext& rank, const TransformerSpec& spec, std::int64_t sequence, std::uint64_t seed,
                 const ComputeOptions& options, const ChunkRange& range, Parameter* tiedTable)
    : m_spec(spec)
{
    if (range.first) {
        m_embeddingUnit = m_parameters.beginUnit("embedding", spec.embeddingNorm);
        m_embedding.emplace(rank, m_parameters, spec, seed);
    }
    if (spec.positions == Positions::Rotary)
        m_rotary = RotaryTables::make(rank, sequence,
                                      spec.latent.keyValueRank > 0 ? spec.latent.rotaryWidth : spec.headSize());
    m_layers.reserve(static_cast<std::size_t>(range.layers));
    for (std::int64_t i = range.firstLayer; i < range.firstLayer + range.layers; ++i) {
        m_layerUnits.push_back(m_parameters.beginUnit("layer " + std::to_string(i), true, i));
        m_layers.emplace_back(rank, m_parameters, spec, static_cast<std::int32_t>(i), seed, options);
    }
    if (!range.last) return;
    if (spec.tiedEmbeddings) {
        m_tiedTable = m_embedding ? m_embedding->table() : tiedTable;
        if (!m_tiedTable) {
            m_copyUnit = m_parameters.beginUnit("embedding", false);
            m_tiedTable = &addTokenTable(rank, m_parameters, spec, seed);
        }
    }
    // Where every layer ends in a norm there is none behind the last; with tied embeddings nothing is left.
    if (!spec.postNorm || !m_tiedTable) m_headUnit = m_parameters.beginUnit("head");
    if (!spec.postNorm) {
        const std::string norm = usesBertNames(spec)    ? "bert.encoder.LayerNorm"
                                 : usesLlamaNames(spec) ? "model.norm"
                                                        : "transformer.ln_f";
        m_finalNorm.kind = spec.normalization == Normalization::LayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
        m_finalNorm.gain = &m_parameters.addVector(rank, norm + ".weight", spec.hidden, 1.0);
        if (m_finalNorm.kind == NormKind::LayerNorm)
            m_finalNorm.shift = &m_parameters.addVector(rank, norm + ".bias", spec.hidden, 0.0);
        m_finalNorm.gain->partialOverTensor = rowsAreCut(rank);
        if (m_finalNorm.shift) m_finalNorm.shift->partialOverTensor = rowsAreCut(rank);
    }
    Parameter* weight = m_tiedTable;
    if (!weight)
        weight = &m_parameters.addMatrix(
            rank, seed, usesBertNames(spec) ? "cls.predictions.decoder.weight" : "lm_head.weight", spec.vocabulary,
            spec.hidden, 0.02, {}, vocabularyShard(rank, spec.vocabulary, spec.hidden));
    m_head.emplace(*weight, options.fuse);
}

Shape Decoder::inputShape(const RankContext& rank, const Batch& batch) const
{
    const std::int64_t rows = batch.samples * SequenceSplit::of(rank, batch.length).length();
    return {heldRows(rank, rows).count, m_spec.hidden};
}

std::unique_ptr<ForwardState> Decoder::forward(RankContext& rank, const Batch& batch, const Tensor& input)
{
    auto state = std::make_unique<State>();
    state->layers.resize(m_layers.size());
    // The pass through the last layer of all comes back at once.
    const std::size_t leaving = m_head ? m_layers.size() - std::min<std::size_t>(1, m_layers.size()) : m_layers.size();
    Tensor x = input;
    if (m_embedding) {
        rank.enter(m_embeddingUnit, UnitPass::Forward);
        x = m_embedding->forward(rank, batch.inputs, state->embedding);
        rank.leave(m_embeddingUnit, UnitPass::Forward);
    }
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        rank.enter(m_layerUnits[i], UnitPass::Forward);
        x = m_layers[i].forward(rank, x, {batch.samples, batch.documents}, m_rotary, state->layers[i]);
        if (rank.evaluating)
            state->layers[i] = {};
        else if (rank.offloaded && i < leaving)
            state->away.leave(rank, i, m_layers[i].index(), state->layers[i]);
        rank.leave(m_layerUnits[i], UnitPass::Forward);
    }
    if (!m_head) {
        state->output = x;
        return state;
    }
    state->last = x;
    state->normed = x;
    if (!m_finalNorm.gain) return state;
    rank.enter(m_headUnit, UnitPass::Forward);
    {
        const Scope op(rank.recorder, SliceKind::Operator, "final norm");
        state->normed = m_finalNorm.forward(rank, x, state->finalNorm);
    }
    rank.leave(m_headUnit, UnitPass::Forward);
    return state;
}

double Decoder::loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale)
{
    return headLoss(rank, batch, static_cast<State&>(state), lossScale, true);
}

double Decoder::evaluate(RankContext& rank, const Batch& batch, ForwardState& state)
{
    return headLoss(rank, batch, static_cast<State&>(state), 0.0, false);
}

double Decoder::headLoss(RankContext& rank, const Batch& batch, State& state, double lossScale, bool gradients)
{
    const ParameterUnit* unit = m_tiedTable ? m_tiedTable->unit : m_headUnit;
    rank.enter(unit, UnitPass::Head);
    const double n = static_cast<double>(batch.targets.elements()) * batch.targetShare;
    if (gradients) state.gradient = rank.temporary(state.normed.shape());
    const double sum = m_head->loss(rank, state.normed, batch.targets, state.gradient, lossScale / n);
    state.normed.reset();
    rank.leave(unit, UnitPass::Head);
    return sum / n;
}

Tensor Decoder::backward(RankContext& rank, const Batch& batch, ForwardState& forwardState, const Tensor& dOutput)
{
    auto& state = static_cast<State&>(forwardState);
    Tensor d = dOutput;
    if (m_head) {
        if (m_headUnit) rank.enter(m_headUnit, UnitPass::Backward);
        d = state.gradient;
        if (m_finalNorm.gain) {
            const Scope op(rank.recorder, SliceKind::Operator, "final norm");
            d = rank.temporary(state.last.shape());
            m_finalNorm.backward(rank, state.last, state.finalNorm, state.gradient, d, false);
            state.finalNorm = {};
        }
        state.gradient.reset();
        state.last.reset();
        if (m_headUnit) rank.leave(m_headUnit, UnitPass::Backward);
        if (m_copyUnit) { // the head has added everything
            rank.enter(m_copyUnit, UnitPass::Backward);
            rank.leave(m_copyUnit, UnitPass::Backward);
        }
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        rank.enter(m_layerUnits[i], UnitPass::Backward);
        if (rank.offloaded) state.away.bring(rank, i);
        d = m_layers[i].backward(rank, std::move(d), m_rotary, state.layers[i]);
        rank.leave(m_layerUnits[i], UnitPass::Backward);
    }
    if (!m_embedding) return d;
    rank.enter(m_embeddingUnit, UnitPass::Backward);
    m_embedding->backward(rank, batch.inputs, d, state.embedding);
    rank.leave(m_embeddingUnit, UnitPass::Backward);
    return {};
}

} // namespace fourwalls::engine
