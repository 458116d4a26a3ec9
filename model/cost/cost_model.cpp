// SPDX-License-Identifier: Apache-2.0
// See cost_model.h: layers are priced and cached here, put together into positions and stages, and what happens once
// per step (gradients, optimizer) is added.
#include "model/cost/cost_model.h"

#include "model/cost/chunk_contents.h"
#include "model/cost/closed_form.h"
#include "model/cost/collective_time.h"
#include "model/cost/document_draws.h"
#include "model/cost/layer_cost.h"
#include "model/cost/layer_transfers.h"
#include "model/cost/other_networks.h"
#include "model/cost/replica_groups.h"
#include "model/cost/stage_devices.h"
#include "model/cost/stage_memory.h"
#include "model/cost/step_cost.h"
#include "model/cost/step_traffic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace fourwalls::cost {

namespace {

Error misfit(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

} // namespace

struct CostModel::State {
    using PricedLayers = std::unordered_map<LayerSetting, LayerCost, LayerSettingHash>;

    RunSpec spec;
    FrameworkPreset framework;
    Calibration calibration;
    struct Priced {
        PricedLayers layers, embeddings, heads;
        std::vector<std::pair<double, std::vector<LayerCost>>> blocks; ///< of residual networks, by images
    };
    std::vector<DeviceRates> rates; ///< by kind of device
    std::vector<Priced> priced;     ///< so far, likewise
    std::optional<CollectiveTimes> collectives;
    DocumentDraws documents; ///< of the plan that was checked last
    double attended = 0;     ///< LayerSetting's

    CostContext context(std::size_t device) const
    {
        return {*spec.model.transformer(),  framework, calibration, rates[device], *collectives,
                spec.cluster.devicesPerNode};
    }

    template <class Make>
    const LayerCost& cached(PricedLayers& cache, const LayerSetting& setting, Make&& make)
    {
        if (const auto found = cache.find(setting); found != cache.end()) return found->second;
        constexpr std::size_t kMost = 4096; // 5 MB
        if (cache.size() >= kMost) cache.clear();
        return cache.emplace(setting, make()).first->second;
    }

    LayerSetting setting(const ParallelPlan& plan, double microBatch, Recompute recompute) const;
    Result<StepCost> build(const ParallelPlan& plan, std::int64_t batch);
    Status check(const ParallelPlan& plan);
    std::vector<ChunkContents> contents(const PipelineShape& shape) const
    {
        return chunkContents(spec, framework, rates, shape);
    }
    TrafficContext traffic(std::size_t device = 0) const
    {
        return {spec, framework, calibration, rates[device], *collectives};
    }
    void price(const ParallelPlan& plan, double microBatch, const ChunkContents& what, ChunkCost& chunk,
               StageContents& parameters);
    /// ofKind: what the kinds of positions hold.
    void addStages(const ParallelPlan& plan, const std::vector<StageContents>& ofKind, StepCost& cost) const;
    /// Prices a position, at the pace of its devices.
    ChunkCost chunkOf(const ParallelPlan& plan, double microBatch, const ChunkContents& what,
                      StageContents& parameters);
    void addLayerSeconds(const ParallelPlan& plan, double microBatch, const std::vector<ChunkContents>& what,
                         StepCost& cost);
    /// What is waited for because documents are of unequal lengths. first: a position of every kind.
    void addUneven(const ParallelPlan& plan, double microBatch, const std::vector<ChunkContents>& what,
                   const std::vector<std::size_t>& first, StepCost& cost);
};

CostModel::CostModel(std::unique_ptr<State> state) : m_state(std::move(state)) {}
CostModel::CostModel(CostModel&&) noexcept = default;
CostModel& CostModel::operator=(CostModel&&) noexcept = default;
CostModel::~CostModel() = default;

Result<CostModel> CostModel::create(const RunSpec& spec, const FrameworkPreset& framework,
                                    const Calibration& calibration)
{
    auto state = std::make_unique<State>();
    state->spec = spec;
    state->framework = framework;
    if (spec.training.optimizer == Optimizer::Sgd) { // one moment, neither read nor written, less
        state->framework.stateBytes = std::max(0.0, framework.stateBytes - 4);
        state->framework.optimizerBytes = std::max(0.0, framework.optimizerBytes - 8);
    }
    state->calibration = calibration;
    if (calibration.stepSeconds >= 0) state->framework.stepSeconds = calibration.stepSeconds;
    for (std::size_t kind = 0; kind < spec.cluster.deviceKinds(); ++kind) {
        FOURWALLS_TRY_ASSIGN(DeviceRates rates, deviceRates(spec.cluster.deviceOfKind(kind), spec.training.precision,
                                                            framework, state->calibration));
        state->rates.push_back(rates);
    }
    state->priced.resize(state->rates.size());
    state->collectives.emplace(spec.cluster, state->calibration);
    return CostModel(std::move(state));
}

Result<CostModel> CostModel::create(const RunSpec& spec)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    FOURWALLS_TRY_ASSIGN(const Calibration calibration, loadCalibration("published"));
    return create(spec, framework, calibration);
}

