// SPDX-License-Identifier: Apache-2.0
// See image_onednn.h. Primitives are made on first use of a shape and kept.
#include "profiler/engine/device/image_onednn.h"

#include "profiler/engine/device/onednn_primitive.h"
#include "profiler/engine/device/simd_image.h"

#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace fourwalls::engine {

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using onednn::Key;
using onednn::KeyHash;
using onednn::Primitive;

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

std::int64_t channelMultiple(Layout layout)
{
    return layout == Layout::ChannelBlocks16 ? 16 : layout == Layout::ChannelBlocks8 ? 8 : 1;
}

memory::desc imageDesc(const Shape& s, DType type, Layout layout)
{
    return {{s[0], s[1], s[2], s[3]}, onednn::dataType(type), tag(layout)};
}

memory::desc vectorDesc(std::int64_t size) { return {{size}, memory::data_type::f32, memory::format_tag::x}; }

dnnl::primitive_attr userScratch()
{
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

// Bytes in an opaque order, as a tensor.
Tensor bytesTensor(Allocator& allocator, std::size_t bytes, MemoryCategory category)
{
    return Tensor::make(allocator, {static_cast<std::int64_t>((bytes + 3) / 4)}, DType::I32, category);
}

bool isWinograd(const char* implementation) { return std::string_view(implementation).find("wino") != std::string_view::npos; }

// The values are sets of features, not an order.
bool hasIsa(dnnl::cpu_isa wanted)
{
    const auto bits = static_cast<unsigned>(wanted);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

Layout fastestF32() { return hasIsa(dnnl::cpu_isa::avx512_core) ? Layout::ChannelBlocks16 : Layout::ChannelBlocks8; }

// Measured: with matrix units (AMX) bf16 convolutions want channels last, by a factor of 3; without them blocks are
// as fast in the convolutions and up to twice as fast in the batch normalisation.
Layout fastestBf16()
{
    return hasIsa(dnnl::cpu_isa::avx512_core_amx) ? Layout::ChannelsLast : Layout::ChannelBlocks16;
}

struct Convolution {
    dnnl::convolution_forward::primitive_desc forwardDesc;
    std::optional<dnnl::convolution_backward_data::primitive_desc> inputDesc;
    std::optional<dnnl::convolution_backward_weights::primitive_desc> weightDesc;
    Primitive forward, input, weight;
    Primitive packForward, packInput, unpack, unpackAdding;
};

struct BatchNorm {
    dnnl::batch_normalization_forward::primitive_desc forwardDesc;
    Primitive forward, backward;
    std::size_t maskBytes = 0;
};

struct Pooling {
    dnnl::pooling_forward::primitive_desc forwardDesc;
    Primitive forward, backward;
    std::size_t positionBytes = 0;
};

} // namespace

struct OneDnnImageOperators::State {
    std::function<Layout(std::int64_t, DType)> layoutOf;
    Allocator& allocator;
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    std::unordered_map<Key, Convolution, KeyHash> convolutions;
    std::unordered_map<Key, BatchNorm, KeyHash> batchNorms;
    std::unordered_map<Key, Pooling, KeyHash> poolings;
    std::unordered_map<Key, Primitive, KeyHash> reorders;

    State(Allocator& source, std::function<Layout(std::int64_t, DType)> layouts) : layoutOf(std::move(layouts)), allocator(source) {}

    memory::desc imageDesc(const Shape& shape, DType type) const
    {
        return engine::imageDesc(shape, type, layoutOf(shape[1], type));
    }

    static memory::desc plainWeights(const ConvolutionShape& s)
    {
        return {{s.outChannels, s.inChannels, s.kernel, s.kernel}, memory::data_type::f32, memory::format_tag::oihw};
    }
    static memory::desc anyWeights(const ConvolutionShape& s, DType type)
    {
        return {{s.outChannels, s.inChannels, s.kernel, s.kernel}, onednn::dataType(type), memory::format_tag::any};
    }

    Primitive reorder(const memory::desc& from, const memory::desc& to, bool adding) const
    {
        dnnl::primitive_attr attributes = userScratch();
        if (adding) {
            dnnl::post_ops after;
            after.append_sum(1.0f);
            attributes.set_post_ops(after);
        }
        const dnnl::reorder::primitive_desc description(engine, from, engine, to, attributes);
        return {dnnl::reorder(description), description.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, engine};
    }

    // Runs make() unless the table has the key, with oneDNN's refusal as an error of ours.
    template <class Table, class Make>
    auto& find(Table& table, const Key& key, const char* what, Make make)
    {
        const auto found = table.find(key);
        if (found != table.end()) return found->second;
        try {
            return table.emplace(key, make()).first->second;
        } catch (const dnnl::error& error) {
            throw EngineError(ErrorCode::Internal, std::string("oneDNN refused a ") + what + ": " + error.what(), what);
        }
    }

    Convolution& convolution(const ConvolutionShape& s, DType type)
    {
        const Key key{{s.images, s.inChannels, s.height, s.width, s.outChannels, s.kernel, s.stride, s.padding,
                       static_cast<std::int64_t>(type)}};
        return find(convolutions, key, "convolution", [&] { return makeConvolution(s, type); });
    }

    // The algorithm is left to oneDNN: Winograd where it expects that to be faster, else direct.
    Convolution makeConvolution(const ConvolutionShape& s, DType type) const
    {
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type), w = anyWeights(s, type);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        Convolution c;
        c.forwardDesc = {{prop_kind::forward_training, algorithm::convolution_auto, x, w, y, strides, padding, padding},
                         userScratch(), engine};
        c.forward = {dnnl::convolution_forward(c.forwardDesc), c.forwardDesc.scratchpad_desc(),
                     {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, c.forwardDesc.weights_desc()}, {DNNL_ARG_DST, y}}, engine};
        c.packForward = reorder(plainWeights(s), c.forwardDesc.weights_desc(), false);
        return c;
    }

    Convolution& withInput(const ConvolutionShape& s, DType type)
    {
        Convolution& c = convolution(s, type);
        if (c.inputDesc) return c;
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type), w = anyWeights(s, type);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        try {
            const dnnl::convolution_backward_data::primitive_desc d({algorithm::convolution_auto, x, w, y, strides, padding, padding},
                                                                    userScratch(), engine, c.forwardDesc);
            c.input = {dnnl::convolution_backward_data(d), d.scratchpad_desc(),
                       {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DIFF_SRC, x}}, engine};
            c.packInput = reorder(plainWeights(s), d.weights_desc(), false);
            c.inputDesc = d;
        } catch (const dnnl::error& error) {
            throw EngineError(ErrorCode::Internal, std::string("oneDNN refused an input gradient: ") + error.what(), "convolution");
        }
        return c;
    }

    // The gradient comes out in f32, whatever the images are in.
    Convolution& withWeight(const ConvolutionShape& s, DType type)
    {
        Convolution& c = convolution(s, type);
        if (c.weightDesc) return c;
        const memory::desc x = imageDesc(s.input(), type), y = imageDesc(s.output(), type), w = anyWeights(s, DType::F32);
        const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
        try {
            const dnnl::convolution_backward_weights::primitive_desc d({algorithm::convolution_auto, x, w, y, strides, padding, padding},
                                                                       userScratch(), engine, c.forwardDesc);
            c.weight = {dnnl::convolution_backward_weights(d), d.scratchpad_desc(),
                        {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc()}}, engine};
            c.unpack = reorder(d.diff_weights_desc(), plainWeights(s), false);
            c.unpackAdding = reorder(d.diff_weights_desc(), plainWeights(s), true);
            c.weightDesc = d;
        } catch (const dnnl::error& error) {
            throw EngineError(ErrorCode::Internal, std::string("oneDNN refused a weight gradient: ") + error.what(), "convolution");
        }
        return c;
    }

    BatchNorm& batchNorm(const Tensor& x, bool relu)
    {
        const Shape& s = x.shape();
        const Key key{{s[0], s[1], s[2], s[3], static_cast<std::int64_t>(x.type()), static_cast<std::int64_t>(x.layout()), relu}};
        return find(batchNorms, key, "batch normalisation", [&] {
            const memory::desc image = engine::imageDesc(s, x.type(), x.layout()), v = vectorDesc(s[1]);
            auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
            if (relu) flags = flags | dnnl::normalization_flags::fuse_norm_relu;
            const auto epsilon = static_cast<float>(kBatchNormEpsilon);
            BatchNorm b;
            b.forwardDesc = {{prop_kind::forward_training, image, epsilon, flags}, userScratch(), engine};
            const dnnl::batch_normalization_backward::primitive_desc d({prop_kind::backward, image, image, epsilon, flags},
                                                                       userScratch(), engine, b.forwardDesc);
            const memory::desc mask = b.forwardDesc.workspace_desc();
            b.maskBytes = mask.get_size();
            const dnnl::batch_normalization_forward forward(b.forwardDesc);
            const dnnl::batch_normalization_backward backward(d);
            if (relu) {
                b.forward = {forward, b.forwardDesc.scratchpad_desc(),
                             {{DNNL_ARG_SRC, image}, {DNNL_ARG_SCALE, v}, {DNNL_ARG_SHIFT, v}, {DNNL_ARG_DST, image},
                              {DNNL_ARG_MEAN, v}, {DNNL_ARG_VARIANCE, v}, {DNNL_ARG_WORKSPACE, mask}}, engine};
                b.backward = {backward, d.scratchpad_desc(),
                              {{DNNL_ARG_SRC, image}, {DNNL_ARG_SCALE, v}, {DNNL_ARG_SHIFT, v}, {DNNL_ARG_MEAN, v}, {DNNL_ARG_VARIANCE, v},
                               {DNNL_ARG_DIFF_DST, image}, {DNNL_ARG_DIFF_SRC, image}, {DNNL_ARG_DIFF_SCALE, v},
                               {DNNL_ARG_DIFF_SHIFT, v}, {DNNL_ARG_WORKSPACE, mask}}, engine};
            } else {
                b.forward = {forward, b.forwardDesc.scratchpad_desc(),
                             {{DNNL_ARG_SRC, image}, {DNNL_ARG_SCALE, v}, {DNNL_ARG_SHIFT, v}, {DNNL_ARG_DST, image},
                              {DNNL_ARG_MEAN, v}, {DNNL_ARG_VARIANCE, v}}, engine};
                b.backward = {backward, d.scratchpad_desc(),
                              {{DNNL_ARG_SRC, image}, {DNNL_ARG_SCALE, v}, {DNNL_ARG_SHIFT, v}, {DNNL_ARG_MEAN, v}, {DNNL_ARG_VARIANCE, v},
                               {DNNL_ARG_DIFF_DST, image}, {DNNL_ARG_DIFF_SRC, image}, {DNNL_ARG_DIFF_SCALE, v},
                               {DNNL_ARG_DIFF_SHIFT, v}}, engine};
            }
            return b;
        });
    }

    // kind: pooling_max with positions, or the average.
    Pooling& pooling(algorithm kind, const Shape& in, const Shape& out, std::int64_t kernelHeight, std::int64_t kernelWidth,
                     std::int64_t stride, std::int64_t padding, DType type)
    {
        const Key key{{in[0], in[1], in[2], in[3], kernelHeight, kernelWidth, stride, padding, static_cast<std::int64_t>(type),
                       static_cast<std::int64_t>(kind)}};
        return find(poolings, key, "pooling", [&] {
            const Layout layout = layoutOf(in[1], type);
            const memory::desc x = engine::imageDesc(in, type, layout), y = engine::imageDesc(out, type, layout);
            const memory::dims strides{stride, stride}, kernel{kernelHeight, kernelWidth}, pad{padding, padding};
            Pooling p;
            p.forwardDesc = {{prop_kind::forward_training, kind, x, y, strides, kernel, pad, pad}, userScratch(), engine};
            const dnnl::pooling_backward::primitive_desc d({kind, x, y, strides, kernel, pad, pad}, userScratch(), engine,
                                                           p.forwardDesc);
            if (kind == algorithm::pooling_max) {
                const memory::desc positions = p.forwardDesc.workspace_desc();
                p.positionBytes = positions.get_size();
                p.forward = {dnnl::pooling_forward(p.forwardDesc), p.forwardDesc.scratchpad_desc(),
                             {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, positions}}, engine};
                p.backward = {dnnl::pooling_backward(d), d.scratchpad_desc(),
                              {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WORKSPACE, positions}}, engine};
            } else {
                p.forward = {dnnl::pooling_forward(p.forwardDesc), p.forwardDesc.scratchpad_desc(),
                             {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}, engine};
                p.backward = {dnnl::pooling_backward(d), d.scratchpad_desc(), {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, x}}, engine};
            }
            return p;
        });
    }

    Pooling& maxPool(const PoolingShape& s, DType type)
    {
        return pooling(algorithm::pooling_max, s.input(), s.output(), s.kernel, s.kernel, s.stride, s.padding, type);
    }
    // Over the whole image.
    Pooling& averagePool(const Shape& in, DType type)
    {
        return pooling(algorithm::pooling_avg_include_padding, in, {in[0], in[1], 1, 1}, in[2], in[3], 1, 0, type);
    }
};

