// SPDX-License-Identifier: Apache-2.0
// The model of failures and checkpoints (goodput.h) beside a job that really had them.
#pragma once

#include "model/cost/goodput.h"
#include "model/cost/goodput_simulation.h"
#include "model/trace/job_time.h"

#include <optional>

namespace fourwalls::cost {

/// What the model would have said of a recorded job from its own figures: what a checkpoint, a recovery and a step took on
/// average, how many steps lay between two checkpoints, and how often it failed. Only where in its work it failed is chance.
struct RecordedPrediction {
    GoodputInput input; ///< trainingSeconds: of the kept steps, slow ones as they were
    Goodput model;      ///< with that failure rate: best intervals, availability
    /// The share of the time that trained and stays, as JobTime has it, slow steps as recorded, over all moments at which so
    /// many failures may come.
    Band goodput;
    double atItsFailures =
        0; ///< the same with as many steps lost as the job lost, and half of the one that each failure ended
    double checkpointShare = 0, recoveryShare = 0, recomputationShare = 0, slowShare = 0; ///< at the mean goodput
};

/// What a recorded job says of its failures, each absent where it had none of them.
struct RecordedCosts {
    std::optional<double> jobMtbfSeconds;    ///< its whole time by its failures
    std::optional<double> checkpointSeconds; ///< that training stood still for one
    std::optional<double> restartSeconds;    ///< from a failure until training went on: detection, restart, loading
};
RecordedCosts recordedCosts(const JobTime& time);

/// Absent: the job had no failure. Errors: see computeGoodput.
Result<std::optional<RecordedPrediction>> predictRecorded(const JobTime& time);

} // namespace fourwalls::cost
