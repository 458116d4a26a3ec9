// SPDX-License-Identifier: Apache-2.0
// Whether ranks that computed on cores had one each: a rank that waits for its core looks like a slow one.
#pragma once

#include "model/trace/records.h"

#include <optional>

namespace fourwalls::replay {

/// Ranks of the engine on the cores of one host, timed by the wall clock.
struct CoreShare {
    int ranks = 0;            ///< of the host that has most
    std::optional<int> cores; ///< absent: the recording does not say

    bool isCrowded() const { return cores && ranks > *cores; }
};

/// Absent where that is no question: one rank, GPUs, the device clock, predictions, recordings of other programs.
std::optional<CoreShare> coreShare(const TraceHeader& header);

} // namespace fourwalls::replay