const RunSpec& CostModel::spec() const
{
    return m_state->spec;
}
const FrameworkPreset& CostModel::framework() const
{
    return m_state->framework;
}
const Calibration& CostModel::calibration() const
{
    return m_state->calibration;
}

LayerSetting CostModel::State::setting(const ParallelPlan& plan, double microBatch, Recompute recompute) const
{
    LayerSetting s;
    s.microBatch = microBatch;
    s.sequence = static_cast<double>(spec.training.sequence);
    s.attended = attended;
    s.tp = plan.tp;
    s.cp = plan.cp;
    s.ep = plan.ep;
    s.etp = plan.expertTensor;
    s.sequenceParallel = plan.sequenceParallel && plan.tp > 1;
    s.fusedAttention = plan.fusedAttention;
    s.overlap = plan.overlap;
    s.fuse = plan.fuse;
    s.splitBackward = pipelineShape(plan).splitsBackward();
    s.recompute = recompute;
    s.recomputeModules = recompute == Recompute::Selective ? plan.recomputeModules : 0;
    s.naturalRouting = plan.routing == MoeRouting::Natural;
    s.gathersContext = plan.cp > 1 && framework.contextOf(plan) == ContextExchange::Gather;
    s.oncePerNode = plan.ep > 1 && framework.dispatchOf(plan) == ExpertDispatch::OncePerNode;
    s.overlapExperts = plan.ep > 1 && plan.overlap && plan.overlapExperts;
    if (framework.globalRouting && spec.model.transformer() && spec.model.transformer()->hasExperts())
        s.balanced = denseReplicas(plan, spec.cluster.devicesPerNode).all;
    s.collective = plan.collective;
    s.loraRank = static_cast<double>(spec.training.loraRank);
    // Where gradients stay whole, those of all micro-batches but the first are added. Priced where that was measured.
    if (plan.zero < 2 && plan.microbatches > 1 && rates[0].measured && rates[0].measured->contains(kAddedGradient))
        s.added = 1 - 1.0 / plan.microbatches;
    // Where a rank keeps its share of them, it is what a reduction left that is added. Likewise.
    const bool sharesOfEach = plan.zero == 2 ? !(framework.reducesOnce && plan.pp > 1)
                                             : plan.zero >= 3 && (plan.pp == 1 || framework.gathersEachPass);
    if (sharesOfEach && plan.shards() > 1 && rates[0].measured && rates[0].measured->contains("residual"))
        s.addedShares = (1 - 1.0 / plan.microbatches) / plan.shards();
    return s;
}

