// SPDX-License-Identifier: Apache-2.0
// The input of a text network: a row of the token table per token, plus learned positions, plus (in encoders) the row
// of the first token type, and their norm. The table is cut over the
// tensor group by rows of the vocabulary; the positions are there in full on every rank.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/nn/norm.h"

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

    /// What the backward pass needs: of the norm, if there is one.
    struct Saved {
        Tensor sum;
        Norm::Saved norm;
    };

    /// tokens: [samples, sequence] of I32, the rank's part of each sample; returns [samples * sequence, hidden], or the
    /// held rows of that.
    Tensor forward(RankContext& rank, const Tensor& tokens, Saved& saved) const;
    /// dx: the gradient with respect to what forward returned. Empties `saved`.
    void backward(RankContext& rank, const Tensor& tokens, const Tensor& dx, Saved& saved) const;

private:
    Tensor lookUp(RankContext& rank, const Tensor& tokens) const;
    Tensor heldPositions(const RankContext& rank, const Tensor& tokens) const;

    std::int64_t m_hidden = 0;
    Parameter* m_tokens = nullptr;
    Parameter* m_positions = nullptr; ///< null: positions come later (rotary)
    Parameter* m_types = nullptr;     ///< [token types, hidden]; all tokens are of the first. Null: there are none
    Norm m_norm;                      ///< without a gain: there is none
};

} // namespace fourwalls::engine
