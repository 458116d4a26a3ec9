// SPDX-License-Identifier: Apache-2.0
// See image_onednn.h.
#include "profiler/engine/device/image_onednn.h"

#include "profiler/engine/device/image_primitives.h"
#include "profiler/engine/device/simd_image.h"

#include <string_view>

namespace fourwalls::engine {

namespace {

using onednn::ConvolutionPrimitives;

std::int64_t channelMultiple(Layout layout)
{
    return layout == Layout::ChannelBlocks16 ? 16 : layout == Layout::ChannelBlocks8 ? 8 : 1;
}

// Bytes in an opaque order, as a tensor.
Tensor bytesTensor(Allocator& allocator, std::size_t bytes, MemoryCategory category)
{
    return Tensor::make(allocator, {static_cast<std::int64_t>((bytes + 3) / 4)}, DType::I32, category);
}

bool isWinograd(const char* implementation)
{
    return std::string_view(implementation).find("wino") != std::string_view::npos;
}

#if defined(__x86_64__)
// The values are sets of features, not an order.
bool hasIsa(dnnl::cpu_isa wanted)
{
    const auto bits = static_cast<unsigned>(wanted);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

Layout fastestF32()
{
    return hasIsa(dnnl::cpu_isa::avx512_core) ? Layout::ChannelBlocks16 : Layout::ChannelBlocks8;
}

// Measured: with matrix units (AMX) bf16 convolutions want channels last, by a factor of 3; without them blocks are
// as fast in the convolutions and up to twice as fast in the batch normalisation.
Layout fastestBf16()
{
    return hasIsa(dnnl::cpu_isa::avx512_core_amx) ? Layout::ChannelsLast : Layout::ChannelBlocks16;
}
#else
// oneDNN's instruction sets are x86's. Its convolutions by products of matrices take channels last everywhere.
Layout fastestF32()
{
    return Layout::ChannelsLast;
}

Layout fastestBf16()
{
    return Layout::ChannelsLast;
}
#endif

} // namespace

OneDnnImageOperators::OneDnnImageOperators(Device& device, ConvolutionAlgorithm algorithm)
    : OneDnnImageOperators(device, fastestF32(), fastestBf16(), algorithm)
{}

OneDnnImageOperators::OneDnnImageOperators(Device& device, Layout f32, Layout bf16, ConvolutionAlgorithm algorithm)
    : ImageOperators(device)
    , m_f32Layout(f32)
    , m_bf16Layout(bf16)
{
    m_primitives = std::make_unique<onednn::ImagePrimitives>(
        [this](std::int64_t channels, DType type) { return layoutOf(channels, type); }, algorithm);
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
    case ConvolutionPass::Forward:
        return isWinograd(m_primitives->convolution(shape, type).forwardDesc.impl_info_str());
    case ConvolutionPass::InputGradient:
        return isWinograd(m_primitives->withInputGradient(shape, type).inputDesc->impl_info_str());
    case ConvolutionPass::WeightGradient:
        return isWinograd(m_primitives->withWeightGradient(shape, type).weightDesc->impl_info_str());
    }
    return false;
}

bool OneDnnImageOperators::needsPacking(const ConvolutionShape&, ConvolutionPass, DType)
{
    return true;
}

Tensor OneDnnImageOperators::doPackWeights(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights,
                                           DType type)
{
    const bool forward = pass == ConvolutionPass::Forward;
    ConvolutionPrimitives& c =
        forward ? m_primitives->convolution(shape, type) : m_primitives->withInputGradient(shape, type);
    const std::size_t bytes =
        forward ? c.forwardDesc.weights_desc().get_size() : c.inputDesc->weights_desc().get_size();
    const Tensor packed = bytesTensor(allocator(), bytes, MemoryCategory::Workspace);
    (forward ? c.packForward : c.packInput)
        .run(m_primitives->stream(), allocator(), {weights.data(), packed.data()}, "reorder weights");
    return packed;
}

void OneDnnImageOperators::doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed,
                                         const Tensor& y)
{
    m_primitives->convolution(shape, x.type())
        .forward.run(m_primitives->stream(), allocator(), {x.data(), packed.data(), y.data()}, "convolution");
}

void OneDnnImageOperators::doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy,
                                                      const Tensor& packed, const Tensor& dx)
{
    m_primitives->withInputGradient(shape, dy.type())
        .input.run(m_primitives->stream(), allocator(), {dy.data(), packed.data(), dx.data()},
                   "convolution input gradient");
}

