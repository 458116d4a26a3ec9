// SPDX-License-Identifier: Apache-2.0
// See image_primitives.h.
#include "profiler/engine/device/image_primitives.h"

#include "profiler/engine/core/kernel_times.h"
namespace fourwalls::engine::onednn {

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

memory::format_tag tag(Layout layout)
{
    switch (layout) {
    case Layout::RowMajor: return memory::format_tag::nchw;
    case Layout::ChannelsLast: return memory::format_tag::nhwc;
    case Layout::ChannelBlocks16: return memory::format_tag::nChw16c;
    case Layout::ChannelBlocks8: return memory::format_tag::nChw8c;
    }
    return memory::format_tag::nchw;
}

memory::desc descOf(const Shape& s, DType type, Layout layout)
{
    return {{s[0], s[1], s[2], s[3]}, dataType(type), tag(layout)};
}

memory::desc vectorDesc(std::int64_t size)
{
    return {{size}, memory::data_type::f32, memory::format_tag::x};
}

memory::desc plainWeights(const ConvolutionShape& s)
{
    return {{s.outChannels, s.inChannels, s.kernel, s.kernel}, memory::data_type::f32, memory::format_tag::oihw};
}

memory::desc anyWeights(const ConvolutionShape& s, DType type)
{
    return {{s.outChannels, s.inChannels, s.kernel, s.kernel}, dataType(type), memory::format_tag::any};
}

dnnl::primitive_attr userScratch()
{
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

// Runs make(), with oneDNN's refusal as an error of ours.
template <class Make>
auto guarded(const char* what, Make make)
{
    try {
        return make();
    } catch (const dnnl::error& error) {
        throw EngineError(ErrorCode::Internal, std::string("oneDNN refused: ") + error.what(), what);
    }
}

template <class Table, class Make>
auto& findOrMake(Table& table, const Key& key, const char* what, Make make)
{
    const auto found = table.find(key);
    if (found != table.end()) return found->second;
    const KernelMaking making;
    return table.emplace(key, guarded(what, make)).first->second;
}

} // namespace

memory::desc ImagePrimitives::imageDesc(const Shape& shape, DType type) const
{
    return descOf(shape, type, m_layoutOf(shape[1], type));
}

Primitive ImagePrimitives::makeReorder(const memory::desc& from, const memory::desc& to, bool adding) const
{
    dnnl::primitive_attr attributes = userScratch();
    if (adding) {
        dnnl::post_ops after;
        after.append_sum(1.0f);
        attributes.set_post_ops(after);
    }
    const dnnl::reorder::primitive_desc desc(m_engine, from, m_engine, to, attributes);
    return {dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, m_engine};
}

// convolution_auto leaves the algorithm to oneDNN: Winograd where it expects that to be faster, else direct.
ConvolutionPrimitives& ImagePrimitives::convolution(const ConvolutionShape& s, DType type)
{
    const Key key{{s.images, s.inChannels, s.height, s.width, s.outChannels, s.kernel, s.stride, s.padding,
                   static_cast<std::int64_t>(type)}};
    return findOrMake(m_convolutions, key, "convolution", [&] {
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type), w = anyWeights(s, type);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        ConvolutionPrimitives c;
        auto& d = c.forwardDesc;
        d = withAlgorithm([&](algorithm kind) {
            return describe<dnnl::convolution_forward>(m_engine, userScratch(), prop_kind::forward_training, kind, x, w,
                                                       y, strides, padding, padding);
        });
        c.forward = {dnnl::convolution_forward(d),
                     d.scratchpad_desc(),
                     {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DST, y}},
                     m_engine};
        c.packForward = makeReorder(plainWeights(s), d.weights_desc(), false);
        return c;
    });
}

ConvolutionPrimitives& ImagePrimitives::withInputGradient(const ConvolutionShape& s, DType type)
{
    ConvolutionPrimitives& c = convolution(s, type);
    if (c.inputDesc) return c;
    guarded("convolution input gradient", [&] {
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type), w = anyWeights(s, type);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        const auto d = withAlgorithm([&](algorithm kind) {
            return describeGradient<dnnl::convolution_backward_data>(m_engine, userScratch(), c.forwardDesc, kind, x, w,
                                                                     y, strides, padding, padding);
        });
        c.input = {dnnl::convolution_backward_data(d),
                   d.scratchpad_desc(),
                   {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DIFF_SRC, x}},
                   m_engine};
        c.packInput = makeReorder(plainWeights(s), d.weights_desc(), false);
        c.inputDesc = d;
        return true;
    });
    return c;
}

// The gradient comes out in f32, whatever the images are in.
ConvolutionPrimitives& ImagePrimitives::withWeightGradient(const ConvolutionShape& s, DType type)
{
    ConvolutionPrimitives& c = convolution(s, type);
    if (c.weightDesc) return c;
    guarded("convolution weight gradient", [&] {
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type);
        const memory::desc w = anyWeights(s, DType::F32);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        const auto d = withAlgorithm([&](algorithm kind) {
            return describeGradient<dnnl::convolution_backward_weights>(m_engine, userScratch(), c.forwardDesc, kind, x,
                                                                        w, y, strides, padding, padding);
        });
        c.weight = {dnnl::convolution_backward_weights(d),
                    d.scratchpad_desc(),
                    {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc()}},
                    m_engine};
        c.unpack = makeReorder(d.diff_weights_desc(), plainWeights(s), false);
        c.unpackAdding = makeReorder(d.diff_weights_desc(), plainWeights(s), true);
        c.weightDesc = d;
        return true;
    });
    return c;
}

