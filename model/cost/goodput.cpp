// SPDX-License-Identifier: Apache-2.0
// Young, Daly and what they leave of a training.
#include "model/cost/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace fourwalls::cost {

namespace {

Error wrong(const char* field, double value, const char* hint)
{
    return {ErrorCode::InvalidArgument, fmt::format("cannot be {:g}", value), field, hint};
}

Status check(const GoodputInput& input)
{
    const auto isPositive = [](double value) { return std::isfinite(value) && value > 0; };
    const auto isNotNegative = [](double value) { return std::isfinite(value) && value >= 0; };
    if (!(isPositive(input.devices) && input.devices >= 1)) return wrong("devices", input.devices, "1 or more");
    if (!isPositive(input.deviceMtbfHours))
        return wrong("mtbf-hours", input.deviceMtbfHours, "hours between two failures of one device, above 0");
    if (!isNotNegative(input.checkpointSeconds))
        return wrong("checkpoint-seconds", input.checkpointSeconds, "0 or more");
    if (!isNotNegative(input.restartSeconds)) return wrong("restart-seconds", input.restartSeconds, "0 or more");
    if (!isNotNegative(input.checkpointIntervalSeconds))
        return wrong("interval-seconds", input.checkpointIntervalSeconds, "0 (the best one) or more");
    if (!isNotNegative(input.trainingSeconds)) return wrong("training time", input.trainingSeconds, "0 or more");
    if (!isNotNegative(input.pricePerDeviceHour)) return wrong("price", input.pricePerDeviceHour, "0 or more");
    return {};
}

} // namespace

double youngInterval(double checkpointSeconds, double mtbfSeconds)
{
    return std::sqrt(2 * checkpointSeconds * mtbfSeconds);
}

double dalyInterval(double checkpointSeconds, double mtbfSeconds)
{
    if (checkpointSeconds >= 2 * mtbfSeconds) return mtbfSeconds;
    const double ratio = checkpointSeconds / (2 * mtbfSeconds);
    return youngInterval(checkpointSeconds, mtbfSeconds) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - checkpointSeconds;
}

Result<Goodput> computeGoodput(const GoodputInput& input)
{
    FOURWALLS_TRY(check(input));
    Goodput result;
    const double mtbf = input.deviceMtbfHours * 3600 / input.devices;
    const double restart = input.restartSeconds, writing = input.checkpointSeconds;
    result.jobMtbfSeconds = mtbf;
    result.availability = mtbf / (mtbf + restart);
    result.youngSeconds = youngInterval(writing, mtbf);
    result.dalySeconds = dalyInterval(writing, mtbf);
    result.intervalSeconds = input.checkpointIntervalSeconds > 0 ? input.checkpointIntervalSeconds : result.dalySeconds;

    // Time per unit of work. Without an interval (free checkpoints) the limit for t -> 0.
    const double interval = result.intervalSeconds;
    const double perWork = interval > 0
                               ? mtbf / interval * std::exp(restart / mtbf) * std::expm1((interval + writing) / mtbf)
                               : std::exp(restart / mtbf);
    if (!std::isfinite(perWork))
        return Error{ErrorCode::InvalidArgument, "the job fails so often that it would never end", "mtbf-hours",
                     "a longer time between failures, fewer devices, or faster checkpoints and restarts"};
    result.goodput = 1 / perWork;
    result.wasted = 1 - result.goodput;
    result.secondsToTrain = input.trainingSeconds * perWork;
    result.interruptions = result.secondsToTrain / mtbf;
    result.checkpointShare = interval > 0 ? writing / interval / perWork : 0;
    result.recoveryShare = std::min(restart / mtbf, std::max(0.0, result.wasted - result.checkpointShare));
    result.recomputationShare = std::max(0.0, result.wasted - result.checkpointShare - result.recoveryShare);
    result.cost = input.devices * result.secondsToTrain / 3600 * input.pricePerDeviceHour;
    return result;
}

double interruptionProbability(double availability, double devices)
{
    if (availability <= 0) return 1;
    if (availability >= 1) return 0;
    return -std::expm1(devices * std::log(availability));
}

} // namespace fourwalls::cost