Tensor OneDnnImageOperators::doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x,
                                                         const Tensor& dy)
{
    ConvolutionPrimitives& c = m_primitives->withWeightGradient(shape, x.type());
    Tensor gradient = bytesTensor(allocator(), c.weightDesc->diff_weights_desc().get_size(), MemoryCategory::Workspace);
    c.weight.run(m_primitives->stream(), allocator(), {x.data(), dy.data(), gradient.data()},
                 "convolution weight gradient");
    return gradient;
}

void OneDnnImageOperators::doUnpackGradient(const ConvolutionShape& shape, const Tensor& packed, const Tensor& dWeights,
                                            bool accumulate, DType type)
{
    ConvolutionPrimitives& c = m_primitives->withWeightGradient(shape, type);
    (accumulate ? c.unpackAdding : c.unpack)
        .run(m_primitives->stream(), allocator(), {packed.data(), dWeights.data()}, "reorder weight gradient");
}

void OneDnnImageOperators::doArrange(const Tensor& from, const Tensor& to)
{
    m_primitives->reorder(from, to).run(m_primitives->stream(), allocator(), {from.data(), to.data()},
                                        "reorder images");
}

Tensor OneDnnImageOperators::makeMask(const Tensor& x)
{
    return bytesTensor(allocator(), m_primitives->batchNorm(x, true).maskBytes, MemoryCategory::Activations);
}

void OneDnnImageOperators::doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu,
                                       const Tensor& y, const BatchNormSaved& saved)
{
    m_primitives->batchNorm(x, relu).forward.run(
        m_primitives->stream(), allocator(),
        {x.data(), gamma.data(), beta.data(), y.data(), saved.mean.data(), saved.variance.data(), saved.mask.data()},
        "batch norm");
}

void OneDnnImageOperators::doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved,
                                               bool relu, const Tensor& dy, const Tensor& dx, const Tensor& dgamma,
                                               const Tensor& dbeta)
{
    // Where oneDNN asks for the shift, it does not read it: the gradient does not depend on it.
    void* const shift = gamma.data();
    m_primitives->batchNorm(x, relu).backward.run(m_primitives->stream(), allocator(),
                                                  {x.data(), gamma.data(), shift, saved.mean.data(),
                                                   saved.variance.data(), dy.data(), dx.data(), dgamma.data(),
                                                   dbeta.data(), saved.mask.data()},
                                                  "batch norm gradient");
}

Tensor OneDnnImageOperators::makePositions(const PoolingShape& shape, DType type)
{
    return bytesTensor(allocator(), m_primitives->maxPool(shape, type).positionBytes, MemoryCategory::Activations);
}

void OneDnnImageOperators::doMaxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y,
                                     const Tensor& positions)
{
    m_primitives->maxPool(shape, x.type())
        .forward.run(m_primitives->stream(), allocator(), {x.data(), y.data(), positions.data()}, "max pool");
}

void OneDnnImageOperators::doMaxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions,
                                             const Tensor& dx)
{
    m_primitives->maxPool(shape, dy.type())
        .backward.run(m_primitives->stream(), allocator(), {dy.data(), dx.data(), positions.data()},
                      "max pool gradient");
}

void OneDnnImageOperators::doAveragePool(const Tensor& x, const Tensor& y)
{
    m_primitives->averagePool(x.shape(), x.type())
        .forward.run(m_primitives->stream(), allocator(), {x.data(), y.data()}, "average pool");
}

void OneDnnImageOperators::doAveragePoolGradient(const Tensor& dy, const Tensor& dx)
{
    m_primitives->averagePool(dx.shape(), dx.type())
        .backward.run(m_primitives->stream(), allocator(), {dy.data(), dx.data()}, "average pool gradient");
}

void OneDnnImageOperators::doRelu(const Tensor& y)
{
    if (y.type() == DType::F32)
        imageKernels(float{}).relu(y.as<float>(), y.elements());
    else
        imageKernels(Bf16{}).relu(y.as<Bf16>(), y.elements());
}

void OneDnnImageOperators::doAddRelu(const Tensor& y, const Tensor& shortcut)
{
    if (y.type() == DType::F32)
        imageKernels(float{}).addRelu(y.as<float>(), shortcut.as<float>(), y.elements());
    else
        imageKernels(Bf16{}).addRelu(y.as<Bf16>(), shortcut.as<Bf16>(), y.elements());
}

void OneDnnImageOperators::doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other)
{
    if (y.type() == DType::F32)
        imageKernels(float{}).addReluGradient(y.as<float>(), dy.as<float>(),
                                              other.defined() ? other.as<float>() : nullptr, y.elements());
    else
        imageKernels(Bf16{}).addReluGradient(y.as<Bf16>(), dy.as<Bf16>(), other.defined() ? other.as<Bf16>() : nullptr,
                                             y.elements());
}

} // namespace fourwalls::engine
