// SPDX-License-Identifier: Apache-2.0
// See batch_norm.h.
#include "profiler/engine/nn/batch_norm.h"

namespace fourwalls::engine {

BatchNorm BatchNorm::make(const RankContext& rank, ParameterList& list, const std::string& name, std::int64_t channels, bool relu)
{
    BatchNorm norm;
    norm.relu = relu;
    norm.gain = &list.addVector(rank, name + ".weight", channels, 1.0);
    norm.shift = &list.addVector(rank, name + ".bias", channels, 0.0);
    norm.runningMean = &list.addBuffer(rank, name + ".running_mean", channels, 0.0);
    norm.runningVariance = &list.addBuffer(rank, name + ".running_var", channels, 1.0);
    return norm;
}

Tensor BatchNorm::forward(ImageContext context, const Tensor& x, BatchNormSaved& saved) const
{
    Tensor y = context.activation(x.shape());
    context.images.batchNorm(x, gain->weight, shift->weight, relu, y, saved);
    // The running variance is the unbiased one, n / (n - 1) times the batch's own.
    const std::int64_t channels = x.shape()[1];
    const auto count = static_cast<double>(x.elements() / channels);
    const double unbiased = count > 1 ? count / (count - 1) : 1.0;
    const auto blend = [channels](const Tensor& running, const Tensor& now, double factor) {
        for (std::int64_t c = 0; c < channels; ++c)
            setElement(running, c, (1 - kMomentum) * element(running, c) + kMomentum * factor * element(now, c));
    };
    blend(runningMean->weight, saved.mean, 1.0);
    blend(runningVariance->weight, saved.variance, unbiased);
    return y;
}

Tensor BatchNorm::backward(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& dy, bool inPlace) const
{
    const bool accumulate = gain->takeAccumulate();
    shift->takeAccumulate();
    Tensor dx = inPlace ? dy : context.temporary(x.shape());
    context.images.batchNormGradient(x, gain->weight, saved, relu, dy, dx, gain->gradient, shift->gradient, accumulate);
    return dx;
}

} // namespace fourwalls::engine