Status CostModel::State::check(const ParallelPlan& plan)
{
    spec.plan = plan;
    // Where embedding and head are positions of their own, there may be two more than layers.
    const TransformerSpec* t = spec.model.transformer();
    const std::int64_t positions = std::int64_t{plan.pp} * plan.vpp;
    if (t && plan.stageLayers.empty() && framework.stageSplit != StageSplit::Layers && positions > t->layers &&
        positions <= t->layers + 2) {
        spec.plan.vpp = 1;
        spec.plan.schedule = PipelineSchedule::OneFOneB;
    }
    const Status fits = resolve(spec);
    spec.plan = plan;
    FOURWALLS_TRY(fits);
    FOURWALLS_TRY(checkPipeline(pipelineShape(plan)));
    documents.draw(plan.documents, spec.training.sequence, spec.training.seed);
    attended = documents.attended();
    if (spec.training.loraRank > 0 && (!t || t->hasExperts()))
        return misfit("lora_rank", "adapters are priced beside the linear layers of dense transformers only",
                      "lora_rank 0, or another network");
    const ClusterSpec& cluster = spec.cluster;
    if (plan.worldSize() > cluster.devicesPerNode && !collectives->hasNetwork())
        return misfit("cluster",
                      std::to_string(plan.worldSize()) + " devices do not fit into one node of " +
                          std::to_string(cluster.devicesPerNode) + ", and " + cluster.name + " has no network",
                      "a cluster with nics_per_node and nic_link");
    if (plan.worldSize() > 1 && cluster.devicesPerNode > 1 && !(cluster.nodeLink.bytesPerSecond > 0))
        return misfit("cluster", cluster.name + " does not say how fast the devices of a node are connected",
                      "node_link with bytes_per_second above 0");
    return {};
}

void CostModel::State::price(const ParallelPlan& plan, double microBatch, const ChunkContents& what, ChunkCost& chunk,
                             StageContents& parameters)
{
    chunk.layers = what.dense + what.mixture;
    chunk.holdsEmbedding = what.embedding;
    chunk.holdsHead = what.head;
    const double again = what.recompute == Recompute::Full ? framework.recomputeGathers : 0;
    const double once = 1 + again, twice = (plan.reshard ? 2 : 1) + again; // dropped after the forward pass, or not
    const bool isHere = !shardsPasses(framework, plan) && !plan.offloadActivations && !plan.offloadParameters;
    Priced& own = priced[what.device];
    const TrafficContext around = traffic(what.device);
    const auto take = [&](const LayerCost& layer, double count, double gathers) {
        if (!(count > 0)) return;
        if (isHere)
            addLayers(chunk, layer, count);
        else
            addLayers(chunk, offloadedLayer(around, plan, shardedLayer(around, plan, layer, gathers)), count);
        parameters.parameters += count * layer.parameters;
        parameters.partialParameters += count * layer.partialParameters;
        parameters.frozenParameters += count * layer.frozenParameters;
        parameters.expertParameters += count * layer.expertParameters;
        parameters.largestLayer = std::max(parameters.largestLayer, layer.parameters + layer.expertParameters);
    };
    LayerSetting s = setting(plan, microBatch, what.recompute);
    if (const TransformerSpec* t = spec.model.transformer()) {
        const CostContext c = context(what.device);
        // What the forward pass ends with, the backward pass begins with: it stays. That is the head, unless it has
        // nothing of its own; then it is the last layer.
        const bool headIsLast = what.head && (!what.tableBelow || !t->postNorm);
        const auto takeLayers = [&](std::int64_t count, bool last) {
            if (count <= 0) return;
            const LayerCost& layer = cached(own.layers, s, [&] { return layerCost(c, s); });
            const bool stays = last && !headIsLast && shardsPasses(framework, plan);
            take(layer, static_cast<double>(count - (stays ? 1 : 0)), twice);
            if (stays) take(layer, 1, once);
        };
        takeLayers(what.dense, what.mixture == 0);
        s.mixture = true;
        takeLayers(what.mixture, true);
        s.mixture = false;
        s.recompute = Recompute::None;
        // The backward pass of a table reads nothing of it; that of a norm behind it does. A tied head reads it.
        const double reads = once + (what.embedding && what.tableBelow && plan.reshard ? 1 : 0) +
                             (t->embeddingNorm && (plan.reshard || what.tableBelow) ? 1 : 0);
        if (what.embedding) take(cached(own.embeddings, s, [&] { return embeddingCost(c, s); }), 1, reads);
        if (what.head) {
            LayerCost head = cached(own.heads, s, [&] { return headCost(c, s); });
            // Tied to the embedding of the same rank: counted once.
            if (what.tableBelow) head.parameters = 0;
            head.parameters += head.normParameters;
            if (s.loraRank > 0) head.frozenParameters = head.parameters;
            take(head, 1, once);
        }
    } else {
        const PlainContext c{framework, calibration, rates[what.device], *collectives, spec.cluster.devicesPerNode,
                             plan.fuse};
        if (const RecommendationSpec* r = spec.model.recommendation()) {
            take(recommendationCost(c, *r, microBatch, plan.ep, 1), 1, twice);
        } else {
            auto& blocks = own.blocks;
            auto found =
                std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.first == microBatch; });
            if (found == blocks.end())
                found = blocks.insert(blocks.end(), {microBatch, resnetBlocks(c, *spec.model.resnet(), microBatch)});
            for (std::int64_t i = 0; i < what.dense; ++i) {
                const std::size_t index = what.firstBlock + static_cast<std::size_t>(i);
                if (index < found->second.size()) take(found->second[index], 1, twice);
            }
        }
    }
    if (plan.offloadActivations && chunk.layers > 0) {
        // On the device are only those of the layer at work and of the next one, while a pass runs.
        const double near = chunk.activationBytes * std::min(1.0, 2.0 / static_cast<double>(chunk.layers));
        chunk.transientForwardBytes += near;
        chunk.transientBackwardBytes += near;
        chunk.activationBytes = chunk.weightGradientBytes = 0;
    }
    chunk.forward.parts[CostPart::Host] += framework.microbatchSeconds / 2;
    chunk.backwardInput.parts[CostPart::Host] += framework.microbatchSeconds / 2;
}

