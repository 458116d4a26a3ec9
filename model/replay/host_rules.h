// SPDX-License-Identifier: Apache-2.0
// The graph of steps whose trace has the program's calls beside the device's work, as PyTorch's profiler, Nsight Systems and
// the collector record them.
#pragma once

#include "model/replay/graph_builder.h"
#include "model/replay/recording.h"

namespace fourwalls::replay {

/// Whether the trace has calls that launch its device work.
bool hasHostCalls(const Recording& recording);

/// A rank's calls are one order over its threads, which take turns; the time between two calls is work of the program. Device
/// work hangs on its launch (from the call's begin), on the work before it on its stream, and on event waits; a call that
/// synchronises ends after the device work that it waited for. Members of a collective meet by group and sequence. A device
/// that stands still although work is queued is a node of its own, and counted.
/// Errors: Format naming the place where a collective lacks members.
Result<GraphBuilder> hostGraph(const Recording& recording, std::int64_t& stalls);

} // namespace fourwalls::replay
