// SPDX-License-Identifier: Apache-2.0
// See job_step.h.
#include "model/trace/job_step.h"

#include <algorithm>

namespace fourwalls {

namespace {

/// The step of median length among those that `keep` names, or the two in the middle of an even number; of steps of equal
/// length the earlier in `steps` comes first. Linear: nothing is sorted.
template <typename Keep>
std::vector<JobStep> middleOf(const std::vector<JobStep>& steps, Keep keep)
{
    std::vector<const JobStep*> kept;
    for (const JobStep& step : steps)
        if (keep(step)) kept.push_back(&step);
    if (kept.empty()) return {};
    const auto shorter = [](const JobStep* a, const JobStep* b) {
        return a->range.length() != b->range.length() ? a->range.length() < b->range.length() : a < b;
    };
    const auto upper = kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2);
    std::nth_element(kept.begin(), upper, kept.end(), shorter);
    if (kept.size() % 2 == 1) return {**upper};
    return {**std::max_element(kept.begin(), upper, shorter), **upper};
}

} // namespace

std::vector<JobStep> jobSteps(const std::map<RankId, std::vector<StepRecord>>& ranks)
{
    struct Counted {
        JobStep step;
        std::size_t records = 0, ranks = 0;
        RankId last; ///< of the ranks
    };
    std::map<StepIndex, Counted> byNumber;
    std::size_t members = 0;
    for (const auto& [rank, records] : ranks) {
        members += records.empty() ? 0 : 1;
        for (const StepRecord& record : records) {
            Counted& counted = byNumber[record.step];
            JobStep& step = counted.step;
            if (counted.records++ == 0) {
                step.step = record.step;
                step.range = record.range;
                step.samples = record.samples;
                step.tokens = record.tokens;
            }
            if (counted.ranks == 0 || counted.last != rank) ++counted.ranks;
            counted.last = rank;
            step.range.begin = std::min(step.range.begin, record.range.begin);
            step.range.end = std::max(step.range.end, record.range.end);
            step.warmup = step.warmup || record.warmup;
            if (!step.loss) step.loss = record.loss;
            if (!step.learningRate) step.learningRate = record.learningRate;
            if (!step.gradientNorm) step.gradientNorm = record.gradientNorm;
        }
    }
    std::vector<JobStep> steps;
    steps.reserve(byNumber.size());
    for (auto& [number, counted] : byNumber) {
        counted.step.complete = counted.records == members && counted.ranks == members;
        steps.push_back(counted.step);
    }
    return steps;
}

std::vector<JobStep> medianSteps(const std::vector<JobStep>& steps)
{
    return middleOf(steps, [](const JobStep& step) { return step.complete && !step.warmup; });
}

std::optional<Duration> medianStepTime(const std::vector<JobStep>& steps)
{
    const std::vector<JobStep> median = medianSteps(steps);
    if (median.empty()) return std::nullopt;
    double sum = 0;
    for (const JobStep& step : median) sum += static_cast<double>(step.range.length().ns);
    return Duration{static_cast<std::int64_t>(sum / static_cast<double>(median.size()))};
}

std::optional<JobStep> typicalStep(const std::vector<JobStep>& steps)
{
    std::vector<JobStep> middle = medianSteps(steps);
    if (middle.empty()) middle = middleOf(steps, [](const JobStep& step) { return step.complete; });
    if (middle.empty()) middle = middleOf(steps, [](const JobStep&) { return true; });
    if (middle.empty()) return std::nullopt;
    return middle.back();
}

} // namespace fourwalls
