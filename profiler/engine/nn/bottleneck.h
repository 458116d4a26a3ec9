// SPDX-License-Identifier: Apache-2.0
// The residual block of ResNet-50 and deeper: 1x1, 3x3, 1x1 convolutions around a shortcut (He et al. 2015,
// arXiv:1512.03385, figure 5 right). The stride is in the 3x3 convolution ("version 1.5", as in torchvision).
#pragma once

#include "profiler/engine/nn/batch_norm.h"

#include <cstdint>
#include <optional>
#include <string>

namespace fourwalls::engine {

class Bottleneck {
public:
    /// The block's output has so many times the channels of its inner convolutions.
    static constexpr std::int64_t kExpansion = 4;

    /// name: of the parameters and of the layer's slices, such as "layer1.0"; label: the same as a text that lives as
    /// long as the program. width: channels of the inner convolutions. fuse: ReLUs and the shortcut's addition happen
    /// within other operators, not by passes of their own.
    Bottleneck(const RankContext& rank, ParameterList& list, const char* label, std::int32_t layer,
               std::int64_t inChannels, std::int64_t width, std::int64_t stride, bool fuse, std::uint64_t seed);

    /// What the backward pass needs.
    struct Saved {
        Tensor input;
        Tensor conv1, norm1, conv2, norm2, conv3; ///< outputs; the norms' include the ReLU
        Tensor shortcutConv;                      ///< output, if the shortcut has a convolution
        Tensor output;
        BatchNormSaved stats1, stats2, stats3, shortcutStats;

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &conv1, &norm1, &conv2, &norm2, &conv3, &shortcutConv, &output}) f(*tensor);
            for (BatchNormSaved* stats : {&stats1, &stats2, &stats3, &shortcutStats})
                for (Tensor* tensor : {&stats->mean, &stats->variance, &stats->mask}) f(*tensor);
        }
    };

    /// A gradient that is the sum of two: the next operation adds them in its own pass.
    struct GradientSum {
        Tensor main;
        Tensor other; ///< may be undefined
    };

    Tensor forward(ImageContext context, const Tensor& x, Saved& saved) const;

    /// Takes the gradient with respect to the output and returns that with respect to the input. The tensors of
    /// `dy` are overwritten; `saved` is released on the way.
    GradientSum backward(ImageContext context, GradientSum dy, Saved& saved) const;

    std::int32_t layer() const { return m_layer; }

private:
    const char* m_label;
    std::int32_t m_layer;
    bool m_fuse;
    Convolution m_conv1, m_conv2, m_conv3;
    BatchNorm m_norm1, m_norm2, m_norm3;
    std::optional<Convolution> m_shortcutConv;
    std::optional<BatchNorm> m_shortcutNorm;
};

/// A convolution's weights with entries of variance 2 / (kernel^2 out channels), which keeps the size of what flows
/// back through ReLUs (He et al. 2015, arXiv:1502.01852, section 2.2). They have no copy in the compute type.
Convolution makeConvolution(const RankContext& rank, ParameterList& list, const std::string& name,
                            std::int64_t inChannels, std::int64_t outChannels, std::int64_t kernel, std::int64_t stride,
                            std::uint64_t seed);

} // namespace fourwalls::engine
