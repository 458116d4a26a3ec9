// SPDX-License-Identifier: Apache-2.0
// What a trace teaches a prediction: its network, machine, precision, batch and plan, and how long its operators took.
#pragma once

#include "model/base/result.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/trace_query.h"

#include <vector>

namespace fourwalls::compare {

struct LikeTrace {
    RunSpec spec;                       ///< as the trace ran; its cluster has a device for every rank
    Calibration calibration;            ///< under which the trace's own operators take what they took
    std::vector<InferredField> assumed; ///< of the spec: what the trace does not say itself
    std::size_t operators = 0;          ///< of the engine that were learned by name; 0: computation as a whole
    double recordedSeconds = 0;         ///< median measured step
    double predictedSeconds = 0;        ///< of the same plan
};

/// Operators keep the model's dependence on shapes and take the trace's level, each by its name; a trace whose kernels
/// have other names gives the level of all computation together. Operator times hold what ranks cost each other, on
/// whatever clock, so neither contention nor spread is charged on top. Rates before that: the published ones, or of
/// processors the peak and the memory's rate that the recorder measured. Collectives take the time of the links.
/// Errors: Unsupported for a trace that says too little or has no measured step; of the cost model.
Result<LikeTrace> likeTrace(TraceQuery& trace);

} // namespace fourwalls::compare
