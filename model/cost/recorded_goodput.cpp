// SPDX-License-Identifier: Apache-2.0
// See recorded_goodput.h.
#include "model/cost/recorded_goodput.h"

namespace fourwalls::cost {

namespace {

double workSeconds(const JobTime& time)
{
    return (time.training + time.of(LostTime::SlowSteps)).seconds();
}

} // namespace

std::optional<GoodputInput> goodputInputOf(const JobTime& time)
{
    if (time.failures == 0 || time.range.empty() || workSeconds(time) <= 0) return std::nullopt;
    GoodputInput input;
    const double failures = time.failures, whole = time.range.length().seconds();
    input.deviceMtbfHours = whole / failures / 3600;
    input.restartSeconds =
        (time.of(LostTime::Detection) + time.of(LostTime::Restart) + time.of(LostTime::Loading)).seconds() / failures;
    input.trainingSeconds = workSeconds(time);
    if (time.checkpoints > 0) {
        const double checkpoints = time.checkpoints;
        input.checkpointSeconds = time.of(LostTime::Checkpoints).seconds() / checkpoints;
        input.checkpointIntervalSeconds = (workSeconds(time) + time.of(LostTime::LostWork).seconds()) / checkpoints;
    } else {
        input.checkpointIntervalSeconds = input.trainingSeconds; // from the beginning each time
    }
    return input;
}

Result<double> predictedGoodput(const GoodputInput& input, const JobTime& time)
{
    FOURWALLS_TRY_ASSIGN(const Goodput goodput, computeGoodput(input));
    return goodput.goodput * time.training.seconds() / workSeconds(time);
}

} // namespace fourwalls::cost
