// SPDX-License-Identifier: Apache-2.0
// See layer_transfers.h.
#include "model/cost/layer_transfers.h"

#include "model/cost/pass_builder.h"
#include "model/cost/replica_groups.h"
#include "model/spec/pipeline_schedule.h"

#include <algorithm>

namespace fourwalls::cost {

namespace {

/// What hides the transfers of a backward pass: weight gradients that are put off are not there to.
double backwardWindow(const ParallelPlan& plan, const LayerCost& layer)
{
    const double input = layer.recompute.seconds() + layer.backwardInput.seconds();
    return pipelineShape(plan).splitsBackward() ? input : input + layer.backwardWeight.seconds();
}

} // namespace

DocumentDraws::Replicas waitingReplicas(const FrameworkPreset& framework, const ParallelPlan& plan)
{
    if (plan.parameterServer == ParameterServer::Async) return {};
    // A context group holds the same sequences, and so does a tensor group that experts are cut apart from.
    const int alike = plan.cp * (plan.tp / plan.expertTensorDegree());
    const bool reducesEach = plan.zero == 2 && !(framework.reducesOnce && plan.pp > 1);
    const int sharding = shardsPasses(framework, plan) || reducesEach ? plan.shards() / plan.cp : 1;
    return {std::min(plan.dp, std::max({1, plan.ep / alike, sharding})), plan.dp};
}

bool shardsPasses(const FrameworkPreset& framework, const ParallelPlan& plan)
{
    return plan.zero >= 3 && plan.dp * plan.cp > 1 && (plan.pp == 1 || framework.gathersEachPass);
}

// ZeRO-3: the layer's weights are gathered before each pass and its gradient scattered after it, beside the
// computation of the layers around it unless the framework waits for them. With a pipeline the weights stay gathered
// through the step (see step_traffic) unless the framework says otherwise.
LayerCost shardedLayer(const TrafficContext& c, const ParallelPlan& plan, LayerCost layer, double gathers)
{
    if (!shardsPasses(c.framework, plan)) return layer;
    const int perNode = c.spec.cluster.devicesPerNode;
    const ReplicaGroups dense = denseReplicas(plan, perNode), experts = expertReplicas(plan, perNode);
    const double w = std::min(c.framework.weightBytes, c.rates.elementBytes), g = c.framework.reduceBytes;
    const auto both = [&](double whole, auto&& of) {
        const GroupTime a = of(dense, whole), b = of(experts, layer.expertParameters);
        return GroupTime{a.seconds + b.seconds, a.wire + b.wire};
    };
    const FrameworkPreset& framework = c.framework;
    // From and to a list of pieces, one for each member: the host launches a copy of each.
    const auto copies = [&](const ReplicaGroups& groups, double calls) {
        const double copy = std::max(c.calibration.kernelSeconds, framework.launchSeconds);
        return framework.copiesPerMember ? calls * groups.shards() * copy : 0;
    };
    const GroupTime gather = both(layer.parameters, [&](const ReplicaGroups& groups, double parameters) {
        GroupTime time = gatherOver(c.collectives, groups, w * parameters, framework.gatherCalls, plan.collective);
        if (parameters > 0) time.seconds += copies(groups, framework.gatherCalls);
        return time;
    });
    const double trained = layer.parameters - layer.frozenParameters;
    const GroupTime scatter = both(trained, [&](const ReplicaGroups& groups, double parameters) {
        GroupTime time = sumOver(c.collectives, groups, true, g * parameters, framework.scatterCalls, plan.collective);
        if (parameters > 0) time.seconds += copies(groups, framework.scatterCalls);
        return time;
    });
    const bool hides = plan.overlap && !framework.waitsForShards;
    const auto beside = [&](PassCost& pass, double seconds, double window) {
        const Beside run = runBeside(c.calibration, seconds, hides ? window : 0);
        pass.hidden[CostPart::ParameterComm] += run.hidden;
        pass.parts[CostPart::Contention] += run.hidden * c.calibration.contention;
        pass.parts[CostPart::ParameterComm] += run.exposed;
    };
    const double backward = backwardWindow(plan, layer);
    const double again = gathers - 1; // for the backward pass
    beside(layer.forward, gather.seconds, layer.forward.seconds());
    beside(layer.backwardInput, again * gather.seconds + scatter.seconds, backward);
    layer.forward.wire.add(CostPart::ParameterComm, Collective::AllGather, gather.wire);
    layer.backwardInput.wire.add(CostPart::ParameterComm, Collective::AllGather, again * gather.wire);
    layer.backwardInput.wire.add(CostPart::ParameterComm, Collective::ReduceScatter, scatter.wire);
    return layer;
}

LayerCost offloadedLayer(const TrafficContext& c, const ParallelPlan& plan, LayerCost layer)
{
    const double rate = c.spec.cluster.device.hostBytesPerSecond * c.calibration.hostLinkFraction;
    if (!(rate > 0) || (!plan.offloadActivations && !plan.offloadParameters)) return layer;
    const auto beside = [&](PassCost& pass, double bytes, double window) {
        pass.parts[CostPart::Copy] += std::max(0.0, bytes / rate - (plan.overlap ? window : 0));
    };
    double forward = 0, backward = 0;
    if (plan.offloadActivations) forward = backward = layer.savedBytes;
    if (plan.offloadParameters) {
        const double weights = c.framework.weightBytes * (layer.parameters + layer.expertParameters);
        forward += weights;
        backward += 2 * weights; // weights again, gradients back
    }
    const double window = backwardWindow(plan, layer);
    beside(layer.forward, forward, layer.forward.seconds());
    beside(layer.backwardInput, backward, window);
    return layer;
}

} // namespace fourwalls::cost
