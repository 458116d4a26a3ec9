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
    TimeRange range;                       ///< see jobSteps
    StepState state = StepState::Measured; ///< the first of its ranks' that is not measured
    bool complete = true;                  ///< every rank that has steps took it once; only such steps count in metrics
    std::optional<double> loss, learningRate, gradientNorm; ///< of the lowest rank that knows them
    std::int64_t samples = 0;                               ///< sequences or images, global; of the lowest rank
    std::int64_t tokens = 0;                                ///< 0 for images
    friend bool operator==(const JobStep&, const JobStep&) = default;
};

/// Marks the steps of a rank that it took again: those that a step of the same or a lower number follows, as after a restart
/// from a checkpoint. ofRank: by time.
void markLost(std::vector<StepRecord>& ofRank);
/// Those that are not lost.
std::vector<StepRecord> keptSteps(std::vector<StepRecord> ofRank);

/// The steps of the job, by number. ranks: each rank's steps by time; ranks without steps do not count, nor do lost steps.
/// A step of the job ends when its last rank ends it. It begins when the job's step before it ended, or later where no rank
/// has begun it by then; the first one begins when the last of its ranks does: how far apart the ranks' profilers were
/// started is no part of a step.
/// Hull: from the first begin to the last end, as files were written that do not name the rule; `check` needs it for them.
enum class JobStepRule { Ends, Hull };
std::vector<JobStep> jobSteps(const std::map<RankId, std::vector<StepRecord>>& ranks,
                              JobStepRule rule = JobStepRule::Ends);

/// One rank's kept steps with the range over which its time is shared out: the job's where every rank took the step. So the
/// ranks' shares are of the same time, and what a rank does before its own mark begins is not taken for idle.
std::vector<StepRecord> sharedSteps(std::vector<StepRecord> ofRank, const std::vector<JobStep>& job);

/// The measured complete step of median length, of an even number the lower of the two in the middle, so that it is one
/// that was taken. Of steps of equal length the earlier number comes first. Absent: no measured complete steps.
std::optional<JobStep> medianStep(const std::vector<JobStep>& steps);

/// The job's step time, that of medianStep.
std::optional<Duration> medianStepTime(const std::vector<JobStep>& steps);

/// The step that stands for the job where one has to: the median one; without measured complete steps that of the
/// complete ones, else of all. Absent: no steps.
std::optional<JobStep> typicalStep(const std::vector<JobStep>& steps);

} // namespace fourwalls
