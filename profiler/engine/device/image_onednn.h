// SPDX-License-Identifier: Apache-2.0
// The image operators on the CPU by oneDNN, in f32 or with bf16 images, with its primitives kept from call to call.
#pragma once

#include "profiler/engine/device/image_operators.h"

#include <memory>

namespace fourwalls::engine {

namespace onednn {
class ImagePrimitives;
}

class OneDnnImageOperators final : public ImageOperators {
public:
    /// The layouts that this processor's convolutions are fastest with.
    explicit OneDnnImageOperators(Device& device, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Auto);
    /// With layouts of the caller's choice.
    OneDnnImageOperators(Device& device, Layout f32, Layout bf16,
                         ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Auto);
    ~OneDnnImageOperators() override;

    /// Channels that do not fill whole blocks are kept row-major.
    Layout layoutOf(std::int64_t channels, DType type) const override;

protected:
    bool usesWinograd(const ConvolutionShape& shape, ConvolutionPass pass, DType type) override;
    bool needsPacking(const ConvolutionShape& shape, ConvolutionPass pass, DType type) override;
    Tensor doPackWeights(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& weights,
                         DType type) override;
    void doConvolution(const ConvolutionShape& shape, const Tensor& x, const Tensor& packed, const Tensor& y) override;
    void doConvolutionInputGradient(const ConvolutionShape& shape, const Tensor& dy, const Tensor& packed,
                                    const Tensor& dx) override;
    Tensor doConvolutionWeightGradient(const ConvolutionShape& shape, const Tensor& x, const Tensor& dy) override;
    void doUnpackGradient(const ConvolutionShape& shape, const Tensor& packed, const Tensor& dWeights, bool accumulate,
                          DType type) override;
    void doArrange(const Tensor& from, const Tensor& to) override;
    Tensor makeMask(const Tensor& x) override;
    void doBatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool relu, const Tensor& y,
                     const BatchNormSaved& saved) override;
    void doBatchNormGradient(const Tensor& x, const Tensor& gamma, const BatchNormSaved& saved, bool relu,
                             const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) override;
    Tensor makePositions(const PoolingShape& shape, DType type) override;
    void doMaxPool(const PoolingShape& shape, const Tensor& x, const Tensor& y, const Tensor& positions) override;
    void doMaxPoolGradient(const PoolingShape& shape, const Tensor& dy, const Tensor& positions,
                           const Tensor& dx) override;
    void doAveragePool(const Tensor& x, const Tensor& y) override;
    void doAveragePoolGradient(const Tensor& dy, const Tensor& dx) override;
    void doRelu(const Tensor& y) override;
    void doAddRelu(const Tensor& y, const Tensor& shortcut) override;
    void doAddReluGradient(const Tensor& y, const Tensor& dy, const Tensor& other) override;

private:
    std::unique_ptr<onednn::ImagePrimitives> m_primitives;
    Layout m_f32Layout, m_bf16Layout;
};

} // namespace fourwalls::engine
