// SPDX-License-Identifier: Apache-2.0
// The architecture of a network, as far as its shapes, memory and arithmetic depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace fourwalls {

enum class Positions { Learned, Rotary, Alibi };    ///< Alibi: linear biases on the scores, no parameters
enum class Activation { Gelu, SwiGlu, Relu };
enum class Normalization { LayerNorm, RmsNorm };

/// A GPT- or LLaMA-style transformer.
struct TransformerSpec {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;        ///< width of the residual stream
    std::int64_t heads = 0;         ///< query heads; hidden % heads == 0
    std::int64_t kvHeads = 0;       ///< key/value heads (== heads: multi-head; fewer: grouped-query); divides heads
    std::int64_t ffnHidden = 0;     ///< inner width of the feed-forward block
    std::int64_t vocabulary = 0;
    std::int64_t sequence = 0;      ///< longest (and default) sequence [tokens]
    Positions positions = Positions::Learned;
    Activation activation = Activation::Gelu;
    Normalization normalization = Normalization::LayerNorm;
    bool biases = true;             ///< biases in the linear layers
    bool tiedEmbeddings = true;     ///< output head shares the token embedding's weights
    bool causal = true;             ///< decoder (true) or encoder (false)
    bool embeddingNorm = false;     ///< a normalisation right after the token embedding (BLOOM)

    std::int64_t headSize() const { return heads > 0 ? hidden / heads : 0; }
    std::int64_t kvHidden() const { return headSize() * kvHeads; }   ///< width of the keys (and of the values)
};

/// A bottleneck residual network for images (He et al. 2015, arXiv:1512.03385, table 1), with the stride of a
/// stage's first block in its 3x3 convolution as in today's implementations.
struct ResNetSpec {
    std::int64_t depth = 50;        ///< 50, 101 or 152
    std::int64_t imageSize = 224;   ///< square input [pixels], 3 channels
    std::int64_t classes = 1000;
};

struct ModelSpec {
    std::string name;               ///< preset name, or the file's stem
    std::variant<TransformerSpec, ResNetSpec> architecture;

    const TransformerSpec* transformer() const { return std::get_if<TransformerSpec>(&architecture); }
    const ResNetSpec* resnet() const { return std::get_if<ResNetSpec>(&architecture); }
};

/// Trainable parameters of the network, tied weights counted once.
std::int64_t parameterCount(const ModelSpec& model);

/// Model FLOPs of one training step (forward and backward, matrix products and convolutions only) of
/// `samples` sequences or images. sequence [tokens], ignored for images. Causal attention is counted half
/// unless fullAttention. Backward counts twice the forward. Source: arXiv:2205.05198 appendix A.
double trainingFlops(const ModelSpec& model, std::int64_t samples, std::int64_t sequence, bool fullAttention = false);

} // namespace fourwalls
