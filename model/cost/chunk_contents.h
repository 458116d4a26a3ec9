// SPDX-License-Identifier: Apache-2.0
// What the positions of a pipeline hold and on which devices, and their costs put together from those of layers.
#pragma once

#include "model/cost/device_rates.h"
#include "model/cost/layer_cost.h"
#include "model/cost/step_cost.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/run_spec.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fourwalls::cost {

/// What a position holds; equal ones share a ChunkCost.
struct ChunkContents {
    std::int64_t dense = 0, mixture = 0;
    bool embedding = false, head = false;
    Recompute recompute = Recompute::None;
    std::size_t device = 0;     ///< kind of device that its stage waits for
    bool tableBelow = false;    ///< a head whose table is the embedding's, on the same stage
    std::size_t firstBlock = 0; ///< of networks whose blocks differ
    friend bool operator==(const ChunkContents&, const ChunkContents&) = default;
};

/// By position. rates: by kind of device. The spec's plan has the shape.
std::vector<ChunkContents> chunkContents(const RunSpec& spec, const FrameworkPreset& framework,
                                         std::span<const DeviceRates> rates, const PipelineShape& shape);

/// Adds `count` equal layers to a position.
void addLayers(ChunkCost& chunk, const LayerCost& layer, double count);

/// Computation at the pace of the slowest device, all of them slower than one alone, and of a kind that is slower.
void slowDown(ChunkCost& chunk, double slowest, double busy, double slowdown);

} // namespace fourwalls::cost