void CostModel::State::addStages(const ParallelPlan& plan, const std::vector<StageContents>& ofKind,
                                 StepCost& cost) const
{
    const PipelineShape& shape = cost.shape;
    const double weightBytes = std::max(framework.weightBytes, spec.training.precision == Precision::F32 ? 4.0 : 0.0);
    StageContents empty;
    empty.dense = denseReplicas(plan, spec.cluster.devicesPerNode);
    empty.experts = expertReplicas(plan, spec.cluster.devicesPerNode);
    empty.gatheredBytes = std::min(weightBytes, rates[0].elementBytes);
    // Stages that hold the same kinds of positions have the same traffic: it is priced once.
    std::vector<std::pair<int, StageContents>> unlike;
    const auto kindAt = [&](int stage, int chunk) {
        return cost.kindOfPosition[static_cast<std::size_t>(shape.positionOf(stage, chunk))];
    };
    const auto isLike = [&](int stage, int other) {
        for (int chunk = 0; chunk < shape.chunks; ++chunk)
            if (kindAt(stage, chunk) != kindAt(other, chunk)) return false;
        return true;
    };
    cost.stages.resize(static_cast<std::size_t>(shape.stages));
    for (int i = 0; i < shape.stages; ++i) {
        StageCost& stage = cost.stages[static_cast<std::size_t>(i)];
        const StageDevice device = stageDevice(spec.cluster, rates, plan, i);
        auto known =
            std::find_if(unlike.begin(), unlike.end(), [&](const auto& each) { return isLike(i, each.first); });
        if (known == unlike.end()) {
            StageContents contents = empty;
            for (int chunk = 0; chunk < shape.chunks; ++chunk) {
                const StageContents& part = ofKind[kindAt(i, chunk)];
                contents.parameters += part.parameters;
                contents.expertParameters += part.expertParameters;
                contents.partialParameters += part.partialParameters;
                contents.frozenParameters += part.frozenParameters;
                contents.largestLayer = std::max(contents.largestLayer, part.largestLayer);
            }
            addStageTraffic(traffic(device.kind), plan, i, contents, cost);
            stage.optimizerSeconds *= spec.cluster.deviceOfKind(device.kind).slowdown;
            known = unlike.insert(unlike.end(), {i, contents});
        } else {
            stage = cost.stages[static_cast<std::size_t>(known->first)];
        }
        stage.usableMemoryBytes = device.memoryBytes; // stages of one pace may differ in their smallest device
        stage.inFlight = mostInFlight(shape, i);
        stage.memory = stageMemory(cost, i, known->second, framework, plan, weightBytes);
    }
}

