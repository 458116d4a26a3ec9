// SPDX-License-Identifier: Apache-2.0
// See spec_change.h.
#include "model/replay/spec_change.h"

#include "model/cost/predicted_step.h"

#include <charconv>

namespace fourwalls::replay {

Result<SpecRatio> ratioOfSpecs(const Recording& recording, std::span<const ReplayChange> changes)
{
    if (!recording.info.header.spec)
        return Error{
            ErrorCode::Unsupported, "the trace does not say which network, plan and machines it ran", "--change",
            "record with the engine, or predict the plan itself: fourwalls-cli predict --model … --plan … --cluster …"};
    const RunSpec& recorded = *recording.info.header.spec;
    RunSpec changed = recorded;
    for (const ReplayChange& change : changes) {
        if (change.kind == ChangeKind::Plan) {
            FOURWALLS_TRY_ASSIGN(changed.plan, parsePlan(change.pattern));
        }
        if (change.kind == ChangeKind::Cluster) {
            FOURWALLS_TRY_ASSIGN(changed.cluster, loadCluster(change.pattern));
        }
        if (change.kind == ChangeKind::Batch) {
            std::int64_t batch = 0;
            std::from_chars(change.pattern.data(), change.pattern.data() + change.pattern.size(), batch);
            changed.training.batch = batch;
        }
    }
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep before, cost::predictStep(recorded));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep after, cost::predictStep(changed));
    SpecRatio ratio;
    if (before.seconds <= 0 || before.peakBytes <= 0)
        return Error{ErrorCode::Unsupported, "the cost model has no time for the recorded plan", "--change",
                     "calibrate the machines: fourwalls-cli calibrate"};
    ratio.time = after.seconds / before.seconds;
    // What the model errs by on both is not counted twice.
    ratio.low = ratio.time * after.lowSeconds / after.seconds;
    ratio.high = ratio.time * after.highSeconds / after.seconds;
    ratio.bytes = after.peakBytes / before.peakBytes;
    ratio.assumed.push_back("all work changes by what the cost model says of the whole step: times " +
                            std::to_string(ratio.time));
    if (!after.feasible) ratio.assumed.push_back("it does not fit: " + after.why);
    return ratio;
}

} // namespace fourwalls::replay
