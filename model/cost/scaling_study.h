// SPDX-License-Identifier: Apache-2.0
// How a run would scale: efficiency over the number of devices, and how well links of other speeds would be used. In
// closed form, so that a whole curve takes milliseconds.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_model.h"
#include "model/spec/run_spec.h"

#include <vector>

namespace fourwalls::cost {

struct ScalingPoint {
    int devices = 1;
    double stepSeconds = 0;
    double samplesPerSecond = 0;
    double efficiency = 0; ///< T_n / (n T_1)
    bool fits = true;      ///< what a device must hold fits into its memory
};

struct DeviceScaling {
    std::vector<ScalingPoint> points; ///< by devices; the first is the base
    /// Devices of the base: 1, or of one replica where the network cannot be priced on one device.
    int baseDevices = 1;
    double baseSamplesPerSecond = 0; ///< of the base
};

/// Weak scaling: the data-parallel degree grows by doubling, each replica's share of the batch and its tensor, context
/// and pipeline degrees stay. T_1 is one device with the same share of the batch, whatever memory that would take.
/// mostDevices: where the curve ends; the spec's own number of devices is always among the points.
/// Errors: those of CostModel for the spec itself.
Result<DeviceScaling> scalingByDevices(const RunSpec& spec, const Calibration& calibration, int mostDevices = 16'384);

struct LinkPoint {
    double bitsPerSecond = 0;
    double stepSeconds = 0;
    double utilisation = 0; ///< what the busiest rank sends in a step / what its link could carry in that time
    double efficiency = 0;  ///< step time without communication's bandwidth limit / step time
};

/// The same run with every link (inside and between nodes) at 1 to 800 Gb/s, and on to the spec's own fastest link where
/// that is faster, latencies as they are.
/// Errors: those of CostModel; InvalidArgument for a plan of one device, which sends nothing.
Result<std::vector<LinkPoint>> scalingByLink(const RunSpec& spec, const Calibration& calibration);

} // namespace fourwalls::cost
