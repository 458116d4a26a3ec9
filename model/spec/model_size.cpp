// SPDX-License-Identifier: Apache-2.0
// Parameters and model FLOPs of a network from its shapes.
#include "model/spec/model_spec.h"

#include <array>

namespace fourwalls {

namespace {

std::int64_t parametersOf(const TransformerSpec& t)
{
    const std::int64_t norm = t.normalization == Normalization::LayerNorm ? 2 * t.hidden : t.hidden;
    const std::int64_t matrices = t.activation == Activation::SwiGlu ? 3 : 2;

    std::int64_t attention = 2 * t.hidden * t.hidden + 2 * t.hidden * t.kvHidden(); // query, output; key, value
    std::int64_t feedForward = matrices * t.hidden * t.ffnHidden;
    if (t.biases) {
        attention += 2 * t.hidden + 2 * t.kvHidden();
        feedForward += (matrices - 1) * t.ffnHidden + t.hidden;
    }
    std::int64_t total = t.layers * (attention + feedForward + 2 * norm) + norm;
    total += t.vocabulary * t.hidden;
    if (!t.tiedEmbeddings) total += t.vocabulary * t.hidden;
    if (t.positions == Positions::Learned) total += t.sequence * t.hidden;
    if (t.embeddingNorm) total += norm;
    return total;
}

/// Multiplications with a weight, per token and forward pass.
double weightProductsPerToken(const TransformerSpec& t)
{
    const auto hidden = static_cast<double>(t.hidden);
    const double matrices = t.activation == Activation::SwiGlu ? 3 : 2;
    const double layer = 2 * hidden * hidden + 2 * hidden * static_cast<double>(t.kvHidden()) +
                         matrices * hidden * static_cast<double>(t.ffnHidden);
    return static_cast<double>(t.layers) * layer + hidden * static_cast<double>(t.vocabulary);
}

/// What a walk over a ResNet's layers adds up.
struct ResNetTotals {
    std::int64_t parameters = 0;
    double products = 0; ///< multiplications of one image's forward pass

    /// A square convolution without bias, followed by batch normalisation (scale and shift). Returns its output size.
    std::int64_t convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                             std::int64_t size)
    {
        const std::int64_t outSize = (size + 2 * (kernel / 2) - kernel) / stride + 1;
        const std::int64_t weights = in * out * kernel * kernel;
        parameters += weights + 2 * out;
        products += static_cast<double>(weights) * static_cast<double>(outSize) * static_cast<double>(outSize);
        return outSize;
    }
};

ResNetTotals totalsOf(const ResNetSpec& spec)
{
    constexpr std::int64_t kExpansion = 4;
    const std::array<std::int64_t, 4> blocks = spec.depth >= 152   ? std::array<std::int64_t, 4>{3, 8, 36, 3}
                                               : spec.depth >= 101 ? std::array<std::int64_t, 4>{3, 4, 23, 3}
                                                                   : std::array<std::int64_t, 4>{3, 4, 6, 3};
    ResNetTotals totals;
    std::int64_t size = totals.convolution(3, 64, 7, 2, spec.imageSize);
    size = (size + 2 - 3) / 2 + 1; // 3x3 max pooling, stride 2, padding 1
    std::int64_t in = 64;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const std::int64_t width = std::int64_t{64} << stage;
        for (std::int64_t block = 0; block < blocks[stage]; ++block) {
            const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
            const std::int64_t out = width * kExpansion;
            totals.convolution(in, width, 1, 1, size);
            if (block == 0) totals.convolution(in, out, 1, stride, size); // the shortcut's projection
            size = totals.convolution(width, width, 3, stride, size);
            totals.convolution(width, out, 1, 1, size);
            in = out;
        }
    }
    totals.parameters += in * spec.classes + spec.classes;
    totals.products += static_cast<double>(in * spec.classes);
    return totals;
}

} // namespace

std::int64_t parameterCount(const ModelSpec& model)
{
    if (const TransformerSpec* transformer = model.transformer()) return parametersOf(*transformer);
    return totalsOf(*model.resnet()).parameters;
}

double trainingFlops(const ModelSpec& model, std::int64_t samples, std::int64_t sequence, bool fullAttention)
{
    constexpr double kFlopsPerProduct = 2; // a multiplication and an addition
    constexpr double kForwardAndBackward = 3;
    const auto count = static_cast<double>(samples);
    const TransformerSpec* t = model.transformer();
    if (!t) return kForwardAndBackward * kFlopsPerProduct * count * totalsOf(*model.resnet()).products;

    const auto tokens = static_cast<double>(sequence);
    // Scores and their product with the values: sequence x sequence x hidden each, per layer and sample.
    double attention = 2 * static_cast<double>(t->layers) * tokens * tokens * static_cast<double>(t->hidden);
    if (t->causal && !fullAttention) attention /= 2;
    return kForwardAndBackward * kFlopsPerProduct * count * (tokens * weightProductsPerToken(*t) + attention);
}

} // namespace fourwalls
