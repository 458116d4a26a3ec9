// SPDX-License-Identifier: Apache-2.0
// How the predicted peak grows with what one can change: micro-batch, sequence, sharding and the degrees, each alone, and
// the largest micro-batch that fits. In closed form, for a worker thread.
#pragma once

#include "model/base/result.h"
#include "model/present/plan_knobs.h"
#include "model/spec/calibration.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace fourwalls {

struct FitPoint {
    double value = 0; ///< of the knob
    double bytes = 0; ///< peak of the fullest rank
};

struct FitCurve {
    Knob knob = Knob::MicrobatchSize;
    double present = 0;
    std::vector<FitPoint> points; ///< by value; more than one
};

struct MemoryFit {
    double capacity = 0; ///< of the device [bytes]; 0: unknown
    std::vector<FitCurve> curves;
    /// The largest micro-batch size that fits, and its global batch; 0: not even one sample does; absent: no capacity.
    std::optional<std::int64_t> largestSize, largestBatch;
};

/// calibration: null for the published one. Errors: those of the cost model for the spec itself; other values that
/// cannot be predicted are left out. Cancelled when stopped.
Result<MemoryFit> computeMemoryFit(const RunSpec& spec, const std::shared_ptr<const Calibration>& calibration,
                                   std::stop_token stop);

} // namespace fourwalls
