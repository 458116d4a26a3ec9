// SPDX-License-Identifier: Apache-2.0
// What steps take at least, whatever their graph says: a stream does one thing at a time.
#pragma once

#include "model/replay/recording.h"
#include "model/replay/replay_graph.h"

#include <cstdint>
#include <vector>

namespace fourwalls::replay {

/// By step, what its busiest stream or thread works and moves in the times of a variant [ns]. Of what ran into another step,
/// and of work that ran beside other work of its track, only the recorded share that lay within the step by itself counts:
/// with the recorded times no step is shorter than this. Messages are left out, as several may be on their way at once.
std::vector<std::int64_t> busyFloor(const Recording& recording, const ReplayGraph& graph, const NodeTimes& times);

} // namespace fourwalls::replay
