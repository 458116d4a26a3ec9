// SPDX-License-Identifier: Apache-2.0
// Attention over sequences that are cut over the context group (Liu et al. 2023, arXiv:2310.01889): queries stay, keys
// and values go round the ring, and each rank adds one block after the other with the online softmax. In the backward
// pass the gradients of keys and values travel with them and come home after a full turn.
#pragma once

#include "profiler/engine/nn/sequence_split.h"

#include <optional>

namespace fourwalls::engine {

struct RingAttention {
    AttentionShape shape; ///< sequence: the rank's tokens per sample
    SequenceSplit split;

    /// qkv: [batch * sequence, shape.width()]. Returns [batch * sequence, heads headDim]; logSumExp: over all keys.
    Tensor forward(RankContext& rank, const Tensor& qkv, Tensor& logSumExp) const;
    /// Returns dqkv.
    Tensor backward(RankContext& rank, const Tensor& qkv, const Tensor& out, const Tensor& logSumExp,
                    const Tensor& dout) const;

    /// What of the own queries meets the keys of rank `owner`; nothing where all of them lie later.
    std::optional<AttentionBlock> blockWith(int owner) const;
};

} // namespace fourwalls::engine
