// SPDX-License-Identifier: GPL-3.0-or-later
// See job_steps.h.
#include "views/job_steps.h"

#include <algorithm>
#include <map>
#include <set>

namespace fourwalls::views {

const JobStepSpan* JobSteps::step(StepIndex index) const
{
    const auto found =
        std::find_if(steps.begin(), steps.end(), [index](const JobStepSpan& span) { return span.step == index; });
    return found == steps.end() ? nullptr : &*found;
}

const JobStepSpan* JobSteps::stepUnder(TimeRange range) const
{
    const Instant middle = range.begin + Duration{range.length().ns / 2};
    for (const JobStepSpan& span : steps) {
        if (!span.range.contains(middle)) continue;
        return range.length().ns <= span.range.length().ns / 2 * 3 ? &span : nullptr;
    }
    return nullptr;
}

JobSteps jobStepsOf(std::span<const StepSummary> summaries)
{
    std::map<StepIndex, JobStepSpan> spans;
    std::map<StepIndex, std::size_t> members;
    std::set<RankId> ranks;
    for (const StepSummary& summary : summaries) {
        ranks.insert(summary.rank);
        const auto [found, isNew] =
            spans.try_emplace(summary.step, JobStepSpan{summary.step, summary.range, summary.warmup});
        found->second.range.begin = std::min(found->second.range.begin, summary.range.begin);
        found->second.range.end = std::max(found->second.range.end, summary.range.end);
        ++members[summary.step];
    }
    JobSteps job;
    for (const auto& [step, span] : spans)
        if (members[step] == ranks.size()) job.steps.push_back(span);
    std::stable_sort(job.steps.begin(), job.steps.end(),
                     [](const JobStepSpan& a, const JobStepSpan& b) { return a.range.begin < b.range.begin; });
    std::vector<JobStepSpan> measured;
    auto steps = std::make_shared<StepSpans>();
    for (const JobStepSpan& span : job.steps) {
        steps->push_back({span.range, span.step, span.warmup});
        if (!span.warmup) measured.push_back(span);
    }
    job.spans = std::move(steps);
    if (measured.empty()) measured = job.steps;
    if (measured.empty()) return job;
    // In the order of their numbers, as computeMetrics sorts them: ties are broken alike.
    std::sort(measured.begin(), measured.end(),
              [](const JobStepSpan& a, const JobStepSpan& b) { return a.step < b.step; });
    std::stable_sort(measured.begin(), measured.end(),
                     [](const JobStepSpan& a, const JobStepSpan& b) { return a.range.length() < b.range.length(); });
    job.median = measured[measured.size() / 2].step;
    return job;
}

} // namespace fourwalls::views
