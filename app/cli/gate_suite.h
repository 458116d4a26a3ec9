// SPDX-License-Identifier: Apache-2.0
// How often the regression gate finds a slowdown that is there, and how often one that is not.
#pragma once

#include "model/base/result.h"
#include "model/trace/vocabulary.h"

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

namespace fourwalls::cli {

struct GateSuiteOptions {
    std::int64_t trials = 100;
    int runs = 5;        ///< a side
    double slowdown = 1; ///< of the step [%]
    ClockKind clock = ClockKind::Device;
    bool measuresAnew =
        false; ///< on the device clock: each run measures its kernels; else a trial's runs share their times
    std::uint64_t seed = 1;
};

struct GateSuiteScore {
    int trials = 0;
    int found = 0;        ///< slowed runs that are said to be worse
    int falseAlarms = 0;  ///< equal runs that are said to be worse
    int falseReliefs = 0; ///< equal runs that are said to be better
    int truthHeld = 0;    ///< the interval of slowed runs holds the slowdown
    double deviation = 0; ///< from run to run, of equal runs: mean over the trials [%]
    double halfWidth = 0; ///< of the interval: mean over the trials [%]
    double slowdown = 0;  ///< what was put in, on the clock that is free of noise: mean over the trials [%]
    std::map<std::string, int> carriers; ///< kind of what carries most of a slowdown that was found: trials
};

/// In each trial a job is recorded three times `runs` times in turns: as it is, with every kernel slowed down so that its
/// step is longer by the slowdown, and as it is once more. Errors: those of recording; Cancelled.
Result<GateSuiteScore> runGateSuite(const GateSuiteOptions& options, const std::function<void(double)>& progress,
                                    const std::stop_token& stop);

} // namespace fourwalls::cli
