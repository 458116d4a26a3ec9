// SPDX-License-Identifier: Apache-2.0
// The GPT-, LLaMA- or BERT-style network, or a chunk of it: embeddings, decoder layers, final norm, output head with cross
// entropy.
#pragma once

#include "profiler/engine/nn/decoder_layer.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/nn/output_head.h"
#include "profiler/engine/nn/token_embedding.h"

#include <optional>
#include <vector>

namespace fourwalls::engine {

class Decoder final : public TrainingModel {
public:
    /// The whole network. sequence: tokens per sample of this run, at most spec.sequence for learned positions.
    Decoder(const RankContext& rank, const TransformerSpec& spec, std::int64_t sequence, std::uint64_t seed,
            const ComputeOptions& options)
        : Decoder(rank, spec, sequence, seed, options, {0, spec.layers, true, true}, nullptr)
    {}
    /// A chunk. tiedTable: the token table, where another chunk of the same rank holds it; null: a last chunk with
    /// tied embeddings has a copy of its own.
    Decoder(const RankContext& rank, const TransformerSpec& spec, std::int64_t sequence, std::uint64_t seed,
            const ComputeOptions& options, const ChunkRange& range, Parameter* tiedTable);

    ParameterList& parameters() override { return m_parameters; }
    Shape inputShape(const RankContext& rank, const Batch& batch) const override;
    std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch, const Tensor& input) override;
    double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) override;
    double evaluate(RankContext& rank, const Batch& batch, ForwardState& state) override;
    Tensor backward(RankContext& rank, const Batch& batch, ForwardState& state, const Tensor& dOutput) override;

    /// The token table of a first chunk, or the tied copy of a last one; null: there is none.
    Parameter* tokenTable() const { return m_embedding ? m_embedding->table() : m_tiedTable; }

private:
    struct State;
    double headLoss(RankContext& rank, const Batch& batch, State& state, double lossScale, bool gradients);

    TransformerSpec m_spec;
    ParameterList m_parameters;
    std::optional<TokenEmbedding> m_embedding; // first chunk
    std::vector<DecoderLayer> m_layers;
    Norm m_finalNorm; // last chunk, as the next two
    std::optional<OutputHead> m_head;
    Parameter* m_tiedTable = nullptr;
    RotaryTables m_rotary;
    const ParameterUnit* m_embeddingUnit = nullptr;
    std::vector<const ParameterUnit*> m_layerUnits;
    const ParameterUnit* m_copyUnit = nullptr; // of a last chunk's own copy of the tied table
    const ParameterUnit* m_headUnit = nullptr; // final norm and, unless it is tied, the head's weights
};

} // namespace fourwalls::engine
