// SPDX-License-Identifier: Apache-2.0
// The training steps of a whole job, over all of its ranks: stored when a trace is finished, so that what stands for
// the job (its median step, its loss) is found at the cost of its steps, whatever the number of ranks.
#pragma once

#include "model/trace/records.h"

#include <map>
#include <optional>
#include <vector>

namespace fourwalls {

/// One training step over all ranks.
struct JobStep {
    StepIndex step;
    TimeRange range;       ///< first rank's begin to last rank's end
    bool warmup = false;   ///< of any rank
    bool complete = true;  ///< every rank that has steps took it once; only such steps count in metrics
    std::optional<double> loss, learningRate, gradientNorm; ///< of the lowest rank that knows them
    std::int64_t samples = 0; ///< sequences or images, global; of the lowest rank
    std::int64_t tokens = 0;  ///< 0 for images
    friend bool operator==(const JobStep&, const JobStep&) = default;
};

/// The steps of the job, by number. ranks: each rank's steps by time; ranks without steps do not count.
std::vector<JobStep> jobSteps(const std::map<RankId, std::vector<StepRecord>>& ranks);

/// The measured complete step of median length, or the two in the middle of an even number, shorter first. Of steps of
/// equal length the earlier number comes first.
std::vector<JobStep> medianSteps(const std::vector<JobStep>& steps);

/// The job's step time: the mean of medianSteps; absent without measured complete steps.
std::optional<Duration> medianStepTime(const std::vector<JobStep>& steps);

/// The step that stands for the job where one has to: the (longer) median one; without measured complete steps that of
/// the complete ones, else of all. Absent: no steps.
std::optional<JobStep> typicalStep(const std::vector<JobStep>& steps);

} // namespace fourwalls
