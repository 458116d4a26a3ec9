// SPDX-License-Identifier: Apache-2.0
// What chance makes of a long training with failures: many simulated jobs in place of a mean (goodput.h), with bands, and
// where failures do not come at a constant rate.
#pragma once

#include "model/cost/goodput.h"

#include <cstdint>

namespace fourwalls::cost {

struct GoodputSimulation {
    GoodputInput job;         ///< its interval 0: the best one (Daly)
    double periodSeconds = 0; ///< what a period of so long comes to; 0: until the job's trainingSeconds are done
    /// Of the Weibull distribution of the time from a restart to the next failure, whose mean is the job's MTBF. 1: a
    /// constant rate (exponential); below 1 what has just been started fails more often.
    double failureShape = 1;
    int jobs = 1000;
    std::uint64_t seed = 1;
};

/// Of what the simulated jobs came to: one in twenty is below `low`, one in twenty above `high`.
struct Band {
    double low = 0, middle = 0, high = 0, mean = 0;
};

struct SimulatedGoodput {
    Band goodput;       ///< share of the time in which work was done that stays
    Band interruptions; ///< failures; one that comes while the job restarts counts as well
    Band seconds;       ///< that the job took, or the period
    double checkpointShare = 0, recoveryShare = 0, recomputationShare = 0; ///< means
    double intervalSeconds = 0;                                            ///< used
};

/// Each job works for the interval, writes a checkpoint, and goes back to the last one at a failure, which may come at any
/// moment: also in a checkpoint, which is lost then, and in a restart, which begins anew. Equal seeds give equal answers.
/// Errors: those of computeGoodput; InvalidArgument for a shape, period or number of jobs out of range, and where there is
/// neither a period nor work.
Result<SimulatedGoodput> simulateGoodput(const GoodputSimulation& simulation);

/// The interval at which simulated jobs lose least, to a tenth: the best one where failures do not come at a constant
/// rate, for which Young and Daly have no formula. Errors: as above.
Result<double> simulatedBestInterval(const GoodputSimulation& simulation);

/// The share of the time that a job works for good which has so many failures, each at any moment of its work with equal
/// chance: the interruptions of `job` are not drawn. Errors: as above.
Result<Band> goodputOfFailures(const GoodputInput& job, int failures, std::uint64_t seed = 1);

} // namespace fourwalls::cost
