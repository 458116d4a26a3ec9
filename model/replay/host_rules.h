// SPDX-License-Identifier: Apache-2.0
// The graph of steps whose trace has the program's calls beside the device's work, as PyTorch's profiler, Nsight Systems and
// the collector record them.
#pragma once

#include "model/replay/graph_builder.h"
#include "model/replay/recording.h"

namespace fourwalls::replay {

/// What the rules met on their way.
struct HostFacts {
    std::int64_t stalls = 0; ///< times that a device stood still although work was queued
    std::int64_t queued = 0; ///< launches that a full queue held up
    Duration queuedTime;     ///< that those waited for their device, of all ranks
};

/// Whether the trace has calls that launch its device work.
bool hasHostCalls(const Recording& recording);

/// A rank's calls are one order over its threads, which take turns; the time between two calls is work of the program. Device
/// work hangs on its launch (from the call's begin), on the work before it on its stream, and on event waits; a call that
/// synchronises ends after the device work that it waited for. Members of a collective meet by MeetingKey. A device
/// that stands still although work is queued is a node of its own, and counted. Where launches block at a full queue
/// (launch_queue.h), a launch returns after the work that had to leave the queue first. Steps end where the program ended
/// them; GraphStep::deviceEnds has the last work of each stream in them.
/// Errors: Format naming the place where a collective lacks members.
Result<GraphBuilder> hostGraph(const Recording& recording, HostFacts& facts);

} // namespace fourwalls::replay
