// SPDX-License-Identifier: Apache-2.0
// Batch normalisation in training mode with its parameters and running statistics, and the ReLU behind it if any.
#pragma once

#include "profiler/engine/nn/convolution.h"

#include <string>

namespace fourwalls::engine {

struct BatchNorm {
    Parameter* gain = nullptr;
    Parameter* shift = nullptr;
    Parameter* runningMean = nullptr; ///< [channels]; kept for use after training
    Parameter* runningVariance = nullptr;
    bool relu = false;
    bool fuse = true; ///< the ReLU within the normalisation, not by a pass of its own

    /// Share of the new statistics in the running ones, as in torchvision's networks.
    static constexpr double kMomentum = 0.1;

    /// name: as in a weight file, without a dot at the end.
    static BatchNorm make(const RankContext& rank, ParameterList& list, const std::string& name, std::int64_t channels,
                          bool relu, bool fuse);

    Tensor forward(ImageContext context, const Tensor& x, BatchNormSaved& saved) const;

    /// Whether the backward pass reads the forward pass's result.
    bool needsOutput() const { return relu && !fuse; }

    /// The gradient with respect to x, in dy's memory if the rank works in place. y: the forward pass's result, if it is needed. The parameters'
    /// gradients are added in the same pass.
    Tensor backwardInPlace(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& y,
                           const Tensor& dy) const;
    /// The same in new memory; without a ReLU only.
    Tensor backward(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& dy) const;

private:
    void backwardInto(ImageContext context, const Tensor& x, const BatchNormSaved& saved, const Tensor& dy,
                      const Tensor& dx) const;
};

} // namespace fourwalls::engine
