// SPDX-License-Identifier: Apache-2.0
// See spec_change.h.
#include "model/replay/spec_change.h"

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"

#include <charconv>

namespace fourwalls::replay {

namespace {

/// The engine computes on cores whatever machines the device clock takes the links of.
bool ranOnCores(const RunSpec& spec)
{
    return spec.training.device == DeviceKind::Cpu;
}

Result<cost::PredictedStep> predicted(const RunSpec& given, const TraceClosing& measured)
{
    if (!ranOnCores(given)) return cost::predictStep(given);
    RunSpec spec = given;
    spec.cluster.device.family = "cpu";
    spec.cluster.device.multiprocessors = 0; // no waves of tiles
    if (measured.peakFlopsPerDevice)
        spec.cluster.device.peakFlops[spec.training.precision] = *measured.peakFlopsPerDevice;
    if (measured.memoryBytesPerSecond) spec.cluster.device.memoryBytesPerSecond = *measured.memoryBytesPerSecond;
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    FOURWALLS_TRY_ASSIGN(cost::CostModel model, cost::CostModel::create(spec, framework, rateOfACore()));
    return cost::predictStep(model, spec);
}

} // namespace

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
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep before, predicted(recorded, recording.info.closing));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep after, predicted(changed, recording.info.closing));
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
