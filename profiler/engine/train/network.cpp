// SPDX-License-Identifier: Apache-2.0
// See network.h.
#include "profiler/engine/train/network.h"

#include "profiler/engine/nn/decoder.h"
#include "profiler/engine/nn/maximal_update.h"
#include "profiler/engine/nn/recommendation.h"
#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/train/click_data.h"
#include "profiler/engine/train/image_data.h"
#include "profiler/engine/train/masked_text_data.h"
#include "profiler/engine/train/text_data.h"

#include <numeric>
#include <string>

namespace fourwalls::engine {

namespace {

Error misfit(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

Status checkLatent(const TransformerSpec& t)
{
    const LatentAttentionSpec& l = t.latent;
    if (t.positions != Positions::Rotary || l.rotaryWidth < 2 || l.rotaryWidth % 2 != 0)
        return misfit("latent_attention", "latent attention needs rotary positions of an even width",
                      "positions rotary and a rotary_width such as 64");
    if (t.kvHeads != t.heads)
        return misfit("kv_heads", "latent attention has keys and values for every head", "as many as heads");
    if (t.biases) return misfit("biases", "latent attention has no biases", "biases false");
    if (l.valueWidth < 1 || l.valueWidth > t.headSize() + l.rotaryWidth)
        return misfit("value_width", "values must not be wider than keys (head width and rotary part)",
                      "a value_width such as the head width");
    return {};
}

Status checkTransformer(const TransformerSpec& t)
{
    if (t.positions == Positions::Alibi)
        return Error{ErrorCode::Unsupported, "the engine has no ALiBi positions", "positions", "learned or rotary"};
    if (t.activation == Activation::Relu)
        return Error{ErrorCode::Unsupported, "the engine has no ReLU transformer", "activation", "gelu or swiglu"};
    if (t.hasExperts() && (t.mixture.topK < 1 || t.mixture.topK > t.mixture.experts || t.mixture.expertHidden < 1))
        return misfit("mixture", "a token must visit at least one expert and at most all",
                      "top_k from 1 to the number of experts");
    if (t.latent.keyValueRank > 0) FOURWALLS_TRY(checkLatent(t));
    if (t.layers < 1 || t.hidden < 1 || t.heads < 1 || t.kvHeads < 1 || t.ffnHidden < 1)
        return misfit("model", "layers and widths must be positive", "a complete model description");
    if (t.headWidth == 0 && t.hidden % t.heads != 0)
        return misfit("heads", "heads do not divide the hidden width", "a divisor of hidden");
    if (t.heads % t.kvHeads != 0)
        return misfit("kv_heads", "key/value heads do not divide the heads", "a divisor of heads");
    if (t.positions == Positions::Rotary && t.latent.keyValueRank == 0 && t.headSize() % 2 != 0)
        return misfit("heads", "rotary positions need an even head width", "another number of heads");
    if (t.vocabulary < 256)
        return misfit("vocabulary", "every byte is a token, so there must be at least 256", "vocabulary 256");
    return {};
}

Status checkResNet(const ResNetSpec& r)
{
    if (!ResNetShape::of(r)) return misfit("depth", "there is no residual network of this depth", "50, 101 or 152");
    if (r.imageSize < 32 || r.imageSize % 32 != 0)
        return misfit("image_size", "the network halves its images five times", "a multiple of 32, such as 224");
    if (r.classes < 2) return misfit("classes", "there must be something to tell apart", "at least 2 classes");
    return {};
}

Status checkRecommendation(const RecommendationSpec& r)
{
    constexpr std::int64_t kMostRows = std::int64_t{1} << 31; // row numbers have 32 bits
    if (r.tables < 1 || r.lookupsPerTable < 1 || r.denseFeatures < 1 || r.bottomLayers.empty() || r.topLayers.empty())
        return misfit("model", "tables, look-ups, dense features and layers must be positive",
                      "a complete model description");
    if (r.rowsPerTable < 1 || r.rowsPerTable >= kMostRows)
        return misfit("rows_per_table", "the engine counts rows with 32 bits", "fewer than 2147483648 rows");
    if (r.bottomLayers.back() != r.embeddingWidth)
        return misfit("bottom_layers", "the bottom net must end as wide as a row of a table", "embedding_width");
    if (r.topLayers.back() != 1) return misfit("top_layers", "the top net must end in one logit", "a last width of 1");
    return {};
}

} // namespace

Status checkNetwork(const RunSpec& spec)
{
    FOURWALLS_TRY(checkMaximalUpdate(spec));
    if (const TransformerSpec* transformer = spec.model.transformer()) return checkTransformer(*transformer);
    if (const ResNetSpec* resnet = spec.model.resnet()) return checkResNet(*resnet);
    return checkRecommendation(*spec.model.recommendation());
}

ChunkRange chunkRange(const ParallelPlan& plan, int stage, int chunk, std::int64_t layers)
{
    const PipelineShape shape = pipelineShape(plan);
    const int position = shape.positionOf(stage, chunk);
    IndexRange range = splitEvenly(layers, shape.positions(), position);
    if (!plan.stageLayers.empty()) {
        const auto at = plan.stageLayers.begin() + position;
        range = {std::accumulate(plan.stageLayers.begin(), at, std::int64_t{0}), *at};
    }
    return {range.first, range.count, position == 0, position + 1 == shape.positions()};
}

Result<Network> makeNetwork(RankContext& rank, const RunSpec& spec)
{
    FOURWALLS_TRY(checkNetwork(spec));
    Network network;
    const PipelineShape shape = pipelineShape(spec.plan);
    const int stage = indexIn(rank.groups ? rank.groups->pipeline.get() : nullptr);
    if (const ResNetSpec* resnet = spec.model.resnet()) {
        network.data = std::make_unique<ImageData>(resnet->imageSize, resnet->classes, spec.training.seed);
        const ResNetShape images = *ResNetShape::of(*resnet);
        for (int chunk = 0; chunk < shape.chunks; ++chunk)
            network.chunks.push_back(
                std::make_unique<ResNet>(rank, images, spec.training.seed, spec.plan.fuse, spec.plan.convolution,
                                         chunkRange(spec.plan, stage, chunk, images.totalBlocks())));
        return network;
    }
    if (const RecommendationSpec* recommendation = spec.model.recommendation()) {
        network.data = std::make_unique<ClickData>(*recommendation, spec.training.seed);
        network.chunks.push_back(std::make_unique<Recommendation>(
            rank, *recommendation, spec.training.seed,
            RecommendationOptions{spec.plan.fuse, spec.plan.parameterServer != ParameterServer::None}));
        return network;
    }
    const ComputeOptions options{spec.plan.fusedAttention, spec.plan.fuse, spec.plan.recomputeOf(stage),
                                 spec.plan.routing, spec.plan.microbatches};
    const TransformerSpec& transformer = *spec.model.transformer();
    FOURWALLS_TRY_ASSIGN(TextData text, TextData::open(spec.training.dataFile, spec.training.sequence,
                                                       spec.training.seed, spec.plan.documents));
    if (transformer.causal)
        network.data = std::make_unique<TextData>(std::move(text));
    else
        network.data = std::make_unique<MaskedTextData>(std::move(text), transformer.vocabulary, spec.training.seed);
    Parameter* table = nullptr; // tied embeddings of a V: first and last position are on one rank
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        const ChunkRange range = chunkRange(spec.plan, stage, chunk, transformer.layers);
        auto decoder = std::make_unique<Decoder>(rank, transformer, spec.training.sequence, spec.training.seed, options,
                                                 range, table);
        if (range.first) table = decoder->tokenTable();
        const bool apart = shape.stageOf(0) != shape.stageOf(shape.positions() - 1);
        if (transformer.tiedEmbeddings && apart && (range.first || range.last))
            decoder->tokenTable()->sharedByStages = true;
        network.chunks.push_back(std::move(decoder));
    }
    return network;
}

} // namespace fourwalls::engine