BatchNormPrimitives& ImagePrimitives::batchNorm(const Tensor& x, bool relu)
{
    const Shape& s = x.shape();
    const Key key{
        {s[0], s[1], s[2], s[3], static_cast<std::int64_t>(x.type()), static_cast<std::int64_t>(x.layout()), relu}};
    return findOrMake(m_batchNorms, key, "batch normalisation", [&] {
        const memory::desc image = descOf(s, x.type(), x.layout()), v = vectorDesc(s[1]);
        auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
        if (relu) flags = flags | dnnl::normalization_flags::fuse_norm_relu;
        const auto epsilon = static_cast<float>(kBatchNormEpsilon);
        BatchNormPrimitives b;
        auto& f = b.forwardDesc;
        f = describeBatchNorm(m_engine, userScratch(), image, epsilon, flags);
        const auto d = describeBatchNormGradient(m_engine, userScratch(), f, image, epsilon, flags);
        std::vector<Primitive::Argument> forward = {{DNNL_ARG_SRC, image}, {DNNL_ARG_SCALE, v}, {DNNL_ARG_SHIFT, v},
                                                    {DNNL_ARG_DST, image}, {DNNL_ARG_MEAN, v},  {DNNL_ARG_VARIANCE, v}};
        std::vector<Primitive::Argument> backward = {
            {DNNL_ARG_SRC, image},      {DNNL_ARG_SCALE, v},      {kBatchNormGradientShift, v},
            {DNNL_ARG_MEAN, v},         {DNNL_ARG_VARIANCE, v},   {DNNL_ARG_DIFF_DST, image},
            {DNNL_ARG_DIFF_SRC, image}, {DNNL_ARG_DIFF_SCALE, v}, {DNNL_ARG_DIFF_SHIFT, v}};
        if (relu) {
            b.maskBytes = f.workspace_desc().get_size();
            forward.push_back({DNNL_ARG_WORKSPACE, f.workspace_desc()});
            backward.push_back({DNNL_ARG_WORKSPACE, f.workspace_desc()});
        }
        b.forward = {dnnl::batch_normalization_forward(f), f.scratchpad_desc(), forward, m_engine};
        b.backward = {dnnl::batch_normalization_backward(d), d.scratchpad_desc(), backward, m_engine};
        return b;
    });
}

PoolingPrimitives& ImagePrimitives::pooling(algorithm kind, const Shape& in, const Shape& out,
                                            const memory::dims& kernel, std::int64_t stride, std::int64_t padding,
                                            DType type)
{
    const Key key{{in[0], in[1], in[2], in[3], kernel[0], kernel[1], stride, padding, static_cast<std::int64_t>(type),
                   static_cast<std::int64_t>(kind)}};
    return findOrMake(m_poolings, key, "pooling", [&] {
        const Layout layout = m_layoutOf(in[1], type);
        const memory::desc x = descOf(in, type, layout), y = descOf(out, type, layout);
        const memory::dims strides{stride, stride}, dense{0, 0}, pad{padding, padding};
        PoolingPrimitives p;
        auto& f = p.forwardDesc;
        f = describe<PoolingForward>(m_engine, userScratch(), prop_kind::forward_training, kind, x, y, strides, kernel,
                                     dense, pad, pad);
        const auto d =
            describeGradient<PoolingBackward>(m_engine, userScratch(), f, kind, x, y, strides, kernel, dense, pad, pad);
        std::vector<Primitive::Argument> forward = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
        std::vector<Primitive::Argument> backward = {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, x}};
        if (kind == algorithm::pooling_max) {
            p.positionBytes = f.workspace_desc().get_size();
            forward.push_back({DNNL_ARG_WORKSPACE, f.workspace_desc()});
            backward.push_back({DNNL_ARG_WORKSPACE, f.workspace_desc()});
        }
        p.forward = {PoolingForward(f), f.scratchpad_desc(), forward, m_engine};
        p.backward = {PoolingBackward(d), d.scratchpad_desc(), backward, m_engine};
        return p;
    });
}

PoolingPrimitives& ImagePrimitives::maxPool(const PoolingShape& s, DType type)
{
    return pooling(algorithm::pooling_max, s.input(), s.output(), {s.kernel, s.kernel}, s.stride, s.padding, type);
}

PoolingPrimitives& ImagePrimitives::averagePool(const Shape& in, DType type)
{
    return pooling(algorithm::pooling_avg_include_padding, in, {in[0], in[1], 1, 1}, {in[2], in[3]}, 1, 0, type);
}

Primitive& ImagePrimitives::reorder(const Tensor& from, const Tensor& to)
{
    const Shape& s = from.shape();
    const Key key{{s[0], s[1], s[2], s[3], static_cast<std::int64_t>(from.type()),
                   static_cast<std::int64_t>(from.layout()), static_cast<std::int64_t>(to.layout())}};
    return findOrMake(m_reorders, key, "reorder", [&] {
        return makeReorder(descOf(s, from.type(), from.layout()), descOf(s, to.type(), to.layout()), false);
    });
}

} // namespace fourwalls::engine::onednn
