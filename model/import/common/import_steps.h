// SPDX-License-Identifier: Apache-2.0
// From the marks of a trace's loop to its steps: what the device did for them belongs to them, and those that are cut,
// warm up or are of another kind are told apart from those that figures may use.
#pragma once

#include "model/trace/records.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls::importers {

/// One pass of the loop as its file marks it. Times in the file's nanoseconds.
struct MarkedStep {
    int number = 0;
    std::int64_t begin = 0, end = 0;
    /// Work of the device that was launched within the mark; it may run (and even begin) long after it.
    std::optional<std::int64_t> workBegin{}, workEnd{};
    double substance =
        0; ///< time of that work; on a host alone, its slices within the mark. 0: nothing, or unknown of all
    std::int64_t launches = 0; ///< calls within the mark that launch work
    std::int64_t launched = 0; ///< pieces of work in the file that were launched within it
    std::int64_t unserved = 0; ///< of its launches, those behind the last one with work in the file
    bool cut = false;          ///< known to begin before or to end after the recording
    bool projected = false;    ///< begin and end are the device's: a step lasts until the next one's begin
};

/// One record per step, by time, disjoint.
/// - A step ends where its mark and its device's work have ended, and begins with its mark, or later where the step
///   before ended later: a host that runs ahead does not shorten its steps.
/// - earlierWorkEnd: end of device work launched before the first mark. Where the host was ahead of it by half a step
///   or more, the first step begins there.
/// - Marks of one number that overlap are one step (several threads of a loop). Numbers that come again are replaced.
/// States: Cut, if the source says so, if a step has less than a fifth of the others' work, if a fifth of its launches
/// have no work in the file though those of the others do, if its last launches have none (a twentieth of them, and more
///   than in the others), or (where no work is known) if the first or the last lasts
/// less than a fifth of the others; Warmup, the first of three or more, or of two if it lasts five times as long as the
/// second; Odd, shorter than a fifth or longer than five times the median of the rest.
std::vector<StepRecord> recogniseSteps(std::vector<MarkedStep> marks, std::optional<std::int64_t> earlierWorkEnd = {});

} // namespace fourwalls::importers
