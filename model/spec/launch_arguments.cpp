// SPDX-License-Identifier: Apache-2.0
// See launch_arguments.h.
#include "model/spec/launch_arguments.h"

#include "model/spec/pipeline_schedule.h"
#include "model/spec/stage_split.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
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

/// Layers of each position of the pipeline, from the input, as the plan was priced; empty without a pipeline.
std::vector<std::int64_t> layersOfPositions(const RunSpec& spec, const ParallelPlan& plan,
                                            const FrameworkPreset& framework)
{
    const TransformerSpec* model = spec.model.transformer();
    if (plan.pp < 2 || !model) return {};
    if (!plan.stageLayers.empty()) return {plan.stageLayers.begin(), plan.stageLayers.end()};
    return splitLayers(model->layers, pipelineShape(plan).positions(), framework.stageSplit);
}

/// Their switches of recomputation are of all stages.
Status checkRecompute(const char* framework, const ParallelPlan& plan)
{
    if (plan.stageRecompute.empty()) return {};
    return cannot(framework, "recomputation by stage", "recompute=none, selective or full on all stages");
}

/// Those of whole layers alone.
Status checkNamedModules(const char* framework, const ParallelPlan& plan)
{
    if (plan.recomputeModules == 0) return {};
    return cannot(framework, "recompute=" + recomputeText(plan), "recompute=none, selective or full");
}

/// Their stages are apart in the order of ranks: torchtitan's ParallelDims.build_mesh and DeepSpeed's
/// PipeModelDataParallelTopology have the pipeline as the outermost axis.
Status checkOrder(const char* framework, const ParallelPlan& plan)
{
    if (plan.order == RankOrder::ReplicasFirst) return {};
    return cannot(framework, "order=" + std::string(wordOf(kOrderWords, plan.order)), "leave order out");
}

Status checkMegatronPrecision(const RunSpec& spec)
{
    if (spec.training.precision != Precision::Tf32) return {};
    return cannot("Megatron-LM", "switch for tf32", "--precision bf16");
}

void addMegatronPrecision(const RunSpec& spec, Words& words)
{
    switch (spec.training.precision) {
    case Precision::F16: words.flag("--fp16"); return;
    case Precision::F32:
    case Precision::Tf32: return;
    default: words.flag("--bf16");
    }
    switch (spec.training.precision) {
    case Precision::Fp8: words.value("--fp8-format", "hybrid"); return;
    case Precision::Mxfp8:
        words.value("--fp8-format", "e4m3");
        words.value("--fp8-recipe", "mxfp8");
        return;
    case Precision::Fp4: words.value("--fp4-format", "e2m1"); return;
    default: return;
    }
}

/// "Et*5|t*6|t*6|t*5L": embedding, layers and loss by stage.
std::string megatronLayout(const std::vector<std::int64_t>& layers)
{
    std::string text = "E";
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i > 0) text += '|';
        if (layers[i] > 0) text += "t*" + std::to_string(layers[i]);
    }
    return text + "L";
}

Status checkMegatron(const RunSpec& spec, const ParallelPlan& plan)
{
    constexpr const char* kName = "Megatron-LM";
    if (plan.zero > 1) return cannot(kName, "zero=" + std::to_string(plan.zero), "zero=1");
    const bool interleaved = plan.schedule == PipelineSchedule::Interleaved;
    if (plan.pp > 1 && !interleaved && plan.schedule != PipelineSchedule::OneFOneB)
        return cannot(kName, "schedule=" + std::string(name(plan.schedule)), "schedule=1f1b, or vpp=2");
    if (plan.offloadActivations || plan.offloadParameters) return cannot(kName, "such offload", "offload=optimizer");
    FOURWALLS_TRY(checkRecompute(kName, plan));
    // Its arguments refuse contexts (and experts, which resolve does) with --use-tp-pp-dp-mapping.
    if (plan.order == RankOrder::StagesFirst && plan.cp > 1)
        return cannot(kName, "cp with order=" + std::string(wordOf(kOrderWords, plan.order)),
                      "cp=1, or leave order out");
    // Megatron-LM's arguments refuse the overlap there: it runs in the schedule of virtual stages, or without a pipeline.
    if (plan.overlapExperts && ((plan.pp > 1 && plan.vpp == 1) || plan.recompute == Recompute::Full))
        return cannot(kName, "epoverlap=1 with full recomputation or a pipeline without virtual stages", "epoverlap=0");
    return checkMegatronPrecision(spec);
}

