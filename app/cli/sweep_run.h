// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep, several at a time, each in threads of its own; what a sweep before this one finished is taken.
#pragma once

#include "app/cli/sweep_result.h"

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// One run to be made.
struct SweepJob {
    SweepPoint point;
    RunSpec spec; ///< resolved; steps are those of the whole training
    std::string name, specHash;
};

struct SweepOptions {
    std::string folder;          ///< exists
    int jobs = 1;                ///< at a time
    std::int64_t noiseEvery = 0; ///< steps between probes of the gradients' noise; 0: none
};

struct SweepOutcome {
    SweepJob job;
    std::optional<SweepResult> result; ///< absent: it failed, or the sweep was stopped before
    std::optional<Error> failure;
    bool wasThere = false;         ///< an earlier sweep had finished it
    std::int64_t stoppedAfter = 0; ///< steps after which a halving gave it up; 0: it did not
};

/// Called after each run, from one thread at a time.
using SweepProgress = std::function<void(const SweepOutcome& outcome, std::size_t done, std::size_t all)>;

/// All of them to their end. Outcomes stand as the jobs do.
std::vector<SweepOutcome> runSweep(const std::vector<SweepJob>& jobs, const SweepOptions& options,
                                   const SweepProgress& progress, const std::stop_token& stop);

/// Successive halving (Jamieson, Talwalkar 2016, arXiv:1502.07943): all train for a part of the steps, the better half of
/// them goes on from its checkpoints for as many steps again, and so on; the last one trains to the end. The learning rate
/// follows the schedule of the whole training.
std::vector<SweepOutcome> runHalving(const std::vector<SweepJob>& jobs, const SweepOptions& options,
                                     const SweepProgress& progress, const std::stop_token& stop);

} // namespace fourwalls::cli
