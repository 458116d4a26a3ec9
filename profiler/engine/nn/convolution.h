// SPDX-License-Identifier: Apache-2.0
// A convolution without bias, its input gradient and its weight gradient apart.
#pragma once

#include "profiler/engine/device/image_operators.h"
#include "profiler/engine/nn/deferred_work.h"
#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

/// A rank and the image operators of its device.
struct ImageContext {
    RankContext& rank;
    ImageOperators& images;

    Tensor activation(const Shape& shape) const
    {
        return images.make(shape, rank.format.compute, MemoryCategory::Activations);
    }
    Tensor temporary(const Shape& shape) const
    {
        return images.make(shape, rank.format.compute, MemoryCategory::Temporaries);
    }
    /// max(x, 0): in x itself if the rank works in place.
    Tensor relu(const Tensor& x) const
    {
        Tensor y = x;
        if (!rank.inPlace) {
            y = activation(x.shape());
            rank.device.convert(x, y);
        }
        images.relu(y);
        return y;
    }
};

struct Convolution {
    Parameter* weight = nullptr; ///< [out, in, kernel, kernel], read in the master type and rounded while reordered
    std::int64_t stride = 1, padding = 0;

    ConvolutionShape shapeFor(const Shape& input) const
    {
        const Shape& w = weight->weight.shape();
        return {input[0], input[1], input[2], input[3], w[0], w[2], stride, padding};
    }

    Tensor forward(ImageContext context, const Tensor& x) const
    {
        const ConvolutionShape shape = shapeFor(x.shape());
        Tensor y = context.activation(shape.output());
        context.images.convolution(shape, x, weight->weight, y);
        return y;
    }

    /// The gradient with respect to an input of the given shape.
    Tensor backwardInput(ImageContext context, const Tensor& dy, const Shape& input) const
    {
        Tensor dx = context.temporary(input);
        context.images.convolutionInputGradient(shapeFor(input), dy, weight->weight, dx);
        return dx;
    }

    /// weight.gradient += the gradient; now, or later if the rank defers weight gradients: then x and dy must keep their
    /// contents.
    void backwardWeight(ImageContext context, const Tensor& x, const Tensor& dy) const
    {
        RankContext& rank = context.rank;
        if (!rank.deferred) return addWeightGradient(context, x, dy);
        rank.deferred->add(rank.recorder.layer(),
                           [convolution = *this, &images = context.images, x, dy](RankContext& later) {
                               convolution.addWeightGradient({later, images}, x, dy);
                           });
    }

private:
    void addWeightGradient(ImageContext context, const Tensor& x, const Tensor& dy) const
    {
        const PhaseTag tag(context.rank.recorder, Phase::BackwardWeight);
        context.images.convolutionWeightGradient(shapeFor(x.shape()), x, dy, weight->gradient,
                                                 weight->takeAccumulate());
    }
};

} // namespace fourwalls::engine
