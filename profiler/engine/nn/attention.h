// SPDX-License-Identifier: Apache-2.0
// The attention core between the projections: unfused (all scores are held, as probabilities, until the backward
// pass) or fused (tiles; only the log-sum-exp of each row is kept).
#pragma once

#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

struct AttentionCore {
    AttentionShape shape;
    bool fused = true;

    struct Saved {
        Tensor probabilities; ///< unfused: [batch, heads, sequence, sequence]
        Tensor logSumExp;     ///< fused: [batch, heads, sequence]
    };

    /// qkv: [batch * sequence, shape.width()]; returns [batch * sequence, heads * headDim].
    Tensor forward(RankContext& rank, const Tensor& qkv, Saved& saved) const;
    /// Returns dqkv. out: what forward returned (read by the fused variant only).
    Tensor backward(RankContext& rank, const Tensor& qkv, const Tensor& out, Saved& saved, const Tensor& dout) const;
};

} // namespace fourwalls::engine
