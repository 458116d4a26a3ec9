// SPDX-License-Identifier: Apache-2.0
// The recording half of ImageOperators: names, FLOPs and bytes of every kernel. The shape of a convolution kernel is
// that of its output: images x channels x height x width.
#include "profiler/engine/device/image_operators.h"

#include "profiler/engine/device/image_onednn.h"
#include "profiler/engine/device/image_reference.h"

#include <cassert>

namespace fourwalls::engine {

namespace {

std::array<std::int32_t, 4> shapeExtents(const Shape& shape)
{
    std::array<std::int32_t, 4> out{};
    for (int i = 0; i < shape.rank() && i < 4; ++i)
        out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(shape[i]);
    return out;
}

// Names must be literals: they are compared by address.
const char* convolutionName(const ConvolutionShape& shape, ConvolutionPass pass, bool winograd)
{
    static constexpr const char* names[3][2][4] = {
        {{"convolution 1x1", "convolution 3x3", "convolution 7x7", "convolution"},
         {"convolution 1x1 (Winograd)", "convolution 3x3 (Winograd)", "convolution 7x7 (Winograd)",
          "convolution (Winograd)"}},
        {{"convolution 1x1 input gradient", "convolution 3x3 input gradient", "convolution 7x7 input gradient",
          "convolution input gradient"},
         {"convolution 1x1 input gradient (Winograd)", "convolution 3x3 input gradient (Winograd)",
          "convolution 7x7 input gradient (Winograd)", "convolution input gradient (Winograd)"}},
        {{"convolution 1x1 weight gradient", "convolution 3x3 weight gradient", "convolution 7x7 weight gradient",
          "convolution weight gradient"},
         {"convolution 1x1 weight gradient (Winograd)", "convolution 3x3 weight gradient (Winograd)",
          "convolution 7x7 weight gradient (Winograd)", "convolution weight gradient (Winograd)"}},
    };
    const std::size_t size = shape.kernel == 1 ? 0 : shape.kernel == 3 ? 1 : shape.kernel == 7 ? 2 : 3;
    return names[static_cast<std::size_t>(pass)][winograd ? 1 : 0][size];
}

} // namespace

double ConvolutionShape::flops() const
{
    return 2.0 * static_cast<double>(output().elements()) * static_cast<double>(inChannels * kernel * kernel);
}

Tensor ImageOperators::make(const Shape& shape, DType type, MemoryCategory category) const
{
    return Tensor::make(allocator(), shape, type, category, layoutOf(shape[1], type));
}

Tensor ImageOperators::arrange(const Tensor& image)
{
    if (image.layout() == layoutOf(image.shape()[1], image.type())) return image;
    const Tensor to = make(image.shape(), image.type(), MemoryCategory::Activations);
    const Scope scope(m_device.recorder(), "reorder images", 0, image.bytes() + to.bytes(),
                      shapeExtents(image.shape()));
    doArrange(image, to);
    return to;
}

Tensor ImageOperators::packed(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights, DType type)
{
    if (!needsPacking(shape, pass, type)) return weights;
    const Scope scope(m_device.recorder(), "reorder weights", 0, weights.bytes() + weights.elements() * bytesOf(type),
                      shapeExtents(weights.shape()));
    return doPackWeights(shape, pass, weights, type);
}

void ImageOperators::convolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& weights, const Tensor& y)
{
    assert(x.shape() == shape.input() && y.shape() == shape.output() && weights.shape() == shape.weights());
    const auto pass = ConvolutionPass::Forward;
    const Tensor w = packed(shape, pass, weights, x.type());
    const bool winograd = usesWinograd(shape, pass, x.type());
    const Scope scope(m_device.recorder(), convolutionName(shape, pass, winograd), shape.flops(),
                      x.bytes() + w.bytes() + y.bytes(), shapeExtents(shape.output()), winograd);
    doConvolution(shape, x, w, y);
}

void ImageOperators::convolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy, const Tensor& weights,
                                              const Tensor& dx)
{
    assert(dx.shape() == shape.input() && dy.shape() == shape.output() && weights.shape() == shape.weights());
    const auto pass = ConvolutionPass::InputGradient;
    const Tensor w = packed(shape, pass, weights, dy.type());
    const bool winograd = usesWinograd(shape, pass, dy.type());
    const Scope scope(m_device.recorder(), convolutionName(shape, pass, winograd), shape.flops(),
                      dy.bytes() + w.bytes() + dx.bytes(), shapeExtents(shape.output()), winograd);
    doConvolutionInputGradient(shape, dy, w, dx);
}

