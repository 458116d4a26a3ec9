// SPDX-License-Identifier: Apache-2.0
// See job_steps.h.
#include "model/present/job_steps.h"

#include <algorithm>

namespace fourwalls {

const JobStep* JobSteps::step(StepIndex index) const
{
    const auto found =
        std::find_if(steps.begin(), steps.end(), [index](const JobStep& span) { return span.step == index; });
    return found == steps.end() ? nullptr : &*found;
}

const JobStep* JobSteps::stepUnder(TimeRange range) const
{
    const Instant middle = range.begin + Duration{range.length().ns / 2};
    for (const JobStep& span : steps) {
        if (!span.range.contains(middle)) continue;
        return range.length().ns <= span.range.length().ns / 2 * 3 ? &span : nullptr;
    }
    return nullptr;
}

JobSteps jobStepsOf(const std::vector<JobStep>& all)
{
    JobSteps job;
    std::copy_if(all.begin(), all.end(), std::back_inserter(job.steps),
                 [](const JobStep& step) { return step.complete; });
    if (const auto typical = typicalStep(job.steps)) job.median = typical->step;
    std::stable_sort(job.steps.begin(), job.steps.end(),
                     [](const JobStep& a, const JobStep& b) { return a.range.begin < b.range.begin; });
    auto spans = std::make_shared<StepSpans>();
    for (const JobStep& step : job.steps) spans->push_back({step.range, step.step, step.state});
    job.spans = std::move(spans);
    return job;
}

} // namespace fourwalls
