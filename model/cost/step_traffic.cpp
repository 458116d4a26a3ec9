// SPDX-License-Identifier: Apache-2.0
// See step_traffic.h.
#include "model/cost/step_traffic.h"

#include "model/cost/pass_builder.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::cost {

namespace {

/// The gradient and weight traffic of one group of parameters [s], and the bytes that a rank sends for it.
struct GroupTraffic {
    double gradients = 0, weights = 0, gradientWire = 0, weightWire = 0;
};

/// Whether the reduction leaves every rank its share of the gradients rather than all of them.
bool scattersGradients(const FrameworkPreset& f, const ParallelPlan& plan)
{
    return (plan.zero >= 1 || f.shardOptimizer) && (plan.zero > 1 || !f.reduceWhole);
}

/// Calls in which a stage's gradients are reduced, and its new weights gathered.
double bucketsOf(const FrameworkPreset& f, double parameters, int replicas)
{
    if (!(f.bucketElements > 0)) return 1;
    return std::max(1.0, std::ceil(parameters / std::max(f.bucketElements, f.bucketElementsPerReplica * replicas)));
}

/// reductions: of the gradients in one step.
GroupTraffic replicaTraffic(const TrafficContext& c, const ParallelPlan& plan, double parameters,
                            const ReplicaGroups& groups, double reductions)
{
    GroupTraffic traffic;
    if (groups.all.ranks <= 1 || !(parameters > 0)) return traffic;
    const FrameworkPreset& f = c.framework;
    const double reduce = f.reduceBytes * parameters, weights = f.weightBytes * parameters;
    const double calls = bucketsOf(f, parameters, groups.all.ranks);
    const GroupTime sum = sumOver(c.collectives, groups, scattersGradients(f, plan), reduce, calls, plan.collective);
    traffic.gradients = reductions * sum.seconds;
    traffic.gradientWire = reductions * sum.wire;
    if (plan.zero < 1 && !f.shardOptimizer) return traffic;
    const GroupTime gather = gatherOver(c.collectives, groups, weights, calls, plan.collective);
    traffic.weights = gather.seconds;
    traffic.weightWire = gather.wire;
    return traffic;
}

/// Backward of the last micro-batch through all chunks of a stage [s].
double lastBackward(const StepCost& cost, int stage)
{
    double seconds = 0;
    for (int chunk = 0; chunk < cost.shape.chunks; ++chunk) {
        const ChunkCost& kind = cost.chunk(cost.shape.positionOf(stage, chunk));
        seconds += kind.recompute.seconds() + kind.backwardSeconds();
    }
    return seconds;
}

double forwardSeconds(const StepCost& cost, int stage)
{
    double seconds = 0;
    for (int chunk = 0; chunk < cost.shape.chunks; ++chunk)
        seconds += cost.chunk(cost.shape.positionOf(stage, chunk)).forward.seconds();
    return seconds;
}

std::int64_t layersOf(const StepCost& cost, int stage)
{
    std::int64_t layers = 0;
    for (int chunk = 0; chunk < cost.shape.chunks; ++chunk)
        layers += cost.chunk(cost.shape.positionOf(stage, chunk)).layers;
    return std::max<std::int64_t>(1, layers);
}

/// A parameter server on `servers` nodes' links: all workers push gradients and pull weights in each step.
double serverSeconds(const TrafficContext& c, const ParallelPlan& plan, double parameters)
{
    const ClusterSpec& cluster = c.spec.cluster;
    const double link =
        std::max(1.0, cluster.nicLink.bytesPerSecond > 0
                          ? cluster.nicLink.bytesPerSecond * c.calibration.fractionOfNetwork(cluster.network)
                          : cluster.nodeLink.bytesPerSecond * c.calibration.nodeLinkFraction);
    const double bytes = (c.framework.reduceBytes + c.framework.weightBytes) * parameters;
    const double servers = std::max(1, plan.servers);
    return std::max(bytes / link, plan.dp * bytes / (servers * link));
}

void addOptimizer(const TrafficContext& c, const ParallelPlan& plan, const StageContents& contents, std::int64_t layers,
                  StageCost& stage)
{
    const bool sharded = plan.zero >= 1 || c.framework.shardOptimizer;
    const double own =
        sharded ? contents.trained() / contents.dense.shards() + contents.expertParameters / contents.experts.shards()
                : contents.trained() + contents.expertParameters;
    constexpr int kKernels = 20;
    if (!plan.offloadOptimizer) {
        const double bytes = own * c.framework.optimizerBytes;
        // A kernel works on one matrix; a layer has four large ones.
        const auto rate =
            measuredRate(c.rates, c.spec.training.optimizer == Optimizer::Sgd ? "optimizer.sgd" : "optimizer",
                         {bytes / (4 * static_cast<double>(layers))});
        stage.optimizerSeconds =
            (bytes / rate.value_or(c.rates.updateBytes) + kKernels * launchSeconds(c.framework, c.calibration)) *
            c.calibration.factorOf("optimizer");
        return;
    }
    // Gradients down, the update in host memory (its bandwidth shared by the node's devices), weights up.
    const ClusterSpec& cluster = c.spec.cluster;
    const double link = std::max(1.0, cluster.device.hostBytesPerSecond * c.calibration.hostLinkFraction);
    const double host = std::max(1.0, cluster.hostMemoryBytesPerSecond / std::max(1, cluster.devicesPerNode) *
                                          c.calibration.hostOptimizerFraction);
    constexpr double kUpdateBytes = 28; // gradient, master weight and two moments read, three of them and fp16 written
    stage.optimizerSeconds =
        own * (c.framework.reduceBytes + c.framework.weightBytes) / link + own * kUpdateBytes / host;
}

/// Of a stage's gradient and weight traffic, what the step waits for [s], with what the rest slows.
double exposedSeconds(const TrafficContext& c, const ParallelPlan& plan, const GroupTraffic& traffic, double reductions,
                      const StepCost& cost, int stage)
{
    const GradientOverlap when = c.framework.gradientOverlap;
    const bool beside =
        plan.overlap && (when == GradientOverlap::Always || (when == GradientOverlap::WithoutPipeline && plan.pp == 1));
    if (!beside) return traffic.gradients + traffic.weights;
    // The last bucket has nothing to hide behind; the rest hides behind the last micro-batch's backward (each one's, if
    // each is reduced).
    const auto layers = static_cast<double>(layersOf(cost, stage));
    const double bucket = traffic.gradients / reductions / layers;
    const Beside reduce = runBeside(c.calibration, traffic.gradients - bucket, reductions * lastBackward(cost, stage));
    Beside gather{0, traffic.weights};
    if (c.framework.overlapParameterGather) {
        const double first = traffic.weights / layers;
        gather = runBeside(c.calibration, traffic.weights - first, forwardSeconds(cost, stage));
        gather.exposed += first;
    }
    return bucket + reduce.exposed + gather.exposed + c.calibration.contention * (reduce.hidden + gather.hidden);
}

/// Whether two stages of a pipeline are in one node. Where pipelines lie one after the other, of each of them.
bool shareNode(const ParallelPlan& plan, int from, int to, int devicesPerNode)
{
    const std::int64_t stride = plan.stageStride(), perNode = std::max(1, devicesPerNode);
    const std::int64_t pipelines =
        plan.order == RankOrder::StagesFirst ? std::min<std::int64_t>(plan.dp, perNode) : 1; // then they repeat
    for (std::int64_t i = 0; i < pipelines; ++i) {
        const std::int64_t begin = i * plan.replicaStride();
        if ((begin + from * stride) / perNode != (begin + to * stride) / perNode) return false;
    }
    return true;
}

} // namespace

