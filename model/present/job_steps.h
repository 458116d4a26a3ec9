// SPDX-License-Identifier: Apache-2.0
// The training steps of a whole job, over all of its ranks, and the one that stands for them. Without Qt.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/job_step.h"

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls {

/// The complete steps of a trace, for choosing among them.
struct JobSteps {
    std::vector<JobStep> steps;             ///< that every rank took, by time
    std::shared_ptr<const StepSpans> spans; ///< the same, for the choice of a step; never null
    std::optional<StepIndex> median;        ///< the one that stands for the job: typicalStep

    const JobStep* step(StepIndex index) const;
    /// The step that contains the middle of the range, if the range is not much longer than that step.
    const JobStep* stepUnder(TimeRange range) const;
};

JobSteps jobStepsOf(const std::vector<JobStep>& all);

} // namespace fourwalls
