// SPDX-License-Identifier: Apache-2.0
// The image operators on a GPU: convolutions by cuDNN, the rest by the engine's own kernels, on channels-last images.
#pragma once

#include "profiler/engine/device/image_operators.h"
#include "profiler/engine/gpu/gpu_device.h"

namespace fourwalls::engine {

class GpuImageOperators final : public ImageOperators {
public:
    explicit GpuImageOperators(GpuDevice& device) : ImageOperators(device), m_gpu(device) {}

    Layout layoutOf(std::int64_t, DType) const override { return Layout::ChannelsLast; }

protected:
    // cuDNN chooses among all of its algorithms and does not say afterwards what they multiply.
    bool usesWinograd(const ConvolutionShape&, ConvolutionPass, DType) override { return false; }
    bool needsPacking(const ConvolutionShape&, ConvolutionPass, DType) override { return true; }
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
    void convolve(const ConvolutionShape& shape, ConvolutionPass pass, const Tensor& x, const Tensor& w,
                  const Tensor& y);

    GpuDevice& m_gpu;
};

} // namespace fourwalls::engine
