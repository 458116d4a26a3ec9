// SPDX-License-Identifier: Apache-2.0
// See bottleneck.h.
#include "profiler/engine/nn/bottleneck.h"

#include <cmath>

namespace fourwalls::engine {

Convolution makeConvolution(const RankContext& rank, ParameterList& list, const std::string& name,
                            std::int64_t inChannels, std::int64_t outChannels, std::int64_t kernel, std::int64_t stride,
                            std::uint64_t seed)
{
    // Reordering reads the master weights and rounds: no rounded copy is needed.
    RankContext master = rank;
    master.format.compute = rank.format.master;
    const double deviation = std::sqrt(2.0 / static_cast<double>(kernel * kernel * outChannels));
    Parameter& weight =
        list.addTensor(master, seed, name + ".weight", {outChannels, inChannels, kernel, kernel}, deviation);
    return {&weight, stride, kernel / 2};
}

Bottleneck::Bottleneck(const RankContext& rank, ParameterList& list, const char* label, std::int32_t layer,
                       std::int64_t inChannels, std::int64_t width, std::int64_t stride, bool fuse, std::uint64_t seed)
    : m_label(label)
    , m_layer(layer)
    , m_fuse(fuse)
{
    const std::string prefix = std::string(label) + ".";
    const std::int64_t out = width * kExpansion;
    m_conv1 = makeConvolution(rank, list, prefix + "conv1", inChannels, width, 1, 1, seed);
    m_norm1 = BatchNorm::make(rank, list, prefix + "bn1", width, true, fuse);
    m_conv2 = makeConvolution(rank, list, prefix + "conv2", width, width, 3, stride, seed);
    m_norm2 = BatchNorm::make(rank, list, prefix + "bn2", width, true, fuse);
    m_conv3 = makeConvolution(rank, list, prefix + "conv3", width, out, 1, 1, seed);
    m_norm3 = BatchNorm::make(rank, list, prefix + "bn3", out, false, fuse);
    if (stride != 1 || inChannels != out) {
        m_shortcutConv = makeConvolution(rank, list, prefix + "downsample.0", inChannels, out, 1, stride, seed);
        m_shortcutNorm = BatchNorm::make(rank, list, prefix + "downsample.1", out, false, fuse);
    }
}

Tensor Bottleneck::forward(ImageContext context, const Tensor& x, Saved& s) const
{
    Recorder& recorder = context.rank.recorder;
    const Scope layer(recorder, SliceKind::Layer, m_label, Phase::None, m_layer);
    s.input = x;
    {
        const Scope op(recorder, SliceKind::Operator, "conv1");
        s.conv1 = m_conv1.forward(context, x);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "bn1");
        s.norm1 = m_norm1.forward(context, s.conv1, s.stats1);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "conv2");
        s.conv2 = m_conv2.forward(context, s.norm1);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "bn2");
        s.norm2 = m_norm2.forward(context, s.conv2, s.stats2);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "conv3");
        s.conv3 = m_conv3.forward(context, s.norm2);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "bn3");
        s.output = m_norm3.forward(context, s.conv3, s.stats3);
    }
    Tensor shortcut = x;
    if (m_shortcutConv) {
        {
            const Scope op(recorder, SliceKind::Operator, "downsample.conv");
            s.shortcutConv = m_shortcutConv->forward(context, x);
        }
        const Scope op(recorder, SliceKind::Operator, "downsample.bn");
        shortcut = m_shortcutNorm->forward(context, s.shortcutConv, s.shortcutStats);
    }
    const Scope op(recorder, SliceKind::Operator, "residual");
    if (m_fuse) {
        context.images.addRelu(s.output, shortcut);
    } else {
        const Tensor sum = context.rank.inPlace ? s.output : context.activation(s.output.shape());
        context.rank.device.add(s.output, shortcut, sum);
        s.output = context.relu(sum);
    }
    return s.output;
}

Bottleneck::GradientSum Bottleneck::backward(ImageContext context, GradientSum dy, Saved& s) const
{
    Recorder& recorder = context.rank.recorder;
    const Scope layer(recorder, SliceKind::Layer, m_label, Phase::None, m_layer);
    {
        const Scope op(recorder, SliceKind::Operator, "residual");
        if (!m_fuse && dy.other.defined()) {
            const Tensor sum = context.rank.inPlace ? dy.main : context.temporary(dy.main.shape());
            context.rank.device.add(dy.main, dy.other, sum);
            dy.main = sum;
            dy.other.reset();
        }
        context.images.addReluGradient(s.output, dy.main, dy.other);
        dy.other.reset();
        s.output.reset();
    }
    Tensor d; // the gradient on its way down the main branch
    {
        const Scope op(recorder, SliceKind::Operator, "bn3");
        d = m_norm3.backward(context, s.conv3, s.stats3, dy.main);
        s.conv3.reset();
        s.stats3 = {};
    }
    {
        const Scope op(recorder, SliceKind::Operator, "conv3");
        m_conv3.backwardWeight(context, s.norm2, d);
        const Shape input = s.norm2.shape();
        if (!m_norm2.needsOutput()) s.norm2.reset();
        d = m_conv3.backwardInput(context, d, input);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "bn2");
        d = m_norm2.backwardInPlace(context, s.conv2, s.stats2, s.norm2, d);
        s.conv2.reset();
        s.norm2.reset();
        s.stats2 = {};
    }
    {
        const Scope op(recorder, SliceKind::Operator, "conv2");
        m_conv2.backwardWeight(context, s.norm1, d);
        const Shape input = s.norm1.shape();
        if (!m_norm1.needsOutput()) s.norm1.reset();
        d = m_conv2.backwardInput(context, d, input);
    }
    {
        const Scope op(recorder, SliceKind::Operator, "bn1");
        d = m_norm1.backwardInPlace(context, s.conv1, s.stats1, s.norm1, d);
        s.conv1.reset();
        s.norm1.reset();
        s.stats1 = {};
    }
    {
        const Scope op(recorder, SliceKind::Operator, "conv1");
        m_conv1.backwardWeight(context, s.input, d);
        d = m_conv1.backwardInput(context, d, s.input.shape());
    }
    if (m_shortcutConv) {
        {
            const Scope op(recorder, SliceKind::Operator, "downsample.bn");
            dy.main = m_shortcutNorm->backwardInPlace(context, s.shortcutConv, s.shortcutStats, Tensor(), dy.main);
            s.shortcutConv.reset();
            s.shortcutStats = {};
        }
        const Scope op(recorder, SliceKind::Operator, "downsample.conv");
        m_shortcutConv->backwardWeight(context, s.input, dy.main);
        dy.main = m_shortcutConv->backwardInput(context, dy.main, s.input.shape());
    }
    s = {};
    return {d, dy.main};
}

} // namespace fourwalls::engine
