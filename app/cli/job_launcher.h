// SPDX-License-Identifier: Apache-2.0
// `record --restarts` where the ranks are processes: starts them again after a failure, and makes one trace of all attempts.
#pragma once

#include "app/cli/console.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"

#include <chrono>
#include <memory>
#include <string>

namespace fourwalls::cli {

/// Runs the job. output: the trace; empty: none. world: ranks. options: of the run. Returns the exit code.
int launchJob(Console& console, const std::string& output, int world, std::chrono::milliseconds timeout,
              const engine::RunOptions& options);

/// What a rank knows of the job that it is started for.
struct JobOfRank {
    int attempt = 0;
    engine::ClockOrigin origin;
    std::unique_ptr<engine::JobNotes> notes; ///< null: it is started for no job
};
/// variable: what the launcher set kJobVariable to; null: nothing.
JobOfRank jobOfRank(const char* variable);

/// "run.attempt1.fourwalls" for "run.fourwalls"; empty for none.
std::string attemptFile(const std::string& output, int attempt);

} // namespace fourwalls::cli
