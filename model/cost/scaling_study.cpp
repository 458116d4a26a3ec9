// SPDX-License-Identifier: Apache-2.0
// See scaling_study.h.
#include "model/cost/scaling_study.h"

#include "model/cost/closed_form.h"
#include "model/cost/step_cost.h"
#include "model/spec/framework_preset.h"
#include "model/spec/pipeline_schedule.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace fourwalls::cost {

namespace {

/// Link speeds of the curve [Gb/s].
constexpr double kGigabits[] = {1, 2, 4, 6, 10, 16, 25, 40, 63, 100, 160, 200, 250, 400, 800};
constexpr double kFastestGigabits = 1e5;
constexpr double kUnlimited = 1e18; ///< [bytes/s]

Result<Prediction> predicted(const RunSpec& spec, const Calibration& calibration)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    FOURWALLS_TRY_ASSIGN(CostModel model, CostModel::create(spec, framework, calibration));
    FOURWALLS_TRY_ASSIGN(const StepCost cost, model.stepCost(spec.plan, spec.training.batch));
    return closedForm(cost, model.calibration());
}

/// The run with another data-parallel degree and the same work per replica.
RunSpec withReplicas(const RunSpec& spec, int replicas)
{
    RunSpec other = spec;
    other.training.batch = spec.training.batch / std::max(1, spec.plan.dp) * replicas;
    other.plan.dp = replicas;
    return other;
}

RunSpec onOneDevice(const RunSpec& spec)
{
    RunSpec one = withReplicas(spec, 1);
    one.plan.tp = one.plan.cp = one.plan.pp = one.plan.ep = one.plan.vpp = 1;
    dropMisfittingStages(one.plan);
    one.plan.zero = 0;
    one.plan.sequenceParallel = false;
    one.plan.schedule = PipelineSchedule::OneFOneB;
    one.plan.parameterServer = ParameterServer::None;
    one.plan.servers = 0;
    return one;
}

RunSpec withLinks(const RunSpec& spec, double bytesPerSecond)
{
    RunSpec other = spec;
    ClusterSpec& cluster = other.cluster;
    cluster.nodeLink.bytesPerSecond = bytesPerSecond;
    cluster.nicLink.bytesPerSecond = bytesPerSecond;
    cluster.nicsPerNode = cluster.devicesPerNode;
    cluster.oversubscription = 1;
    // With a switch or a network it is the speed that was given; peer copies through the host would halve it.
    if (cluster.fabric == NodeFabric::Pcie) cluster.fabric = NodeFabric::NvLink;
    return other;
}

} // namespace

Result<DeviceScaling> scalingByDevices(const RunSpec& spec, const Calibration& calibration, int mostDevices)
{
    FOURWALLS_TRY_ASSIGN(const Prediction own, predicted(spec, calibration));
    DeviceScaling scaling;
    const int replica = spec.plan.worldSize() / std::max(1, spec.plan.dp);
    const auto add = [&](const RunSpec& run, const Prediction& prediction) {
        if (!(prediction.seconds > 0)) return;
        ScalingPoint point;
        point.devices = run.plan.worldSize();
        point.stepSeconds = prediction.seconds;
        point.samplesPerSecond = static_cast<double>(run.training.batch) / prediction.seconds;
        point.fits = prediction.feasible;
        scaling.points.push_back(point);
    };
    if (replica > 1) {
        const RunSpec one = onOneDevice(spec);
        if (const auto prediction = predicted(one, calibration)) add(one, *prediction);
    }
    std::set<int> degrees{spec.plan.dp};
    for (int degree = 1; degree <= mostDevices / std::max(1, replica); degree *= 2) degrees.insert(degree);
    for (const int degree : degrees) {
        const RunSpec run = withReplicas(spec, degree);
        if (degree == spec.plan.dp) {
            add(run, own);
            continue;
        }
        // Degrees that do not fit the plan (experts over fewer ranks than it has) are no points.
        if (const auto prediction = predicted(run, calibration)) add(run, *prediction);
    }
    std::stable_sort(scaling.points.begin(), scaling.points.end(),
                     [](const ScalingPoint& a, const ScalingPoint& b) { return a.devices < b.devices; });
    if (scaling.points.empty()) return scaling;
    const ScalingPoint base = scaling.points.front();
    scaling.baseDevices = base.devices;
    scaling.baseSamplesPerSecond = base.samplesPerSecond;
    for (ScalingPoint& point : scaling.points)
        point.efficiency = point.samplesPerSecond / (base.samplesPerSecond * point.devices / base.devices);
    return scaling;
}

Result<std::vector<LinkPoint>> scalingByLink(const RunSpec& spec, const Calibration& calibration)
{
    if (spec.plan.worldSize() < 2)
        return Error{ErrorCode::InvalidArgument, "a plan of one device sends nothing", "plan", "dp=2"};
    FOURWALLS_TRY_ASSIGN(const Prediction unlimited, predicted(withLinks(spec, kUnlimited), calibration));
    std::vector<LinkPoint> points;
    std::vector<double> speeds(std::begin(kGigabits), std::end(kGigabits));
    const double own = std::max(spec.cluster.nodeLink.bytesPerSecond, spec.cluster.nicLink.bytesPerSecond) * 8 * 1e-9;
    while (speeds.back() < own && speeds.back() < kFastestGigabits) speeds.push_back(2 * speeds.back());
    for (const double gigabits : speeds) {
        LinkPoint point;
        point.bitsPerSecond = gigabits * 1e9;
        FOURWALLS_TRY_ASSIGN(const Prediction prediction,
                             predicted(withLinks(spec, point.bitsPerSecond / 8), calibration));
        if (!(prediction.seconds > 0)) continue;
        point.stepSeconds = prediction.seconds;
        point.utilisation = prediction.wireBytes * 8 / (prediction.seconds * point.bitsPerSecond);
        point.efficiency = unlimited.seconds / prediction.seconds;
        points.push_back(point);
    }
    return points;
}

} // namespace fourwalls::cost
