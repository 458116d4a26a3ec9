// SPDX-License-Identifier: Apache-2.0
// What failures and checkpoints take from a long training: availability, the best checkpoint interval, wasted time,
// time to train and cost.
#pragma once

#include "model/base/result.h"

namespace fourwalls::cost {

struct GoodputInput {
    double devices = 1;
    double deviceMtbfHours = 50'700;      ///< mean time between failures of one device; the job fails with any of them
    double checkpointSeconds = 0;         ///< the job stands still while one is written
    double restartSeconds = 900;          ///< from a failure until training goes on: detection, new nodes, loading
    double checkpointIntervalSeconds = 0; ///< of work between two checkpoints; 0: the best one (Daly)
    double trainingSeconds = 0;           ///< work that is to be done: steps x step time, without any failure
    double pricePerDeviceHour = 0;        ///< any currency; 0: no cost
};

/// Shares are of the time to train; they and the goodput add up to 1.
struct Goodput {
    double jobMtbfSeconds = 0; ///< device MTBF / devices
    double availability = 0;   ///< M / (M + R)
    double youngSeconds = 0;   ///< sqrt(2 d M)
    double dalySeconds = 0;
    double intervalSeconds = 0; ///< used below
    double goodput = 0;         ///< share of the time in which work is done that stays
    double checkpointShare = 0, recoveryShare = 0, recomputationShare = 0;
    double wasted = 0;        ///< 1 - goodput
    double interruptions = 0; ///< expected over the whole training
    double secondsToTrain = 0;
    double cost = 0; ///< devices x time x price
};

/// Young's interval: first order. Source: Young, CACM 17(9), 1974.
double youngInterval(double checkpointSeconds, double mtbfSeconds);
/// Daly's interval: higher order; the MTBF itself where a checkpoint takes more than twice that.
/// Source: Daly, Future Generation Computer Systems 22(3), 2006, equation 37.
double dalyInterval(double checkpointSeconds, double mtbfSeconds);

/// With exponentially distributed failures, also during restarts and checkpoints. Time to train is
/// M e^(R/M) (e^((t+d)/M) - 1) per t of work (Daly 2006, equation 20); wasted time = interruptions x (recovery +
/// recomputation) + checkpoint writing. An interval of 0 with free checkpoints means that nothing is recomputed.
/// Errors: InvalidArgument naming the field for values that are not finite, negative or zero where that has no
/// meaning, and where the job fails so often that it would never end.
Result<Goodput> computeGoodput(const GoodputInput& input);

/// Probability that a job of `devices` is interrupted within a period that one device survives with `availability`.
double interruptionProbability(double availability, double devices);

} // namespace fourwalls::cost
