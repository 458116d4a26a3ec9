// SPDX-License-Identifier: Apache-2.0
// Costs of networks that are no transformers: residual networks block by block, recommendation models as a whole.
#pragma once

#include "model/cost/layer_cost.h"

#include <vector>

namespace fourwalls::cost {

/// What the operators of these networks are priced with.
struct PlainContext {
    const FrameworkPreset& framework;
    const Calibration& calibration;
    const DeviceRates& rates;
    const CollectiveTimes& collectives;
    int devicesPerNode = 1;
    bool fuse = true; ///< convolution, normalisation and activation in one kernel
};

/// The blocks of a residual network in order: stem, bottleneck blocks, pooling and classifier. images: per micro-batch.
std::vector<LayerCost> resnetBlocks(const PlainContext& context, const ResNetSpec& model, double images,
                                    const std::vector<OperatorLists>* lists = nullptr);

/// A recommendation model, its tables spread over `ep` ranks. samples: per micro-batch and rank.
LayerCost recommendationCost(const PlainContext& context, const RecommendationSpec& model, double samples, int ep,
                             int stride, const OperatorLists& lists = {});

} // namespace fourwalls::cost
