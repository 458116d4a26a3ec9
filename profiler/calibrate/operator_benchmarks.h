// SPDX-License-Identifier: Apache-2.0
// Times the engine's operators one by one on one thread, at the sizes that small networks have.
#pragma once

#include "model/spec/rate_grid.h"
#include "profiler/calibrate/machine_calibration.h"
#include "profiler/engine/core/tensor.h"

#include <functional>
#include <vector>

namespace fourwalls::calibrate {

/// Rates under the names that the cost model looks for (model/cost/device_rates.h), with its counts of FLOPs and bytes.
struct OperatorBenchmarks {
    OperatorRates rates;
    std::vector<MeasuredOperator> operators; ///< every measured point, for the report
};

/// How long each point is measured.
struct MeasuringTime {
    double seconds = 0;
    std::size_t leastCalls = 3; ///< besides a first one that does not count
};

/// Measures in the calling thread, which must be single-threaded (useSingleThread). Times are the thread's processor time,
/// medians. progress: 0..1, may be empty. mostPoints: per axis, 0 for all. Throws EngineError, std::bad_alloc.
OperatorBenchmarks benchmarkOperators(engine::DType type, const MeasuringTime& time, std::size_t mostPoints,
                                      const std::function<void(double)>& progress);

/// Several passes of benchmarkOperators over the same points as one: mean times.
OperatorBenchmarks meanOf(std::vector<OperatorBenchmarks> passes);

} // namespace fourwalls::calibrate
