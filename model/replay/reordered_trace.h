// SPDX-License-Identifier: Apache-2.0
// The steps of a pipeline whose passes are ordered anew, as a trace: what was recorded in a pass, where the pass is now.
#pragma once

#include "model/replay/pass_placement.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <stop_token>

namespace fourwalls::replay {

/// Writes the steps and finishes the sink. Slices, operations and buffers within a pass move with it, once for every
/// micro-batch of the new order that takes its work from this one; what is before and behind the passes keeps its distance
/// to them. Messages between stages are written anew, from the end of the pass that makes them. What was recorded between
/// two passes (waiting, other messages) is left out and counted in the audit ("replay_between_passes").
/// Errors: those of the queries and the sink; Cancelled.
Status writeReorderedTrace(TraceQuery& trace, const Recording& recording, const PassOrder& order,
                           const PassPlacement& placement, TraceSink& sink, std::stop_token stop = {});

} // namespace fourwalls::replay