void ImageOperators::convolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy,
                                               const Tensor& dWeights, bool accumulate)
{
    assert(x.shape() == shape.input() && dy.shape() == shape.output() && dWeights.shape() == shape.weights());
    const auto pass = ConvolutionPass::WeightGradient;
    const bool winograd = usesWinograd(shape, pass, x.type());
    Tensor gradient;
    {
        const Scope scope(m_device.recorder(), convolutionName(shape, pass, winograd), shape.flops(),
                          x.bytes() + dy.bytes() + dWeights.bytes(), shapeExtents(shape.output()), winograd);
        gradient = doConvolutionWeightGradient(shape, x, dy);
    }
    const Scope scope(m_device.recorder(), "reorder weight gradient", 0,
                      gradient.bytes() + dWeights.bytes() * (accumulate ? 2 : 1), shapeExtents(dWeights.shape()));
    doUnpackGradient(shape, gradient, dWeights, accumulate, x.type());
}

void ImageOperators::batchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu, const Tensor& y,
                               BatchNormSaved& saved)
{
    const Shape channels{x.shape()[1]};
    saved.mean = Tensor::make(allocator(), channels, gamma.type(), MemoryCategory::Activations);
    saved.variance = Tensor::make(allocator(), channels, gamma.type(), MemoryCategory::Activations);
    saved.mask = relu ? makeMask(x) : Tensor();
    // Once for the statistics, once for the result.
    const Scope scope(m_device.recorder(), relu ? "batch norm and relu" : "batch norm", 0, 2 * x.bytes() + y.bytes(),
                      shapeExtents(x.shape()));
    doBatchNorm(x, gamma, beta, relu, y, saved);
}

void ImageOperators::batchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved, bool relu,
                                       const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta,
                                       bool accumulateParameters)
{
    Tensor gammaPart = dgamma, betaPart = dbeta;
    if (accumulateParameters) {
        gammaPart = Tensor::make(allocator(), dgamma.shape(), dgamma.type(), MemoryCategory::Temporaries);
        betaPart = Tensor::make(allocator(), dbeta.shape(), dbeta.type(), MemoryCategory::Temporaries);
    }
    {
        const Scope scope(m_device.recorder(), relu ? "batch norm and relu gradient" : "batch norm gradient", 0,
                          2 * (x.bytes() + dy.bytes()) + dx.bytes(), shapeExtents(x.shape()));
        doBatchNormGradient(x, gamma, saved, relu, dy, dx, gammaPart, betaPart);
    }
    if (!accumulateParameters) return;
    m_device.add(dgamma, gammaPart, dgamma);
    m_device.add(dbeta, betaPart, dbeta);
}

Tensor ImageOperators::maxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y)
{
    assert(x.shape() == shape.input() && y.shape() == shape.output());
    const Tensor positions = makePositions(shape, x.type());
    const Scope scope(m_device.recorder(), "max pool", 0, x.bytes() + y.bytes() + positions.bytes(),
                      shapeExtents(y.shape()));
    doMaxPool(shape, x, y, positions);
    return positions;
}

void ImageOperators::maxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions,
                                     const Tensor& dx)
{
    assert(dx.shape() == shape.input() && dy.shape() == shape.output());
    const Scope scope(m_device.recorder(), "max pool gradient", 0, dx.bytes() + dy.bytes() + positions.bytes(),
                      shapeExtents(dy.shape()));
    doMaxPoolGradient(shape, dy, positions, dx);
}

void ImageOperators::averagePool(const Tensor& x, const Tensor& y)
{
    const Scope scope(m_device.recorder(), "average pool", 0, x.bytes() + y.bytes(), shapeExtents(x.shape()));
    doAveragePool(x, y);
}

void ImageOperators::averagePoolGradient(const Tensor& dy, const Tensor& dx)
{
    const Scope scope(m_device.recorder(), "average pool gradient", 0, dx.bytes() + dy.bytes(),
                      shapeExtents(dx.shape()));
    doAveragePoolGradient(dy, dx);
}

void ImageOperators::relu(const Tensor& y)
{
    const Scope scope(m_device.recorder(), "relu", 0, 2 * y.bytes(), shapeExtents(y.shape()));
    doRelu(y);
}

void ImageOperators::addRelu(const Tensor& y, const Tensor& shortcut)
{
    const Scope scope(m_device.recorder(), "add and relu", 0, 2 * y.bytes() + shortcut.bytes(),
                      shapeExtents(y.shape()));
    doAddRelu(y, shortcut);
}

void ImageOperators::addReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other)
{
    const Scope scope(m_device.recorder(), other.defined() ? "add and relu gradient" : "relu gradient", 0,
                      y.bytes() + 2 * dy.bytes() + (other.defined() ? other.bytes() : 0), shapeExtents(y.shape()));
    doAddReluGradient(y, dy, other);
}

std::unique_ptr<ImageOperators> Device::makeImageOperators(const NumberFormat& format, ConvolutionAlgorithm algorithm)
{
    if (format.compute == DType::F64) return std::make_unique<ReferenceImageOperators>(*this);
    return std::make_unique<OneDnnImageOperators>(*this, algorithm);
}

} // namespace fourwalls::engine
