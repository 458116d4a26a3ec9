// SPDX-License-Identifier: Apache-2.0
// A job that goes on after failures: what stands between two attempts at it.
#pragma once

#include "model/base/result.h"
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

} // namespace fourwalls::engine
