// SPDX-License-Identifier: Apache-2.0
// A small residual network with its images, for tests that look at what it computes and at what it keeps.
#pragma once

#include "tests/profiler/engine/image_fixture.h"

#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/train/image_data.h"

#include <cstdint>
#include <memory>

namespace fourwalls::engine::testing {

/// A small network on a rank of its own, and a batch of images.
struct ResNetRun {
    std::unique_ptr<TestRank> rank;
    std::unique_ptr<ResNet> model;
    std::unique_ptr<ImageData> data;
    Batch batch;
    double scale = 1.0;

    ResNetRun(DType compute, const ResNetShape& shape, std::int64_t samples, bool fuse = true)
        : rank(std::make_unique<TestRank>(compute))
        , model(std::make_unique<ResNet>(*rank->context, shape, 1, fuse))
        , data(std::make_unique<ImageData>(shape.imageSize, shape.classes, 1))
    {
        next(0, samples);
    }

    void next(std::int64_t step, std::int64_t samples)
    {
        batch = data->batch(*rank->context, step, samples, 0, samples);
    }

    double forwardOnly()
    {
        auto state = model->forward(*rank->context, batch, {});
        return model->loss(*rank->context, batch, *state, scale);
    }

    double gradients()
    {
        auto state = model->forward(*rank->context, batch, {});
        const double loss = model->loss(*rank->context, batch, *state, scale);
        model->backward(*rank->context, batch, *state, {});
        return loss;
    }

    ParameterList& parameters() { return model->parameters(); }
};

/// Blocks with and without a convolution in the shortcut, and with a stride.
inline ResNetShape smallShape(std::int64_t width)
{
    return {{2, 1, 1, 1}, width, 64, 5};
}

} // namespace fourwalls::engine::testing