LaunchArguments megatron(const RunSpec& spec, const FrameworkPreset& framework)
{
    const ParallelPlan& plan = spec.plan;
    LaunchArguments launch;
    Words words(launch.arguments);
    words.count("--tensor-model-parallel-size", plan.tp);
    words.count("--pipeline-model-parallel-size", plan.pp);
    // Without a layout Megatron takes as many layers in each position, and nothing else.
    const std::vector<std::int64_t> layers = layersOfPositions(spec, plan, framework);
    if (std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) != layers.end())
        words.value("--pipeline-model-parallel-layout", megatronLayout(layers));
    else if (plan.vpp > 1)
        words.count("--num-virtual-stages-per-pipeline-rank", plan.vpp);
    if (plan.order == RankOrder::StagesFirst) words.flag("--use-tp-pp-dp-mapping");
    if (plan.cp > 1) {
        words.count("--context-parallel-size", plan.cp);
        words.value("--cp-comm-type", framework.contextOf(plan) == ContextExchange::Gather ? "all_gather" : "p2p");
    }
    if (plan.ep > 1) {
        words.count("--expert-model-parallel-size", plan.ep);
        const bool once = framework.dispatchOf(plan) == ExpertDispatch::OncePerNode;
        words.value("--moe-token-dispatcher-type", once ? "flex" : "alltoall");
        if (once) words.flag("--moe-enable-deepep");
        if (plan.overlapExperts) words.flag("--overlap-moe-expert-parallel-comm");
    }
    if (plan.expertTensor > 0) words.count("--expert-tensor-parallel-size", plan.expertTensor);
    if (plan.sequenceParallel) words.flag("--sequence-parallel");
    words.count("--micro-batch-size", microBatch(spec));
    words.count("--global-batch-size", spec.training.batch);
    if (spec.training.sequence > 0) words.count("--seq-length", spec.training.sequence);
    addMegatronPrecision(spec, words);
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
    if (plan.recomputeModules != 0) words.flag("--recompute-modules");
    for (const auto& [module, word] : kRecomputeModuleWords)
        if (plan.recomputeModules & module) words.flag(word.data());
    if (plan.recompute == Recompute::Full) {
        words.value("--recompute-granularity", "full");
        words.value("--recompute-method", "uniform");
        words.count("--recompute-num-layers", 1);
    }
    if (plan.offloadOptimizer) words.flag("--optimizer-cpu-offload");
    return launch;
}

/// What makes torchtitan cut the layers as a plan does. Source: pipeline_llm and generate_llm_fqn_per_model_part of
/// torchtitan/distributed/pipeline_parallel.py (0.2): the ends count as so many layers more, what does not divide goes to
/// the first stages, and the layers of a stage say how many stages there are: ceil((layers + ends) / layers of a stage).
struct TitanStages {
    std::int64_t first = 1, last = 1;     ///< layers that embedding and head count as
    std::optional<std::int64_t> perStage; ///< absent: one stage a rank, two in schedules that take several
};

std::vector<std::int64_t> titanSplit(std::int64_t layers, std::int64_t stages, std::int64_t first, std::int64_t last)
{
    const std::int64_t items = layers + first + last, each = items / stages;
    if (first > each || last > each) return {}; // torchtitan refuses it
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < stages; ++i) result.push_back(each + (i < items % stages ? 1 : 0));
    result.front() -= first;
    result.back() -= last;
    return result;
}

