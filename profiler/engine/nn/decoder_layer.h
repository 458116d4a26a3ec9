// SPDX-License-Identifier: Apache-2.0
// One transformer block: norm, attention, residual, norm, feed-forward, residual; or, in encoders after BERT, with the
// norms behind the residuals.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/nn/attention.h"
#include "profiler/engine/nn/linear.h"
#include "profiler/engine/nn/norm.h"

#include <cstdint>

namespace fourwalls::engine {

/// Switches that change how a network is computed but not what it computes.
struct ComputeOptions {
    bool fusedAttention = true;
    bool fuse = true; ///< residuals inside products; loss in chunks that never hold all logits
};

/// Tables of rotary positions: [sequence, headDim / 2], master type.
struct RotaryTables {
    Tensor cosines, sines;
    bool defined() const { return cosines.defined(); }

    /// Angles position * base^(-2 i / headDim) (arXiv:2104.09864), base 10000.
    static RotaryTables make(const RankContext& rank, std::int64_t sequence, std::int64_t headDim);
};

class DecoderLayer {
public:
    /// Adds the layer's parameters to `list`, named as in GPT-2, LLaMA or BERT files.
    DecoderLayer(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::int32_t index,
                 std::uint64_t seed, const ComputeOptions& options);

    /// What the backward pass needs.
    struct Saved {
        Tensor input, normed1, qkv, attended, middle, normed2, hidden, activated;
        Tensor last; ///< norms behind the sums only: what the second one reads
        Norm::Saved norm1, norm2;
        AttentionCore::Saved attention;
        std::int64_t batch = 0;
        Instant forward; ///< a moment inside the layer's forward slice
    };

    /// x: [batch * sequence, hidden]; returns the same shape.
    Tensor forward(RankContext& rank, const Tensor& x, std::int64_t batch, const RotaryTables& rotary,
                   Saved& saved) const;
    /// Returns dx, which is dy overwritten unless the rank defers weight gradients; empties `saved`.
    Tensor backward(RankContext& rank, Tensor dy, const RotaryTables& rotary, Saved& saved) const;

private:
    AttentionCore attentionFor(std::int64_t batch, std::int64_t rows) const;

    TransformerSpec m_spec;
    std::int32_t m_index;
    ComputeOptions m_options;
    Norm m_norm1, m_norm2;
    Linear m_qkv, m_projection, m_up, m_down;
};

/// Prefix of the names in weight files and whether the LLaMA style (rotary models) is used.
bool usesLlamaNames(const TransformerSpec& spec);
/// Whether names and the order of matrices are those of BERT's files (encoders).
bool usesBertNames(const TransformerSpec& spec);

} // namespace fourwalls::engine
