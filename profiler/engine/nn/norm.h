// SPDX-License-Identifier: Apache-2.0
// LayerNorm or RMSNorm with its parameters.
#pragma once

#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

struct Norm {
    NormKind kind = NormKind::LayerNorm;
    Parameter* gain = nullptr;
    Parameter* shift = nullptr; ///< LayerNorm only

    /// What the backward pass needs besides the input.
    struct Saved {
        Tensor mean, rstd;

        template <class F>
        void forEachTensor(F f)
        {
            f(mean);
            f(rstd);
        }
    };

    Tensor forward(RankContext& rank, const Tensor& x, Saved& saved) const
    {
        Tensor y = rank.activation(x.shape());
        if (kind == NormKind::LayerNorm) saved.mean = rank.statistic({x.rows()});
        saved.rstd = rank.statistic({x.rows()});
        rank.device.normForward(kind, x, gain->weight, shift ? shift->weight : Tensor(), y, saved.mean, saved.rstd);
        return y;
    }

    /// dx (+)= the gradient with respect to x. The parameters' gradients are added in the same pass.
    void backward(RankContext& rank, const Tensor& x, const Saved& saved, const Tensor& dy, const Tensor& dx,
                  bool accumulateDx) const
    {
        const bool accumulate = gain->takeAccumulate();
        if (shift) shift->takeAccumulate();
        rank.device.normBackward(kind, x, gain->weight, saved.mean, saved.rstd, dy, dx, accumulateDx, gain->gradient,
                                 shift ? shift->gradient : Tensor(), accumulate);
    }
};

} // namespace fourwalls::engine
