// SPDX-License-Identifier: Apache-2.0
// By how much two sets of runs differ, with an interval that holds the spread from step to step and from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::compare {

/// What stands for the steps of a run.
enum class RunMiddle : std::uint8_t { Median, Mean };

/// Values of one figure, for each run those of its steps; a figure that a run has once is one value.
using RunValues = std::vector<std::vector<double>>;

struct RunDifference {
    double runs = 0, against = 0; ///< means over the runs of what stands for each
    /// Of the difference runs - against; absent: the spread is not known (one value on a side).
    std::optional<double> low, high;
    bool stepsOnly = false; ///< a side has one run: how runs differ from one another is not in the interval

    double difference() const { return runs - against; }
};

/// Student's t: the value below which a share p of the distribution lies. p: between 0 and 1; degrees > 0.
double studentQuantile(double p, double degrees);

/// The interval is difference +- t sqrt(V): V is the sum of both sides' variances under a bootstrap that draws runs, and of
/// each drawn run its steps, with replacement; a side of n runs counts n / (n - 1) times, which is what drawing n of n runs
/// misses; t is Student's with Welch's degrees of freedom.
/// confidence: 0 to 1, two-sided. The draws come from `seed`, the same on every machine.
/// Precondition: every run has a value, both sides have runs.
/// Source: Davison, Hinkley: Bootstrap Methods and their Application (1997), 3.8; Welch (1947).
RunDifference differenceOfRuns(const RunValues& runs, const RunValues& against, RunMiddle middle, double confidence,
                               std::uint64_t seed = 1);

} // namespace fourwalls::compare
