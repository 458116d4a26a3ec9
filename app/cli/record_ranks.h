// SPDX-License-Identifier: Apache-2.0
// `record` where the ranks are processes: each writes a file of its own, and rank 0 makes one trace of them.
#pragma once

#include "app/cli/console.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/comm/launched_rank.h"
#include "profiler/engine/run.h"

#include <chrono>
#include <functional>
#include <string>

namespace fourwalls::cli {

struct RankRecording {
    std::string output; ///< of the whole run; empty: no trace
    std::chrono::milliseconds timeout{30'000};
    RunSpec spec;
    engine::RunOptions options;
    engine::RunCallbacks callbacks;                                             ///< of rank 0
    std::function<int(const engine::RunReport&, const std::string& file)> tell; ///< prints the answer, on rank 0
};

/// "run.rank3.fourwalls" for "run.fourwalls".
std::string rankFile(const std::string& output, int rank);

/// Starts the ranks as processes of this machine and waits for them. timeout: as in RankRecording. Returns the exit code.
int launchRecording(Console& console, const std::string& output, int world, std::chrono::milliseconds timeout,
                    const std::stop_token& stop);

/// Records this process's rank. The same on all of them. Returns the exit code.
int recordRank(Console& console, const engine::LaunchedRank& self, RankRecording run);

} // namespace fourwalls::cli
