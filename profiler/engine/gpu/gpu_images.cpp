// SPDX-License-Identifier: Apache-2.0
// See gpu_images.h.
#include "profiler/engine/gpu/gpu_images.h"

#include "profiler/engine/device/activation_type.h"

namespace fourwalls::engine {

namespace {

// As PyTorch allows by default and more: an algorithm that wants more than this gains little.
constexpr std::int64_t kWorkspaceLimit = 1ll << 30;

// Masks and positions: bytes and half-words in tensors of the two smallest types.
constexpr DType kHalfWords = DType::Bf16;

std::uint8_t* bytes(const Tensor& mask)
{
    return mask.defined() ? static_cast<std::uint8_t*>(mask.data()) : nullptr;
}

gpu::PoolExtents poolExtents(const PoolingShape& s)
{
    return {s.channels, s.height, s.width, s.outHeight(), s.outWidth(), s.kernel, s.stride, s.padding};
}

std::int64_t pixelsOf(const Tensor& image)
{
    return image.shape()[0] * image.shape()[2] * image.shape()[3];
}

} // namespace

Tensor GpuImageOperators::doPackWeights(const ConvolutionShape& shape, ConvolutionPass, const Tensor& weights,
                                        DType type)
{
    const std::int64_t taps = shape.kernel * shape.kernel;
    Tensor packed = m_gpu.scratch({shape.outChannels, shape.kernel, shape.kernel, shape.inChannels}, type);
    dispatchActivation(packed, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::PackWeights<T>{weights.as<float>(), packed.as<T>(), shape.inChannels, taps},
                                packed.elements());
    });
    return packed;
}

void GpuImageOperators::doUnpackGradient(const ConvolutionShape& shape, const Tensor& packed, const Tensor& dWeights,
                                         bool accumulate, DType)
{
    const std::int64_t taps = shape.kernel * shape.kernel;
    dispatchActivation(packed, [&]<class T>(T) {
        m_gpu.stream().elements(
            gpu::UnpackGradient<T>{packed.as<T>(), dWeights.as<float>(), shape.inChannels, taps, accumulate},
            packed.elements());
    });
}

void GpuImageOperators::convolve(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& x, const Tensor& w,
                                 const Tensor& y)
{
    gpu::Convolution c{};
    c.pass = static_cast<int>(pass);
    c.type = x.type();
    c.images = shape.images;
    c.inChannels = shape.inChannels;
    c.height = shape.height;
    c.width = shape.width;
    c.outChannels = shape.outChannels;
    c.outHeight = shape.outHeight();
    c.outWidth = shape.outWidth();
    c.kernel = shape.kernel;
    c.stride = shape.stride;
    c.padding = shape.padding;
    c.x = x.data();
    c.w = w.data();
    c.y = y.data();
    c.tf32 = m_gpu.tf32();
    c.workspaceBytes = m_gpu.stream().convolutionWorkspace(c, kWorkspaceLimit);
    Tensor workspace;
    if (c.workspaceBytes > 0) {
        workspace = Tensor::make(allocator(), {(c.workspaceBytes + 3) / 4}, DType::F32, MemoryCategory::Workspace);
        c.workspace = workspace.data();
    }
    m_gpu.stream().convolve(c);
}

void GpuImageOperators::doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed,
                                      const Tensor& y)
{
    convolve(shape, ConvolutionPass::Forward, x, packed, y);
}

void GpuImageOperators::doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy,
                                                   const Tensor& packed, const Tensor& dx)
{
    convolve(shape, ConvolutionPass::InputGradient, dx, packed, dy);
}

Tensor GpuImageOperators::doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy)
{
    const Tensor packed = m_gpu.scratch({shape.outChannels, shape.kernel, shape.kernel, shape.inChannels}, x.type());
    convolve(shape, ConvolutionPass::WeightGradient, x, packed, dy);
    return packed;
}

void GpuImageOperators::doArrange(const Tensor& from, const Tensor& to)
{
    const std::int64_t channels = to.shape()[1], pixels = to.shape()[2] * to.shape()[3];
    const bool toChannelsLast = to.layout() == Layout::ChannelsLast;
    dispatchActivation(to, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::ReorderImages<T>{static_cast<const T*>(from.data()), static_cast<T*>(to.data()),
                                                      channels, pixels, toChannelsLast},
                                to.elements());
    });
}

Tensor GpuImageOperators::makeMask(const Tensor& x)
{
    return Tensor::make(allocator(), {(x.elements() + 15) / 16}, kHalfWords, MemoryCategory::Activations);
}