std::optional<TitanStages> titanStages(const std::vector<std::int64_t>& counts, const ParallelPlan& plan)
{
    const auto stages = static_cast<std::int64_t>(counts.size());
    const std::int64_t layers = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const std::int64_t most = *std::max_element(counts.begin(), counts.end());
    const bool isImplied = stages == (stages > plan.pp ? 2 : 1) * plan.pp;
    const auto told = [&](std::int64_t first, std::int64_t last) -> std::optional<TitanStages> {
        if (titanSplit(layers, stages, first, last) != counts) return std::nullopt;
        if (isImplied) return TitanStages{first, last, std::nullopt};
        const std::int64_t items = layers + first + last, each = (items + stages - 1) / stages;
        if ((items + each - 1) / each != stages) return std::nullopt;
        return TitanStages{first, last, each};
    };
    if (auto standard = told(1, 1)) return standard;
    for (std::int64_t first = 0; first <= most + 1; ++first)
        for (std::int64_t last = 0; last <= most + 1; ++last)
            if (auto found = told(first, last)) return found;
    return std::nullopt;
}

Result<const char*> titanSchedule(PipelineSchedule schedule)
{
    switch (schedule) {
    case PipelineSchedule::OneFOneB: return "1F1B";
    case PipelineSchedule::GPipe: return "GPipe";
    case PipelineSchedule::Interleaved: return "Interleaved1F1B";
    case PipelineSchedule::ZeroBubbleV: return "ZBVZeroBubble";
    default: return cannot("torchtitan", "schedule=" + std::string(name(schedule)), "schedule=1f1b, gpipe or zbv");
    }
}

/// training.mixed_precision_param takes bfloat16 and float32, model.converters fp8 with one scale for a tensor and MXFP8.
Status checkTitanPrecision(const RunSpec& spec)
{
    const Precision precision = spec.training.precision;
    if (precision != Precision::F16 && precision != Precision::Tf32 && precision != Precision::Fp4) return {};
    return cannot("torchtitan", "training in " + std::string(name(precision)), "--precision bf16, f32, fp8 or mxfp8");
}

void addTitanPrecision(const RunSpec& spec, const FrameworkPreset& framework, Words& words)
{
    switch (spec.training.precision) {
    case Precision::F32: words.value("--training.mixed_precision_param", "float32"); break;
    case Precision::Fp8:
        words.value("--model.converters", "quantize.linear.float8");
        words.value("--quantize.linear.float8.recipe_name", "tensorwise");
        break;
    case Precision::Mxfp8: words.value("--model.converters", "quantize.linear.mx"); break;
    default: words.value("--training.mixed_precision_param", "bfloat16");
    }
    if (framework.fusedActivation) words.flag("--compile.enable"); // the compiler fuses
    if (framework.asyncTensor && spec.plan.tp > 1) words.flag("--parallelism.enable_async_tensor_parallel");
}

/// Copies of the weights stand alone: parallelize_llama refuses DistributedDataParallel beside other dimensions, and
/// with context parallelism torchtitan always cuts the weights over the context group (ParallelDims.fsdp_enabled).
Status checkTitanShards(const ParallelPlan& plan)
{
    constexpr const char* kName = "torchtitan";
    if (plan.zero == 1) return cannot(kName, "zero=1", "zero=2 or zero=3");
    if (plan.zero == 0 && plan.replicas() > 1 && (plan.tp > 1 || plan.pp > 1 || plan.cp > 1))
        return cannot(kName, "zero=0 beside tp, pp or cp", "zero=2 or zero=3");
    if (plan.zero > 0 && plan.shards() % plan.cp != 0)
        return cannot(kName, "shard that cuts a context group", "a multiple of cp=" + std::to_string(plan.cp));
    if (plan.offloadActivations || plan.offloadOptimizer != plan.offloadParameters ||
        (plan.offloadParameters && plan.zero == 0))
        return cannot(kName, "such offload", "offload=optimizer,parameters with zero=3, or none");
    return {};
}

