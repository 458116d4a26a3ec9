// SPDX-License-Identifier: Apache-2.0
// See image_reference.h. n: image, c: input channel, o: output channel, (h, w): input pixel, (p, q): output pixel,
// (r, s): place within the kernel.
#include "profiler/engine/device/image_reference.h"

#include <cmath>
#include <cstring>

namespace fourwalls::engine {

namespace {

void zero(const Tensor& x)
{
    std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
}

// Calls f(x index, weight index, y index) for every product of the convolution.
template <class F>
void forEachProduct(const ConvolutionShape& k, F f)
{
    for (std::int64_t n = 0; n < k.images; ++n)
        for (std::int64_t o = 0; o < k.outChannels; ++o)
            for (std::int64_t p = 0; p < k.outHeight(); ++p)
                for (std::int64_t q = 0; q < k.outWidth(); ++q)
                    for (std::int64_t c = 0; c < k.inChannels; ++c)
                        for (std::int64_t r = 0; r < k.kernel; ++r)
                            for (std::int64_t s = 0; s < k.kernel; ++s) {
                                const std::int64_t h = p * k.stride + r - k.padding, w = q * k.stride + s - k.padding;
                                if (h < 0 || h >= k.height || w < 0 || w >= k.width) continue;
                                f(((n * k.inChannels + c) * k.height + h) * k.width + w,
                                  ((o * k.inChannels + c) * k.kernel + r) * k.kernel + s,
                                  ((n * k.outChannels + o) * k.outHeight() + p) * k.outWidth() + q);
                            }
}

// Images seen as [outer, channels, inner].
struct Channels {
    std::int64_t outer, channels, inner;
    explicit Channels(const Tensor& x) : outer(x.shape()[0]), channels(x.shape()[1]), inner(x.shape()[2] * x.shape()[3])
    {}
    std::int64_t count() const { return outer * inner; }
    std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t i) const { return (n * channels + c) * inner + i; }
};

} // namespace

void ReferenceImageOperators::doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed,
                                            const Tensor& y)
{
    zero(y);
    const double *a = x.as<double>(), *b = packed.as<double>();
    double* out = y.as<double>();
    forEachProduct(shape, [=](std::int64_t xi, std::int64_t wi, std::int64_t yi) { out[yi] += a[xi] * b[wi]; });
}

void ReferenceImageOperators::doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy,
                                                         const Tensor& packed, const Tensor& dx)
{
    zero(dx);
    const double *d = dy.as<double>(), *b = packed.as<double>();
    double* out = dx.as<double>();
    forEachProduct(shape, [=](std::int64_t xi, std::int64_t wi, std::int64_t yi) { out[xi] += d[yi] * b[wi]; });
}

Tensor ReferenceImageOperators::doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x,
                                                            const Tensor& dy)
{
    Tensor gradient = Tensor::make(allocator(), shape.weights(), DType::F64, MemoryCategory::Temporaries);
    zero(gradient);
    const double *a = x.as<double>(), *d = dy.as<double>();
    double* out = gradient.as<double>();
    forEachProduct(shape, [=](std::int64_t xi, std::int64_t wi, std::int64_t yi) { out[wi] += d[yi] * a[xi]; });
    return gradient;
}

void ReferenceImageOperators::doUnpackGradient(const ConvolutionShape&, const Tensor& packed, const Tensor& dWeights,
                                               bool accumulate, DType)
{
    for (std::int64_t i = 0; i < dWeights.elements(); ++i)
        dWeights.as<double>()[i] = packed.as<double>()[i] + (accumulate ? dWeights.as<double>()[i] : 0.0);
}

void ReferenceImageOperators::doArrange(const Tensor& from, const Tensor& to)
{
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
}

Tensor ReferenceImageOperators::makeMask(const Tensor& x)
{
    return Tensor::make(allocator(), x.shape(), DType::I32, MemoryCategory::Activations);
}

void ReferenceImageOperators::doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu,
                                          const Tensor& y, const BatchNormSaved& saved)
{
    const Channels k(x);
    for (std::int64_t c = 0; c < k.channels; ++c) {
        double sum = 0, squares = 0;
        for (std::int64_t n = 0; n < k.outer; ++n)
            for (std::int64_t i = 0; i < k.inner; ++i) sum += x.as<double>()[k.at(n, c, i)];
        const double mean = sum / static_cast<double>(k.count());
        for (std::int64_t n = 0; n < k.outer; ++n)
            for (std::int64_t i = 0; i < k.inner; ++i) squares += std::pow(x.as<double>()[k.at(n, c, i)] - mean, 2);
        const double variance = squares / static_cast<double>(k.count());
        saved.mean.as<double>()[c] = mean;
        saved.variance.as<double>()[c] = variance;
        const double factor = gamma.as<double>()[c] / std::sqrt(variance + kBatchNormEpsilon);
        for (std::int64_t n = 0; n < k.outer; ++n)
            for (std::int64_t i = 0; i < k.inner; ++i) {
                const std::int64_t at = k.at(n, c, i);
                const double value = (x.as<double>()[at] - mean) * factor + beta.as<double>()[c];
                y.as<double>()[at] = relu ? std::max(value, 0.0) : value;
                if (relu) saved.mask.as<std::int32_t>()[at] = value > 0;
            }
    }
}

