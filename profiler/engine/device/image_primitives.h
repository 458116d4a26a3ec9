// SPDX-License-Identifier: Apache-2.0
// The oneDNN primitives behind the image operators, made on first use of a shape and kept. Includes oneDNN's heavy
// header: for implementation files only.
#pragma once

#include "profiler/engine/device/image_operators.h"
#include "profiler/engine/device/onednn_descriptors.h"
#include "profiler/engine/device/onednn_primitive.h"

#include <functional>
#include <optional>
#include <unordered_map>

namespace fourwalls::engine::onednn {

/// One shape of convolution. The gradients' members are there once they were asked for.
struct ConvolutionPrimitives {
    dnnl::convolution_forward::primitive_desc forwardDesc;
    std::optional<dnnl::convolution_backward_data::primitive_desc> inputDesc;
    std::optional<dnnl::convolution_backward_weights::primitive_desc> weightDesc;
    Primitive forward;                ///< x, packed weights, y
    Primitive input;                  ///< dy, packed weights, dx
    Primitive weight;                 ///< x, dy, packed gradient in f32
    Primitive packForward, packInput; ///< row-major f32 weights, packed weights
    Primitive unpack, unpackAdding;   ///< packed gradient, row-major f32 gradient
};

struct BatchNormPrimitives {
    dnnl::batch_normalization_forward::primitive_desc forwardDesc;
    Primitive forward;  ///< x, scale, shift, y, mean, variance (, mask)
    Primitive backward; ///< x, scale, shift, mean, variance, dy, dx, dscale, dshift (, mask)
    std::size_t maskBytes = 0;
};

struct PoolingPrimitives {
    PoolingForward::primitive_desc forwardDesc;
    Primitive forward;  ///< x, y (, positions)
    Primitive backward; ///< dy, dx (, positions)
    std::size_t positionBytes = 0;
};

/// One per rank. References stay valid. Throws EngineError where oneDNN refuses.
class ImagePrimitives {
public:
    /// layoutOf: see ImageOperators.
    ImagePrimitives(std::function<Layout(std::int64_t, DType)> layoutOf, ConvolutionAlgorithm algorithm)
        : m_layoutOf(std::move(layoutOf))
        , m_algorithm(algorithm)
    {}

    const dnnl::stream& stream() const { return m_stream; }

    ConvolutionPrimitives& convolution(const ConvolutionShape& shape, DType type);
    ConvolutionPrimitives& withInputGradient(const ConvolutionShape& shape, DType type);
    ConvolutionPrimitives& withWeightGradient(const ConvolutionShape& shape, DType type);
    BatchNormPrimitives& batchNorm(const Tensor& x, bool relu);
    PoolingPrimitives& maxPool(const PoolingShape& shape, DType type);
    /// Over whole images of the given shape.
    PoolingPrimitives& averagePool(const Shape& images, DType type);
    /// From one layout to the other.
    Primitive& reorder(const Tensor& from, const Tensor& to);

private:
    template <class T>
    using Table = std::unordered_map<Key, T, KeyHash>;

    dnnl::memory::desc imageDesc(const Shape& shape, DType type) const;
    Primitive makeReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, bool adding) const;
    PoolingPrimitives& pooling(dnnl::algorithm kind, const Shape& in, const Shape& out,
                               const dnnl::memory::dims& kernel, std::int64_t stride, std::int64_t padding, DType type);

    /// Calls make(algorithm) with the wanted algorithm, and with oneDNN's direct one if it has no other for the shape.
    template <class Make>
    auto withAlgorithm(Make make) const
    {
        if (m_algorithm == ConvolutionAlgorithm::Auto) return make(dnnl::algorithm::convolution_auto);
        if (m_algorithm == ConvolutionAlgorithm::Winograd) {
            try {
                return make(dnnl::algorithm::convolution_winograd);
            } catch (const dnnl::error&) { // not for this shape or processor
            }
        }
        return make(dnnl::algorithm::convolution_direct);
    }

    std::function<Layout(std::int64_t, DType)> m_layoutOf;
    ConvolutionAlgorithm m_algorithm;
    dnnl::engine m_engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream m_stream{m_engine};
    Table<ConvolutionPrimitives> m_convolutions;
    Table<BatchNormPrimitives> m_batchNorms;
    Table<PoolingPrimitives> m_poolings;
    Table<Primitive> m_reorders;
};

} // namespace fourwalls::engine::onednn
