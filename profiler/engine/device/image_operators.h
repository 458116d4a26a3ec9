// SPDX-License-Identifier: Apache-2.0
// The operators of convolutional networks, beside those of device.h: convolution, batch normalisation, pooling and
// the residual's addition. As there, the public functions record each call as kernel slices with their FLOPs and
// bytes and then ask the implementation. One object per rank, used by its thread.
//
// Images are tensors (images, channels, height, width); how their elements are ordered is up to the implementation,
// see layoutOf. Device::makeImageOperators makes them. Weights, their gradients and statistics are row-major in the master type.
#pragma once

#include "profiler/engine/device/device.h"

#include <cstdint>

namespace fourwalls::engine {

/// A convolution with a square kernel and the same stride and padding in both directions, without bias.
struct ConvolutionShape {
    std::int64_t images = 0, inChannels = 0, height = 0, width = 0; ///< of the input
    std::int64_t outChannels = 0, kernel = 1, stride = 1, padding = 0;

    std::int64_t outHeight() const { return (height + 2 * padding - kernel) / stride + 1; }
    std::int64_t outWidth() const { return (width + 2 * padding - kernel) / stride + 1; }
    Shape input() const { return {images, inChannels, height, width}; }
    Shape output() const { return {images, outChannels, outHeight(), outWidth()}; }
    Shape weights() const { return {outChannels, inChannels, kernel, kernel}; }
    /// Of one pass (forward, input gradient or weight gradient) as a sum of products, padding included.
    double flops() const;

    friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// Max pooling with a square window; what lies outside the image is left out.
struct PoolingShape {
    std::int64_t images = 0, channels = 0, height = 0, width = 0; ///< of the input
    std::int64_t kernel = 1, stride = 1, padding = 0;

    std::int64_t outHeight() const { return (height + 2 * padding - kernel) / stride + 1; }
    std::int64_t outWidth() const { return (width + 2 * padding - kernel) / stride + 1; }
    Shape input() const { return {images, channels, height, width}; }
    Shape output() const { return {images, channels, outHeight(), outWidth()}; }
};

/// Which product of a convolution; each wants its weights in an order of its own.
enum class ConvolutionPass { Forward, InputGradient, WeightGradient };

/// Added to the variance under the root, as in torchvision's networks.
inline constexpr double kBatchNormEpsilon = 1e-5;

/// What the forward pass of a batch normalisation keeps for the backward pass, besides its input.
struct BatchNormSaved {
    Tensor mean, variance; ///< [channels], master type, of this batch (variance biased)
    Tensor mask;           ///< where the fused ReLU passed; undefined without it
};

class ImageOperators {
public:
    explicit ImageOperators(Device& device) : m_device(device) {}
    virtual ~ImageOperators() = default;
    ImageOperators(const ImageOperators&) = delete;
    ImageOperators& operator=(const ImageOperators&) = delete;

    /// The order that image tensors with so many channels must have here.
    virtual Layout layoutOf(std::int64_t channels, DType type) const = 0;
    /// An image tensor in that order, with undefined contents.
    Tensor make(const Shape& shape, DType type, MemoryCategory category) const;

    /// The image in the order that the operators want: itself, or a copy (category activations).
    Tensor arrange(const Tensor& image);

    /// y = x * weights (cross-correlation, as everywhere in deep learning).
    void convolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& weights, const Tensor& y);
    /// dx = the gradient with respect to x, overwritten.
    void convolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy, const Tensor& weights,
                                  const Tensor& dx);
    /// dWeights (+)= the gradient with respect to the weights.
    void convolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy,
                                   const Tensor& dWeights, bool accumulate);

    /// y = (x - mean) / sqrt(variance + epsilon) gamma + beta per channel, mean and variance over this batch, then
    /// max(y, 0) if relu (Ioffe, Szegedy 2015, arXiv:1502.03167). Fills `saved`.
    void batchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu, const Tensor& y,
                   BatchNormSaved& saved);
    /// dx = the gradient with respect to x (dx may be dy); dgamma, dbeta (+)= theirs.
    void batchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved, bool relu,
                           const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta,
                           bool accumulateParameters);

    /// y = the maximum of each window. Returns what the backward pass needs to find it again.
    Tensor maxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y);
    void maxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions, const Tensor& dx);
    /// y [images, channels] = the mean over each image's pixels.
    void averagePool(const Tensor& x, const Tensor& y);
    void averagePoolGradient(const Tensor& dy, const Tensor& dx);

    /// y = max(y, 0), in place.
    void relu(const Tensor& y);
    /// y = max(y + shortcut, 0), in place: the end of a residual block.
    void addRelu(const Tensor& y, const Tensor& shortcut);
    /// dy = (dy + other) where y > 0, else 0, in place. y: what relu or addRelu left. other: may be undefined.
    void addReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other);

protected:
    Device& device() { return m_device; }
    Allocator& allocator() const { return m_device.allocator(); }

    /// Whether the pass runs by Winograd's algorithm (for the kernel's name).
    virtual bool usesWinograd(const ConvolutionShape& shape, ConvolutionPass pass, DType type) = 0;
    /// The weights as the pass (not WeightGradient) wants them; may be the given tensor.
    virtual bool needsPacking(const ConvolutionShape& shape, ConvolutionPass pass, DType type) = 0;
    virtual Tensor doPackWeights(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights,
                                 DType type) = 0;
    virtual void doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed,
                               const Tensor& y) = 0;
    virtual void doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy, const Tensor& packed,
                                            const Tensor& dx) = 0;
    /// Returns the gradient in an order of the implementation's choice; doUnpackGradient adds or copies it.
    virtual Tensor doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy) = 0;
    virtual void doUnpackGradient(const ConvolutionShape& shape, const Tensor& packed, const Tensor& dWeights,
                                  bool accumulate, DType type) = 0;
    virtual void doArrange(const Tensor& from, const Tensor& to) = 0;
    virtual Tensor makeMask(const Tensor& x) = 0;
    virtual void doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu, const Tensor& y,
                             const BatchNormSaved& saved) = 0;
    /// dgamma and dbeta are overwritten.
    virtual void doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved, bool relu,
                                     const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) = 0;
    virtual Tensor makePositions(const PoolingShape& shape, DType type) = 0;
    virtual void doMaxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y, const Tensor& positions) = 0;
    virtual void doMaxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions,
                                   const Tensor& dx) = 0;
    virtual void doAveragePool(const Tensor& x, const Tensor& y) = 0;
    virtual void doAveragePoolGradient(const Tensor& dy, const Tensor& dx) = 0;
    virtual void doRelu(const Tensor& y) = 0;
    virtual void doAddRelu(const Tensor& y, const Tensor& shortcut) = 0;
    virtual void doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other) = 0;

private:
    Tensor packed(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights, DType type);

    Device& m_device;
};

} // namespace fourwalls::engine
