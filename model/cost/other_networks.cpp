// SPDX-License-Identifier: Apache-2.0
// See other_networks.h. Convolutions are priced as the matrix products that they are (implicit GEMM: output pixels x
// output channels x input patch). Sources: arXiv:1512.03385 (table 1), arXiv:1906.00091.
#include "model/cost/other_networks.h"

#include "model/cost/pass_builder.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::cost {

namespace {

/// Builds the four passes of one block.
struct BlockBuilder {
    BlockBuilder(const PlainContext& c, std::int64_t layer, const OperatorLists& lists)
        : context(c)
        , forward(c.rates, c.framework, c.calibration, lists.forward)
        , input(c.rates, c.framework, c.calibration, lists.backwardInput)
        , weight(c.rates, c.framework, c.calibration, lists.backwardWeight)
        , e(c.rates.elementBytes)
    {
        forward.setLayer(layer);
        input.setLayer(layer);
        weight.setLayer(layer);
    }

    /// Convolution with batch normalisation and activation. pixels: of the output, all images.
    void convolution(double in, double out, double kernel, double pixels, double inputPixels)
    {
        const double patch = in * kernel * kernel;
        forward.gemm("conv", {1, pixels, out, patch}, 8, e);
        // Statistics, then scale, shift and activation: read twice, written once; each more kernel reads and writes.
        const double passes = context.fuse ? 3 : 5;
        forward.memory("batch_norm", passes * e * pixels * out, context.fuse ? 2 : 3);
        input.memory("batch_norm.backward", (passes + 3) * e * pixels * out, context.fuse ? 2 : 3);
        // With a stride only one patch element in stride^2 meets an output pixel.
        input.gemm("conv.input_gradient", {1, inputPixels, in, out * kernel * kernel * pixels / inputPixels}, 8, e);
        weight.gemm("conv.weight_gradient", {1, out, patch, pixels}, 8, 4);
        cost.parameters += patch * out + 2 * out;
        cost.savedBytes += e * pixels * out * (context.fuse ? 2 : 3);
        cost.workingBytes = std::max(cost.workingBytes, e * (pixels * out + inputPixels * in));
    }
    void linear(double rows, double in, double out)
    {
        forward.gemm("linear", {1, rows, out, in}, 8, e);
        forward.memory("activation", 2 * e * rows * out);
        input.memory("activation.backward", 3 * e * rows * out);
        input.gemm("linear.input_gradient", {1, rows, in, out}, 8, e);
        weight.gemm("linear.weight_gradient", {1, out, in, rows}, 8, 4);
        cost.parameters += in * out + out;
        cost.savedBytes += e * rows * out;
        cost.workingBytes = std::max(cost.workingBytes, e * rows * (in + out));
    }
    LayerCost finish()
    {
        cost.forward = forward.finish();
        cost.backwardInput = input.finish();
        cost.backwardWeight = weight.finish();
        cost.savedForWeight = cost.savedBytes * 0.5;
        return cost;
    }

    const PlainContext& context;
    PassBuilder forward, input, weight;
    double e;
    LayerCost cost;
};

} // namespace