void ReferenceImageOperators::doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved,
                                                  bool relu, const Tensor& dy, const Tensor& dx, const Tensor& dgamma,
                                                  const Tensor& dbeta)
{
    const Channels k(x);
    const auto count = static_cast<double>(k.count());
    for (std::int64_t c = 0; c < k.channels; ++c) {
        const double mean = saved.mean.as<double>()[c];
        const double rstd = 1.0 / std::sqrt(saved.variance.as<double>()[c] + kBatchNormEpsilon);
        const auto gradient = [&](std::int64_t at) {
            return relu && !saved.mask.as<std::int32_t>()[at] ? 0.0 : dy.as<double>()[at];
        };
        double sum = 0, product = 0;
        for (std::int64_t n = 0; n < k.outer; ++n)
            for (std::int64_t i = 0; i < k.inner; ++i) {
                const std::int64_t at = k.at(n, c, i);
                sum += gradient(at);
                product += gradient(at) * (x.as<double>()[at] - mean) * rstd;
            }
        dbeta.as<double>()[c] = sum;
        dgamma.as<double>()[c] = product;
        for (std::int64_t n = 0; n < k.outer; ++n)
            for (std::int64_t i = 0; i < k.inner; ++i) {
                const std::int64_t at = k.at(n, c, i);
                const double xhat = (x.as<double>()[at] - mean) * rstd;
                dx.as<double>()[at] =
                    gamma.as<double>()[c] * rstd * (gradient(at) - sum / count - xhat * product / count);
            }
    }
}

Tensor ReferenceImageOperators::makePositions(const PoolingShape& shape, DType)
{
    return Tensor::make(allocator(), shape.output(), DType::I32, MemoryCategory::Activations);
}

void ReferenceImageOperators::doMaxPool(const PoolingShape& k, const Tensor& x, const Tensor& y,
                                        const Tensor& positions)
{
    for (std::int64_t plane = 0; plane < k.images * k.channels; ++plane)
        for (std::int64_t p = 0; p < k.outHeight(); ++p)
            for (std::int64_t q = 0; q < k.outWidth(); ++q) {
                const std::int64_t out = (plane * k.outHeight() + p) * k.outWidth() + q;
                std::int64_t best = -1;
                for (std::int64_t r = 0; r < k.kernel; ++r)
                    for (std::int64_t s = 0; s < k.kernel; ++s) {
                        const std::int64_t h = p * k.stride + r - k.padding, w = q * k.stride + s - k.padding;
                        if (h < 0 || h >= k.height || w < 0 || w >= k.width) continue;
                        const std::int64_t at = (plane * k.height + h) * k.width + w;
                        if (best < 0 || x.as<double>()[at] > x.as<double>()[best]) best = at;
                    }
                y.as<double>()[out] = x.as<double>()[best];
                positions.as<std::int32_t>()[out] = static_cast<std::int32_t>(best);
            }
}

void ReferenceImageOperators::doMaxPoolGradient(const PoolingShape&, const Tensor& dy, const Tensor& positions,
                                                const Tensor& dx)
{
    zero(dx);
    for (std::int64_t i = 0; i < dy.elements(); ++i)
        dx.as<double>()[positions.as<std::int32_t>()[i]] += dy.as<double>()[i];
}

void ReferenceImageOperators::doAveragePool(const Tensor& x, const Tensor& y)
{
    const std::int64_t inner = Channels(x).inner;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < inner; ++j) sum += x.as<double>()[i * inner + j];
        y.as<double>()[i] = sum / static_cast<double>(inner);
    }
}

void ReferenceImageOperators::doAveragePoolGradient(const Tensor& dy, const Tensor& dx)
{
    const std::int64_t inner = Channels(dx).inner;
    for (std::int64_t i = 0; i < dx.elements(); ++i)
        dx.as<double>()[i] = dy.as<double>()[i / inner] / static_cast<double>(inner);
}

void ReferenceImageOperators::doRelu(const Tensor& y)
{
    for (std::int64_t i = 0; i < y.elements(); ++i) y.as<double>()[i] = std::max(y.as<double>()[i], 0.0);
}

void ReferenceImageOperators::doAddRelu(const Tensor& y, const Tensor& shortcut)
{
    for (std::int64_t i = 0; i < y.elements(); ++i)
        y.as<double>()[i] = std::max(y.as<double>()[i] + shortcut.as<double>()[i], 0.0);
}

void ReferenceImageOperators::doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other)
{
    for (std::int64_t i = 0; i < y.elements(); ++i) {
        const double d = dy.as<double>()[i] + (other.defined() ? other.as<double>()[i] : 0.0);
        dy.as<double>()[i] = y.as<double>()[i] > 0 ? d : 0.0;
    }
}

} // namespace fourwalls::engine
