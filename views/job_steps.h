// SPDX-License-Identifier: GPL-3.0-or-later
// The training steps of a whole job, over all of its ranks, and the one that stands for them. Without Qt.
#pragma once

#include "model/trace/step_summary.h"
#include "views/plot_context.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::views {

/// One training step over all ranks: first rank's begin to last rank's end.
struct JobStepSpan {
    StepIndex step;
    TimeRange range;
    bool warmup = false;
};

struct JobSteps {
    std::vector<JobStepSpan> steps;         ///< that every rank took, by time
    std::shared_ptr<const StepSpans> spans; ///< the same, for the choice of a step; never null
    std::optional<StepIndex> median;        ///< of median length (upper middle) among the measured ones, as in metrics

    const JobStepSpan* step(StepIndex index) const;
    /// The step that contains the middle of the range, if the range is not much longer than that step.
    const JobStepSpan* stepUnder(TimeRange range) const;
};

JobSteps jobStepsOf(std::span<const StepSummary> summaries);

} // namespace fourwalls::views
