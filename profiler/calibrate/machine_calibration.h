// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of this machine: what the engine's operators reach at the sizes of small networks, as a cluster
// description and a calibration that the cost model can use. No training step is looked at.
#pragma once

#include "model/base/result.h"
#include "model/spec/calibration.h"
#include "model/spec/cluster_spec.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::calibrate {

/// One measured operator, for the report.
struct MeasuredOperator {
    std::string name, shape;
    double seconds = 0; ///< mean over the passes of the median of the repetitions
    double flops = 0;   ///< of one call; 0: bound by memory
    double bytes = 0;   ///< that one call must move
};

struct MachineCalibration {
    ClusterSpec cluster;     ///< named after the processor, one rank per hardware thread
    Calibration calibration; ///< family "cpu"
    std::vector<MeasuredOperator> operators;
};

struct CalibrateOptions {
    double secondsPerOperator = 0.015; ///< over all passes; at least three repetitions in any case
    int passes = 3; ///< over all operators: each is met at several moments of a machine whose speed changes
    std::optional<Precision> precision;   ///< this one alone; otherwise all that the processor computes in
    std::size_t mostPoints = 0;           ///< per axis of what is measured by size, the smallest ones; 0: all
    std::function<void(double)> progress; ///< 0..1; may be empty
};

/// Small sizes only, briefly: takes a second or two, and larger operators are taken to be as quick as the largest measured.
CalibrateOptions quickLook();

/// Measures operators in one thread of its own, then all cores together and the transport between two threads; takes
/// less than a minute. base: name, memory and number of devices of the machine.
/// Errors: Unsupported for a precision that the processor does not compute in; Internal when memory runs out.
Result<MachineCalibration> calibrateMachine(const ClusterSpec& base, const CalibrateOptions& options = {});

} // namespace fourwalls::calibrate