Status checkTorchtitan(const RunSpec& spec, const ParallelPlan& plan, const FrameworkPreset& framework)
{
    constexpr const char* kName = "torchtitan";
    if (const auto schedule = titanSchedule(plan.schedule); !schedule) return schedule.error();
    FOURWALLS_TRY(checkTitanPrecision(spec));
    FOURWALLS_TRY(checkTitanShards(plan));
    FOURWALLS_TRY(checkRecompute(kName, plan));
    FOURWALLS_TRY(checkNamedModules(kName, plan));
    FOURWALLS_TRY(checkOrder(kName, plan));
    if (plan.tp > 1 && !plan.sequenceParallel) return cannot(kName, "tensor parallelism without sp=1", "sp=1");
    // ParallelDims.seq_len_divisor
    const std::int64_t divisor = 2 * std::int64_t{plan.tp} * plan.cp;
    if (spec.training.sequence % divisor != 0)
        return cannot(kName, "sequence that 2 x tp x cp do not divide", "a multiple of " + std::to_string(divisor));
    if (const auto layers = layersOfPositions(spec, plan, framework); !layers.empty() && !titanStages(layers, plan))
        return cannot(kName, "such split of the layers", plan.vpp > 2 ? "another vpp" : "leave layers out");
    return {};
}

LaunchArguments torchtitan(const RunSpec& spec, const FrameworkPreset& framework)
{
    const ParallelPlan& plan = spec.plan;
    LaunchArguments launch;
    Words words(launch.arguments);
    const int shards = plan.zero > 0 ? plan.shards() / plan.cp : 1;
    words.count("--parallelism.data_parallel_replicate_degree", plan.dp / shards);
    words.count("--parallelism.data_parallel_shard_degree", shards);
    words.count("--parallelism.tensor_parallel_degree", plan.tp);
    words.count("--parallelism.context_parallel_degree", plan.cp);
    if (plan.cp > 1)
        words.value("--parallelism.context_parallel_rotate_method",
                    framework.contextOf(plan) == ContextExchange::Gather ? "allgather" : "alltoall");
    if (plan.ep > 1) words.count("--parallelism.expert_parallel_degree", plan.ep);
    if (plan.expertTensor > 0) words.count("--parallelism.expert_tensor_parallel_degree", plan.expertTensor);
    // In a pipeline the weights stay gathered, as they were priced.
    const bool reshards = plan.zero == 3 && plan.reshard && (plan.pp == 1 || framework.gathersEachPass);
    if (plan.zero > 0) words.value("--parallelism.fsdp_reshard_after_forward", reshards ? "always" : "never");
    words.count("--parallelism.pipeline_parallel_degree", plan.pp);
    // With a pipeline the local batch holds all micro-batches, without one it is a micro-batch.
    const std::int64_t local = plan.pp > 1 ? spec.training.batch / plan.dp : microBatch(spec);
    if (plan.pp > 1) {
        words.value("--parallelism.pipeline_parallel_schedule", *titanSchedule(plan.schedule));
        words.count("--parallelism.pipeline_parallel_microbatch_size", microBatch(spec));
        const auto layers = layersOfPositions(spec, plan, framework);
        const auto stages = layers.empty() ? TitanStages{} : titanStages(layers, plan).value_or(TitanStages{});
        if (stages.first != 1) words.count("--parallelism.pipeline_parallel_first_stage_less_layers", stages.first);
        if (stages.last != 1) words.count("--parallelism.pipeline_parallel_last_stage_less_layers", stages.last);
        if (stages.perStage) words.count("--parallelism.pipeline_parallel_layers_per_stage", *stages.perStage);
    }
    words.count("--training.local_batch_size", local);
    words.count("--training.global_batch_size", spec.training.batch);
    if (spec.training.sequence > 0) words.count("--training.seq_len", spec.training.sequence);
    addTitanPrecision(spec, framework, words);
    if (plan.offloadOptimizer) words.flag("--training.enable_cpu_offload");
    words.value("--activation_checkpoint.mode", std::string(wordOf(kRecomputeWords, plan.recompute)));
    if (plan.recompute == Recompute::Selective) words.value("--activation_checkpoint.selective_ac_option", "op");
    return launch;
}

