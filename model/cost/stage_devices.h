// SPDX-License-Identifier: Apache-2.0
// The devices of a plan in a cluster whose nodes are not all alike: which of them a stage waits for, and what all have.
#pragma once

#include "model/cost/device_rates.h"
#include "model/spec/cluster_spec.h"
#include "model/spec/parallel_plan.h"

#include <cstddef>
#include <span>

namespace fourwalls::cost {

/// What a stage of a pipeline runs on. Its ranks meet in every layer or at its end, so they have the pace of the slowest.
struct StageDevice {
    std::size_t kind = 0;   ///< of the slowest: the least rate of matrix products
    double memoryBytes = 0; ///< of the smallest; 0 unknown
};

/// rates: by kind of device.
StageDevice stageDevice(const ClusterSpec& cluster, std::span<const DeviceRates> rates, const ParallelPlan& plan,
                        int stage);

/// Means over the devices of a plan.
struct MeanDevice {
    double peakFlops = 0;  ///< [FLOP/s]
    double powerWatts = 0; ///< 0: that of one kind is unknown
};
MeanDevice meanDevice(const ClusterSpec& cluster, std::span<const DeviceRates> rates, const ParallelPlan& plan);

} // namespace fourwalls::cost
