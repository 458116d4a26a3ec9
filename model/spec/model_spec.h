// SPDX-License-Identifier: Apache-2.0
// The architecture of a network, as far as its shapes, memory and arithmetic depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace fourwalls {

enum class Positions { Learned, Rotary, Alibi }; ///< Alibi: linear biases on the scores, no parameters
enum class Activation { Gelu, SwiGlu, Relu };
enum class Normalization { LayerNorm, RmsNorm };

/// A mixture of experts in place of the feed-forward block (Switch, Mixtral, Qwen-MoE, DeepSeek style).
struct ExpertSpec {
    std::int64_t experts = 0;      ///< routed experts per mixture layer; 0: a dense model
    std::int64_t topK = 1;         ///< experts that one token visits
    std::int64_t expertHidden = 0; ///< inner width of one expert
    std::int64_t sharedHidden = 0; ///< inner width of the expert that every token visits; 0: none
    std::int64_t every = 1;        ///< every n-th layer is a mixture (Switch: 2), the others are dense
    std::int64_t denseLayers = 0;  ///< first layers that stay dense (DeepSeek-V3: 3)
    /// Of the router, which picks so many groups of experts for a token and then experts of those alone; 1: no groups.
    std::int64_t groups = 1, topGroups = 1;
};

/// Multi-head latent attention (arXiv:2405.04434, section 2.1): queries, keys and values from low-rank latents.
struct LatentAttentionSpec {
    std::int64_t queryRank = 0;    ///< rank of the queries' latent; 0: queries are projected directly
    std::int64_t keyValueRank = 0; ///< rank of the shared key/value latent; 0: ordinary attention
    std::int64_t rotaryWidth = 0;  ///< rotary part of a head's key, shared by all heads
    std::int64_t valueWidth = 0;   ///< width of a head's value
};

/// A GPT-, LLaMA- or BERT-style transformer, dense or with a mixture of experts.
struct TransformerSpec {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;    ///< width of the residual stream
    std::int64_t heads = 0;     ///< query heads; hidden % heads == 0
    std::int64_t kvHeads = 0;   ///< key/value heads (== heads: multi-head; fewer: grouped-query); divides heads
    std::int64_t ffnHidden = 0; ///< inner width of the feed-forward block
    std::int64_t vocabulary = 0;
    std::int64_t sequence = 0; ///< longest (and default) sequence [tokens]
    Positions positions = Positions::Learned;
    Activation activation = Activation::Gelu;
    Normalization normalization = Normalization::LayerNorm;
    bool biases = true;          ///< biases in the linear layers
    bool tiedEmbeddings = true;  ///< output head shares the token embedding's weights
    bool causal = true;          ///< decoder (true) or encoder (false)
    bool embeddingNorm = false;  ///< a normalisation right after the token embedding (BLOOM, BERT)
    std::int64_t tokenTypes = 0; ///< rows of the token type embedding (BERT: 2)
    bool postNorm = false;       ///< normalisation after each residual sum, and none at the end (BERT)
    std::int64_t headWidth = 0;  ///< width of a head where it is not hidden / heads (Qwen3); 0: it is
    ExpertSpec mixture = {};
    LatentAttentionSpec latent = {};

    std::int64_t headSize() const { return headWidth > 0 ? headWidth : heads > 0 ? hidden / heads : 0; }
    std::int64_t queryHidden() const { return headSize() * heads; } ///< width of the queries (and of what heads return)
    bool hasExperts() const { return mixture.experts > 0; }
    /// Whether layer `index` (from 0) holds a mixture of experts.
    bool isMixtureLayer(std::int64_t index) const
    {
        return hasExperts() && index >= mixture.denseLayers && mixture.every > 0 &&
               (index - mixture.denseLayers + 1) % mixture.every == 0;
    }
    std::int64_t mixtureLayers() const
    {
        return hasExperts() && layers > mixture.denseLayers && mixture.every > 0
                   ? (layers - mixture.denseLayers) / mixture.every
                   : 0;
    }
    std::int64_t kvHidden() const { return headSize() * kvHeads; } ///< width of the keys (and of the values)
};

/// A bottleneck residual network for images (He et al. 2015, arXiv:1512.03385, table 1), with the stride of a
/// stage's first block in its 3x3 convolution as in today's implementations.
struct ResNetSpec {
    std::int64_t depth = 50;      ///< 50, 101 or 152
    std::int64_t imageSize = 224; ///< square input [pixels], 3 channels
    std::int64_t classes = 1000;
};

/// A recommendation model: embedding tables for the sparse features, a bottom net for the dense ones, their
/// interaction (pairwise dot products), a top net that ends in one logit. Source: DLRM, arXiv:1906.00091.
struct RecommendationSpec {
    std::int64_t tables = 0; ///< sparse features, one embedding table each
    std::int64_t rowsPerTable = 0;
    std::int64_t embeddingWidth = 0;        ///< width of a row, and of the bottom net's output
    std::int64_t lookupsPerTable = 1;       ///< rows summed per sample and table
    std::int64_t denseFeatures = 0;         ///< inputs of the bottom net
    std::vector<std::int64_t> bottomLayers; ///< widths after the inputs; the last one equals embeddingWidth
    std::vector<std::int64_t> topLayers;    ///< widths after the interaction; the last one is 1
    /// Width of what enters the top net: the bottom net's output and the dot products of all pairs of vectors.
    std::int64_t interactionWidth() const { return embeddingWidth + (tables + 1) * tables / 2; }
};

struct ModelSpec {
    std::string name; ///< preset name, or the file's stem
    std::variant<TransformerSpec, ResNetSpec, RecommendationSpec> architecture;

    const TransformerSpec* transformer() const { return std::get_if<TransformerSpec>(&architecture); }
    const ResNetSpec* resnet() const { return std::get_if<ResNetSpec>(&architecture); }
    const RecommendationSpec* recommendation() const { return std::get_if<RecommendationSpec>(&architecture); }
};

/// Trainable parameters of the network, tied weights counted once.
std::int64_t parameterCount(const ModelSpec& model);

/// Parameters that one token meets: of the routed experts only topK. Equal to parameterCount for dense models.
std::int64_t activeParameterCount(const ModelSpec& model);

/// Model FLOPs of one training step (forward and backward, matrix products and convolutions only) of
/// `samples` sequences or images. sequence [tokens], ignored for images. Causal attention is counted half
/// unless fullAttention. attended: keys that a token meets in the mean, before a causal mask; 0: the whole sequence's.
/// Backward counts twice the forward. Source: arXiv:2205.05198 appendix A.
double trainingFlops(const ModelSpec& model, std::int64_t samples, std::int64_t sequence, bool fullAttention = false,
                     double attended = 0);
/// Of them, those of the gradients of linear layers' weights, for so many tokens of a transformer; 0 for other networks.
double weightGradientFlops(const ModelSpec& model, double tokens);

} // namespace fourwalls
