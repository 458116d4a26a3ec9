// SPDX-License-Identifier: Apache-2.0
// The graph of steps whose ranks each do one thing after the other, with operations beside them on a thread or stream of
// their own: recordings of the engine, predictions, and imports without the program's calls.
#pragma once

#include "model/replay/graph_builder.h"
#include "model/replay/recording.h"

#include <vector>

namespace fourwalls::replay {

/// Chains: what a rank's device does and the operations that hold it up; each further stream. Members of a collective meet
/// by group and sequence, and a message ends when it has arrived and was asked for; a send holds up nobody. What was started
/// beside the work hangs on flows ("launch", "wait") where the trace has them, else on what had ended by then and on gaps in
/// which it ended.
/// What the cost model wrote has one record of a message, for which its receiver's next work of the micro-batch waits, and
/// draws transfers in full: of these a rank waits for the part during which it stands still.
/// hidden: by OpId, operations that no longer hold up their rank; only what needs their result waits.
/// Errors: Format naming the place where a collective lacks members.
Result<GraphBuilder> deviceGraph(const Recording& recording, const std::vector<bool>& hidden);

} // namespace fourwalls::replay