void addBoundaries(const TrafficContext& c, const ParallelPlan& plan, double microBatch, StepCost& cost)
{
    const int positions = cost.shape.positions();
    cost.blockingTransfers = c.framework.blockingTransfers;
    cost.boundaries.assign(static_cast<std::size_t>(std::max(0, positions - 1)), {});
    const TransformerSpec* t = c.spec.model.transformer();
    double width = 0;
    if (t)
        width = static_cast<double>(t->hidden) * static_cast<double>(c.spec.training.sequence) / plan.cp;
    else if (const ResNetSpec* r = c.spec.model.resnet())
        width = 256.0 * static_cast<double>(r->imageSize) * static_cast<double>(r->imageSize) /
                16; // the widest boundary, after the stem
    const double whole = c.rates.elementBytes * microBatch * width;
    const bool cut = plan.tp > 1 && (plan.sequenceParallel || c.framework.scatterGatherTransfers);
    const double bytes = cut ? whole / plan.tp : whole;
    const double again =
        cut && !plan.sequenceParallel
            ? c.collectives.seconds(Collective::AllGather, whole, placeGroup(plan.tp, 1, c.spec.cluster.devicesPerNode))
            : 0;
    const double near = c.collectives.pointToPoint(bytes, true) + again,
                 far = c.collectives.pointToPoint(bytes, false) + again;
    for (int i = 0; i + 1 < positions; ++i) {
        const int from = cost.shape.stageOf(i), to = cost.shape.stageOf(i + 1);
        if (from == to) continue;
        cost.boundaries[static_cast<std::size_t>(i)] = {
            bytes, shareNode(plan, from, to, c.spec.cluster.devicesPerNode) ? near : far};
    }
}

