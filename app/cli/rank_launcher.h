// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a run as processes of this machine, where no launcher (torchrun, srun, mpirun) has.
#pragma once

#include "app/cli/console.h"

#include <chrono>
#include <stop_token>
#include <string>

namespace fourwalls::cli {

struct RanksEnded {
    int exitCode = kExitCouldNot; ///< of rank 0, or "could not" if it was killed
    bool firstKilled = false;     ///< rank 0 could not clean up
    bool isKilled = false;        ///< some rank was ended by a signal
    std::string complaint;        ///< what another rank said, where rank 0 could not
};

/// Runs this very command once per rank, with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, and waits
/// for all of them. Rank 0 speaks for all: what it prints appears here. stop: asks the ranks to end. timeout: of the
/// ranks; one that is still there much longer after rank 0 has ended, or that was stopped (frozen) and is still there
/// after another has failed, is killed.
/// job: what kJobVariable is set to; empty: nothing. Errors: Io if processes cannot be started.
Result<RanksEnded> launchRanks(int world, std::chrono::milliseconds timeout, const std::stop_token& stop,
                               const std::string& job = {});

/// Tells a rank of which job it is an attempt: see job_launcher.h.
inline constexpr char kJobVariable[] = "FOURWALLS_JOB=";

} // namespace fourwalls::cli
