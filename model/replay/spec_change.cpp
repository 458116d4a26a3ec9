// SPDX-License-Identifier: Apache-2.0
// See spec_change.h.
#include "model/replay/spec_change.h"

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace fourwalls::replay {

namespace {

/// The engine computes on cores whatever machines the device clock takes the links of.
bool ranOnCores(const RunSpec& spec)
{
    return spec.training.device == DeviceKind::Cpu;
}

Error noSpec()
{
    return {ErrorCode::Unsupported, "the trace does not say which network, plan and machines it ran", "--change",
            "record with the engine, or predict the plan itself: fourwalls-cli predict --model … --plan … --cluster …"};
}

/// Whether the changes leave the machines as they were recorded.
bool keepsMachines(std::span<const ReplayChange> changes)
{
    return std::none_of(changes.begin(), changes.end(),
                        [](const ReplayChange& change) { return change.kind == ChangeKind::Cluster; });
}

/// The model of a specification's machines. rates: of them; null: the usual ones.
Result<cost::CostModel> modelOf(RunSpec& spec, const TraceClosing& measured, const MachineRates* rates)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    Calibration calibration;
    if (rates) {
        spec.cluster = rates->cluster;
        calibration = rates->calibration;
    } else if (ranOnCores(spec)) {
        spec.cluster.device.family = "cpu";
        spec.cluster.device.multiprocessors = 0; // no waves of tiles
        if (measured.peakFlopsPerDevice)
            spec.cluster.device.peakFlops[spec.training.precision] = *measured.peakFlopsPerDevice;
        if (measured.memoryBytesPerSecond) spec.cluster.device.memoryBytesPerSecond = *measured.memoryBytesPerSecond;
        calibration = rateOfACore();
    } else {
        FOURWALLS_TRY_ASSIGN(calibration, loadCalibration("published"));
    }
    // Ranks that share one memory are as many as the plan wants.
    if (spec.cluster.nicsPerNode == 0)
        spec.cluster.devicesPerNode = std::max(spec.cluster.devicesPerNode, spec.plan.worldSize());
    return cost::CostModel::create(spec, framework, calibration);
}

Result<cost::PredictedStep> predicted(RunSpec spec, const TraceClosing& measured, const MachineRates* rates)
{
    FOURWALLS_TRY_ASSIGN(cost::CostModel model, modelOf(spec, measured, rates));
    return cost::predictStep(model, spec);
}

} // namespace

Result<RunSpec> changedSpec(const RunSpec& recorded, std::span<const ReplayChange> changes)
{
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
    return changed;
}

Result<SpecRatio> ratioOfSpecs(const Recording& recording, std::span<const ReplayChange> changes,
                               const MachineRates* rates)
{
    if (!recording.info.header.spec) return noSpec();
    const RunSpec& recorded = *recording.info.header.spec;
    FOURWALLS_TRY_ASSIGN(const RunSpec changed, changedSpec(recorded, changes));
    // Rates that hold for the recorded machines say nothing of others: both steps then take what is usual.
    if (!keepsMachines(changes)) rates = nullptr;
    const TraceClosing& measured = recording.info.closing;
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep before, predicted(recorded, measured, rates));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep after, predicted(changed, measured, rates));
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

Result<ScaledStep> scaledStep(const Recording& recording, std::span<const ReplayChange> changes, Duration length,
                              const MachineRates* rates)
{
    if (!recording.info.header.spec) return noSpec();
    FOURWALLS_TRY_ASSIGN(RunSpec spec, changedSpec(*recording.info.header.spec, changes));
    if (!keepsMachines(changes)) rates = nullptr;
    FOURWALLS_TRY_ASSIGN(cost::CostModel made, modelOf(spec, recording.info.closing, rates));
    const auto model = std::make_shared<cost::CostModel>(std::move(made));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep plain, cost::predictStep(*model, spec));
    const double factor = plain.seconds > 0 ? length.seconds() / plain.seconds : 1;
    FOURWALLS_TRY_ASSIGN(cost::PredictedStep step, cost::predictStep(*model, spec, factor));
    const auto scaled = std::make_shared<const cost::PredictedStep>(std::move(step));
    const auto write = [model, scaled](TraceSink& sink) {
        const cost::StepCost& cost = scaled->priced->cost;
        const auto operators =
            cost::hasFewOperators(cost) ? cost::operatorsOf(*model, *scaled) : cost::OperatorsOfPass{};
        return cost::writePredictedTrace(scaled->spec, cost, scaled->drawn, sink, operators);
    };
    return ScaledStep{cost::predictedHeader(scaled->spec, scaled->drawn), write};
}

} // namespace fourwalls::replay