ChunkCost CostModel::State::chunkOf(const ParallelPlan& plan, double microBatch, const ChunkContents& what,
                                    StageContents& parameters)
{
    ChunkCost chunk;
    price(plan, microBatch, what, chunk, parameters);
    slowDown(chunk, slowestDevice(plan.worldSize(), calibration.deviceSpread),
             busyFactor(plan.worldSize(), spec.cluster.devicesPerNode, calibration.busySlowdown),
             spec.cluster.deviceOfKind(what.device).slowdown);
    return chunk;
}

void CostModel::State::addLayerSeconds(const ParallelPlan& plan, double microBatch,
                                       const std::vector<ChunkContents>& what, StepCost& cost)
{
    const TransformerSpec* t = spec.model.transformer();
    if (spec.cluster.otherNodes.empty() || !t) return;
    for (std::size_t i = 0; i < cost.stages.size(); ++i) {
        ChunkContents layers;
        layers.device = what[i].device;
        layers.recompute = what[i].recompute;
        const auto secondsOf = [&](int count) {
            (t->hasExperts() ? layers.mixture : layers.dense) = count;
            StageContents none;
            return chunkOf(plan, microBatch, layers, none).seconds();
        };
        // Without what every chunk has once.
        cost.stages[i].layerSeconds = secondsOf(2) - secondsOf(1);
    }
}

void CostModel::State::addUneven(const ParallelPlan& plan, double microBatch, const std::vector<ChunkContents>& what,
                                 const std::vector<std::size_t>& first, StepCost& cost)
{
    if (plan.documents.empty()) return;
    const double passes = documents.unevenPasses(plan, std::llround(microBatch), waitingReplicas(framework, plan));
    if (!(passes > 0)) return;
    // How a stage's time grows with the squares of its documents, by a second price.
    constexpr double kLess = 0.25; // more could be more than the sequence has
    attended = documents.attended() * (1 - kLess);
    StepCost less = cost;
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
        StageContents none;
        less.kinds[kind] = chunkOf(plan, microBatch, what[first[kind]], none);
    }
    const std::vector<double> all = stageSeconds(cost), without = stageSeconds(less);
    double slowest = 0;
    for (std::size_t stage = 0; stage < all.size(); ++stage) slowest = std::max(slowest, all[stage] - without[stage]);
    attended = documents.attended();
    cost.unevenSeconds = passes * slowest / kLess;
}

Result<StepCost> CostModel::State::build(const ParallelPlan& plan, std::int64_t batch)
{
    if (batch > 0) spec.training.batch = batch;
    FOURWALLS_TRY(check(plan));
    const double samples = static_cast<double>(spec.training.batch);
    const double sequence = static_cast<double>(spec.training.sequence);
    const double microBatch = samples / plan.dp / plan.microbatches;

    StepCost cost;
    cost.shape = pipelineShape(plan);
    const std::vector<ChunkContents> what = contents(cost.shape);
    std::vector<StageContents> ofKind;
    std::vector<std::size_t> first; // a position of every kind
    cost.kinds.reserve(4);
    ofKind.reserve(4);
    cost.kindOfPosition.resize(what.size());
    for (std::size_t i = 0; i < what.size(); ++i) {
        const auto same = std::find_if(first.begin(), first.end(), [&](std::size_t f) { return what[f] == what[i]; });
        const auto kind = static_cast<std::size_t>(same - first.begin());
        if (same == first.end()) {
            first.push_back(i);
            ofKind.emplace_back();
            cost.kinds.push_back(chunkOf(plan, microBatch, what[i], ofKind.back()));
        }
        cost.kindOfPosition[i] = static_cast<std::uint32_t>(kind);
    }
    addBoundaries(traffic(), plan, microBatch, cost);
    addStages(plan, ofKind, cost);
    addLayerSeconds(plan, microBatch, what, cost);
    addUneven(plan, microBatch, what, first, cost);
    addAgreement(traffic(), plan, cost);
    cost.flushMessages = framework.flushMessages && plan.pp > 1;
    cost.fixedSeconds = framework.stepSeconds;
    cost.bandWidth = bandWidth(spec, plan, calibration, rates[0].castBytes > 0);
    cost.modelFlopsPerStep =
        trainingFlops(spec.model, spec.training.batch, spec.training.sequence, false, documents.attended());
    if (spec.training.loraRank > 0) cost.modelFlopsPerStep -= weightGradientFlops(spec.model, samples * sequence);
    cost.tokensPerStep = samples * std::max(1.0, static_cast<double>(spec.training.sequence));
    const MeanDevice mean = meanDevice(spec.cluster, rates, plan);
    cost.peakFlops = mean.peakFlops;
    cost.deviceWatts = mean.powerWatts;
    cost.devices = plan.worldSize();
    return cost;
}

