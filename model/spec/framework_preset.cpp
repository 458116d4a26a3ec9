// SPDX-License-Identifier: Apache-2.0
// Reads framework presets.
#include "model/spec/framework_preset.h"

#include "model/spec/json_fields.h"
#include "model/spec/launch_arguments.h"
#include "model/spec/names.h"
#include "model/spec/preset_data.h"

#include <nlohmann/json.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace fourwalls {

namespace {

constexpr WordTable<GradientOverlap, 3> kOverlapWords{{{GradientOverlap::Never, "never"},
                                                       {GradientOverlap::WithoutPipeline, "without_pipeline"},
                                                       {GradientOverlap::Always, "always"}}};
constexpr WordTable<SelectiveRecompute, 3> kSelectiveWords{{{SelectiveRecompute::AttentionCore, "attention_core"},
                                                            {SelectiveRecompute::AlternateMatmuls, "alternate_matmuls"},
                                                            {SelectiveRecompute::AllButProducts, "all_but_products"}}};
constexpr WordTable<StageSplit, 3> kSplitWords{
    {{StageSplit::Layers, "layers"}, {StageSplit::EndsCount, "ends_count"}, {StageSplit::Automatic, "automatic"}}};

/// The switches of a preset by their names in files.
constexpr std::pair<const char*, bool FrameworkPreset::*> kFlags[] = {
    {"flash_attention", &FrameworkPreset::flashAttention},
    {"fused_softmax", &FrameworkPreset::fusedSoftmax},
    {"fused_activation", &FrameworkPreset::fusedActivation},
    {"fused_dropout_add", &FrameworkPreset::fusedDropoutAdd},
    {"fused_norm", &FrameworkPreset::fusedNorm},
    {"residual_in_product", &FrameworkPreset::residualInProduct},
    {"loss_with_forward", &FrameworkPreset::lossWithForward},
    {"pad_vocabulary", &FrameworkPreset::padVocabulary},
    {"recompute_stops_early", &FrameworkPreset::recomputeStopsEarly},
    {"recomputes_fused", &FrameworkPreset::recomputesFused},
    {"frees_at_once", &FrameworkPreset::freesAtOnce},
    {"fused_rotary", &FrameworkPreset::fusedRotary},
    {"dropout", &FrameworkPreset::dropout},
    {"eager", &FrameworkPreset::eager},
    {"captures_attention", &FrameworkPreset::capturesAttention},
    {"synchronous_launches", &FrameworkPreset::synchronousLaunches},
    {"overlap_parameter_gather", &FrameworkPreset::overlapParameterGather},
    {"shard_optimizer", &FrameworkPreset::shardOptimizer},
    {"shards_parameters", &FrameworkPreset::shardsParameters},
    {"reduces_once", &FrameworkPreset::reducesOnce},
    {"reduce_whole", &FrameworkPreset::reduceWhole},
    {"overlap_tensor_backward", &FrameworkPreset::overlapTensorBackward},
    {"async_tensor", &FrameworkPreset::asyncTensor},
    {"copies_sequences", &FrameworkPreset::copiesSequences},
    {"blocking_transfers", &FrameworkPreset::blockingTransfers},
    {"scatter_gather_transfers", &FrameworkPreset::scatterGatherTransfers},
    {"sorts_received_rows", &FrameworkPreset::sortsReceivedRows},
    {"grouped_experts", &FrameworkPreset::groupedExperts},
    {"adds_expert_biases", &FrameworkPreset::addsExpertBiases},
    {"overlaps_experts", &FrameworkPreset::overlapsExperts},
    {"global_routing", &FrameworkPreset::globalRouting},
    {"gathers_each_pass", &FrameworkPreset::gathersEachPass},
    {"context_in_pieces", &FrameworkPreset::contextInPieces},
    {"waits_for_shards", &FrameworkPreset::waitsForShards},
    {"copies_per_member", &FrameworkPreset::copiesPerMember},
    {"sequence_parallel", &FrameworkPreset::splitsSequences},
    {"recompute_modules", &FrameworkPreset::recomputesModules},
    {"recompute_selective", &FrameworkPreset::recomputesSelected},
    {"sums_table_shards", &FrameworkPreset::sumsTableShards},
    {"norms_by_layer", &FrameworkPreset::normsByLayer},
    {"flush_messages", &FrameworkPreset::flushMessages},
    {"offloads_parameters", &FrameworkPreset::offloadsParameters},
    {"takes_layer_counts", &FrameworkPreset::takesLayerCounts},
    {"stages_first", &FrameworkPreset::stagesFirst},
    {"recomputes_by_stage", &FrameworkPreset::recomputesByStage},
    {"microbatches_are_stages", &FrameworkPreset::microbatchesAreStages},
};

/// The largest degrees of a preset by their names in files.
constexpr std::pair<const char*, std::int64_t FrameworkPreset::*> kMostDegrees[] = {
    {"most_tensor", &FrameworkPreset::mostTensor},
    {"most_pipeline", &FrameworkPreset::mostPipeline},
    {"most_context", &FrameworkPreset::mostContext},
    {"most_context_in_pipeline", &FrameworkPreset::mostContextInPipeline},
    {"most_context_stages_first", &FrameworkPreset::mostContextStagesFirst},
    {"most_experts", &FrameworkPreset::mostExperts},
};

constexpr double kMostBytes = 1e4;
constexpr double kMostSeconds = 1e3;

std::string schedulesOf(const FrameworkPreset& framework)
{
    std::string text = "one of";
    for (const PipelineSchedule schedule : framework.schedules) text += " schedule=" + std::string(name(schedule));
    return text;
}

/// Of a plan's word that says how something is done, `standard` where the framework names nothing.
template <class Enum, std::size_t N>
Status hasWord(const FrameworkPreset& framework, const char* key, const WordTable<Enum, N>& words, Enum said,
               const std::vector<Enum>& has, Enum standard)
{
    if (said == Enum::Auto || (has.empty() && said == standard)) return {};
    if (std::find(has.begin(), has.end(), said) != has.end()) return {};
    std::string known;
    for (const Enum each : has.empty() ? std::vector{standard} : has)
        known += (known.empty() ? "" : " or ") + std::string(key) + "=" + std::string(wordOf(words, each));
    return Error{ErrorCode::Unsupported,
                 framework.name + " has no " + std::string(key) + "=" + std::string(wordOf(words, said)), "plan",
                 known};
}

/// A list of words of a preset.
template <class Enum, std::size_t N>
Status readWords(JsonFields& fields, const char* key, const WordTable<Enum, N>& words, std::vector<Enum>& target)
{
    const nlohmann::json* list = fields.find(key, false);
    if (!list) return {};
    if (!list->is_array()) fields.fail(key, "is not a list");
    for (std::size_t i = 0; list->is_array() && i < list->size(); ++i) {
        const auto& item = (*list)[i];
        const auto value = item.is_string() ? valueOf(words, item.get<std::string>()) : std::nullopt;
        if (!value) fields.fail(key, "names something that is none of " + listWords(words));
        FOURWALLS_TRY(fields.status());
        target.push_back(*value);
    }
    return fields.status();
}

/// With all that a description does not say taken from the preset that it names as `like`; a null takes a field away.
Result<nlohmann::json> completed(nlohmann::json object, std::string_view where)
{
    if (!object.is_object() || !object.contains("like")) return object;
    const std::string name = object["like"].is_string() ? object["like"].get<std::string>() : "";
    const PresetFile* other = findPreset("frameworks", name);
    if (!other)
        return Error{ErrorCode::NotFound, "field \"like\" names no framework preset", std::string(where),
                     "one of the names that --framework takes"};
    FOURWALLS_TRY_ASSIGN(nlohmann::json whole, parseJson(other->json, name));
    FOURWALLS_TRY_ASSIGN(whole, completed(std::move(whole), name));
    object.erase("like");
    whole.erase("name");
    whole.merge_patch(object);
    return whole;
}

Error lacks(const FrameworkPreset& framework, const std::string& what, std::string hint)
{
    return {ErrorCode::Unsupported, framework.name + " has no " + what, "plan", std::move(hint)};
}

Error lacks(const FrameworkPreset& framework, const std::string& key, std::int64_t value, std::int64_t most,
            const std::string& where = {})
{
    return lacks(framework, key + "=" + std::to_string(value) + where,
                 key + "=" + std::to_string(most) + (key == "zero" || most > 1 ? " or less" : ""));
}

} // namespace

