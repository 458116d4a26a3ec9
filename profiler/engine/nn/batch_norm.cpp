// SPDX-License-Identifier: Apache-2.0
// See batch_norm.h.
#include "profiler/engine/nn/batch_norm.h"

#include <cassert>

namespace fourwalls::engine {

BatchNorm BatchNorm::make(const RankContext& rank, ParameterList& list, const std::string& name, std::int64_t channels,
                          bool relu, bool fuse)
{
    BatchNorm norm;
    norm.relu = relu;
    norm.fuse = fuse;
    norm.gain = &list.addVector(rank, name + ".weight", channels, 1.0);
    norm.shift = &list.addVector(rank, name + ".bias", channels, 0.0);
    norm.runningMean = &list.addBuffer(rank, name + ".running_mean", channels, 0.0);
    norm.runningVariance = &list.addBuffer(rank, name + ".running_var", channels, 1.0);
    return norm;
}

Tensor BatchNorm::forward(ImageContext context, const Tensor& x, BatchNormSaved& saved) const
{
    Tensor y = context.activation(x.shape());
    context.images.batchNorm(x, gain->weight, shift->weight, relu && fuse, y, saved);
    if (relu && !fuse) y = context.relu(y);
    if (context.rank.evaluating || context.rank.probing) return y; // the statistics are those of training
    // The running variance is the unbiased one, n / (n - 1) times the batch's own.
    const std::int64_t channels = x.shape()[1];
    const auto count = static_cast<double>(x.elements() / channels);
    const double unbiased = count > 1 ? count / (count - 1) : 1.0;
    const auto blend = [&device = context.rank.device](const Tensor& running, const Tensor& now, double factor) {
        device.blend(running, 1 - kMomentum, now, kMomentum * factor);
    };
    blend(runningMean->weight, saved.mean, 1.0);
    blend(runningVariance->weight, saved.variance, unbiased);
    return y;
}

void BatchNorm::backwardInto(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& dy,
                             const Tensor& dx) const
{
    const bool accumulate = gain->takeAccumulate();
    shift->takeAccumulate();
    context.images.batchNormGradient(x, gain->weight, saved, relu && fuse, dy, dx, gain->gradient, shift->gradient,
                                     accumulate);
}

Tensor BatchNorm::backwardInPlace(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& y,
                                  const Tensor& dy) const
{
    if (needsOutput()) context.images.addReluGradient(y, dy, Tensor());
    const Tensor dx = context.rank.inPlace ? dy : context.temporary(x.shape());
    backwardInto(context, x, saved, dy, dx);
    return dx;
}

Tensor BatchNorm::backward(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& dy) const
{
    assert(!relu);
    Tensor dx = context.temporary(x.shape());
    backwardInto(context, x, saved, dy, dx);
    return dx;
}

} // namespace fourwalls::engine
