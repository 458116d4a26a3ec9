// SPDX-License-Identifier: Apache-2.0
// One row per training step: how long it took, what it learned, and where its time went.
#pragma once

#include "model/trace/trace_query.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// The parts that a step's time is made of, in drawing order.
enum class StepPart { Compute, Communication, Copy, Bubble, Idle };
inline constexpr int kStepPartCount = 5;

struct StepRow {
    StepIndex step;
    StepState state = StepState::Measured;
    bool complete = true; ///< every rank took it; only such steps count in medians
    TimeRange range;      ///< first rank's start to last rank's end
    std::optional<double> loss, learningRate, gradientNorm;
    std::int64_t tokens = 0, samples = 0; ///< global; 0: none or unknown
    /// Shares of the job's step, averaged over all ranks, adding up to 1 as in the metrics; absent without a summary.
    std::optional<std::array<double, kStepPartCount>> parts;

    std::optional<double> tokensPerSecond() const;
    std::optional<double> samplesPerSecond() const;
};

struct StepTable {
    std::vector<StepRow> rows; ///< by step
    std::string stepsBy;       ///< as TraceClosing says
    /// Median over measured steps that every rank took, as in the metrics (the lower one in the middle of an even
    /// number: a time that a step took); absent if there are none.
    std::optional<Duration> medianTime() const;
    bool hasTokens() const; ///< some step says how many; images have none
    /// Tokens, or samples where there are no tokens, per second: of a measured step, at the median time.
    std::optional<double> throughput() const;
};

/// Steps as rank `rank` recorded them, with times and shares over all ranks.
Result<StepTable> askSteps(TraceQuery& trace, RankId rank);

} // namespace fourwalls
