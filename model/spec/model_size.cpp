// SPDX-License-Identifier: Apache-2.0
// Parameters and model FLOPs of a network from its shapes.
#include "model/spec/model_extents.h"

#include <array>
#include <string>
#include <tuple>

namespace fourwalls {

namespace {

std::int64_t matricesOf(const TransformerSpec& t)
{
    return t.activation == Activation::SwiGlu ? 3 : 2;
}

/// Weights of one layer's attention, biases left out. N: a number type; floating where the count may not fit.
template <class N = std::int64_t>
N attentionWeights(const TransformerSpec& t)
{
    const LatentAttentionSpec& l = t.latent;
    const N hidden = static_cast<N>(t.hidden), heads = static_cast<N>(t.heads), width = static_cast<N>(t.headSize());
    if (l.keyValueRank > 0) {
        // Queries: down, up to the plain and the rotary part; keys and values: down (with the shared rotary key),
        // up to keys and values; output.
        const N rotary = static_cast<N>(l.rotaryWidth), value = static_cast<N>(l.valueWidth);
        const N queryRank = static_cast<N>(l.queryRank), keyRank = static_cast<N>(l.keyValueRank);
        const N query = heads * (width + rotary);
        const N queries = l.queryRank > 0 ? queryRank * (hidden + query) : hidden * query;
        return queries + hidden * (keyRank + rotary) + keyRank * heads * (width + value) + heads * value * hidden;
    }
    return 2 * hidden * width * (heads + static_cast<N>(t.kvHeads)); // query, output; key, value
}

template <class N = std::int64_t>
N feedForwardWeights(const TransformerSpec& t, std::int64_t inner)
{
    return static_cast<N>(matricesOf(t)) * static_cast<N>(t.hidden) * static_cast<N>(inner);
}

template <class N = std::int64_t>
N parametersOf(const TransformerSpec& t, bool activeOnly)
{
    const N hidden = static_cast<N>(t.hidden), layers = static_cast<N>(t.layers), width = static_cast<N>(t.headSize());
    const N norm = t.normalization == Normalization::LayerNorm ? 2 * hidden : hidden;
    const N innerBiases = static_cast<N>(matricesOf(t) - 1);
    N attention = attentionWeights<N>(t);
    N feedForward = feedForwardWeights<N>(t, t.ffnHidden);
    if (t.biases) {
        attention += width * (static_cast<N>(t.heads) + 2 * static_cast<N>(t.kvHeads)) + hidden;
        feedForward += innerBiases * static_cast<N>(t.ffnHidden) + hidden;
    }
    const ExpertSpec& mixture = t.mixture;
    const N experts = static_cast<N>(activeOnly ? mixture.topK : mixture.experts);
    N mixtureBlock = experts * feedForwardWeights<N>(t, mixture.expertHidden) +
                     feedForwardWeights<N>(t, mixture.sharedHidden) + static_cast<N>(mixture.experts) * hidden;
    if (t.biases) mixtureBlock += experts * (innerBiases * static_cast<N>(mixture.expertHidden) + hidden);
    // One RMSNorm per latent.
    const N latentNorms = static_cast<N>(t.latent.queryRank) + static_cast<N>(t.latent.keyValueRank);
    const N mixtures = static_cast<N>(t.mixtureLayers());
    N total = layers * (attention + latentNorms + 2 * norm) + (layers - mixtures) * feedForward;
    if (t.hasExperts()) total += mixtures * mixtureBlock;
    if (!t.postNorm) total += norm;
    const N table = static_cast<N>(t.vocabulary) * hidden;
    total += t.tiedEmbeddings ? table : 2 * table;
    if (t.positions == Positions::Learned) total += static_cast<N>(t.sequence) * hidden;
    if (t.embeddingNorm) total += norm;
    return total + static_cast<N>(t.tokenTypes) * hidden;
}

/// Multiplications with a weight, per token and forward pass.
double weightProductsPerToken(const TransformerSpec& t)
{
    const auto hidden = static_cast<double>(t.hidden);
    const double dense = feedForwardWeights<double>(t, t.ffnHidden);
    const ExpertSpec& mixture = t.mixture;
    const double routed = hidden * static_cast<double>(mixture.experts) +
                          static_cast<double>(mixture.topK) * feedForwardWeights<double>(t, mixture.expertHidden) +
                          feedForwardWeights<double>(t, mixture.sharedHidden);
    const auto mixtures = static_cast<double>(t.mixtureLayers());
    const auto layers = static_cast<double>(t.layers);
    return layers * attentionWeights<double>(t) + (layers - mixtures) * dense + mixtures * routed +
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

Error outOfRange(const char* field, std::int64_t value, std::int64_t least, std::int64_t most)
{
    return {ErrorCode::InvalidArgument, std::string(field) + " cannot be " + std::to_string(value), field,
            std::to_string(least) + " to " + std::to_string(most)};
}

} // namespace

Status checkExtents(const ModelSpec& model)
{
    constexpr double kMostParameters = 1e18;
    const auto tooMany = [](const char* field) {
        return Error{ErrorCode::InvalidArgument, "the network has more than 10^18 parameters", field,
                     "smaller extents"};
    };
    if (const RecommendationSpec* r = model.recommendation()) {
        for (const auto& [field, value, most] : {std::tuple{"tables", r->tables, std::int64_t{10'000}},
                                                 {"rows_per_table", r->rowsPerTable, std::int64_t{10'000'000'000}},
                                                 {"embedding_width", r->embeddingWidth, std::int64_t{100'000}},
                                                 {"dense_features", r->denseFeatures, std::int64_t{1'000'000}}})
            if (value < 1 || value > most) return outOfRange(field, value, 1, most);
        for (const std::vector<std::int64_t>* widths : {&r->bottomLayers, &r->topLayers})
            for (const std::int64_t width : *widths)
                if (width < 1 || width > 1'000'000)
                    return outOfRange(widths == &r->topLayers ? "top_layers" : "bottom_layers", width, 1, 1'000'000);
        const double rows = static_cast<double>(r->tables) * static_cast<double>(r->rowsPerTable);
        if (rows * static_cast<double>(r->embeddingWidth) > kMostParameters) return tooMany("rows_per_table");
        return {};
    }
    if (const ResNetSpec* r = model.resnet()) {
        if (r->imageSize < 1 || r->imageSize > 8192) return outOfRange("image_size", r->imageSize, 1, 8192);
        if (r->classes < 1 || r->classes > 1'000'000) return outOfRange("classes", r->classes, 1, 1'000'000);
        return {};
    }
    const TransformerSpec& t = *model.transformer();
    for (const TransformerExtent& extent : kTransformerExtents)
        if (const std::int64_t value = t.*extent.field; value < extent.least || value > extent.most)
            return outOfRange(extent.key, value, extent.least, extent.most);
    constexpr std::int64_t million = 1'000'000;
    for (const auto& [field, value, most] : {std::tuple{"experts", t.mixture.experts, million},
                                             {"top_k", t.mixture.topK, million},
                                             {"expert_hidden", t.mixture.expertHidden, 10 * million},
                                             {"shared_hidden", t.mixture.sharedHidden, 10 * million},
                                             {"dense_layers", t.mixture.denseLayers, std::int64_t{100'000}},
                                             {"groups", t.mixture.groups, million},
                                             {"top_groups", t.mixture.topGroups, million},
                                             {"query_rank", t.latent.queryRank, million},
                                             {"key_value_rank", t.latent.keyValueRank, million},
                                             {"rotary_width", t.latent.rotaryWidth, million},
                                             {"value_width", t.latent.valueWidth, million}})
        if (value < 0 || value > most) return outOfRange(field, value, 0, most);
    if (parametersOf<double>(t, false) > kMostParameters) return tooMany(t.hasExperts() ? "experts" : "layers");
    return {};
}

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

double trainingFlops(const ModelSpec& model, std::int64_t samples, std::int64_t sequence, bool fullAttention,
                     double attended)
{
    constexpr double kFlopsPerProduct = 2; // a multiplication and an addition
    constexpr double kForwardAndBackward = 3;
    const auto count = static_cast<double>(samples);
    if (const RecommendationSpec* r = model.recommendation())
        return kForwardAndBackward * kFlopsPerProduct * count * productsOf(*r);
    const TransformerSpec* t = model.transformer();
    if (!t) return kForwardAndBackward * kFlopsPerProduct * count * totalsOf(*model.resnet()).products;

    const auto tokens = static_cast<double>(sequence);
    const double keys = attended > 0 ? attended : tokens;
    // Scores and their product with the values: sequence x keys x hidden each, per layer and sample.
    double attention = 2 * static_cast<double>(t->layers) * tokens * keys * attentionWidth(*t);
    if (t->causal && !fullAttention) attention /= 2;
    return kForwardAndBackward * kFlopsPerProduct * count * (tokens * weightProductsPerToken(*t) + attention);
}

double weightGradientFlops(const ModelSpec& model, double tokens)
{
    const TransformerSpec* t = model.transformer();
    return t ? 2 * tokens * weightProductsPerToken(*t) : 0;
}

} // namespace fourwalls
