// SPDX-License-Identifier: Apache-2.0
// The input of a text network: a row of the token table per token, plus learned positions. The table is cut over the
// tensor group by rows of the vocabulary; the positions are there in full on every rank.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/nn/parameter.h"

#include <cstdint>

namespace fourwalls::engine {

/// How the token table is called in weight files.
const char* tokenTableName(const TransformerSpec& spec);

/// Adds the token table, or the rank's rows of it; the output head may share it.
Parameter& addTokenTable(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::uint64_t seed);

class TokenEmbedding {
public:
    TokenEmbedding() = default;
    /// Adds its parameters to `list`.
    TokenEmbedding(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::uint64_t seed);

    Parameter* table() const { return m_tokens; } ///< [vocabulary, hidden]

    /// tokens: [samples, sequence] of I32, the rank's part of each sample; returns [samples * sequence, hidden], or the
    /// held rows of that.
    Tensor forward(RankContext& rank, const Tensor& tokens) const;
    /// dx: the gradient with respect to what forward returned.
    void backward(RankContext& rank, const Tensor& tokens, const Tensor& dx) const;

private:
    Tensor heldPositions(const RankContext& rank, const Tensor& tokens) const;

    std::int64_t m_hidden = 0;
    Parameter* m_tokens = nullptr;
    Parameter* m_positions = nullptr; ///< null: positions come later (rotary)
};

} // namespace fourwalls::engine
