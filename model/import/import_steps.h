// SPDX-License-Identifier: Apache-2.0
// Training steps from a profiler's step marks.
#pragma once

#include "model/import/chrome_survey.h"
#include "model/trace/records.h"

#include <cstdint>
#include <vector>

namespace fourwalls::importers {

/// One record per step number, by time, disjoint. Where steps were projected on the device's streams, a step lasts
/// from its first work there to the next step's (the host runs ahead, so that its own marks say little about when the
/// work happened); else the host's marks are taken. The first step is a warm-up if there are at least three.
std::vector<StepRecord> stepsFromMarks(const std::vector<StepMark>& marks, std::int64_t shiftNs);

} // namespace fourwalls::importers
