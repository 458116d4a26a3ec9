// SPDX-License-Identifier: Apache-2.0
// Reads framework presets.
#include "model/spec/framework_preset.h"

#include "model/spec/json_fields.h"

#include <nlohmann/json.hpp>

namespace fourwalls {

namespace {

constexpr WordTable<GradientOverlap, 3> kOverlapWords{{{GradientOverlap::Never, "never"},
                                                       {GradientOverlap::WithoutPipeline, "without_pipeline"},
                                                       {GradientOverlap::Always, "always"}}};
constexpr WordTable<SelectiveRecompute, 2> kSelectiveWords{
    {{SelectiveRecompute::AttentionCore, "attention_core"},
     {SelectiveRecompute::AlternateMatmuls, "alternate_matmuls"}}};
constexpr WordTable<StageSplit, 3> kSplitWords{
    {{StageSplit::Layers, "layers"}, {StageSplit::EndsCount, "ends_count"}, {StageSplit::Automatic, "automatic"}}};

constexpr double kMostBytes = 1e4;
constexpr double kMostSeconds = 1e3;

} // namespace

Result<FrameworkPreset> frameworkPresetFromJson(std::string_view json, std::string_view where)
{
    FOURWALLS_TRY_ASSIGN(const nlohmann::json object, parseJson(json, where));
    FrameworkPreset p;
    JsonFields fields(object, where, "");
    fields.text("name", p.name);
    fields.text("version", p.version);
    fields.flag("flash_attention", p.flashAttention);
    fields.text("attention_kernel", p.attentionKernel);
    fields.flag("fused_softmax", p.fusedSoftmax);
    fields.flag("fused_activation", p.fusedActivation);
    fields.flag("fused_dropout_add", p.fusedDropoutAdd);
    fields.flag("fused_norm", p.fusedNorm);
    fields.flag("fused_rotary", p.fusedRotary);
    fields.flag("dropout", p.dropout);
    fields.number("attention_copies", p.attentionCopies, 0, 100);
    fields.number("loss_bytes_per_logit", p.lossBytesPerLogit, 0, kMostBytes);
    fields.number("eager_factor", p.eagerFactor, 1, 100);
    fields.number("launch_seconds", p.launchSeconds, 0, kMostSeconds);
    fields.flag("synchronous_launches", p.synchronousLaunches);
    fields.number("step_seconds", p.stepSeconds, 0, kMostSeconds);
    fields.number("microbatch_seconds", p.microbatchSeconds, 0, kMostSeconds);
    fields.number("gradient_bytes", p.gradientBytes, 0, 16);
    fields.number("reduce_bytes", p.reduceBytes, 0, 16);
    fields.number("accumulation_bytes", p.accumulationBytes, 0, kMostBytes);
    fields.word("gradient_overlap", kOverlapWords, p.gradientOverlap);
    fields.flag("overlap_parameter_gather", p.overlapParameterGather);
    fields.flag("shard_optimizer", p.shardOptimizer);
    fields.flag("reduce_whole", p.reduceWhole);
    fields.number("optimizer_bytes", p.optimizerBytes, 0, kMostBytes);
    fields.number("weight_bytes", p.weightBytes, 0, 16);
    fields.number("state_bytes", p.stateBytes, 0, kMostBytes);
    fields.flag("overlap_tensor_backward", p.overlapTensorBackward);
    fields.flag("async_tensor", p.asyncTensor);
    fields.flag("blocking_transfers", p.blockingTransfers);
    fields.flag("scatter_gather_transfers", p.scatterGatherTransfers);
    fields.flag("dispatch_once_per_node", p.dispatchOncePerNode);
    fields.flag("grouped_experts", p.groupedExperts);
    fields.flag("overlap_experts", p.overlapExperts);
    fields.word("stage_split", kSplitWords, p.stageSplit);
    fields.word("selective_recompute", kSelectiveWords, p.selective);
    fields.integer("default_heads", p.defaultHeads, 0, 100'000);
    fields.integer("default_vocabulary", p.defaultVocabulary, 2, 100'000'000);
    fields.flag("microbatches_are_stages", p.microbatchesAreStages);
    fields.number("logit_bytes", p.logitBytes, 0, kMostBytes);
    fields.number("context_bytes", p.contextBytes, 0, 1e12);
    fields.number("library_bytes", p.libraryBytes, 0, 1e12);
    fields.number("slack_fraction", p.slackFraction, 0, 10);
    FOURWALLS_TRY(fields.status());
    return p;
}

} // namespace fourwalls
