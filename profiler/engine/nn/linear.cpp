// SPDX-License-Identifier: Apache-2.0
// See linear.h.
#include "profiler/engine/nn/linear.h"

#include "profiler/engine/nn/deferred_work.h"

namespace fourwalls::engine {

void Linear::forward(RankContext& rank, const Tensor& x, const Tensor& y, const Tensor* residual) const
{
    MatmulOptions options;
    if (bias && fuse) options.bias = &bias->weight;
    if (fuse) options.residual = residual;
    const bool apart = residual && !fuse;
    const Tensor product = apart && !rank.inPlace ? rank.temporary(y.shape()) : y;
    rank.device.matmul(matrix(x), matrix(weight->compute), matrix(product), options);
    if (bias && !fuse) rank.device.addBias(product, bias->weight, {});
    if (apart) rank.device.add(product, *residual, y);
}

void Linear::backwardInput(RankContext& rank, const Tensor& dy, const Tensor& dx) const
{
    rank.device.matmul(matrix(dy), matrix(weight->compute).transposed(), matrix(dx));
}

void Linear::backwardWeight(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias) const
{
    if (!rank.deferred) return addWeightGradient(rank, x, dy, withBias);
    rank.deferred->add(rank.recorder.layer(), [layer = *this, x, dy, withBias](RankContext& later) {
        layer.addWeightGradient(later, x, dy, withBias);
    });
}

void Linear::addWeightGradient(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias) const
{
    const PhaseTag tag(rank.recorder, Phase::BackwardWeight);
    MatmulOptions options;
    options.accumulate = weight->takeAccumulate();
    rank.device.matmul(matrix(x).transposed(), matrix(dy), matrix(weight->gradient), options);
    if (bias && withBias) rank.device.columnSum(dy, bias->gradient, bias->takeAccumulate());
}

} // namespace fourwalls::engine
