// SPDX-License-Identifier: Apache-2.0
// Residual networks for images: ResNet-50, 101 and 152 and smaller ones of the same build (He et al. 2015,
// arXiv:1512.03385, table 1).
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/nn/bottleneck.h"
#include "profiler/engine/nn/linear.h"
#include "profiler/engine/nn/model.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::engine {

/// The build of a network; the published ones are `width` 64.
struct ResNetShape {
    std::array<std::int64_t, 4> blocks{}; ///< bottlenecks per stage
    std::int64_t width = 64;              ///< channels of the stem and of the first stage's inner convolutions
    std::int64_t imageSize = 224;         ///< [pixels], square, a multiple of 32
    std::int64_t classes = 1000;

    /// Of depth 50, 101 or 152; otherwise nothing.
    static std::optional<ResNetShape> of(const ResNetSpec& spec);

    std::int64_t totalBlocks() const;
    /// Of what block `index` (of all, from 0) gives for so many images.
    Shape blockOutput(std::int64_t index, std::int64_t images) const;

    /// Elements that the forward pass of one image leaves for the backward pass: the results of convolutions,
    /// normalisations and pooling (not the masks, a thirty-second of it at most).
    std::int64_t keptElements() const;
};

class ResNet final : public TrainingModel {
public:
    /// The whole network, or a chunk of it, whose layers are blocks; the stem comes before them, pooling and head after.
    /// fuse: see Bottleneck.
    ResNet(const RankContext& rank, const ResNetShape& shape, std::uint64_t seed, bool fuse = true,
           ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Auto, std::optional<ChunkRange> range = {});

    ParameterList& parameters() override { return m_parameters; }
    Shape inputShape(const RankContext& rank, const Batch& batch) const override;
    Tensor makeIncoming(const RankContext& rank, const Shape& shape, MemoryCategory category) const override;
    std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch, const Tensor& input) override;
    double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) override;
    double evaluate(RankContext& rank, const Batch& batch, ForwardState& state) override;
    Tensor backward(RankContext& rank, const Batch& batch, ForwardState& state, const Tensor& dOutput) override;

private:
    struct State;
    Tensor stemForward(RankContext& rank, const Batch& batch, State& state) const;
    void stemBackward(RankContext& rank, State& state, Bottleneck::GradientSum d) const;
    std::int32_t headLayer() const { return static_cast<std::int32_t>(m_shape.totalBlocks()) + 1; }
    Tensor headLoss(RankContext& rank, const Batch& batch, State& state, double scale, double& sum);

    ResNetShape m_shape;
    ChunkRange m_range;
    std::unique_ptr<ImageOperators> m_images;
    ParameterList m_parameters;
    Convolution m_stem; // first chunk
    BatchNorm m_stemNorm;
    std::vector<Bottleneck> m_blocks;
    Linear m_head; // last chunk
    const ParameterUnit* m_stemUnit = nullptr;
    std::vector<const ParameterUnit*> m_blockUnits;
    const ParameterUnit* m_headUnit = nullptr;
};

} // namespace fourwalls::engine