Status hasDegrees(const FrameworkPreset& framework, const ParallelPlan& plan)
{
    for (const auto& [key, value, most] : {std::tuple{"tp", plan.tp, framework.mostTensor},
                                           {"pp", plan.pp, framework.mostPipeline},
                                           {"cp", plan.cp, framework.mostContext},
                                           {"ep", plan.ep, framework.mostExperts}})
        if (value > most) return lacks(framework, key, value, most);
    if (plan.pp > 1 && plan.cp > framework.mostContextInPipeline)
        return lacks(framework, "cp", plan.cp, framework.mostContextInPipeline, " in a pipeline");
    if (plan.order == RankOrder::ReplicasFirst) return {};
    const std::string order = "order=" + std::string(wordOf(kOrderWords, plan.order));
    if (!framework.stagesFirst) return lacks(framework, order, "leave order out");
    if (plan.cp > framework.mostContextStagesFirst)
        return lacks(framework, "cp", plan.cp, framework.mostContextStagesFirst, " with " + order);
    return {};
}

Status canRun(const FrameworkPreset& framework, const ParallelPlan& plan)
{
    FOURWALLS_TRY(hasDegrees(framework, plan));
    if (plan.zero > framework.mostZero) return lacks(framework, "zero", plan.zero, framework.mostZero);
    if (plan.pp > 1 && plan.zero > framework.mostZeroInPipeline)
        return lacks(framework, "zero", plan.zero, framework.mostZeroInPipeline, " in a pipeline");
    if ((plan.pp > 1 || plan.schedule != PipelineSchedule::OneFOneB) && !framework.runs(plan.schedule))
        return lacks(framework, "schedule " + std::string(name(plan.schedule)), schedulesOf(framework));
    if (plan.sequenceParallel && !framework.splitsSequences) return lacks(framework, "sp=1", "sp=0");
    // The embedded engine's kernel works on documents of whole sequences; others take their bounds wherever they are.
    if (!plan.documents.empty() && framework.attentionKernel == "engine" && (plan.cp > 1 || !plan.fusedAttention))
        return lacks(framework, "documents with cp or unfused attention", "cp=1 attention=fused");
    if (plan.recomputeModules != 0 && !framework.recomputesModules)
        return lacks(framework, "recompute=" + recomputeText(plan), "recompute=full, selective or none");
    if (plan.recompute == Recompute::Selective && !framework.recomputesSelected)
        return lacks(framework, "recompute=selective", "recompute=full or recompute=none");
    if (!plan.stageRecompute.empty() && !framework.recomputesByStage)
        return lacks(framework, "recomputation by stage", "one word of recompute for all stages");
    FOURWALLS_TRY(
        hasWord(framework, "context", kContextWords, plan.context, framework.contexts, ContextExchange::Ring));
    FOURWALLS_TRY(
        hasWord(framework, "dispatch", kDispatchWords, plan.dispatch, framework.dispatches, ExpertDispatch::AllToAll));
    if (plan.overlapExperts && !framework.overlapsExperts) return lacks(framework, "epoverlap=1", "epoverlap=0");
    return {};
}

