// SPDX-License-Identifier: Apache-2.0
// Parameters and model FLOPs of a network from its shapes.
#include "model/spec/model_spec.h"

#include <array>

namespace fourwalls {

namespace {

std::int64_t matricesOf(const TransformerSpec& t)
{
    return t.activation == Activation::SwiGlu ? 3 : 2;
}

/// Weights of one layer's attention, biases left out.
std::int64_t attentionWeights(const TransformerSpec& t)
{
    const LatentAttentionSpec& l = t.latent;
    if (l.keyValueRank > 0) {
        // Queries: down, up to the plain and the rotary part; keys and values: down (with the shared rotary key),
        // up to keys and values; output.
        const std::int64_t query = t.heads * (t.headSize() + l.rotaryWidth);
        const std::int64_t queries = l.queryRank > 0 ? l.queryRank * (t.hidden + query) : t.hidden * query;
        return queries + t.hidden * (l.keyValueRank + l.rotaryWidth) +
               l.keyValueRank * t.heads * (t.headSize() + l.valueWidth) + t.heads * l.valueWidth * t.hidden;
    }
    return 2 * t.hidden * t.queryHidden() + 2 * t.hidden * t.kvHidden(); // query, output; key, value
}

std::int64_t feedForwardWeights(const TransformerSpec& t, std::int64_t inner)
{
    return matricesOf(t) * t.hidden * inner;
}

std::int64_t parametersOf(const TransformerSpec& t, bool activeOnly)
{
    const std::int64_t norm = t.normalization == Normalization::LayerNorm ? 2 * t.hidden : t.hidden;
    std::int64_t attention = attentionWeights(t);
    std::int64_t feedForward = feedForwardWeights(t, t.ffnHidden);
    if (t.biases) {
        attention += t.queryHidden() + t.hidden + 2 * t.kvHidden();
        feedForward += (matricesOf(t) - 1) * t.ffnHidden + t.hidden;
    }
    const ExpertSpec& mixture = t.mixture;
    const std::int64_t experts = activeOnly ? mixture.topK : mixture.experts;
    std::int64_t mixtureBlock = experts * feedForwardWeights(t, mixture.expertHidden) +
                                feedForwardWeights(t, mixture.sharedHidden) + mixture.experts * t.hidden;
    if (t.biases) mixtureBlock += experts * ((matricesOf(t) - 1) * mixture.expertHidden + t.hidden);
    const std::int64_t latentNorms = t.latent.queryRank + t.latent.keyValueRank; // one RMSNorm per latent
    const std::int64_t mixtures = t.mixtureLayers();
    std::int64_t total =
        t.layers * (attention + latentNorms + 2 * norm) + (t.layers - mixtures) * feedForward + mixtures * mixtureBlock;
    if (!t.postNorm) total += norm;
    total += t.vocabulary * t.hidden;
    if (!t.tiedEmbeddings) total += t.vocabulary * t.hidden;
    if (t.positions == Positions::Learned) total += t.sequence * t.hidden;
    if (t.embeddingNorm) total += norm;
    return total + t.tokenTypes * t.hidden;
}

/// Multiplications with a weight, per token and forward pass.
double weightProductsPerToken(const TransformerSpec& t)
{
    const auto hidden = static_cast<double>(t.hidden);
    const double dense = static_cast<double>(feedForwardWeights(t, t.ffnHidden));
    const ExpertSpec& mixture = t.mixture;
    const double routed = hidden * static_cast<double>(mixture.experts) +
                          static_cast<double>(mixture.topK * feedForwardWeights(t, mixture.expertHidden)) +
                          static_cast<double>(feedForwardWeights(t, mixture.sharedHidden));
    const auto mixtures = static_cast<double>(t.mixtureLayers());
    const auto layers = static_cast<double>(t.layers);
    return layers * static_cast<double>(attentionWeights(t)) + (layers - mixtures) * dense + mixtures * routed +
           hidden * static_cast<double>(t.vocabulary);
}

/// Width over which scores and values are summed, both heads' products together, halved: hidden for plain attention.
double attentionWidth(const TransformerSpec& t)
{
    const auto heads = static_cast<double>(t.heads);
    if (t.latent.keyValueRank > 0)
        return heads * static_cast<double>(t.headSize() + t.latent.rotaryWidth + t.latent.valueWidth) / 2;
    return static_cast<double>(t.queryHidden());
}

/// Weights of the two dense nets; the tables apart.
std::int64_t netWeights(const RecommendationSpec& r, std::int64_t* biases)
{
    std::int64_t weights = 0;
    *biases = 0;
    std::int64_t in = r.denseFeatures;
    for (const std::int64_t out : r.bottomLayers) {
        weights += in * out;
        *biases += out;
        in = out;
    }
    in = r.interactionWidth();
    for (const std::int64_t out : r.topLayers) {
        weights += in * out;
        *biases += out;
        in = out;
    }
    return weights;
}

std::int64_t parametersOf(const RecommendationSpec& r)
{
    std::int64_t biases = 0;
    const std::int64_t weights = netWeights(r, &biases);
    return weights + biases + r.tables * r.rowsPerTable * r.embeddingWidth;
}

/// Multiplications of one sample's forward pass: the nets and the pairwise dot products.
double productsOf(const RecommendationSpec& r)
{
    std::int64_t biases = 0;
    const std::int64_t pairs = (r.tables + 1) * r.tables / 2;
    return static_cast<double>(netWeights(r, &biases) + pairs * r.embeddingWidth);
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
    if (const TransformerSpec* transformer = model.transformer()) return parametersOf(*transformer, false);
    if (const RecommendationSpec* recommendation = model.recommendation()) return parametersOf(*recommendation);
    return totalsOf(*model.resnet()).parameters;
}

std::int64_t activeParameterCount(const ModelSpec& model)
{
    if (const TransformerSpec* transformer = model.transformer()) return parametersOf(*transformer, true);
    return parameterCount(model);
}

double trainingFlops(const ModelSpec& model, std::int64_t samples, std::int64_t sequence, bool fullAttention)
{
    constexpr double kFlopsPerProduct = 2; // a multiplication and an addition
    constexpr double kForwardAndBackward = 3;
    const auto count = static_cast<double>(samples);
    if (const RecommendationSpec* r = model.recommendation())
        return kForwardAndBackward * kFlopsPerProduct * count * productsOf(*r);
    const TransformerSpec* t = model.transformer();
    if (!t) return kForwardAndBackward * kFlopsPerProduct * count * totalsOf(*model.resnet()).products;

    const auto tokens = static_cast<double>(sequence);
    // Scores and their product with the values: sequence x sequence x hidden each, per layer and sample.
    double attention = 2 * static_cast<double>(t->layers) * tokens * tokens * attentionWidth(*t);
    if (t->causal && !fullAttention) attention /= 2;
    return kForwardAndBackward * kFlopsPerProduct * count * (tokens * weightProductsPerToken(*t) + attention);
}

} // namespace fourwalls
