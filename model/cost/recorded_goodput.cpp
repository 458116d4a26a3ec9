// SPDX-License-Identifier: Apache-2.0
// See recorded_goodput.h.
#include "model/cost/recorded_goodput.h"

namespace fourwalls::cost {

namespace {

double workSeconds(const JobTime& time)
{
    return (time.training + time.of(LostTime::SlowSteps)).seconds();
}

GoodputInput inputOf(const JobTime& time)
{
    GoodputInput input;
    const RecordedCosts costs = recordedCosts(time);
    input.deviceMtbfHours = costs.jobMtbfSeconds.value_or(0) / 3600;
    input.restartSeconds = costs.restartSeconds.value_or(0);
    input.trainingSeconds = workSeconds(time);
    input.checkpointIntervalSeconds = input.trainingSeconds; // without any: from the beginning each time
    if (time.checkpoints > 0 && time.stepsBetweenCheckpoints > 0) {
        input.checkpointSeconds = costs.checkpointSeconds.value_or(0);
        input.checkpointIntervalSeconds = time.stepsBetweenCheckpoints * workSeconds(time) / time.keptSteps;
    }
    return input;
}

} // namespace

RecordedCosts recordedCosts(const JobTime& time)
{
    RecordedCosts costs;
    if (time.failures > 0) {
        const Duration recovery =
            time.of(LostTime::Detection) + time.of(LostTime::Restart) + time.of(LostTime::Loading);
        costs.jobMtbfSeconds = time.range.length().seconds() / time.failures;
        costs.restartSeconds = recovery.seconds() / time.failures;
    }
    if (time.checkpoints > 0) costs.checkpointSeconds = time.of(LostTime::Checkpoints).seconds() / time.checkpoints;
    return costs;
}

Result<std::optional<RecordedPrediction>> predictRecorded(const JobTime& time)
{
    if (time.failures == 0 || time.range.empty() || time.keptSteps == 0 || workSeconds(time) <= 0)
        return std::optional<RecordedPrediction>();
    RecordedPrediction prediction;
    const GoodputInput& input = prediction.input = inputOf(time);
    FOURWALLS_TRY_ASSIGN(prediction.model, computeGoodput(input));
    FOURWALLS_TRY_ASSIGN(const Band work, goodputOfFailures(input, time.failures));
    const double trained = time.training.seconds() / workSeconds(time); // the rest of the work: slow steps
    prediction.goodput = {work.low * trained, work.middle * trained, work.high * trained, work.mean * trained};
    const double writing = input.checkpointSeconds / input.checkpointIntervalSeconds * input.trainingSeconds;
    const double recovering = time.failures * input.restartSeconds;
    const double step = input.trainingSeconds / time.keptSteps;
    const double lost = (time.lostSteps + 0.5 * time.failures) * step;
    prediction.atItsFailures = time.training.seconds() / (input.trainingSeconds + writing + recovering + lost);
    const double whole = input.trainingSeconds / work.mean;
    prediction.checkpointShare = writing / whole;
    prediction.recoveryShare = recovering / whole;
    prediction.slowShare = work.mean - prediction.goodput.mean;
    prediction.recomputationShare = 1 - work.mean - prediction.checkpointShare - prediction.recoveryShare;
    return std::optional(prediction);
}

} // namespace fourwalls::cost
