// SPDX-License-Identifier: Apache-2.0
// The feed-forward block of a transformer layer: up, activation (GELU, or SwiGLU with a gate), down, residual.
#pragma once

#include "profiler/engine/nn/layer_parameters.h"

namespace fourwalls::engine {

class FeedForward {
public:
    FeedForward() = default;
    explicit FeedForward(LayerParameters& parameters);
    /// The expert beside a mixture that every token visits; it has no biases.
    static FeedForward sharedExpert(LayerParameters& parameters);

    struct Saved {
        Tensor input, hidden, activated;

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &hidden, &activated}) f(*tensor);
        }
    };

    /// x, residual: held rows [., hidden]; returns the like.
    Tensor forward(RankContext& rank, const Tensor& x, const Tensor& residual, Saved& saved) const;
    /// Returns the gradient with respect to x (the residual's is dy itself); empties `saved`.
    Tensor backward(RankContext& rank, const Tensor& dy, Saved& saved) const;

private:
    using Pieces = std::vector<LayerParameters::Piece>;
    FeedForward(LayerParameters& parameters, std::int64_t width, const std::string& name, const Pieces& up,
                const std::string& down, bool biases);

    bool m_gated = false;
    std::int64_t m_width = 0; ///< between activation and down, on this rank
    ColumnLinear m_up;
    RowLinear m_down;
};

} // namespace fourwalls::engine
