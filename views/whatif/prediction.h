// SPDX-License-Identifier: GPL-3.0-or-later
// One finished prediction as the views draw it: a step, the summaries of its trace, and the figures of that.
#pragma once

#include "model/base/result.h"
#include "model/cost/predicted_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"

#include <memory>

namespace fourwalls::views {

/// Immutable, shared between threads. `step` says whether it fits the device's memory (step.feasible, step.why).
struct Prediction {
    cost::PredictedStep step;
    /// Never null; summaries and memory curves without slices (cost::summaryOf). Its ranks stand for the stages.
    std::shared_ptr<const InMemoryTraceData> trace;
    TraceMetrics metrics; ///< of that trace
};

} // namespace fourwalls::views