OneDnnImageOperators::OneDnnImageOperators(Device& device) : OneDnnImageOperators(device, fastestF32(), fastestBf16()) {}

OneDnnImageOperators::OneDnnImageOperators(Device& device, Layout f32, Layout bf16)
    : ImageOperators(device), m_f32Layout(f32), m_bf16Layout(bf16)
{
    m_state = std::make_unique<State>(allocator(), [this](std::int64_t channels, DType type) { return layoutOf(channels, type); });
}

OneDnnImageOperators::~OneDnnImageOperators() = default;

Layout OneDnnImageOperators::layoutOf(std::int64_t channels, DType type) const
{
    const Layout layout = type == DType::Bf16 ? m_bf16Layout : m_f32Layout;
    return channels % channelMultiple(layout) == 0 ? layout : Layout::RowMajor;
}

bool OneDnnImageOperators::usesWinograd(const ConvolutionShape& shape, ConvolutionPass pass, DType type)
{
    switch (pass) {
    case ConvolutionPass::Forward: return isWinograd(m_state->convolution(shape, type).forwardDesc.impl_info_str());
    case ConvolutionPass::InputGradient: return isWinograd(m_state->withInput(shape, type).inputDesc->impl_info_str());
    case ConvolutionPass::WeightGradient: return isWinograd(m_state->withWeight(shape, type).weightDesc->impl_info_str());
    }
    return false;
}