std::vector<LayerCost> resnetBlocks(const PlainContext& c, const ResNetSpec& model, double images,
                                    const std::vector<OperatorLists>* lists)
{
    const std::array<int, 4> blocks = model.depth >= 152   ? std::array{3, 8, 36, 3}
                                      : model.depth >= 101 ? std::array{3, 4, 23, 3}
                                                           : std::array{3, 4, 6, 3};
    std::vector<LayerCost> result;
    const auto begin = [&] {
        const std::size_t index = result.size();
        return BlockBuilder(c, static_cast<std::int64_t>(index),
                            lists && index < lists->size() ? (*lists)[index] : OperatorLists{});
    };
    auto size = static_cast<double>(model.imageSize);
    const auto pixels = [&](double side) { return images * side * side; };
    BlockBuilder stem = begin();
    const double full = size;
    size = std::floor((size + 6 - 7) / 2) + 1;
    stem.convolution(3, 64, 7, pixels(size), pixels(full));
    const double pooled = std::floor((size + 2 - 3) / 2) + 1;
    stem.forward.memory("max_pool", stem.e * 64 * (pixels(size) + pixels(pooled)));
    stem.input.memory("max_pool.backward", stem.e * 64 * (pixels(size) + 2 * pixels(pooled)));
    result.push_back(stem.finish());
    size = pooled;
    double in = 64;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const double width = 64.0 * static_cast<double>(1 << stage), out = 4 * width;
        for (int block = 0; block < blocks[stage]; ++block) {
            const double stride = block == 0 && stage > 0 ? 2 : 1;
            const double next = std::floor((size + 2 - 3) / stride) + 1;
            BlockBuilder b = begin();
            b.convolution(in, width, 1, pixels(size), pixels(size));
            b.convolution(width, width, 3, pixels(next), pixels(size));
            b.convolution(width, out, 1, pixels(next), pixels(next));
            if (block == 0) b.convolution(in, out, 1, pixels(next), pixels(size));
            b.forward.memory("residual", 3 * b.e * pixels(next) * out);
            b.input.memory("residual.backward", 3 * b.e * pixels(next) * out);
            result.push_back(b.finish());
            in = out;
            size = next;
        }
    }
    BlockBuilder head = begin();
    head.forward.memory("average_pool", head.e * pixels(size) * in);
    head.input.memory("average_pool.backward", head.e * pixels(size) * in);
    head.linear(images, in, static_cast<double>(model.classes));
    head.forward.memory("loss", 16 * images * static_cast<double>(model.classes), 3);
    result.push_back(head.finish());
    return result;
}

LayerCost recommendationCost(const PlainContext& c, const RecommendationSpec& model, double samples, int ep, int stride,
                             const OperatorLists& lists)
{
    BlockBuilder b(c, 0, lists);
    const auto width = static_cast<double>(model.embeddingWidth), tables = static_cast<double>(model.tables);
    const auto lookups = static_cast<double>(model.lookupsPerTable);
    // Every rank looks up its tables for the samples of all: as many rows as its own samples have.
    const double rows = samples * tables * lookups;
    b.forward.memory("embedding", b.e * rows * width + b.e * samples * tables * width, static_cast<int>(tables));
    const double exchanged = b.e * samples * tables * width;
    const GroupPlacement group = placeGroup(ep, stride, c.devicesPerNode);
    const double exchange = c.collectives.seconds(Collective::AllToAll, exchanged, group);
    const double sent = CollectiveTimes::wireBytes(Collective::AllToAll, exchanged, ep);
    if (ep > 1)
        b.forward.communicate("embedding.all_to_all", CostPart::ExpertComm, Collective::AllToAll, exchange, exchanged,
                              sent);
    auto in = static_cast<double>(model.denseFeatures);
    for (const std::int64_t out : model.bottomLayers) {
        b.linear(samples, in, static_cast<double>(out));
        in = static_cast<double>(out);
    }
    const double vectors = tables + 1;
    b.forward.gemm("interaction", {samples, vectors, vectors, width}, 8, b.e, 0.5);
    b.input.gemm("interaction.backward", {2 * samples, vectors, width, vectors}, 8, b.e, 0.5);
    in = static_cast<double>(model.interactionWidth());
    for (const std::int64_t out : model.topLayers) {
        b.linear(samples, in, static_cast<double>(out));
        in = static_cast<double>(out);
    }
    if (ep > 1)
        b.input.communicate("embedding.all_to_all.backward", CostPart::ExpertComm, Collective::AllToAll, exchange,
                            exchanged, sent);
    b.weight.memory("embedding.weight_gradient", 3 * b.e * rows * width, static_cast<int>(tables));
    b.cost.expertParameters = tables * static_cast<double>(model.rowsPerTable) * width / ep;
    b.cost.savedBytes += exchanged;
    return b.finish();
}

} // namespace fourwalls::cost
