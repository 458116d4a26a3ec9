// SPDX-License-Identifier: Apache-2.0
// The steps that tell how far a replay can be trusted: one step alone rests on its own delays.
#pragma once

#include "model/replay/recording.h"
#include "model/trace/job_step.h"

#include <optional>
#include <vector>

namespace fourwalls::replay {

/// As many measured steps in a row around the chosen one as are about a second's work together; absent: one step is more,
/// or there is no such step. steps: of the job.
std::optional<StepChoiceRange> stepsAround(const TraceInfo& info, const std::vector<JobStep>& steps, StepIndex chosen);

} // namespace fourwalls::replay
