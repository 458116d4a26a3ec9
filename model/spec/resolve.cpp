// SPDX-License-Identifier: Apache-2.0
// Whether degrees, batch and model fit together; says which field does not.
#include "model/spec/model_extents.h"
#include "model/spec/names.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/run_spec.h"

namespace fourwalls {

namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 50; ///< of a step

Error misfit(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

std::string text(std::int64_t value)
{
    return std::to_string(value);
}

/// value must be a multiple of the degree called `field`.
Status mustDivide(const std::string& field, std::int64_t degree, const char* what, std::int64_t value)
{
    if (value % degree == 0) return {};
    return misfit(field, field + "=" + text(degree) + " does not divide the " + what + " (" + text(value) + ")",
                  "a divisor of " + text(value));
}

Status checkBatch(const RunSpec& spec)
{
    const TrainingSettings& training = spec.training;
    if (training.steps < 1) return misfit("steps", "there must be at least one step", "--steps 10");
    if (training.batch > kMostTokens)
        return misfit("batch", text(training.batch) + " samples are too many", text(kMostTokens));
    if (training.batch < 1) return misfit("batch", "the batch must hold at least one sample", "--batch 8");
    const std::int64_t shards = std::int64_t{spec.plan.dp} * spec.plan.microbatches;
    if (training.batch % shards != 0)
        return misfit("batch",
                      "batch " + text(training.batch) + " is not a multiple of dp x microbatches = " + text(shards),
                      "batch = dp x microbatches x micro-batch size, for example " +
                          text((training.batch / shards + 1) * shards));
    return {};
}

/// What `layers=5,6,6,5` says is what the pipeline has.
Status checkStageLayers(const ParallelPlan& plan, std::int64_t layers)
{
    if (plan.stageLayers.empty()) return {};
    const std::int64_t positions = pipelineShape(plan).positions();
    if (static_cast<std::int64_t>(plan.stageLayers.size()) != positions)
        return misfit("layers",
                      "layers names " + text(static_cast<std::int64_t>(plan.stageLayers.size())) + " parts for " +
                          text(positions) + (pipelineShape(plan).chunks > 1 ? " virtual stages" : " pipeline stages"),
                      "one number for each, from the input to the output");
    std::int64_t sum = 0;
    for (const int each : plan.stageLayers) {
        if (each < 1) return misfit("layers", "a pipeline stage cannot hold " + text(each) + " layers", "1 or more");
        sum += each;
    }
    if (sum != layers)
        return misfit("layers", "layers adds up to " + text(sum) + " and the model has " + text(layers),
                      "numbers that add up to " + text(layers));
    return {};
}

/// Sequences of so many documents are not drawn one by one.
Status checkDocuments(const std::vector<DocumentLength>& documents, std::int64_t sequence)
{
    for (const DocumentLength& each : documents) {
        if (each.count < 1 || each.tokens < 1)
            return misfit("documents", "a document has one token at least, and comes once at least", "documents=512");
        if (sequence / each.tokens > kMostDocuments)
            return misfit("documents",
                          "a sequence of " + text(sequence) + " tokens would hold more than " + text(kMostDocuments) +
                              " documents of " + text(each.tokens),
                          "longer documents, or a shorter sequence");
    }
    return {};
}

/// A module that the network does not have is not recomputed.
Status checkModules(unsigned modules, const TransformerSpec& model)
{
    const unsigned has = recomputableModules(model);
    for (const auto& [module, word] : kRecomputeModuleWords)
        if ((modules & ~has & module) != 0)
            return misfit("recompute", "the network has no module '" + std::string(word) + "'",
                          "leave it out of recompute");
    return {};
}

Status checkTransformer(RunSpec& spec, const TransformerSpec& model)
{
    const ParallelPlan& plan = spec.plan;
    FOURWALLS_TRY(checkModules(plan.recomputeModules, model));
    std::int64_t& sequence = spec.training.sequence;
    if (sequence == 0) sequence = model.sequence;
    if (sequence < 1) return misfit("seq", "the sequence must hold at least one token", "--seq 128");
    if (sequence > kMostTokens) return misfit("seq", text(sequence) + " tokens are too many", text(kMostTokens));
    if (spec.training.batch > kMostTokens / sequence)
        return misfit("batch",
                      "batch " + text(spec.training.batch) + " x sequence " + text(sequence) +
                          " are more tokens than can be counted",
                      "at most " + text(kMostTokens / sequence));
    if (model.positions == Positions::Learned && sequence > model.sequence)
        return misfit("seq",
                      "sequence " + text(sequence) + " is longer than the model's learned positions (" +
                          text(model.sequence) + ")",
                      "at most " + text(model.sequence));
    FOURWALLS_TRY(checkDocuments(plan.documents, sequence));
    FOURWALLS_TRY(mustDivide("tp", plan.tp, "heads", model.heads));
    FOURWALLS_TRY(mustDivide("tp", plan.tp, "feed-forward width", model.ffnHidden));
    if (model.kvHeads % plan.tp != 0 && plan.tp % model.kvHeads != 0)
        return misfit("tp", "tp=" + text(plan.tp) + " does not fit " + text(model.kvHeads) + " key/value heads",
                      "a divisor or a multiple of " + text(model.kvHeads));
    FOURWALLS_TRY(mustDivide("cp", plan.cp, "sequence length", sequence));
    if (plan.sequenceParallel) FOURWALLS_TRY(mustDivide("sp", plan.tp, "sequence length", sequence));
    const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
    if (stages > model.layers)
        return misfit(plan.vpp > 1 ? "vpp" : "pp",
                      text(stages) + " pipeline stages for " + text(model.layers) + " layers",
                      "at most one stage per layer");
    return checkStageLayers(plan, model.layers);
}

Status checkPlan(const ParallelPlan& plan)
{
    for (const auto& [field, degree] :
         {std::pair{"dp", plan.dp}, std::pair{"tp", plan.tp}, std::pair{"pp", plan.pp}, std::pair{"cp", plan.cp},
          std::pair{"ep", plan.ep}, std::pair{"vpp", plan.vpp}, std::pair{"microbatches", plan.microbatches}})
        if (degree < 1)
            return misfit(field, std::string(field) + "=" + text(degree) + " is no number of parts",
                          std::string(field) + "=1 or more");
    if (plan.expertTensor < 0 || plan.tp % plan.expertTensorDegree() != 0)
        return misfit("etp", "etp=" + text(plan.expertTensor) + " does not divide tp=" + text(plan.tp),
                      "a divisor of tp");
    if (plan.expertReplicas() % plan.ep != 0) {
        const bool folded = plan.expertTensorDegree() != plan.tp;
        return misfit("ep",
                      "ep=" + text(plan.ep) + " does not divide " + (folded ? "dp x cp x tp / etp" : "dp x cp") +
                          " = " + text(plan.expertReplicas()),
                      folded ? "a divisor of it"
                             : "a divisor of dp x cp, or etp=1 for experts cut over the tensor group");
    }
    if (plan.shard < 0 || plan.replicas() % plan.shards() != 0)
        return misfit("shard", "shard=" + text(plan.shard) + " does not divide dp x cp = " + text(plan.replicas()),
                      "a divisor of dp x cp");
    if (plan.shard > 0 && plan.zero == 0)
        return misfit("shard", "shard=" + text(plan.shard) + " without zero cuts nothing", "zero=1, 2 or 3");
    if (const auto named = static_cast<std::int64_t>(plan.stageRecompute.size()); named > 0 && named != plan.pp)
        return misfit("recompute",
                      "recompute names " + text(named) + " stages, and the pipeline has " + text(plan.pp) +
                          (plan.pp > 1 ? " stages" : ""),
                      "one word for all stages, or one for each from the input");
    // Experts are shared out over neighbours among the replicas; Megatron-LM asks for the same.
    if (plan.order == RankOrder::StagesFirst && plan.ep > 1)
        return misfit("order", "experts cannot be distributed in this order of ranks", "ep=1, or leave order out");
    if (plan.vpp > 1 && plan.pp == 1) return misfit("vpp", "virtual stages need a pipeline", "pp=2 or more");
    if (plan.vpp > 1 && plan.schedule != PipelineSchedule::Interleaved &&
        plan.schedule != PipelineSchedule::ZeroBubbleV)
        return misfit("schedule",
                      "schedule=" + std::string(name(plan.schedule)) + " has no virtual stages (vpp=" + text(plan.vpp) +
                          ")",
                      "schedule=interleaved");
    if (plan.parameterServer != ParameterServer::None && plan.servers < 1)
        return misfit("servers", "a parameter-server plan needs servers", "servers=1");
    if (plan.parameterServer == ParameterServer::None && plan.servers > 0)
        return misfit("servers", "servers without a parameter-server plan", "ps=sync or ps=async");
    return {};
}

} // namespace

unsigned recomputableModules(const TransformerSpec& model)
{
    unsigned modules = kRecomputeCoreAttention | kRecomputeLayerNorm;
    const ExpertSpec& mixture = model.mixture;
    if (model.latent.keyValueRank > 0) modules |= kRecomputeMlaUpProjection;
    if (!model.hasExperts() || mixture.denseLayers > 0 || mixture.every > 1) modules |= kRecomputeMlp;
    if (model.hasExperts()) modules |= kRecomputeExperts | kRecomputeExpertActivation;
    if (model.hasExperts() && mixture.sharedHidden > 0) modules |= kRecomputeSharedExperts;
    return modules;
}

Status resolve(RunSpec& spec)
{
    FOURWALLS_TRY(checkExtents(spec.model));
    FOURWALLS_TRY(checkPlan(spec.plan));
    if (!spec.plan.stageRecompute.empty()) spec.plan.setRecompute(spec.plan.stageRecompute);
    FOURWALLS_TRY(checkBatch(spec));
    const TransformerSpec* transformer = spec.model.transformer();
    // The tables of a recommendation model are spread like experts.
    const RecommendationSpec* recommendation = spec.model.recommendation();
    const std::int64_t experts = transformer      ? transformer->mixture.experts
                                 : recommendation ? recommendation->tables
                                                  : 0;
    if (spec.plan.ep > 1) {
        if (experts == 0) return misfit("ep", spec.model.name + " has no experts to distribute", "ep=1");
        if (transformer) FOURWALLS_TRY(mustDivide("ep", spec.plan.ep, "number of experts", experts));
        if (spec.plan.ep > experts)
            return misfit("ep", "ep=" + text(spec.plan.ep) + " for " + text(experts) + " tables",
                          "at most " + text(experts));
    }
    if (transformer) return checkTransformer(spec, *transformer);
    if (spec.plan.recomputeModules != 0)
        return misfit("recompute", "only a transformer's modules can be recomputed", "recompute=none");
    if (!spec.plan.stageLayers.empty())
        return misfit("layers", "only a transformer's layers can be split over stages", "leave layers out");
    if (!spec.plan.documents.empty())
        return misfit("documents", "only sequences of a transformer are packed with documents", "leave documents out");
    const char* samples = recommendation ? "samples of a recommendation model" : "images";
    if (spec.training.sequence != 0)
        return misfit("seq", std::string(samples) + " have no sequence length", "leave --seq out");
    for (const auto& [field, degree] : {std::pair{"tp", spec.plan.tp}, std::pair{"cp", spec.plan.cp}})
        if (degree > 1)
            return misfit(field,
                          recommendation ? "recommendation models are not split this way"
                                         : "convolutional networks are not split this way",
                          std::string(field) + "=1");
    if (spec.plan.sequenceParallel) return misfit("sp", std::string(samples) + " have no sequence to split", "sp=0");
    return {};
}

double trainingFlops(const RunSpec& spec, bool fullAttention)
{
    const TrainingSettings& training = spec.training;
    const double attended = meanAttendedKeys(spec.plan.documents, training.sequence, training.seed);
    return trainingFlops(spec.model, training.batch, training.sequence, fullAttention, attended);
}

void computeOnCores(ClusterSpec& cluster, Precision precision, std::optional<double> peakFlops,
                    std::optional<double> memoryBytesPerSecond)
{
    const auto describe = [&](DeviceSpec& device) {
        device.family = "cpu";
        device.multiprocessors = 0; // no waves of tiles
        if (peakFlops) device.peakFlops[precision] = *peakFlops;
        if (memoryBytesPerSecond) device.memoryBytesPerSecond = *memoryBytesPerSecond;
    };
    describe(cluster.device);
    for (OtherNodes& each : cluster.otherNodes) {
        const double slowdown = each.device.slowdown;
        each.device = cluster.device;
        each.device.slowdown = slowdown;
    }
}

} // namespace fourwalls