Status checkDeepSpeed(const RunSpec& spec, const ParallelPlan& plan)
{
    FOURWALLS_TRY(checkRecompute("a configuration of DeepSpeed", plan));
    FOURWALLS_TRY(checkNamedModules("a configuration of DeepSpeed", plan));
    FOURWALLS_TRY(checkOrder("a configuration of DeepSpeed", plan));
    const Precision precision = spec.training.precision;
    if (precision == Precision::Fp8 || precision == Precision::Mxfp8 || precision == Precision::Fp4)
        return cannot("a configuration of DeepSpeed", std::string(name(precision)), "--precision bf16 or f16");
    for (const auto& [key, degree] : {std::pair{"pp", plan.pp}, {"cp", plan.cp}, {"ep", plan.ep}, {"vpp", plan.vpp}})
        if (degree > 1)
            return cannot("a configuration of DeepSpeed", std::string(key) + "=" + std::to_string(degree),
                          std::string(key) + "=1, or Megatron-DeepSpeed, which says it in code");
    if (plan.tp > 1 && plan.sequenceParallel) return cannot("a configuration of DeepSpeed", "sp=1", "sp=0");
    return {};
}

LaunchArguments deepSpeed(const RunSpec& spec)
{
    const ParallelPlan& plan = spec.plan;
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
    if (spec.training.precision == Precision::Tf32)
        launch.notes.emplace_back("tf32: the program sets torch.backends.cuda.matmul.allow_tf32 = True");
    if (plan.recompute != Recompute::None)
        launch.notes.emplace_back(
            "recomputation: the model calls deepspeed.checkpointing, or gradient_checkpointing_enable()");
    return launch;
}

} // namespace

const char* presetOf(LaunchTarget target)
{
    switch (target) {
    case LaunchTarget::Megatron: return "megatron-core";
    case LaunchTarget::Torchtitan: return "torchtitan";
    case LaunchTarget::DeepSpeed: return "deepspeed";
    }
    return "megatron-core";
}

Status canLaunch(LaunchTarget target, const RunSpec& spec, const ParallelPlan& plan, const FrameworkPreset& framework)
{
    if (plan.parameterServer != ParameterServer::None)
        return cannot("none of these frameworks", "parameter servers", "ps=none");
    switch (target) {
    case LaunchTarget::Megatron: return checkMegatron(spec, plan);
    case LaunchTarget::Torchtitan: return checkTorchtitan(spec, plan, framework);
    case LaunchTarget::DeepSpeed: return checkDeepSpeed(spec, plan);
    }
    return {};
}

Result<LaunchArguments> launchArguments(LaunchTarget target, const RunSpec& spec, const FrameworkPreset& framework)
{
    FOURWALLS_TRY(canLaunch(target, spec, spec.plan, framework));
    if (spec.training.loraRank > 0)
        return cannot("such a launch", "low-rank adapters", "the program that trains them says them in code");
    LaunchArguments launch = target == LaunchTarget::Megatron     ? megatron(spec, framework)
                             : target == LaunchTarget::Torchtitan ? torchtitan(spec, framework)
                                                                  : deepSpeed(spec);
    if (!spec.plan.documents.empty())
        launch.notes.emplace_back("documents: the data loader packs them, and the model's attention takes their bounds "
                                  "(kernels for sequences of variable length)");
    return launch;
}

} // namespace fourwalls
