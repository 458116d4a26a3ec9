// SPDX-License-Identifier: Apache-2.0
// See launch_arguments.h.
#include "model/spec/launch_arguments.h"

#include "model/spec/names.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace fourwalls {

namespace {

Error cannot(const char* framework, const std::string& key, const std::string& hint)
{
    return {ErrorCode::Unsupported, std::string(framework) + " has no " + key, "plan", hint};
}

std::int64_t microBatch(const RunSpec& spec)
{
    return spec.training.batch / spec.plan.dp / spec.plan.microbatches;
}

/// "--name value" pairs.
class Words {
public:
    explicit Words(std::vector<std::string>& list) : m_list(list) {}
    void flag(const char* name) { m_list.emplace_back(name); }
    void value(const char* name, const std::string& text)
    {
        m_list.emplace_back(name);
        m_list.push_back(text);
    }
    void count(const char* name, std::int64_t number) { value(name, std::to_string(number)); }

private:
    std::vector<std::string>& m_list;
};

Status addMegatronPrecision(const RunSpec& spec, Words& words)
{
    switch (spec.training.precision) {
    case Precision::Bf16: words.flag("--bf16"); return {};
    case Precision::F16: words.flag("--fp16"); return {};
    case Precision::F32: return {};
    case Precision::Fp8:
        words.flag("--bf16");
        words.value("--fp8-format", "hybrid");
        return {};
    case Precision::Mxfp8:
        words.flag("--bf16");
        words.value("--fp8-format", "e4m3");
        words.value("--fp8-recipe", "mxfp8");
        return {};
    case Precision::Fp4:
        words.flag("--bf16");
        words.value("--fp4-format", "e2m1");
        return {};
    case Precision::Tf32: break;
    }
    return cannot("Megatron-LM", "switch for tf32", "--precision bf16");
}

/// "Et*5|t*6|t*6|t*5L": embedding, layers and loss by stage.
std::string megatronLayout(const std::vector<int>& stageLayers)
{
    std::string text = "E";
    for (std::size_t i = 0; i < stageLayers.size(); ++i)
        text += (i > 0 ? "|t*" : "t*") + std::to_string(stageLayers[i]);
    return text + "L";
}

Result<LaunchArguments> megatron(const RunSpec& spec)
{
    constexpr const char* kName = "Megatron-LM";
    const ParallelPlan& plan = spec.plan;
    if (plan.zero > 1) return cannot(kName, "zero=" + std::to_string(plan.zero), "zero=1");
    const bool interleaved = plan.schedule == PipelineSchedule::Interleaved;
    if (plan.pp > 1 && !interleaved && plan.schedule != PipelineSchedule::OneFOneB)
        return cannot(kName, "schedule=" + std::string(name(plan.schedule)), "schedule=1f1b, or vpp=2");
    if (plan.offloadActivations || plan.offloadParameters) return cannot(kName, "such offload", "offload=optimizer");
    LaunchArguments launch;
    Words words(launch.arguments);
    words.count("--tensor-model-parallel-size", plan.tp);
    words.count("--pipeline-model-parallel-size", plan.pp);
    if (!plan.stageLayers.empty())
        words.value("--pipeline-model-parallel-layout", megatronLayout(plan.stageLayers));
    else if (plan.vpp > 1)
        words.count("--num-virtual-stages-per-pipeline-rank", plan.vpp);
    if (plan.cp > 1) words.count("--context-parallel-size", plan.cp);
    if (plan.ep > 1) words.count("--expert-model-parallel-size", plan.ep);
    if (plan.expertTensor > 0) words.count("--expert-tensor-parallel-size", plan.expertTensor);
    if (plan.sequenceParallel) words.flag("--sequence-parallel");
    words.count("--micro-batch-size", microBatch(spec));
    words.count("--global-batch-size", spec.training.batch);
    if (spec.training.sequence > 0) words.count("--seq-length", spec.training.sequence);
    FOURWALLS_TRY(addMegatronPrecision(spec, words));
    if (plan.replicas() > 1) {
        words.flag("--use-distributed-optimizer");
        if (plan.overlap) {
            words.flag("--overlap-grad-reduce");
            words.flag("--overlap-param-gather");
        }
        if (plan.shards() < plan.replicas())
            words.count("--num-distributed-optimizer-instances", plan.replicas() / plan.shards());
    }
    if (plan.overlap && plan.tp > 1 && plan.sequenceParallel) words.flag("--tp-comm-overlap");
    if (plan.recompute == Recompute::Selective) words.value("--recompute-granularity", "selective");
    if (plan.recompute == Recompute::Full) {
        words.value("--recompute-granularity", "full");
        words.value("--recompute-method", "uniform");
        words.count("--recompute-num-layers", 1);
    }
    if (plan.offloadOptimizer) words.flag("--optimizer-cpu-offload");
    return launch;
}

Result<LaunchArguments> torchtitan(const RunSpec& spec)
{
    constexpr const char* kName = "torchtitan";
    const ParallelPlan& plan = spec.plan;
    const char* schedule = "1F1B";
    switch (plan.schedule) {
    case PipelineSchedule::OneFOneB: break;
    case PipelineSchedule::GPipe: schedule = "GPipe"; break;
    case PipelineSchedule::Interleaved: schedule = "Interleaved1F1B"; break;
    case PipelineSchedule::ZeroBubbleV: schedule = "ZBVZeroBubble"; break;
    default: return cannot(kName, "schedule=" + std::string(name(plan.schedule)), "schedule=1f1b, gpipe or zbv");
    }
    if (plan.zero == 1) return cannot(kName, "zero=1", "zero=2 or zero=3");
    if (plan.zero > 0 && plan.shards() % plan.cp != 0)
        return cannot(kName, "shard that cuts a context group", "a multiple of cp=" + std::to_string(plan.cp));
    if (!plan.stageLayers.empty()) return cannot(kName, "count of layers for each stage", "leave layers out");
    if (plan.tp > 1 && !plan.sequenceParallel) return cannot(kName, "tensor parallelism without sp=1", "sp=1");
    if (plan.offloadActivations || plan.offloadOptimizer != plan.offloadParameters)
        return cannot(kName, "such offload", "offload=optimizer,parameters, or none");
    LaunchArguments launch;
    Words words(launch.arguments);
    const int shards = plan.zero > 0 ? plan.shards() / plan.cp : 1;
    words.count("--parallelism.data_parallel_replicate_degree", plan.dp / shards);
    words.count("--parallelism.data_parallel_shard_degree", shards);
    words.count("--parallelism.tensor_parallel_degree", plan.tp);
    words.count("--parallelism.context_parallel_degree", plan.cp);
    if (plan.ep > 1) words.count("--parallelism.expert_parallel_degree", plan.ep);
    if (plan.expertTensor > 0) words.count("--parallelism.expert_tensor_parallel_degree", plan.expertTensor);
    if (plan.zero > 0)
        words.value("--parallelism.fsdp_reshard_after_forward", plan.zero == 3 && plan.reshard ? "always" : "never");
    words.count("--parallelism.pipeline_parallel_degree", plan.pp);
    // With a pipeline the local batch holds all micro-batches, without one it is a micro-batch.
    const std::int64_t local = plan.pp > 1 ? spec.training.batch / plan.dp : microBatch(spec);
    if (plan.pp > 1) {
        words.value("--parallelism.pipeline_parallel_schedule", schedule);
        words.count("--parallelism.pipeline_parallel_microbatch_size", microBatch(spec));
        const TransformerSpec* model = spec.model.transformer();
        if (plan.vpp > 1 && model)
            words.count("--parallelism.pipeline_parallel_layers_per_stage", model->layers / plan.pp / plan.vpp);
    }
    words.count("--training.local_batch_size", local);
    words.count("--training.global_batch_size", spec.training.batch);
    if (spec.training.sequence > 0) words.count("--training.seq_len", spec.training.sequence);
    if (plan.offloadOptimizer) words.flag("--training.enable_cpu_offload");
    words.value("--activation_checkpoint.mode", std::string(wordOf(kRecomputeWords, plan.recompute)));
    if (plan.recompute == Recompute::Selective) words.value("--activation_checkpoint.selective_ac_option", "op");
    return launch;
}

Result<LaunchArguments> deepSpeed(const RunSpec& spec)
{
    constexpr const char* kName = "a configuration of DeepSpeed";
    const ParallelPlan& plan = spec.plan;
    for (const auto& [key, degree] : {std::pair{"pp", plan.pp}, {"cp", plan.cp}, {"ep", plan.ep}, {"vpp", plan.vpp}})
        if (degree > 1)
            return cannot(kName, std::string(key) + "=" + std::to_string(degree),
                          std::string(key) + "=1, or Megatron-DeepSpeed, which says it in code");
    nlohmann::json zero{{"stage", plan.zero}, {"overlap_comm", plan.overlap}};
    if (plan.offloadOptimizer) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
    if (plan.offloadParameters) zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
    if (plan.zero == 3 && plan.shard > 0) zero["mics_shard_size"] = plan.shard;
    nlohmann::json configuration{{"train_batch_size", spec.training.batch},
                                 {"train_micro_batch_size_per_gpu", microBatch(spec)},
                                 {"gradient_accumulation_steps", plan.microbatches},
                                 {"zero_optimization", std::move(zero)}};
    if (spec.training.precision == Precision::Bf16) configuration["bf16"] = {{"enabled", true}};
    if (spec.training.precision == Precision::F16) configuration["fp16"] = {{"enabled", true}};
    if (plan.tp > 1) configuration["tensor_parallel"] = {{"autotp_size", plan.tp}};
    LaunchArguments launch;
    launch.configuration = configuration.dump(2);
    if (plan.shard > 0 && plan.zero != 3)
        launch.notes.emplace_back("shard is said of zero=3 only (mics_shard_size); this stage cuts over all replicas");
    if (plan.recompute != Recompute::None)
        launch.notes.emplace_back(
            "recomputation: the model calls deepspeed.checkpointing, or gradient_checkpointing_enable()");
    return launch;
}

} // namespace

Result<LaunchArguments> launchArguments(LaunchTarget target, const RunSpec& spec)
{
    if (spec.plan.parameterServer != ParameterServer::None)
        return cannot("none of these frameworks", "parameter servers", "ps=none");
    switch (target) {
    case LaunchTarget::Megatron: return megatron(spec);
    case LaunchTarget::Torchtitan: return torchtitan(spec);
    case LaunchTarget::DeepSpeed: return deepSpeed(spec);
    }
    return cannot("nobody", "such target", "megatron, torchtitan or deepspeed");
}

} // namespace fourwalls
