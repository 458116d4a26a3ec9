// SPDX-License-Identifier: Apache-2.0
// Which combinations there are.
#include "model/cost/plan_space.h"

#include <algorithm>

namespace fourwalls::cost {

namespace {

constexpr int kMostChunks = 8;
constexpr std::int64_t kLeastContext = 1024; ///< tokens per rank below which splitting the sequence makes no sense

std::vector<int> chunkCounts(const RunSpec& spec, const ParallelPlan& degrees, int microbatches)
{
    std::vector<int> counts{1};
    const TransformerSpec* model = spec.model.transformer();
    if (!model || degrees.pp < 2 || microbatches % degrees.pp != 0) return counts;
    for (int v = 2; v <= kMostChunks && std::int64_t{v} * degrees.pp <= model->layers; ++v)
        if (model->layers % (std::int64_t{v} * degrees.pp) == 0) counts.push_back(v);
    return counts;
}

/// Different ones only: one micro-batch passes GPipe as it passes 1F1B, and two pass ZB-2p as they pass ZB-1p.
std::vector<PipelineSchedule> allSchedules(const ParallelPlan& degrees, int chunks, int microbatches)
{
    if (degrees.pp < 2) return {PipelineSchedule::OneFOneB};
    if (chunks == 2) return {PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubbleV};
    if (chunks > 1) return {PipelineSchedule::Interleaved};
    if (microbatches == 1) return {PipelineSchedule::OneFOneB, PipelineSchedule::ZeroBubbleH1};
    if (microbatches == 2) return {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe, PipelineSchedule::ZeroBubbleH1};
    return {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe, PipelineSchedule::ZeroBubbleH1,
            PipelineSchedule::ZeroBubble2p};
}

/// Of them those that the framework has.
std::vector<PipelineSchedule> schedules(const FrameworkPreset& framework, const ParallelPlan& degrees, int chunks,
                                        int microbatches)
{
    std::vector<PipelineSchedule> list = allSchedules(degrees, chunks, microbatches);
    if (degrees.pp > 1) std::erase_if(list, [&](PipelineSchedule schedule) { return !framework.runs(schedule); });
    return list;
}

/// Groups over which ZeRO-3 may cut instead of all replicas: the devices of a node.
std::vector<int> shardGroups(const RunSpec& spec, const FrameworkPreset& framework, const ParallelPlan& plan)
{
    const int node = spec.cluster.devicesPerNode / plan.tp;
    const bool sharesNode = node > 1 && node < plan.replicas() && plan.replicas() % node == 0;
    if (plan.zero < 3 || !framework.shardsParameters || plan.shard > 0 || !sharesNode) return {plan.shard};
    return {0, node};
}

/// Whether it can matter if the replicas or the stages of a pipeline share a node.
bool placesMatter(const RunSpec& spec, const ParallelPlan& degrees)
{
    const int node = spec.cluster.devicesPerNode;
    return degrees.pp > 1 && degrees.dp > 1 && degrees.ep == 1 && degrees.worldSize() > node &&
           degrees.tp * degrees.cp < node;
}

/// How context ranks can exchange keys: as the framework does by itself, and in its other ways.
std::vector<ContextExchange> contextExchanges(const FrameworkPreset& framework, const ParallelPlan& degrees)
{
    std::vector<ContextExchange> list{degrees.context};
    if (degrees.cp > 1 && degrees.context == ContextExchange::Auto && framework.contexts.size() > 1)
        list.insert(list.end(), framework.contexts.begin() + 1, framework.contexts.end());
    return list;
}

bool tensorDivides(const TransformerSpec& model, int tp)
{
    return model.heads % tp == 0 && model.ffnHidden % tp == 0 && (model.kvHeads % tp == 0 || tp % model.kvHeads == 0);
}

} // namespace

std::vector<int> divisorsOf(std::int64_t number)
{
    std::vector<int> small, large;
    for (std::int64_t d = 1; d * d <= number && d <= 1'000'000; ++d) {
        if (number % d != 0) continue;
        small.push_back(static_cast<int>(d));
        if (number / d != d && number / d <= 1'000'000) large.push_back(static_cast<int>(number / d));
    }
    small.insert(small.end(), large.rbegin(), large.rend());
    return small;
}

std::vector<Recompute> recomputeChoices(const RunSpec& spec, const FrameworkPreset& framework)
{
    if (!spec.model.transformer()) return {Recompute::None};
    const bool fused = spec.plan.fusedAttention && framework.flashAttention;
    const bool keepsNothing = framework.selective == SelectiveRecompute::AttentionCore && fused;
    if (!framework.recomputesSelected || (keepsNothing && !framework.recomputesFused))
        return {Recompute::None, Recompute::Full};
    return {Recompute::None, Recompute::Selective, Recompute::Full};
}

std::vector<PlanFamily> planFamilies(const RunSpec& spec, const FrameworkPreset& framework,
                                     const SearchOptions& options, std::int64_t& considered)
{
    const auto allows = [&](const ParallelPlan& degrees) {
        return options.fixed.allowsDegrees(degrees) && hasDegrees(framework, degrees).ok();
    };
    std::vector<PlanFamily> families;
    const auto add = [&](PlanFamily family) {
        if (!allows(family.degrees)) return;
        families.push_back(family);
        if (options.fixed.order || !placesMatter(spec, family.degrees)) return;
        family.degrees.order = RankOrder::StagesFirst;
        if (allows(family.degrees)) families.push_back(family);
    };
    std::vector<int> worlds{options.devices};
    if (mayUseFewer(options.objective)) worlds = divisorsOf(options.devices);
    const TransformerSpec* model = spec.model.transformer();
    for (const int world : worlds) {
        for (const int tp : divisorsOf(world)) {
            ++considered;
            // Tensor parallelism across nodes is never worth its traffic.
            if (tp > 1 && (!model || tp > spec.cluster.devicesPerNode || !tensorDivides(*model, tp))) continue;
            for (const int pp : divisorsOf(world / tp)) {
                ++considered;
                if (pp > 1 && (!model || pp > model->layers)) continue;
                for (const int cp : divisorsOf(world / tp / pp)) {
                    ++considered;
                    const std::int64_t sequence = spec.training.sequence;
                    if (cp > 1 && (!model || sequence % cp != 0 || sequence / cp < kLeastContext)) continue;
                    PlanFamily family;
                    family.degrees = spec.plan;
                    family.degrees.tp = tp;
                    family.degrees.pp = pp;
                    family.degrees.cp = cp;
                    family.degrees.dp = world / tp / pp / cp;
                    family.degrees.ep = 1;
                    if (!options.fixed.layers) family.degrees.stageLayers.clear();
                    if (!options.fixed.recompute) family.degrees.setRecompute(Recompute::None);
                    if (!options.fixed.order) family.degrees.order = RankOrder::ReplicasFirst;
                    if (!options.fixed.shard) family.degrees.shard = 0;
                    if (!options.fixed.expertTensor) family.degrees.expertTensor = 0;
                    if (!options.fixed.offload)
                        family.degrees.offloadOptimizer = family.degrees.offloadParameters = false;
                    if (spec.training.batch % family.degrees.dp != 0) continue;
                    if (tp % family.degrees.expertTensorDegree() != 0) continue;
                    add(family);
                    if (!model || !model->hasExperts()) continue;
                    for (const int ep : divisorsOf(family.degrees.expertReplicas())) {
                        ++considered;
                        if (ep == 1 || model->mixture.experts % ep != 0) continue;
                        family.degrees.ep = ep;
                        add(family);
                    }
                }
            }
        }
    }
    return families;
}

void visitPlans(const RunSpec& spec, const FrameworkPreset& framework, const PlanFamily& family, bool offloadOptimizer,
                const std::function<bool(const ParallelPlan&)>& visit)
{
    ParallelPlan plan = family.degrees;
    plan.offloadOptimizer = offloadOptimizer || family.degrees.offloadOptimizer;
    // What the user named stays as it is named.
    if (offloadOptimizer && framework.offloadsParameters) plan.offloadParameters = true;
    const std::int64_t mostZero = plan.pp > 1 ? framework.mostZeroInPipeline : framework.mostZero;
    const bool isTransformer = spec.model.transformer() != nullptr;
    const bool canSplitSequence =
        isTransformer && plan.tp > 1 && framework.splitsSequences && spec.training.sequence % plan.tp == 0;
    const bool shards = std::int64_t{plan.dp} * plan.cp > 1;
    const std::vector<Recompute> choices =
        family.degrees.recomputeModules != 0 ? std::vector{Recompute::Selective} : recomputeChoices(spec, framework);
    for (const int microbatches : divisorsOf(spec.training.batch / plan.dp)) {
        plan.microbatches = microbatches;
        for (const Recompute recompute : choices) {
            // What the user named by stage stays as it is named.
            if (plan.stageRecompute.empty()) plan.recompute = recompute;
            if (!plan.stageRecompute.empty() && recompute != Recompute::None) continue;
            for (const bool sequenceParallel : {false, true}) {
                if (sequenceParallel && !canSplitSequence) continue;
                plan.sequenceParallel = sequenceParallel;
                for (const int chunks : chunkCounts(spec, plan, microbatches)) {
                    plan.vpp = chunks;
                    for (const PipelineSchedule schedule : schedules(framework, plan, chunks, microbatches)) {
                        plan.schedule = schedule;
                        for (int zero = 0; zero <= (shards ? mostZero : 0); ++zero) {
                            if (zero == 1 && framework.shardOptimizer) continue; // as without ZeRO
                            plan.zero = zero;
                            plan.shard = zero > 0 ? family.degrees.shard : 0;
                            for (const int group : shardGroups(spec, framework, plan)) {
                                plan.shard = group;
                                for (const ContextExchange context : contextExchanges(framework, family.degrees)) {
                                    plan.context = context;
                                    if (!visit(plan)) return;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

FixedParts FixedParts::of(std::string_view text, const ParallelPlan& plan)
{
    FixedParts fixed;
    fixed.plan = plan;
    const std::pair<std::string_view, bool FixedParts::*> keys[] = {{"dp", &FixedParts::dp},
                                                                    {"tp", &FixedParts::tp},
                                                                    {"pp", &FixedParts::pp},
                                                                    {"cp", &FixedParts::cp},
                                                                    {"ep", &FixedParts::ep},
                                                                    {"vpp", &FixedParts::vpp},
                                                                    {"microbatches", &FixedParts::microbatches},
                                                                    {"zero", &FixedParts::zero},
                                                                    {"sp", &FixedParts::sequenceParallel},
                                                                    {"recompute", &FixedParts::recompute},
                                                                    {"schedule", &FixedParts::schedule},
                                                                    {"layers", &FixedParts::layers},
                                                                    {"order", &FixedParts::order},
                                                                    {"shard", &FixedParts::shard},
                                                                    {"etp", &FixedParts::expertTensor},
                                                                    {"offload", &FixedParts::offload}};
    constexpr std::string_view kSpaces = " \t\r\n";
    for (std::size_t begin = text.find_first_not_of(kSpaces); begin != std::string_view::npos;
         begin = text.find_first_not_of(kSpaces, text.find_first_of(kSpaces, begin))) {
        const std::string_view word = text.substr(begin, text.find_first_of(kSpaces, begin) - begin);
        for (const auto& [key, part] : keys)
            if (word.substr(0, word.find('=')) == key) fixed.*part = true;
        if (text.find_first_of(kSpaces, begin) == std::string_view::npos) break;
    }
    return fixed;
}

ParallelPlan FixedParts::named() const
{
    ParallelPlan result;
    for (const auto& [isNamed, part] : {std::pair{dp, &ParallelPlan::dp},
                                        {tp, &ParallelPlan::tp},
                                        {pp, &ParallelPlan::pp},
                                        {cp, &ParallelPlan::cp},
                                        {ep, &ParallelPlan::ep},
                                        {vpp, &ParallelPlan::vpp},
                                        {microbatches, &ParallelPlan::microbatches},
                                        {zero, &ParallelPlan::zero},
                                        {shard, &ParallelPlan::shard},
                                        {expertTensor, &ParallelPlan::expertTensor}})
        if (isNamed) result.*part = plan.*part;
    if (sequenceParallel) result.sequenceParallel = plan.sequenceParallel;
    if (recompute) {
        result.recompute = plan.recompute;
        result.recomputeModules = plan.recomputeModules;
        result.stageRecompute = plan.stageRecompute;
    }
    if (schedule) result.schedule = plan.schedule;
    if (order) result.order = plan.order;
    if (layers) result.stageLayers = plan.stageLayers;
    // Without a word on them they are the framework's.
    result.context = plan.context;
    // What is attended to is the job's, whatever is searched.
    result.documents = plan.documents;
    result.fusedAttention = plan.fusedAttention;
    result.dispatch = plan.dispatch;
    result.overlapExperts = plan.overlapExperts;
    return result;
}

double leastStateBytes(double parameters, double expertParameters, const FrameworkPreset& framework,
                       const ParallelPlan& plan)
{
    const double shards = plan.shards();
    const auto states = [&](double count, double replicas) {
        const double weights = plan.offloadParameters ? 0 : framework.weightBytes / (plan.zero >= 3 ? replicas : 1);
        const double gradients = framework.gradientBytes / (plan.zero >= 2 ? replicas : 1);
        const bool sharded = plan.zero >= 1 || framework.shardOptimizer;
        const double optimizer = plan.offloadOptimizer ? 0 : framework.stateBytes / (sharded ? replicas : 1);
        return count / (static_cast<double>(plan.tp) * plan.pp) * (weights + gradients + optimizer);
    };
    // Half: parameters are not spread evenly over the stages, and this is a bound from below.
    return 0.5 * (states(parameters - expertParameters, shards) +
                  states(expertParameters / plan.ep, std::max(1.0, shards / plan.ep)));
}

} // namespace fourwalls::cost