void addStageTraffic(const TrafficContext& c, const ParallelPlan& plan, int stage, const StageContents& contents,
                     StepCost& cost)
{
    StageCost& result = cost.stages[static_cast<std::size_t>(stage)];
    result.parameters = contents.parameters + contents.expertParameters;
    const int perNode = c.spec.cluster.devicesPerNode;
    const bool perLayer = plan.zero >= 3 && (plan.pp == 1 || c.framework.gathersEachPass);
    // Who keeps a share of the gradients reduces them before the next micro-batch.
    const bool each = plan.zero == 2 ? !(c.framework.reducesOnce && plan.pp > 1) : perLayer;
    const double reductions = each ? cost.shape.microbatches : 1;
    if (plan.parameterServer != ParameterServer::None) {
        const double seconds = serverSeconds(c, plan, result.parameters);
        const double step = (lastBackward(cost, stage) + forwardSeconds(cost, stage)) * cost.shape.microbatches;
        result.gradientCommSeconds = seconds;
        result.gradientCommExposed =
            plan.parameterServer == ParameterServer::Async ? std::max(0.0, seconds - step) : seconds;
        result.gradientWireBytes = c.framework.reduceBytes * result.parameters;
    } else if (!perLayer) {
        GroupTraffic traffic = replicaTraffic(c, plan, contents.trained(), contents.dense, reductions);
        const GroupTraffic more = replicaTraffic(c, plan, contents.expertParameters, contents.experts, reductions);
        traffic.gradients += more.gradients;
        traffic.weights += more.weights;
        result.gradientWireBytes = traffic.gradientWire + traffic.weightWire + more.gradientWire + more.weightWire;
        result.scattersGradients = scattersGradients(c.framework, plan);
        result.gatherWireBytes = traffic.weightWire;
        if (c.spec.model.transformer()) {
            result.expertWireBytes = more.gradientWire + more.weightWire;
            result.expertGatherWireBytes = more.weightWire;
        } else {
            result.gatherWireBytes += more.weightWire;
        }
        result.gradientCommSeconds = traffic.gradients + traffic.weights;
        result.gradientCommExposed = exposedSeconds(c, plan, traffic, reductions, cost, stage);
    } else {
        // The first gather and the last scatter of the step.
        result.gradientCommExposed =
            gatherOver(c.collectives, contents.dense, c.framework.weightBytes * contents.largestLayer,
                       c.framework.gatherCalls, CollectiveAlgorithm::Auto)
                .seconds +
            sumOver(c.collectives, contents.dense, true, c.framework.reduceBytes * contents.largestLayer, 1,
                    CollectiveAlgorithm::Auto)
                .seconds;
        result.gradientCommSeconds = result.gradientCommExposed;
    }
    const auto addReduction = [&](double bytes, const GroupPlacement& group, double times, double& wire) {
        const double seconds = times * c.collectives.seconds(Collective::AllReduce, bytes, group);
        result.gradientCommSeconds += seconds;
        result.gradientCommExposed += seconds;
        wire = times * CollectiveTimes::wireBytes(Collective::AllReduce, bytes, group.ranks);
        result.gradientWireBytes += wire;
    };
    // The two ends of a pipeline add up the gradients of the embedding they share, unless they are one stage.
    const TransformerSpec* t = c.spec.model.transformer();
    const int first = cost.shape.stageOf(0), last = cost.shape.stageOf(cost.shape.positions() - 1);
    if (t && t->tiedEmbeddings && c.spec.training.loraRank == 0 && first != last && (stage == first || stage == last)) {
        const bool shards = c.framework.sumsTableShards && (plan.zero >= 1 || c.framework.shardOptimizer);
        const double bytes = c.framework.reduceBytes * static_cast<double>(t->vocabulary) *
                             static_cast<double>(t->hidden) / plan.tp / (shards ? contents.dense.shards() : 1);
        addReduction(bytes, {2, shareNode(plan, first, last, perNode) ? 2 : 1}, 1, result.tableWireBytes);
    }
    if (plan.tp > 1 && contents.partialParameters > 0)
        addReduction(c.framework.reduceBytes * contents.partialParameters, placeGroup(plan.tp, 1, perNode), reductions,
                     result.partialWireBytes);
    addOptimizer(c, plan, contents, layersOf(cost, stage), result);
}

void addAgreement(const TrafficContext& c, const ParallelPlan& plan, StepCost& cost)
{
    if (plan.parameterServer != ParameterServer::None) return; // the servers know all of it
    const GroupPlacement all = placeGroup(plan.worldSize(), 1, c.spec.cluster.devicesPerNode);
    // The loss and the squared norm of what lies in no layer, or of all of it. A GPU does not sum layer by layer.
    const TransformerSpec* t = c.spec.model.transformer();
    const bool byLayer = c.framework.normsByLayer && t && c.spec.training.device != DeviceKind::Cuda;
    const auto numbers = static_cast<int>(2 + (byLayer ? t->layers : 0));
    constexpr int kBytes = 8; // in double precision
    cost.agreementSeconds = c.collectives.seconds(Collective::AllReduce, numbers * kBytes, all);
    cost.agreementWireBytes = c.collectives.smallReduceBytes(numbers, kBytes, all);
}

} // namespace fourwalls::cost