bool OneDnnImageOperators::needsPacking(const ConvolutionShape&, ConvolutionPass, DType) { return true; }

Tensor OneDnnImageOperators::doPackWeights(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights, DType type)
{
    const bool forward = pass == ConvolutionPass::Forward;
    Convolution& c = forward ? m_state->convolution(shape, type) : m_state->withInput(shape, type);
    const std::size_t bytes = forward ? c.forwardDesc.weights_desc().get_size() : c.inputDesc->weights_desc().get_size();
    const Tensor packed = bytesTensor(allocator(), bytes, MemoryCategory::Workspace);
    (forward ? c.packForward : c.packInput).run(m_state->stream, allocator(), {weights.data(), packed.data()}, "reorder weights");
    return packed;
}

void OneDnnImageOperators::doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed, const Tensor& y)
{
    m_state->convolution(shape, x.type()).forward.run(m_state->stream, allocator(), {x.data(), packed.data(), y.data()}, "convolution");
}

void OneDnnImageOperators::doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy, const Tensor& packed,
                                                      const Tensor& dx)
{
    m_state->withInput(shape, dy.type()).input.run(m_state->stream, allocator(), {dy.data(), packed.data(), dx.data()},
                                                   "convolution input gradient");
}

Tensor OneDnnImageOperators::doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy)
{
    Convolution& c = m_state->withWeight(shape, x.type());
    Tensor gradient = bytesTensor(allocator(), c.weightDesc->diff_weights_desc().get_size(), MemoryCategory::Workspace);
    c.weight.run(m_state->stream, allocator(), {x.data(), dy.data(), gradient.data()}, "convolution weight gradient");
    return gradient;
}

