// SPDX-License-Identifier: Apache-2.0
// `record` where the ranks are processes: each writes a file of its own, and rank 0 makes one trace of them.
#pragma once

#include "app/cli/console.h"
#include "app/cli/rank_launcher.h"
#include "model/import/merge_traces.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/comm/launched_rank.h"
#include "profiler/engine/run.h"

#include <chrono>
#include <functional>
#include <string>

namespace fourwalls::cli {

struct RankRecording {
    std::string output;     ///< of the whole run, or of an attempt at it; empty: no trace
    bool isAttempt = false; ///< somebody else puts the attempts together and says so
    std::chrono::milliseconds timeout{30'000};
    RunSpec spec;
    engine::RunOptions options;
    engine::RunCallbacks callbacks;                                             ///< of rank 0
    std::function<int(const engine::RunReport&, const std::string& file)> tell; ///< prints the answer, on rank 0
};

/// "run.rank3.fourwalls" for "run.fourwalls".
std::string rankFile(const std::string& output, int rank);

/// Makes one trace of the files and removes them. Errors: those of mergeFiles.
Status joinTraces(const std::vector<std::string>& files, const std::string& output,
                  importers::MergeKind kind = importers::MergeKind::Ranks);

/// Removes a trace and everything that belongs to it.
void removeTrace(const std::string& path);
/// The dumps that the ranks of a run of that name left, and nothing else that lies there.
void removeDumps(const std::string& output, int world);

/// Starts the ranks as processes of this machine and waits for them. timeout: as in RankRecording. job: as in launchRanks;
/// not empty: an attempt at it.
RanksEnded launchRecording(Console& console, const std::string& output, int world, std::chrono::milliseconds timeout,
                           const std::stop_token& stop, const std::string& job = {});

/// Records this process's rank. The same on all of them. Returns the exit code.
int recordRank(Console& console, const engine::LaunchedRank& self, RankRecording run);

} // namespace fourwalls::cli
