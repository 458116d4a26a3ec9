// SPDX-License-Identifier: Apache-2.0
// The diagnosis against faults that the engine really has: recorded with a fault, diagnosed blind, and held against the same
// run without it.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/finding.h"
#include "model/trace/vocabulary.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

namespace fourwalls::cli {

struct SuiteOptions {
    std::int64_t cases = 60;
    std::uint64_t seed = 1;
    std::optional<ClockKind> clock;   ///< of all recordings; absent: one in five is on the wall clock
    std::optional<std::int64_t> only; ///< the case of this number, whatever `cases` says; absent: all
    std::string keep;                 ///< where that case's recording is written; empty: nowhere
};

/// What became of the faults of one cause.
struct CauseScore {
    int faults = 0; ///< that cost kLeastFault of the step or more
    int cheap = 0;  ///< that cost less, which count nowhere
    int first = 0, top3 = 0;
    double gainError = 0; ///< added up over `gains`
    int gains = 0;
    std::map<std::string, int> takenFor; ///< the first finding's cause; "nothing"
};

struct SuiteScore {
    int cases = 0, clean = 0;
    int placed = 0, placedRight = 0; ///< faults that have a rank, stage or link
    int faults = 0, first = 0, top3 = 0;
    int falseAlarms = 0;  ///< clean cases with a finding of something that is not there
    double gainError = 0; ///< mean of |promised - measured| / measured, over faults whose cause was found
    int gains = 0;
    std::map<std::string, CauseScore> byCause;
    std::map<std::string, int> falseBy;        ///< cause: clean cases
    std::map<std::string, std::string> missed; ///< "case 12": what it had and what was said
};

/// Errors: those of recording; Cancelled. progress: is given the share that is done.
Result<SuiteScore> runDiagnoseSuite(const SuiteOptions& options, const std::function<void(double)>& progress,
                                    std::stop_token stop);

} // namespace fourwalls::cli
