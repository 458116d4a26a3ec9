// SPDX-License-Identifier: Apache-2.0
// See token_embedding.h.
#include "profiler/engine/nn/token_embedding.h"

#include "profiler/engine/nn/decoder_layer.h"

namespace fourwalls::engine {

const char* tokenTableName(const TransformerSpec& spec)
{
    return usesLlamaNames(spec) ? "model.embed_tokens.weight" : "transformer.wte.weight";
}

Parameter& addTokenTable(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::uint64_t seed)
{
    return list.addMatrix(rank, seed, tokenTableName(spec), spec.vocabulary, spec.hidden, 0.02);
}

TokenEmbedding::TokenEmbedding(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                               std::uint64_t seed)
    : m_hidden(spec.hidden)
    , m_tokens(&addTokenTable(rank, list, spec, seed))
{
    if (spec.positions != Positions::Learned) return;
    // Read in the master type while the tokens' embedding is looked up: no rounded copy is needed.
    RankContext master = rank;
    master.format.compute = rank.format.master;
    m_positions = &list.addMatrix(master, seed, "transformer.wpe.weight", spec.sequence, spec.hidden, 0.02);
}

Tensor TokenEmbedding::forward(RankContext& rank, const Tensor& tokens) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "embedding");
    Tensor x = rank.activation({tokens.elements(), m_hidden});
    rank.device.embeddingForward(tokens, m_tokens->compute, m_positions ? m_positions->weight : Tensor(), x);
    return x;
}

void TokenEmbedding::backward(RankContext& rank, const Tensor& tokens, const Tensor& dx) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "embedding");
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    // Rows that no token asks for receive nothing: the sums start from zero, unless the tied head wrote them.
    if (!m_tokens->takeAccumulate()) rank.device.zero(m_tokens->gradient);
    if (m_positions && !m_positions->takeAccumulate()) rank.device.zero(m_positions->gradient);
    rank.device.embeddingBackward(tokens, dx, m_tokens->gradient, m_positions ? m_positions->gradient : Tensor());
}

} // namespace fourwalls::engine
