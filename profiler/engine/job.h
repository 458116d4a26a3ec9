// SPDX-License-Identifier: Apache-2.0
// A job that goes on after failures: what stands between two attempts at it.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"

#include <string>

namespace fourwalls::engine {

/// Errors: InvalidArgument where checkpoints of another run lie where a restart would look for its own.
Status checkCheckpointFolder(const RunOptions& options);

/// Whether a job goes on after its attempt of that number has failed: it has restarts left, nobody has asked it to stop, and
/// it had begun to train, so that what failed is no mistake in its command. isKilled: a rank had no time to say so.
bool mayRestart(const JobNotes& notes, const RunOptions& options, int attempt, bool isKilled = false);

/// Before the next attempt: after a loss that jumped, the checkpoints from there on go; where it jumps a second time, the
/// batches that it may come from are left out from now on.
void prepareRestart(JobNotes& notes, const RunOptions& options, int failedAttempt);

/// The run of that attempt: as it is given, or with a smaller dp where more devices have been lost by then than stand by. A
/// loss that jumps and memory that runs out lose none. Errors: Unsupported where the plan has no dp that is small enough.
Result<RunSpec> specOfAttempt(const RunSpec& whole, const RunOptions& options, const JobNotes& notes, int attempt);

/// Whether the job could go on after its first failure. Errors: as above.
Status checkSpares(const RunSpec& whole, const RunOptions& options);

} // namespace fourwalls::engine
