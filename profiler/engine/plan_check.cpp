// SPDX-License-Identifier: Apache-2.0
// See plan_check.h.
#include "profiler/engine/plan_check.h"

#include "model/spec/pipeline_schedule.h"
#include "profiler/engine/nn/resnet.h"

#include <limits>

namespace fourwalls::engine {

namespace {

struct Limit {
    const char* field;
    bool (*exceeded)(const RunSpec& spec);
    const char* what;
    const char* hint;
};

const TransformerSpec* transformer(const RunSpec& s)
{
    return s.model.transformer();
}

bool offloads(const ParallelPlan& p)
{
    return p.offloadOptimizer || p.offloadActivations || p.offloadParameters;
}

// Tokens of one micro-batch on one context-parallel rank.
std::int64_t heldTokens(const RunSpec& s)
{
    return s.training.batch / s.plan.dp / s.plan.microbatches * s.training.sequence / s.plan.cp;
}

// Of a residual network; else no limit.
std::int64_t residualBlocks(const RunSpec& s)
{
    const auto shape = s.model.resnet() ? ResNetShape::of(*s.model.resnet()) : std::nullopt;
    return shape ? shape->totalBlocks() : std::numeric_limits<std::int64_t>::max();
}

std::int64_t positions(const RunSpec& s)
{
    return pipelineShape(s.plan).positions();
}

// In the order in which they are told. What makes no sense for any engine comes first, then what this one lacks.
constexpr Limit kLimits[] = {
    {"zero", [](const RunSpec& s) { return s.plan.zero > 0 && s.plan.dp * s.plan.cp == 1; },
     "there is nothing to shard over on one data-parallel rank", "zero=0, or dp above 1"},
    {"shard", [](const RunSpec& s) { return s.plan.shards() != s.plan.replicas(); },
     "the engine cuts states over all data-parallel ranks", "leave shard out"},
    {"etp", [](const RunSpec& s) { return s.plan.expertTensorDegree() != s.plan.tp; },
     "the engine cuts experts over the tensor group as it cuts the other layers", "leave etp out"},
    {"context", [](const RunSpec& s) { return s.plan.context == ContextExchange::Gather; },
     "the engine's context ranks pass keys and values round a ring", "context=ring"},
    {"dispatch", [](const RunSpec& s) { return s.plan.dispatch == ExpertDispatch::OncePerNode; },
     "the engine sends every copy of a token to its expert", "dispatch=alltoall"},
    {"epoverlap", [](const RunSpec& s) { return s.plan.overlapExperts; },
     "the engine finishes one micro-batch's pass before it begins another's", "epoverlap=0"},
    {"lora_rank", [](const RunSpec& s) { return s.training.loraRank > 0; },
     "the engine trains the weights themselves and has no low-rank adapters", "lora_rank=0"},
    {"mixture.groups", [](const RunSpec& s) { return transformer(s) && transformer(s)->mixture.groups > 1; },
     "the engine's router picks among all experts", "a network without groups and top_groups"},
    // When a micro-batch's weight gradients are due, the next one's input-gradient pass has added to the same layers
    // (norms, biases, tables): whole gradients could be reduced then, but would never be free to go.
    {"zero",
     [](const RunSpec& s) { return s.plan.zero >= 2 && s.plan.pp > 1 && pipelineShape(s.plan).splitsBackward(); },
     "zero-bubble schedules add to every layer's gradients twice per micro-batch, so whole gradients would lie on each "
     "rank all the time and cutting them would save nothing",
     "zero=1, or schedule=1f1b"},
    {"pp", [](const RunSpec& s) { return s.plan.pp > 1 && s.model.recommendation(); },
     "a recommendation model has no row of equal layers to cut into stages", "pp=1"},
    {"pp", [](const RunSpec& s) { return positions(s) > residualBlocks(s); },
     "there are more pipeline stages than residual blocks", "a smaller pp (or vpp)"},
    {"sp", [](const RunSpec& s) { return s.plan.sequenceParallel && s.plan.tp == 1; },
     "there is nothing to split over on one tensor-parallel rank", "sp=0, or tp above 1"},
    {"tp", [](const RunSpec& s) { return transformer(s) && transformer(s)->kvHeads % s.plan.tp != 0; },
     "a key/value head would be needed by several tensor-parallel ranks", "tp that divides the key/value heads"},
    {"tp", [](const RunSpec& s) { return transformer(s) && transformer(s)->vocabulary < s.plan.tp; },
     "there are more tensor-parallel ranks than tokens in the vocabulary", "a smaller tp"},
    {"tp", [](const RunSpec& s) { return s.plan.tp > 1 && !transformer(s); },
     "only transformers are cut over tensor-parallel ranks", "tp=1, and dp instead"},
    {"cp", [](const RunSpec& s) { return s.plan.cp > 1 && !transformer(s); }, "there is no sequence to cut", "cp=1"},
    {"sp", [](const RunSpec& s) { return s.plan.sequenceParallel && heldTokens(s) % s.plan.tp != 0; },
     "the tokens of a micro-batch do not divide by tp", "a longer sequence or larger micro-batches"},
    {"documents", [](const RunSpec& s) { return !s.plan.documents.empty() && !s.plan.fusedAttention; },
     "the engine's unfused attention masks no documents", "attention=fused"},
    {"documents", [](const RunSpec& s) { return !s.plan.documents.empty() && s.plan.cp > 1; },
     "the engine's ring of keys and values knows no documents", "cp=1"},
    {"recompute", [](const RunSpec& s) { return s.plan.recomputes() && !transformer(s); },
     "only transformers recompute their activations", "recompute=none"},
    {"recompute", [](const RunSpec& s) { return s.plan.recomputeModules != 0; },
     "the engine recomputes whole layers or the core of attention and takes no modules by name",
     "recompute=full or selective"},

    {"ep", [](const RunSpec& s) { return s.plan.ep > 1 && !s.model.transformer(); },
     "tables are cut over parameter servers, not over expert-parallel ranks", "ps=sync servers=2"},
    {"ps",
     [](const RunSpec& s) {
         const ParallelPlan& p = s.plan;
         return p.parameterServer != ParameterServer::None && (p.worldSize() != p.dp || p.ep > 1 || p.zero > 0);
     },
     "parameter servers serve data-parallel workers that hold whole networks", "dp and microbatches only"},
    {"ps",
     [](const RunSpec& s) {
         return s.plan.parameterServer != ParameterServer::None && s.model.transformer() &&
                s.model.transformer()->hasExperts();
     },
     "the auxiliary loss of a mixture of experts needs to know of all workers' choices", "ps=none"},
    {"offload", [](const RunSpec& s) { return s.plan.parameterServer != ParameterServer::None && offloads(s.plan); },
     "workers of parameter servers have nothing to offload: weights and optimizer state are on the servers",
     "offload=none"},
    {"offload", [](const RunSpec& s) { return s.plan.offloadActivations && s.model.recommendation() != nullptr; },
     "a recommendation model keeps next to nothing for its backward pass", "offload=optimizer,parameters"},
    {"offload", [](const RunSpec& s) { return s.plan.offloadParameters && (s.plan.zero == 1 || s.plan.zero == 2); },
     "these stages gather all weights on every rank after each update, so none could stay on the host",
     "zero=3, or zero=0"},
    {"device",
     [](const RunSpec& s) {
         return s.training.device == DeviceKind::Cuda && transformer(s) && transformer(s)->latent.keyValueRank > 0;
     },
     "latent attention is computed on the CPU only", "--device cpu"},
};

} // namespace

Status checkPlan(const RunSpec& spec)
{
    for (const Limit& limit : kLimits)
        if (limit.exceeded(spec)) return Error{ErrorCode::Unsupported, limit.what, limit.field, limit.hint};
    if (spec.plan.pp > 1) FOURWALLS_TRY(checkPipeline(pipelineShape(spec.plan)));
    return {};
}

} // namespace fourwalls::engine