void GpuImageOperators::doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu,
                                    const Tensor& y, const BatchNormSaved& saved)
{
    const std::int64_t channels = x.shape()[1], rows = pixelsOf(x), per = GpuDevice::rowsPerPart(rows, channels);
    const std::int64_t count = (rows + per - 1) / per;
    const Tensor means = m_gpu.scratch({count, channels}, DType::F32),
                 squares = m_gpu.scratch(means.shape(), DType::F32);
    dispatchActivation(x, [&]<class T>(T) {
        GpuStream& stream = m_gpu.stream();
        stream.elements(gpu::MomentsPart<T>{x.as<T>(), means.as<float>(), squares.as<float>(), rows, channels, per},
                        count * channels);
        stream.elements(gpu::Moments{means.as<float>(), squares.as<float>(), saved.mean.as<float>(),
                                     saved.variance.as<float>(), rows, channels, per},
                        channels);
        stream.elements(gpu::BatchNormApply<T>{x.as<T>(), saved.mean.as<float>(), saved.variance.as<float>(),
                                               gamma.as<float>(), beta.as<float>(), y.as<T>(),
                                               relu ? bytes(saved.mask) : nullptr, x.elements(), channels,
                                               static_cast<float>(kBatchNormEpsilon)},
                        (x.elements() + 7) / 8);
    });
}

void GpuImageOperators::doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved,
                                            bool relu, const Tensor& dy, const Tensor& dx, const Tensor& dgamma,
                                            const Tensor& dbeta)
{
    const std::int64_t channels = x.shape()[1], rows = pixelsOf(x), per = GpuDevice::rowsPerPart(rows, channels);
    const std::int64_t count = (rows + per - 1) / per;
    const Tensor gammaParts = m_gpu.scratch({count, channels}, DType::F32);
    const Tensor betaParts = m_gpu.scratch({count, channels}, DType::F32);
    const std::uint8_t* mask = relu ? bytes(saved.mask) : nullptr;
    const auto epsilon = static_cast<float>(kBatchNormEpsilon);
    dispatchActivation(x, [&]<class T>(T) {
        GpuStream& stream = m_gpu.stream();
        stream.elements(gpu::BatchNormGradientPart<T>{x.as<T>(), dy.as<T>(), mask, saved.mean.as<float>(),
                                                      saved.variance.as<float>(), betaParts.as<float>(),
                                                      gammaParts.as<float>(), rows, channels, per, epsilon},
                        count * channels);
        stream.elements(gpu::ColumnSum{gammaParts.as<float>(), dgamma.as<float>(), count, channels, false}, channels);
        stream.elements(gpu::ColumnSum{betaParts.as<float>(), dbeta.as<float>(), count, channels, false}, channels);
        stream.elements(gpu::BatchNormGradient<T>{x.as<T>(), dy.as<T>(), mask, saved.mean.as<float>(),
                                                  saved.variance.as<float>(), gamma.as<float>(), dgamma.as<float>(),
                                                  dbeta.as<float>(), dx.as<T>(), rows, channels, epsilon},
                        (x.elements() + 7) / 8);
    });
}

Tensor GpuImageOperators::makePositions(const PoolingShape& shape, DType)
{
    return Tensor::make(allocator(), shape.output(), kHalfWords, MemoryCategory::Activations, Layout::ChannelsLast);
}

void GpuImageOperators::doMaxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y, const Tensor& positions)
{
    dispatchActivation(x, [&]<class T>(T) {
        m_gpu.stream().elements(
            gpu::MaxPool<T>{x.as<T>(), y.as<T>(), static_cast<std::uint16_t*>(positions.data()), poolExtents(shape)},
            y.elements());
    });
}

void GpuImageOperators::doMaxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions,
                                          const Tensor& dx)
{
    dispatchActivation(dy, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::MaxPoolGradient<T>{dy.as<T>(), static_cast<const std::uint16_t*>(positions.data()),
                                                        dx.as<T>(), poolExtents(shape)},
                                dx.elements());
    });
}

void GpuImageOperators::doAveragePool(const Tensor& x, const Tensor& y)
{
    const std::int64_t channels = x.shape()[1], pixels = x.shape()[2] * x.shape()[3];
    dispatchActivation(x, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::AveragePool<T>{x.as<T>(), y.as<T>(), channels, pixels}, y.elements());
    });
}

void GpuImageOperators::doAveragePoolGradient(const Tensor& dy, const Tensor& dx)
{
    const std::int64_t channels = dx.shape()[1], pixels = dx.shape()[2] * dx.shape()[3];
    dispatchActivation(dx, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::AveragePoolGradient<T>{dy.as<T>(), dx.as<T>(), channels, pixels}, dx.elements());
    });
}

void GpuImageOperators::doRelu(const Tensor& y)
{
    m_gpu.relu(y);
}

void GpuImageOperators::doAddRelu(const Tensor& y, const Tensor& shortcut)
{
    dispatchActivation(y, [&]<class T>(T) {
        m_gpu.stream().elements(gpu::AddRelu<T>{y.as<T>(), shortcut.as<T>()}, y.elements());
    });
}

void GpuImageOperators::doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other)
{
    dispatchActivation(y, [&]<class T>(T) {
        m_gpu.stream().elements(
            gpu::AddReluGradient<T>{y.as<T>(), dy.as<T>(), other.defined() ? other.as<T>() : nullptr}, y.elements());
    });
}

std::unique_ptr<ImageOperators> GpuDevice::makeImageOperators(const NumberFormat&, ConvolutionAlgorithm)
{
    return std::make_unique<GpuImageOperators>(*this);
}

} // namespace fourwalls::engine
