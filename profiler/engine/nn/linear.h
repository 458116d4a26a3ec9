// SPDX-License-Identifier: Apache-2.0
// A linear layer y = x W + b with W [in, out], its input gradient and its weight gradient apart (pipeline schedules
// may want them at different times).
#pragma once

#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

struct Linear {
    Parameter* weight = nullptr;
    Parameter* bias = nullptr; ///< may be null
    bool fuse = true;          ///< bias and residual are added inside the product, not by passes of their own

    /// y = x W + b (+ residual). x: [n, in]; y, residual: [n, out].
    void forward(RankContext& rank, const Tensor& x, const Tensor& y, const Tensor* residual = nullptr) const;
    /// dx = dy W^T.
    void backwardInput(RankContext& rank, const Tensor& dy, const Tensor& dx) const;
    /// W.gradient += x^T dy, b.gradient += column sums of dy; now, or later if the rank defers weight gradients: then
    /// x and dy must keep their contents.
    /// withBias: false where the bias's gradient was added by another operator.
    void backwardWeight(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias = true) const;
    /// The same, now in any case.
    void addWeightGradient(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias = true) const;
};

} // namespace fourwalls::engine
