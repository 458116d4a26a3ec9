// SPDX-License-Identifier: Apache-2.0
// Where the time of a whole job went, failures and restarts included: what trained and stays, and every way in which the rest
// was lost.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace fourwalls {

/// The phases between two attempts at a job, and between two steps, as a recorder names them.
inline constexpr char kDetectionName[] = "detection", kRestartName[] = "restart", kBetweenStepsName[] = "between steps";

enum class LostTime : std::uint8_t {
    Detection,    ///< from a failure until somebody noticed it
    Restart,      ///< from there until the network stands again
    Loading,      ///< of checkpoints
    LostWork,     ///< steps that were taken again, and the one that the failure ended
    Checkpoints,  ///< training stands still while they are taken
    SlowSteps,    ///< what kept steps took longer than the median step, shorter ones taken off: it may be negative
    Evaluation,   ///< on samples that training does not see, and probes of the gradients' noise
    BetweenSteps, ///< what a recorder named so: notes are taken, progress is told
    Other         ///< what nobody named
};
inline constexpr int kLostTimeCount = 9;
/// "detection", "restart", "loading", "lost_work", "checkpoints", "slow_steps", "evaluation", "between_steps", "other".
std::string_view name(LostTime part);

struct JobTime {
    TimeRange range;   ///< from the first step's begin to the last kept step's end, or that of a checkpoint behind it
    Duration training; ///< kept steps x the median step
    std::array<Duration, kLostTimeCount> lost; ///< by LostTime; with `training` they add up to the range
    int keptSteps = 0, lostSteps = 0, failures = 0, checkpoints = 0;
    double stepsBetweenCheckpoints = 0; ///< on average; 0: there are none
    Duration medianStep;                ///< of the measured steps, else of all kept ones

    Duration of(LostTime part) const { return lost[static_cast<std::size_t>(part)]; }
    Duration wasted() const { return range.length() - training; }
    double goodput() const { return range.empty() ? 0 : training.seconds() / range.length().seconds(); }
};

/// Of the lowest rank that has steps. Absent: the trace has no steps of its own, or is a prediction. Errors: those of the queries.
Result<std::optional<JobTime>> jobTime(TraceQuery& trace, std::stop_token stop = {});

} // namespace fourwalls
