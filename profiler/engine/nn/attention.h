// SPDX-License-Identifier: Apache-2.0
// The attention core between the projections: unfused (all scores are held, as probabilities, until the backward
// pass) or fused (tiles; only the log-sum-exp of each row is kept). Under context parallelism keys and values of the
// other ranks come by: from neighbour to neighbour around the ring (fused), or all at once (unfused, which holds all
// scores of a row anyway).
#pragma once

#include "profiler/engine/nn/sequence_split.h"

#include <memory>
#include <vector>

namespace fourwalls::engine {

/// The samples of a micro-batch, and the documents that they are packed with (Batch::documents).
struct SampleRows {
    std::int64_t samples = 0;
    std::shared_ptr<const std::vector<std::int64_t>> documents = {};
};

struct AttentionCore {
    AttentionShape shape;
    bool fused = true;
    SequenceSplit split = {}; ///< which part of each sample shape.sequence is, under context parallelism
    /// Fused attention within whole samples only: rows of each document, which sees no other. Null: of each sample.
    const std::vector<std::int64_t>* documents = nullptr;

    struct Saved {
        Tensor probabilities; ///< unfused: [batch, heads, sequence, keys]
        Tensor logSumExp;     ///< fused: [batch, heads, sequence]

        template <class F>
        void forEachTensor(F f)
        {
            f(probabilities);
            f(logSumExp);
        }
    };

    /// qkv: [batch * sequence, shape.width()]; returns [batch * sequence, heads * headDim].
    Tensor forward(RankContext& rank, const Tensor& qkv, Saved& saved) const;
    /// Returns dqkv. out: what forward returned (read by the fused variant only).
    Tensor backward(RankContext& rank, const Tensor& qkv, const Tensor& out, Saved& saved, const Tensor& dout) const;

private:
    struct Keys;
    Tensor unfusedForward(RankContext& rank, const Tensor& qkv, const Keys& keys, Saved& saved) const;
    void unfusedBackward(RankContext& rank, const Tensor& qkv, const Keys& keys, Saved& saved, const Tensor& dout,
                         const Tensor& dqkv, const Keys& dKeys) const;
    /// Calls f(first row, shape) for each document, or once for all samples.
    template <class F>
    void forEachDocument(F f) const;
    Tensor gatheredForward(RankContext& rank, const Tensor& qkv, Saved& saved) const;
    Tensor gatheredBackward(RankContext& rank, const Tensor& qkv, Saved& saved, const Tensor& dout) const;
};

} // namespace fourwalls::engine