Result<FrameworkPreset> frameworkPresetFromJson(std::string_view json, std::string_view where)
{
    FOURWALLS_TRY_ASSIGN(nlohmann::json own, parseJson(json, where));
    FOURWALLS_TRY_ASSIGN(const nlohmann::json object, completed(std::move(own), where));
    FrameworkPreset p;
    JsonFields fields(object, where, "");
    fields.text("name", p.name);
    fields.text("version", p.version);
    fields.text("attention_kernel", p.attentionKernel);
    for (const auto& [key, flag] : kFlags) fields.flag(key, p.*flag);
    fields.number("attention_copies", p.attentionCopies, 0, 100);
    fields.number("loss_bytes_per_logit", p.lossBytesPerLogit, 0, kMostBytes);
    fields.number("launch_seconds", p.launchSeconds, 0, kMostSeconds);
    fields.number("step_seconds", p.stepSeconds, 0, kMostSeconds);
    fields.number("microbatch_seconds", p.microbatchSeconds, 0, kMostSeconds);
    fields.number("gradient_bytes", p.gradientBytes, 0, 16);
    fields.number("reduce_bytes", p.reduceBytes, 0, 16);
    fields.number("bucket_elements", p.bucketElements, 0, 1e12);
    fields.number("bucket_elements_per_replica", p.bucketElementsPerReplica, 0, 1e12);
    fields.number("gather_calls", p.gatherCalls, 1, 1e4);
    fields.number("recompute_gathers", p.recomputeGathers, 0, 1);
    fields.number("scatter_calls", p.scatterCalls, 1, 1e4);
    fields.number("accumulation_bytes", p.accumulationBytes, 0, kMostBytes);
    fields.word("gradient_overlap", kOverlapWords, p.gradientOverlap);
    fields.number("optimizer_bytes", p.optimizerBytes, 0, kMostBytes);
    fields.number("weight_bytes", p.weightBytes, 0, 16);
    fields.number("state_bytes", p.stateBytes, 0, kMostBytes);
    fields.word("stage_split", kSplitWords, p.stageSplit);
    fields.word("selective_recompute", kSelectiveWords, p.selective);
    if (fields.find("launch", false)) {
        LaunchTarget target = LaunchTarget::Megatron;
        fields.word("launch", kLaunchWords, target);
        p.launch = target;
    }
    fields.integer("most_zero", p.mostZero, 0, 3);
    fields.integer("most_zero_in_pipeline", p.mostZeroInPipeline, 0, 3);
    for (const auto& [key, most] : kMostDegrees) fields.integer(key, p.*most, 1, FrameworkPreset::kAnyDegree);
    fields.integer("default_heads", p.defaultHeads, 0, 100'000);
    fields.integer("default_vocabulary", p.defaultVocabulary, 2, 100'000'000);
    fields.number("logit_bytes", p.logitBytes, 0, kMostBytes);
    fields.number("sharded_logit_bytes", p.shardedLogitBytes, 0, kMostBytes);
    fields.number("loss_all_reduces", p.lossAllReduces, 1, 10);
    fields.number("logits_at_once", p.logitsAtOnce, 0, 1e15);
    fields.number("context_bytes", p.contextBytes, 0, 1e12);
    fields.number("library_bytes", p.libraryBytes, 0, 1e12);
    fields.number("slack_fraction", p.slackFraction, 0, 10);
    FOURWALLS_TRY(readWords(fields, "schedules", kScheduleWords, p.schedules));
    FOURWALLS_TRY(readWords(fields, "contexts", kContextWords, p.contexts));
    FOURWALLS_TRY(readWords(fields, "dispatches", kDispatchWords, p.dispatches));
    FOURWALLS_TRY(fields.status());
    return p;
}

} // namespace fourwalls