Result<StepCost> CostModel::stepCost(const ParallelPlan& plan, std::int64_t batch)
{
    return m_state->build(plan, batch);
}

Result<std::vector<OperatorCost>> CostModel::operators(const ParallelPlan& plan, int position, PipelinePass pass,
                                                       bool recompute, std::int64_t batch)
{
    State& state = *m_state;
    if (batch > 0) state.spec.training.batch = batch;
    FOURWALLS_TRY(state.check(plan));
    const PipelineShape shape = pipelineShape(plan);
    if (position < 0 || position >= shape.positions())
        return misfit("position", "there is no position " + std::to_string(position), "0 to the last position");
    const double microBatch = static_cast<double>(state.spec.training.batch) / plan.dp / plan.microbatches;
    std::vector<OperatorCost> list;
    OperatorLists lists;
    const bool both = pass == PipelinePass::Backward;
    if (recompute)
        lists.recompute = &list;
    else if (pass == PipelinePass::Forward)
        lists.forward = &list;
    if (!recompute && (both || pass == PipelinePass::BackwardInput)) lists.backwardInput = &list;
    if (!recompute && (both || pass == PipelinePass::BackwardWeight)) lists.backwardWeight = &list;

    const std::vector<ChunkContents> what = state.contents(shape);
    const ChunkContents& here = what[static_cast<std::size_t>(position)];
    std::int64_t begin = 0;
    for (int i = 0; i < position; ++i)
        begin += what[static_cast<std::size_t>(i)].dense + what[static_cast<std::size_t>(i)].mixture;
    const std::int64_t end = begin + here.dense + here.mixture;
    LayerSetting s = state.setting(plan, microBatch, here.recompute);
    if (const TransformerSpec* t = state.spec.model.transformer()) {
        const CostContext c = state.context(here.device);
        LayerSetting ends = s;
        ends.recompute = Recompute::None;
        const bool forward = pass == PipelinePass::Forward || recompute;
        if (here.embedding && forward) embeddingCost(c, ends, lists);
        if (here.head && !forward) headCost(c, ends, lists);
        for (std::int64_t i = 0; i < end - begin; ++i) {
            const std::int64_t layer = forward ? begin + i : end - 1 - i;
            s.mixture = t->isMixtureLayer(layer);
            layerCost(c, s, layer, lists);
        }
        if (here.head && forward) headCost(c, ends, lists);
        if (here.embedding && !forward) embeddingCost(c, ends, lists);
        return list;
    }
    const PlainContext c{state.framework,
                         state.calibration,
                         state.rates[here.device],
                         *state.collectives,
                         state.spec.cluster.devicesPerNode,
                         plan.fuse};
    if (const RecommendationSpec* r = state.spec.model.recommendation()) {
        recommendationCost(c, *r, microBatch, plan.ep, 1, lists);
        return list;
    }
    std::vector<OperatorLists> ofBlocks(static_cast<std::size_t>(end));
    for (std::int64_t i = begin; i < end; ++i) ofBlocks[static_cast<std::size_t>(i)] = lists;
    resnetBlocks(c, *state.spec.model.resnet(), microBatch, &ofBlocks);
    return list;
}

} // namespace fourwalls::cost
