// SPDX-License-Identifier: Apache-2.0
// One transformer block: norm, attention, residual, norm, feed-forward (or mixture of experts), residual; or, in encoders after BERT, with the
// norms behind the residuals.
#pragma once

#include "profiler/engine/nn/feed_forward.h"
#include "profiler/engine/nn/mixture.h"
#include "profiler/engine/nn/self_attention.h"

#include <cstdint>
#include <optional>

namespace fourwalls::engine {

class DecoderLayer {
public:
    /// Adds the layer's parameters to `list`, named as in GPT-2, LLaMA or BERT files.
    DecoderLayer(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::int32_t index,
                 std::uint64_t seed, const ComputeOptions& options);

    /// What the backward pass needs. With full recomputation: the input alone.
    struct Saved {
        Tensor input, middle;
        Tensor last; ///< norms behind the sums only: what the second one reads
        Norm::Saved norm1, norm2;
        SelfAttention::Saved attention;
        FeedForward::Saved feedForward; ///< or of the shared expert
        MixtureOfExperts::Saved mixture;
        SampleRows of;
        Instant forward; ///< a moment inside the layer's forward slice

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &middle, &last}) f(*tensor);
            norm1.forEachTensor(f);
            norm2.forEachTensor(f);
            attention.forEachTensor(f);
            feedForward.forEachTensor(f);
            mixture.forEachTensor(f);
        }
    };

    /// x: held rows of [samples * sequence, hidden]; returns the same shape.
    Tensor forward(RankContext& rank, const Tensor& x, const SampleRows& of, const RotaryTables& rotary,
                   Saved& saved) const;
    /// Returns dx, which is dy overwritten unless the rank defers weight gradients; empties `saved`.
    Tensor backward(RankContext& rank, Tensor dy, const RotaryTables& rotary, Saved& saved) const;

    std::int32_t index() const { return m_index; } ///< in the whole network

private:
    void addGradient(RankContext& rank, const char* name, const Norm& norm, const Tensor& x, Norm::Saved& saved,
                     const Tensor& up, Tensor& dy) const;
    Tensor widen(RankContext& rank, const Tensor& x, const Tensor& residual, Saved& saved) const;
    Tensor widenBackward(RankContext& rank, const Tensor& dy, Saved& saved) const;
    Tensor compute(RankContext& rank, const Tensor& x, const RotaryTables& rotary, Saved& saved) const;

    bool m_postNorm;
    bool m_fuse;
    std::int32_t m_index;
    Recompute m_recompute;
    Norm m_norm1, m_norm2;
    SelfAttention m_attention;
    FeedForward m_feedForward;
    std::optional<MixtureOfExperts> m_mixture; // in place of the feed-forward block
    std::optional<FeedForward> m_sharedExpert; // beside it
};

} // namespace fourwalls::engine