void OneDnnImageOperators::doUnpackGradient(const ConvolutionShape& shape, const Tensor& packed, const Tensor& dWeights,
                                            bool accumulate, DType type)
{
    Convolution& c = m_state->withWeight(shape, type);
    (accumulate ? c.unpackAdding : c.unpack).run(m_state->stream, allocator(), {packed.data(), dWeights.data()}, "reorder weight gradient");
}

void OneDnnImageOperators::doArrange(const Tensor& from, const Tensor& to)
{
    const Shape& s = from.shape();
    const Key key{{s[0], s[1], s[2], s[3], static_cast<std::int64_t>(from.type()), static_cast<std::int64_t>(from.layout()),
                   static_cast<std::int64_t>(to.layout())}};
    Primitive& reorder = m_state->find(m_state->reorders, key, "reorder", [&] {
        return m_state->reorder(imageDesc(s, from.type(), from.layout()), imageDesc(s, to.type(), to.layout()), false);
    });
    reorder.run(m_state->stream, allocator(), {from.data(), to.data()}, "reorder images");
}

Tensor OneDnnImageOperators::makeMask(const Tensor& x)
{
    return bytesTensor(allocator(), m_state->batchNorm(x, true).maskBytes, MemoryCategory::Activations);
}

void OneDnnImageOperators::doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu, const Tensor& y,
                                       const BatchNormSaved& saved)
{
    Primitive& forward = m_state->batchNorm(x, relu).forward;
    if (relu)
        forward.run(m_state->stream, allocator(),
                    {x.data(), gamma.data(), beta.data(), y.data(), saved.mean.data(), saved.variance.data(), saved.mask.data()},
                    "batch norm");
    else
        forward.run(m_state->stream, allocator(),
                    {x.data(), gamma.data(), beta.data(), y.data(), saved.mean.data(), saved.variance.data()}, "batch norm");
}

