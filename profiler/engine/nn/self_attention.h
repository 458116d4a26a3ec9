// SPDX-License-Identifier: Apache-2.0
// The attention block of a transformer layer: queries, keys and values from one product (or from latents), rotary
// positions, the attention core, projection, residual. Heads are cut over the tensor group, positions over the context group.
#pragma once

#include "profiler/engine/nn/attention.h"
#include "profiler/engine/nn/latent_projections.h"
#include "profiler/engine/nn/layer_parameters.h"

#include <optional>

namespace fourwalls::engine {

/// Tables of rotary positions: [the rank's tokens per sample, headDim / 2], master type.
struct RotaryTables {
    Tensor cosines, sines;
    bool defined() const { return cosines.defined(); }

    /// Angles position * base^(-2 i / headDim) (arXiv:2104.09864), base 10000. sequence: of whole samples; the tables
    /// hold the rank's positions.
    static RotaryTables make(const RankContext& rank, std::int64_t sequence, std::int64_t headDim);
};

class SelfAttention {
public:
    SelfAttention() = default;
    SelfAttention(const RankContext& rank, LayerParameters& parameters, const ComputeOptions& options);

    struct Saved {
        Tensor input, qkv, attended;
        LatentProjections::Saved latent; ///< in place of the input
        AttentionCore::Saved core;
        SampleRows of;

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &qkv, &attended}) f(*tensor);
            latent.forEachTensor(f);
            core.forEachTensor(f);
        }
    };

    /// x, residual: held rows [., hidden] of the samples `of`; returns the like.
    Tensor forward(RankContext& rank, const Tensor& x, const Tensor& residual, const SampleRows& of,
                   const RotaryTables& rotary, Saved& saved) const;
    /// Returns the gradient with respect to x (the residual's is dy itself); empties `saved`.
    Tensor backward(RankContext& rank, const Tensor& dy, const RotaryTables& rotary, Saved& saved) const;

private:
    AttentionCore coreFor(const RankContext& rank, const SampleRows& of, std::int64_t rows) const;

    AttentionShape m_shape; ///< this rank's heads; batch and sequence follow from the input
    ComputeOptions m_options;
    ColumnLinear m_qkv;
    std::optional<LatentProjections> m_latent; // in place of it
    RowLinear m_projection;
};

} // namespace fourwalls::engine
