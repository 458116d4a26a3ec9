// SPDX-License-Identifier: Apache-2.0
// The changed steps as a trace, which every view, comparison and export reads.
#pragma once

#include "model/replay/replay.h"
#include "model/trace/trace_sink.h"

namespace fourwalls::replay {

/// The header of the trace that writeReplayedTrace writes: the recording's, as replayed.
TraceHeader replayedHeader(const TraceInfo& recorded);

/// Writes the chosen steps with the times that the changes give, and finishes the sink. Work, operations and steps come
/// from the replay; what stands around them (phases, layers, operators, buffers, counters) is moved with the work that it was
/// recorded beside. A step that grows moves the later ones on. trace: the one that `replay` was made of.
/// Errors: Unsupported for changes of more than times (see changesTimes); those of applyChanges, the queries and the sink;
/// Cancelled.
Status writeReplayedTrace(TraceQuery& trace, const Replay& replay, DelayRule rule,
                          std::span<const ReplayChange> changes, TraceSink& sink, std::stop_token stop = {});

} // namespace fourwalls::replay