void OneDnnImageOperators::doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved, bool relu,
                                               const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta)
{
    Primitive& backward = m_state->batchNorm(x, relu).backward;
    // oneDNN asks for the shift without reading it: the gradient does not depend on it.
    void* const shift = gamma.data();
    if (relu)
        backward.run(m_state->stream, allocator(),
                     {x.data(), gamma.data(), shift, saved.mean.data(), saved.variance.data(), dy.data(), dx.data(), dgamma.data(),
                      dbeta.data(), saved.mask.data()}, "batch norm gradient");
    else
        backward.run(m_state->stream, allocator(),
                     {x.data(), gamma.data(), shift, saved.mean.data(), saved.variance.data(), dy.data(), dx.data(), dgamma.data(),
                      dbeta.data()}, "batch norm gradient");
}

Tensor OneDnnImageOperators::makePositions(const PoolingShape& shape, DType type)
{
    return bytesTensor(allocator(), m_state->maxPool(shape, type).positionBytes, MemoryCategory::Activations);
}

void OneDnnImageOperators::doMaxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y, const Tensor& positions)
{
    m_state->maxPool(shape, x.type()).forward.run(m_state->stream, allocator(), {x.data(), y.data(), positions.data()}, "max pool");
}

void OneDnnImageOperators::doMaxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions, const Tensor& dx)
{
    m_state->maxPool(shape, dy.type()).backward.run(m_state->stream, allocator(), {dy.data(), dx.data(), positions.data()},
                                                    "max pool gradient");
}

void OneDnnImageOperators::doAveragePool(const Tensor& x, const Tensor& y)
{
    m_state->averagePool(x.shape(), x.type()).forward.run(m_state->stream, allocator(), {x.data(), y.data()}, "average pool");
}

void OneDnnImageOperators::doAveragePoolGradient(const Tensor& dy, const Tensor& dx)
{
    m_state->averagePool(dx.shape(), dx.type()).backward.run(m_state->stream, allocator(), {dy.data(), dx.data()},
                                                             "average pool gradient");
}

void OneDnnImageOperators::doRelu(const Tensor& y)
{
    if (y.type() == DType::F32) imageKernels(float{}).relu(y.as<float>(), y.elements());
    else imageKernels(Bf16{}).relu(y.as<Bf16>(), y.elements());
}

void OneDnnImageOperators::doAddRelu(const Tensor& y, const Tensor& shortcut)
{
    if (y.type() == DType::F32) imageKernels(float{}).addRelu(y.as<float>(), shortcut.as<float>(), y.elements());
    else imageKernels(Bf16{}).addRelu(y.as<Bf16>(), shortcut.as<Bf16>(), y.elements());
}

void OneDnnImageOperators::doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other)
{
    if (y.type() == DType::F32)
        imageKernels(float{}).addReluGradient(y.as<float>(), dy.as<float>(), other.defined() ? other.as<float>() : nullptr, y.elements());
    else
        imageKernels(Bf16{}).addReluGradient(y.as<Bf16>(), dy.as<Bf16>(), other.defined() ? other.as<Bf16>() : nullptr, y.elements());
}

} // namespace fourwalls::engine
