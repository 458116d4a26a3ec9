// SPDX-License-Identifier: GPL-3.0-or-later
// How many steps figures use, how many are left out and why, and what the steps were found by, in words.
#pragma once

#include "model/trace/step_window.h"
#include "model/trace/vocabulary.h"

#include <QString>

#include <array>
#include <string>

namespace fourwalls::views {

using StepCounts = std::array<int, kStepStateCount>; ///< by StepState

/// Steps by their state; Steps: a range of anything with a `state`.
template <typename Steps>
StepCounts stepCounts(const Steps& steps)
{
    StepCounts counts{};
    for (const auto& step : steps) ++counts[static_cast<std::size_t>(step.state)];
    return counts;
}

/// "2 of 4 steps measured (1 warm-up, 1 cut)", or "4 steps" where none is left out; empty without steps.
QString stepCountsText(const StepCounts& counts);

/// What TraceClosing::stepsBy says, in the person's language: "the range train_step", "the whole trace".
QString stepsByText(const std::string& by);

/// Whether the one "step" of a trace is all of it: then there is no step time.
inline bool isWholeTrace(const std::string& stepsBy)
{
    return stepsBy == kWholeTrace;
}

} // namespace fourwalls::views
