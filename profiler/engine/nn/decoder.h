// SPDX-License-Identifier: Apache-2.0
// The GPT/LLaMA-style network: embeddings, decoder layers, final norm, output head with cross entropy.
#pragma once

#include "profiler/engine/nn/decoder_layer.h"
#include "profiler/engine/nn/model.h"

#include <vector>

namespace fourwalls::engine {

class Decoder final : public TrainingModel {
public:
    /// sequence: tokens per sample of this run, at most spec.sequence for learned positions.
    Decoder(const RankContext& rank, const TransformerSpec& spec, std::int64_t sequence, std::uint64_t seed,
            const ComputeOptions& options);

    ParameterList& parameters() override { return m_parameters; }
    std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch) override;
    double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) override;
    void backward(RankContext& rank, const Batch& batch, ForwardState& state) override;

private:
    struct State;
    double headRows(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                    double scale);

    TransformerSpec m_spec;
    ComputeOptions m_options;
    ParameterList m_parameters;
    Parameter* m_tokens = nullptr;
    Parameter* m_positions = nullptr;
    Parameter* m_head = nullptr; // == m_tokens when tied
    std::vector<DecoderLayer> m_layers;
    Norm m_finalNorm;
    RotaryTables m_rotary;
};

} // namespace fourwalls::engine
