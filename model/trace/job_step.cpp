// SPDX-License-Identifier: Apache-2.0
// See job_step.h.
#include "model/trace/job_step.h"
#include "model/base/median.h"

#include <algorithm>

namespace fourwalls {

namespace {

/// The step of median length among those that `keep` names, the lower one in the middle of an even number; of steps of
/// equal length the earlier in `steps` comes first. Linear: nothing is sorted.
template <typename Keep>
std::optional<JobStep> middleOf(const std::vector<JobStep>& steps, Keep keep)
{
    std::vector<const JobStep*> kept;
    for (const JobStep& step : steps)
        if (keep(step)) kept.push_back(&step);
    if (kept.empty()) return std::nullopt;
    const auto shorter = [](const JobStep* a, const JobStep* b) {
        return a->range.length() != b->range.length() ? a->range.length() < b->range.length() : a < b;
    };
    return *lowerMedian(std::move(kept), shorter);
}

/// See jobSteps. steps: by number, each from the first begin to the last end; latest: each one's latest begin of a rank.
void separate(std::vector<JobStep>& steps, const std::vector<Instant>& latest)
{
    std::optional<Instant> previous;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        TimeRange& range = steps[i].range;
        const Instant begin = previous ? std::max(*previous, range.begin) : latest[i];
        previous = range.end;
        // Ranks that drift apart by more than a step (a parameter server's) leave nothing between: the hull stays.
        if (begin < range.end) range.begin = begin;
    }
}

} // namespace

void markLost(std::vector<StepRecord>& ofRank)
{
    std::optional<StepIndex> lowest; // of those behind
    for (auto step = ofRank.rbegin(); step != ofRank.rend(); ++step) {
        if (lowest && !(step->step < *lowest)) step->state = StepState::Lost;
        if (!lowest || step->step < *lowest) lowest = step->step;
    }
}

std::vector<StepRecord> keptSteps(std::vector<StepRecord> ofRank)
{
    std::erase_if(ofRank, [](const StepRecord& step) { return step.state == StepState::Lost; });
    return ofRank;
}

std::vector<JobStep> jobSteps(const std::map<RankId, std::vector<StepRecord>>& ranks, JobStepRule rule)
{
    struct Counted {
        JobStep step;
        std::size_t records = 0, ranks = 0;
        RankId last; ///< of the ranks
        Instant latestBegin;
    };
    std::map<StepIndex, Counted> byNumber;
    std::size_t members = 0;
    for (const auto& [rank, records] : ranks) {
        members += records.empty() ? 0 : 1;
        for (const StepRecord& record : records) {
            if (record.state == StepState::Lost) continue;
            Counted& counted = byNumber[record.step];
            JobStep& step = counted.step;
            if (counted.records++ == 0) {
                step.step = record.step;
                step.range = record.range;
                step.samples = record.samples;
                step.tokens = record.tokens;
                counted.latestBegin = record.range.begin;
            }
            if (counted.ranks == 0 || counted.last != rank) ++counted.ranks;
            counted.last = rank;
            step.range.begin = std::min(step.range.begin, record.range.begin);
            step.range.end = std::max(step.range.end, record.range.end);
            counted.latestBegin = std::max(counted.latestBegin, record.range.begin);
            if (step.state == StepState::Measured) step.state = record.state;
            if (!step.loss) step.loss = record.loss;
            if (!step.learningRate) step.learningRate = record.learningRate;
            if (!step.gradientNorm) step.gradientNorm = record.gradientNorm;
        }
    }
    std::vector<JobStep> steps;
    std::vector<Instant> latestBegins;
    steps.reserve(byNumber.size());
    for (auto& [number, counted] : byNumber) {
        counted.step.complete = counted.records == members && counted.ranks == members;
        steps.push_back(counted.step);
        latestBegins.push_back(counted.latestBegin);
    }
    if (members > 1 && rule == JobStepRule::Ends) separate(steps, latestBegins);
    return steps;
}

std::vector<StepRecord> sharedSteps(std::vector<StepRecord> ofRank, const std::vector<JobStep>& job)
{
    ofRank = keptSteps(std::move(ofRank));
    for (StepRecord& record : ofRank) {
        const auto found = std::lower_bound(job.begin(), job.end(), record.step,
                                            [](const JobStep& step, StepIndex number) { return step.step < number; });
        if (found != job.end() && found->step == record.step && found->complete) record.range = found->range;
    }
    return ofRank;
}

std::optional<JobStep> medianStep(const std::vector<JobStep>& steps)
{
    return middleOf(steps, [](const JobStep& step) { return step.complete && step.state == StepState::Measured; });
}

std::optional<Duration> medianStepTime(const std::vector<JobStep>& steps)
{
    const std::optional<JobStep> median = medianStep(steps);
    if (!median) return std::nullopt;
    return median->range.length();
}

std::optional<JobStep> typicalStep(const std::vector<JobStep>& steps)
{
    std::optional<JobStep> middle = medianStep(steps);
    if (!middle) middle = middleOf(steps, [](const JobStep& step) { return step.complete; });
    if (!middle) middle = middleOf(steps, [](const JobStep&) { return true; });
    return middle;
}

} // namespace fourwalls
