// SPDX-License-Identifier: Apache-2.0
// `record --restarts` where the ranks are processes: starts them again after a failure, and makes one trace of all attempts.
#pragma once

#include "app/cli/console.h"
#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"

#include <chrono>
#include <memory>
#include <string>

namespace fourwalls::cli {

/// Runs the job. output: the trace; empty: none. spec, options: of the run. Returns the exit code.
int launchJob(Console& console, const std::string& output, const RunSpec& spec, std::chrono::milliseconds timeout,
              const engine::RunOptions& options);

/// What a rank knows of the job that it is started for.
struct JobOfRank {
    int attempt = 0;
    engine::ClockOrigin origin;
    std::unique_ptr<engine::JobNotes> notes; ///< null: it is started for no job
    bool isLast = false;                     ///< no other attempt comes after it, whatever becomes of it
    bool isOfLauncher = false;               ///< that is not this program
};
/// variable: what the launcher set kJobVariable to; null: nothing.
JobOfRank jobOfRank(const char* variable);

/// The same where a launcher of others restarts its ranks and says so in TORCHELASTIC_RESTART_COUNT or SLURM_RESTART_COUNT;
/// without notes where none does. The notes lie in "OUT.job" then. Of rank 0 it begins the attempt: before the ranks meet.
/// Errors: Io; InvalidArgument naming a variable that is no number.
Result<JobOfRank> jobOfLauncher(const std::string& output, int rank, int world, const engine::RunOptions& options);

/// The end of such an attempt on rank 0: one trace of all where the launcher will not start another one. Returns the exit
/// code.
int endOfLauncher(Console& console, const JobOfRank& job, const std::string& output, int world, int exitCode,
                  bool wasStopped);

/// "run.attempt1.fourwalls" for "run.fourwalls"; empty for none.
std::string attemptFile(const std::string& output, int attempt);

} // namespace fourwalls::cli
