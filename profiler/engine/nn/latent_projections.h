// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values of latent attention (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1): a narrow latent per
// token, a norm, and from it keys and values of all heads; queries likewise or directly; the rotary part of the keys is
// one for all heads. Projections up to the heads are cut over the tensor group by heads; those down to the latents are
// whole on every rank.
#pragma once

#include "profiler/engine/device/latent_operators.h"
#include "profiler/engine/nn/layer_parameters.h"

namespace fourwalls::engine {

struct RotaryTables;

class LatentProjections {
public:
    LatentProjections(const RankContext& rank, LayerParameters& parameters);

    struct Saved {
        Tensor input;
        Tensor queryDown, queryLatent, keyDown, keyLatent; ///< before and behind the norms
        Norm::Saved queryNorm, keyNorm;

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &queryDown, &queryLatent, &keyDown, &keyLatent}) f(*tensor);
            queryNorm.forEachTensor(f);
            keyNorm.forEachTensor(f);
        }
    };

    /// x: held rows [., hidden]. Returns qkv as LatentOperators::join makes it, of all rows. sequence: the rank's tokens
    /// per sample.
    Tensor forward(RankContext& rank, const Tensor& x, std::int64_t sequence, const RotaryTables& rotary,
                   Saved& saved) const;
    /// Returns the gradient with respect to x; empties `saved`.
    Tensor backward(RankContext& rank, const Tensor& dqkv, std::int64_t sequence, const RotaryTables& rotary,
                    Saved& saved) const;

    /// What the attention core returns without, and with, the zeros behind every head's values.
    Tensor valuesOf(RankContext& rank, const Tensor& attended) const;
    Tensor filled(RankContext& rank, const Tensor& values) const;

    std::int64_t headWidth() const { return m_shape.width(); } ///< in the attention core

private:
    LatentShape shapeFor(std::int64_t sequence) const;

    LatentShape m_shape; // this rank's heads; the sequence follows from the input
    std::int64_t m_queryRank = 0, m_keyRank = 0;
    Linear m_queryDown; // with a query latent only, as the norm
    Norm m_queryNorm;
    ColumnLinear m_queryUp;
    Linear m_keyDown; // and the rotary part of the keys
    Norm m_keyNorm;
    ColumnLinear m_keyUp; // and the values
};

} // namespace fourwalls::engine
