// SPDX-License-Identifier: Apache-2.0
// The model of failures and checkpoints (goodput.h) beside a job that really had them.
#pragma once

#include "model/cost/goodput.h"
#include "model/trace/job_time.h"

#include <optional>

namespace fourwalls::cost {

/// What the model would have said of a recorded job, from its own figures: what a checkpoint, a recovery and a failure took
/// on average, and how much work lay between two checkpoints. Absent: the job had no failure. trainingSeconds: of the kept
/// steps, slow ones as they were.
std::optional<GoodputInput> goodputInputOf(const JobTime& time);

/// The share of the time that trained and stays, as JobTime has it: by the model, and with the slow steps as recorded.
/// Errors: see computeGoodput.
Result<double> predictedGoodput(const GoodputInput& input, const JobTime& time);

} // namespace fourwalls::cost
