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
    rank.device.matmul(matrix(x), matrix(weight->compute), matrix(y), options);
    if (bias && !fuse) rank.device.addBias(y, bias->weight, {});
    if (residual && !fuse) rank.device.add(y, *residual, y);
}

void Linear::backwardInput(RankContext& rank, const Tensor& dy, const Tensor& dx) const
{
    rank.device.matmul(matrix(dy), matrix(weight->compute).transposed(), matrix(dx));
}

void Linear::backwardWeight(RankContext& rank, const Tensor& x, const Tensor& dy) const
{
    if (!rank.deferred) return addWeightGradient(rank, x, dy);
    rank.deferred->add(rank.recorder.layer(),
                       [layer = *this, x, dy](RankContext& later) { layer.addWeightGradient(later, x, dy); });
}

void Linear::addWeightGradient(RankContext& rank, const Tensor& x, const Tensor& dy) const
{
    const PhaseTag tag(rank.recorder, Phase::BackwardWeight);
    MatmulOptions options;
    options.accumulate = weight->takeAccumulate();
    rank.device.matmul(matrix(x).transposed(), matrix(dy), matrix(weight->gradient), options);
    if (bias) rank.device.columnSum(dy, bias->gradient, bias->takeAccumulate());
}

} // namespace fourwalls::engine
