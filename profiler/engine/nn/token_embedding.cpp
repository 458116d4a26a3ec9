// SPDX-License-Identifier: Apache-2.0
// See token_embedding.h.
#include "profiler/engine/nn/token_embedding.h"

#include "profiler/engine/nn/decoder_layer.h"
#include "profiler/engine/nn/sequence_split.h"
#include "profiler/engine/nn/tensor_parallel.h"

#include <string>

namespace fourwalls::engine {

const char* tokenTableName(const TransformerSpec& spec)
{
    if (usesBertNames(spec)) return "bert.embeddings.word_embeddings.weight";
    return usesLlamaNames(spec) ? "model.embed_tokens.weight" : "transformer.wte.weight";
}

Parameter& addTokenTable(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::uint64_t seed)
{
    return list.addMatrix(rank, seed, tokenTableName(spec), spec.vocabulary, spec.hidden, 0.02, {},
                          vocabularyShard(rank, spec.vocabulary, spec.hidden));
}

TokenEmbedding::TokenEmbedding(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                               std::uint64_t seed)
    : m_hidden(spec.hidden)
    , m_tokens(&addTokenTable(rank, list, spec, seed))
{
    // Read in the master type while the tokens' embedding is looked up: no rounded copy is needed.
    RankContext master = rank;
    master.format.compute = rank.format.master;
    const bool bert = usesBertNames(spec);
    const auto matrix = [&](const char* name, std::int64_t rows) {
        Parameter& p = list.addMatrix(master, seed, name, rows, spec.hidden, 0.02);
        p.partialOverTensor = rowsAreCut(rank);
        return &p;
    };
    if (spec.positions == Positions::Learned)
        m_positions =
            matrix(bert ? "bert.embeddings.position_embeddings.weight" : "transformer.wpe.weight", spec.sequence);
    if (spec.tokenTypes > 0)
        m_types =
            matrix(bert ? "bert.embeddings.token_type_embeddings.weight" : "transformer.wtte.weight", spec.tokenTypes);
    if (!spec.embeddingNorm) return;
    const auto vector = [&](const std::string& name, double value) {
        Parameter& p = list.addVector(
            rank, (bert ? "bert.embeddings.LayerNorm." : "transformer.word_embeddings_layernorm.") + name, spec.hidden,
            value);
        p.partialOverTensor = rowsAreCut(rank);
        return &p;
    };
    m_norm.kind = spec.normalization == Normalization::LayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
    m_norm.gain = vector("weight", 1.0);
    if (m_norm.kind == NormKind::LayerNorm) m_norm.shift = vector("bias", 0.0);
}

// The position of every held row, I32.
Tensor TokenEmbedding::heldPositions(const RankContext& rank, const Tensor& tokens) const
{
    const std::int64_t length = tokens.columns();
    const SequenceSplit split = SequenceSplit::of(rank, length * sizeOf(rank.contextGroup()));
    const IndexRange rows = heldRows(rank, tokens.elements());
    Tensor ids = Tensor::make(rank.allocator, {rows.count}, DType::I32, MemoryCategory::Other);
    for (std::int64_t i = 0; i < rows.count; ++i)
        ids.as<std::int32_t>()[i] = static_cast<std::int32_t>(split.position((rows.first + i) % length));
    return ids;
}

Tensor TokenEmbedding::forward(RankContext& rank, const Tensor& tokens, Saved& saved) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "embedding");
    const Tensor x = lookUp(rank, tokens);
    if (m_types) rank.device.addBias(x, m_types->weight.rowRange(0, 1), {});
    if (!m_norm.gain) return x;
    saved.sum = x;
    return m_norm.forward(rank, x, saved.norm);
}

// The rows of tokens and positions.
Tensor TokenEmbedding::lookUp(RankContext& rank, const Tensor& tokens) const
{
    const std::int64_t n = tokens.elements();
    Tensor x = rank.activation({heldRows(rank, n).count, m_hidden});
    if (tensorRanks(rank) == 1 && sizeOf(rank.contextGroup()) == 1) {
        rank.device.embeddingForward(tokens, m_tokens->compute, m_positions ? m_positions->weight : Tensor(), x);
        return x;
    }
    const std::int64_t firstToken = m_tokens->shard.firstRow;
    if (rowsAreCut(rank)) {
        const Tensor partial =
            Tensor::make(rank.allocator, {n, m_hidden}, rank.format.compute, MemoryCategory::CommBuffers);
        rank.device.embeddingForward(tokens, m_tokens->compute, {}, partial, firstToken);
        rank.tensorGroup()->reduceScatter(partial, x);
    } else {
        rank.device.embeddingForward(tokens, m_tokens->compute, {}, x, firstToken);
        if (tensorRanks(rank) > 1) rank.tensorGroup()->allReduce(x);
    }
    if (m_positions) rank.device.addRows(heldPositions(rank, tokens), m_positions->weight, x);
    return x;
}

void TokenEmbedding::backward(RankContext& rank, const Tensor& tokens, const Tensor& dy, Saved& saved) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "embedding");
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    Tensor dx = dy;
    if (m_norm.gain) {
        dx = rank.temporary(dy.shape());
        m_norm.backward(rank, saved.sum, saved.norm, dy, dx, false);
        saved = {};
    }
    if (m_types) {
        if (!m_types->takeAccumulate()) rank.device.zero(m_types->gradient);
        rank.device.columnSum(dx, m_types->gradient.rowRange(0, 1), true);
    }
    // Rows that no token asks for receive nothing: the sums start from zero, unless the tied head wrote them.
    if (!m_tokens->takeAccumulate()) rank.device.zero(m_tokens->gradient);
    if (m_positions && !m_positions->takeAccumulate()) rank.device.zero(m_positions->gradient);
    if (tensorRanks(rank) == 1 && sizeOf(rank.contextGroup()) == 1) {
        rank.device.embeddingBackward(tokens, dx, m_tokens->gradient, m_positions ? m_positions->gradient : Tensor());
        return;
    }
    rank.device.embeddingBackward(tokens, gatherRows(rank, dx), m_tokens->gradient, {}, m_tokens->shard.firstRow);
    if (m_positions) rank.device.embeddingBackward(heldPositions(rank, tokens), dx, m_positions->gradient, {});
}

} // namespace fourwalls::engine
