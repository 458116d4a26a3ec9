// SPDX-License-Identifier: Apache-2.0
// Another plan, batch or cluster for a recorded step: the recording scaled by what the cost model says of both.
#pragma once

#include "model/replay/replay_change.h"

namespace fourwalls::replay {

/// Predictions of the recorded specification and of the changed one, as a ratio.
struct SpecRatio {
    double time = 1, low = 1, high = 1; ///< changed by recorded; low and high: the cost model's band around it
    double bytes = 1;                   ///< of the peak of the fullest rank
    std::vector<std::string> assumed;   ///< sentences
};

/// Of the changes of kinds Plan, Batch and Cluster. Errors: Unsupported if the trace has no specification; those of the plan,
/// the preset and the cost model, naming the field.
Result<SpecRatio> ratioOfSpecs(const Recording& recording, std::span<const ReplayChange> changes);

} // namespace fourwalls::replay
