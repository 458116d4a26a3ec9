// SPDX-License-Identifier: Apache-2.0
// See published_row.h.
#include "model/compare/published_row.h"

#include "model/compare/published_doubts.h"
#include "model/compare/published_machines.h"
#include "model/compare/published_words.h"
#include "model/spec/model_extents.h"
#include "model/spec/names.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::compare {

namespace {

/// The rank that is usual where none is said; the time hardly depends on it.
constexpr std::int64_t kUsualLoraRank = 16;

/// Heads of about 128 that divide the hidden width and split over the tensor group.
std::int64_t usualHeads(std::int64_t hidden, int tp)
{
    std::int64_t best = tp;
    double distance = 1e18;
    for (std::int64_t heads = tp; heads <= std::max<std::int64_t>(tp, hidden / 8); heads += tp) {
        if (hidden % heads != 0) continue;
        const double off = std::abs(static_cast<double>(hidden) / static_cast<double>(heads) - 128);
        if (off < distance) {
            distance = off;
            best = heads;
        }
    }
    return best;
}

ModelSpec modelOf(const Cells& cells, const FrameworkPreset& framework, int tp, Assumptions& assume)
{
    TransformerSpec t;
    t.layers = *cells.count("layers");
    t.hidden = *cells.count("hidden");
    t.sequence = *cells.count("seq");
    const std::string name = cells.text("model"), notes = cells.text("notes");
    const std::int64_t heads = framework.defaultHeads > 0 && t.hidden % framework.defaultHeads == 0
                                   ? framework.defaultHeads
                                   : usualHeads(t.hidden, tp);
    t.heads = assume.take(cells.count("heads"), "heads", heads);
    t.kvHeads = assume.take(cells.count("kv_heads"), "kv_heads", t.heads);
    t.ffnHidden = assume.take(cells.count("ffn"), "ffn", 4 * t.hidden);
    const double gated = cells.number("gated_ffn").value_or(has(name, "llama") || has(name, "qwen") ? 1 : 0);
    t.vocabulary = assume.take(cells.count("vocab"), "vocab", framework.defaultVocabulary);
    if (gated > 0) {
        t.activation = Activation::SwiGlu;
        t.normalization = Normalization::RmsNorm;
        t.positions = Positions::Rotary;
        t.biases = t.tiedEmbeddings = false;
    }
    if (has(name, "mpt")) {
        t.positions = Positions::Alibi;
        t.biases = false;
    }
    if (has(name, "bloom") || has(notes, "alibi")) {
        t.positions = Positions::Alibi;
        t.embeddingNorm = true;
    }
    if (const auto experts = cells.count("experts")) {
        t.mixture.experts = *experts;
        t.mixture.topK = assume.take(cells.count("top_k"), "top_k", std::int64_t{1});
        t.mixture.expertHidden = assume.take(cells.count("moe_ffn"), "moe_ffn", t.ffnHidden);
        if (has(name, "deepseek")) { // arXiv:2412.19437, section 4.2
            t.mixture.denseLayers = 3;
            t.mixture.sharedHidden = t.mixture.expertHidden;
            if (t.mixture.experts % 8 == 0) t.mixture.groups = 8, t.mixture.topGroups = 4; // section 2.1.2
            t.headWidth = 128;
            t.latent = {1536, 512, 64, 128};
        }
        // A gate for benchmarks that deals experts out in turn: a token's are neighbours.
        if (has(notes, "experts side by side") && t.mixture.experts % t.mixture.topK == 0)
            t.mixture.groups = t.mixture.experts / t.mixture.topK, t.mixture.topGroups = 1;
        if (has(name, "gpt-oss")) {
            t.headWidth = 64;
            t.biases = true;
        }
        if (has(name, "switch")) t.mixture.every = 2;
    }
    if (has(name, "qwen3")) t.headWidth = 128;
    if (t.headWidth == 0 && t.hidden % t.heads != 0) t.headWidth = (t.hidden + t.heads - 1) / t.heads;
    return {std::string(cells.table.text(cells.row, "model")), t};
}

/// Published seconds of an iteration, from a time or a throughput. tflops: printed per device, of the FLOPs that
/// `flops` counts.
std::optional<double> publishedSeconds(const Cells& cells, const RunSpec& spec, double devices)
{
    for (const char* column : {"iter_s", "iter_s_derived"})
        if (const auto seconds = cells.number(column); seconds && *seconds > 0) return seconds;
    const double tokens = static_cast<double>(spec.training.batch) * static_cast<double>(spec.training.sequence);
    if (const auto rate = cells.number("tokens_per_s_per_gpu"); rate && *rate > 0) return tokens / (*rate * devices);
    const std::string kind = cells.text("tflops_kind");
    double flops = trainingFlops(spec, !has(kind, "causal"));
    if (has(kind, "hardware") && spec.plan.recompute == Recompute::Full) flops *= 4.0 / 3;
    if (const auto rate = cells.number("tflops_per_gpu"); rate && *rate > 0) return flops / (*rate * 1e12 * devices);
    const auto peak = spec.cluster.device.peak(spec.training.precision);
    const double model = trainingFlops(spec, true);
    if (const auto mfu = cells.number("mfu_pct"); mfu && *mfu > 0 && peak)
        return model / (*mfu / 100 * *peak * devices);
    return std::nullopt;
}

void readMemory(const Cells& cells, PublishedRow& row)
{
    const std::string kind = cells.text("mem_kind"), notes = cells.text("notes");
    row.outOfMemory = has(kind, "oom") || has(notes, "out of memory");
    row.memoryGb = cells.number("mem_gb");
    if (!row.memoryGb) return;
    // "GB" of tools that divide by 2^30 (PyTorch's and nvidia-smi's MiB / 1024) is GiB.
    row.bytesPerGb = 1024.0 * 1024 * 1024;
    if (has(kind, "smi"))
        row.memoryKind = PublishedMemory::Device;
    else if (has(kind, "percent"))
        row.memoryKind = PublishedMemory::ActivationPercent;
    else if (has(kind, "params+optimizer plus activations"))
        row.memoryKind = PublishedMemory::StatesAndActivations;
    else if (has(kind, "analytic"))
        row.memoryKind = PublishedMemory::Other;
    else
        row.memoryKind = PublishedMemory::Allocator;
}

/// Micro-batches and their size, once the degrees are known. The reason why not, if the row lacks something.
std::string readBatch(const Cells& cells, PublishedRow& row, Assumptions& assume)
{
    ParallelPlan& plan = row.spec.plan;
    TrainingSettings& training = row.spec.training;
    const auto batch = cells.count("global_batch");
    auto micro = cells.count("micro_batch"), many = cells.count("microbatches");
    if (!batch && !(micro && many)) return "batch";
    if (!micro && !many) {
        const std::int64_t perReplica = std::max<std::int64_t>(1, *batch / plan.dp);
        many = row.framework.microbatchesAreStages && plan.pp > 1 && perReplica % (plan.pp * plan.vpp) == 0
                   ? std::int64_t{plan.pp} * plan.vpp
                   : perReplica;
        if (row.framework.microbatchesAreStages && plan.pp == 1) many = 1;
        micro = std::max<std::int64_t>(1, perReplica / *many);
        row.largestMicrobatch = plan.pp == 1 && *many > 1;
        if (!row.largestMicrobatch) assume.note("micro_batch=" + std::to_string(*micro));
    }
    if (!micro) micro = std::max<std::int64_t>(1, *batch / plan.dp / *many);
    if (!many) many = std::max<std::int64_t>(1, *batch / plan.dp / *micro);
    plan.microbatches = static_cast<int>(std::min<std::int64_t>(*many, 10'000'000));
    if (static_cast<double>(plan.dp) * plan.microbatches * static_cast<double>(*micro) > 1e12)
        return "batch within reason";
    if (plan.schedule == PipelineSchedule::Interleaved && plan.microbatches % plan.pp != 0) {
        assume.note("schedule=1f1b"); // interleaving needs whole rounds
        plan.schedule = PipelineSchedule::OneFOneB;
        plan.vpp = 1;
    }
    training.batch = std::int64_t{plan.dp} * plan.microbatches * *micro;
    training.sequence = row.spec.model.transformer()->sequence;
    return {};
}

/// Where the experts are. More groups than replicas can only mean that the tensor group holds different experts.
void readExperts(const Cells& cells, ParallelPlan& plan, Assumptions& assume)
{
    const std::string notes = cells.text("notes");
    const auto natural = [&] { return affirms(notes, "natural routing") || affirms(notes, "natural (unbalanced)"); };
    if (natural()) plan.routing = MoeRouting::Natural;
    if (hasAny(notes, {"dispatcher=deepep", "dispatcher=hybridep"})) plan.dispatch = ExpertDispatch::OncePerNode;
    if (has(notes, "dispatcher=alltoall")) plan.dispatch = ExpertDispatch::AllToAll;
    plan.overlapExperts = plan.ep > 1 && affirms(notes, "overlap_moe_expert_parallel_comm");
    if (const auto given = numberAfter(notes, "etp"); given && *given <= plan.tp && plan.tp % *given == 0)
        plan.expertTensor = *given;
    if (plan.ep <= 1 || plan.expertReplicas() % plan.ep == 0) return;
    const int whole = plan.expertTensor;
    plan.expertTensor = 1;
    if (plan.expertReplicas() % plan.ep == 0) return assume.note("etp=1");
    plan.expertTensor = whole;
    const int said = plan.ep;
    plan.ep = plan.expertReplicas();
    assume.note("ep=" + std::to_string(plan.ep), std::to_string(said));
}

/// Which states are cut over the replicas. FSDP cuts all of them, unless told; the others say what they do.
void readSharding(const Cells& cells, PublishedRow& row, Assumptions& assume)
{
    ParallelPlan& plan = row.spec.plan;
    const std::string words = cells.text("framework") + "; " + cells.text("notes");
    if (const auto zero = cells.number("zero_stage")) {
        plan.zero = static_cast<int>(std::clamp(*zero, 0.0, 3.0));
    } else if (plan.replicas() > 1) {
        const bool shards = row.framework.shardsParameters && !has(words, "nanotron") && !has(words, "ddp");
        plan.zero = shards ? 3 : 0;
        if (!row.framework.shardOptimizer)
            assume.note("zero_stage=" + std::to_string(plan.zero), cells.raw("zero_stage"));
    }
    // States cut over fewer than all: "zero1=8", "shard=8", or the devices of a node.
    std::optional<int> group;
    for (const char* word : {"zero1", "zero-1 group", "shard", "hybrid shard"})
        if (!group) group = numberAfter(words, word);
    const bool hybrid = affirms(words, "hsdp") || affirms(words, "hybrid shard") || affirms(words, "hybrid zero");
    if (!group && hybrid) {
        group = std::max(1, row.spec.cluster.devicesPerNode / plan.tp);
        assume.note("shard=" + std::to_string(*group));
    }
    if (!group || *group >= plan.replicas() || plan.replicas() % *group != 0) return;
    if (plan.zero == 0) plan.zero = 1;
    plan.shard = *group;
}

/// The plan, once the model and the framework are known. The reason why not, if the row lacks something.
std::string readPlan(const Cells& cells, PublishedRow& row, Assumptions& assume)
{
    ParallelPlan& plan = row.spec.plan;
    const auto degree = [&](const char* column, int& target, bool silent) {
        const auto value = cells.count(column);
        if (value)
            target = static_cast<int>(std::min<std::int64_t>(*value, 1'000'000));
        else if (!silent)
            assume.note(std::string(column) + "=1");
    };
    if (!cells.count("tp") && !cells.count("pp") && !cells.count("dp")) return "degrees";
    degree("tp", plan.tp, false);
    degree("pp", plan.pp, false);
    degree("cp", plan.cp, false);
    degree("vpp", plan.vpp, plan.pp == 1);
    if (row.spec.model.transformer()->hasExperts()) degree("ep", plan.ep, false);
    constexpr double kMostDevices = 1e7;
    const double product = double(plan.tp) * plan.pp * plan.cp * static_cast<double>(cells.count("dp").value_or(1));
    if (product > kMostDevices || plan.vpp > 10'000) return "degrees within reason";
    const std::int64_t devices = std::min<std::int64_t>(*cells.count("gpus"), static_cast<std::int64_t>(kMostDevices));
    const std::int64_t model = std::int64_t{plan.tp} * plan.pp * plan.cp;
    const auto replicas = cells.count("dp");
    plan.dp = static_cast<int>(replicas ? *replicas : std::max<std::int64_t>(1, devices / model));
    if (!replicas) assume.note("dp=" + std::to_string(plan.dp));
    readExperts(cells, plan, assume);
    if (plan.vpp > 1 && plan.pp == 1) plan.vpp = 1;
    readSharding(cells, row, assume);
    plan.sequenceParallel = cells.number("seq_parallel").value_or(0) > 0 && plan.tp > 1;
    if (cells.text("seq_parallel").empty() && row.framework.asyncTensor && plan.tp > 1) {
        plan.sequenceParallel = true;
        assume.note("seq_parallel=1");
    }
    // Modules by name are Megatron's; who asks for one that the network does not have recomputes the others.
    unsigned modules = row.framework.recomputesModules ? recomputedModules(cells) : 0;
    modules &= recomputableModules(*row.spec.model.transformer());
    if (modules != 0) {
        plan.setRecompute(Recompute::Selective);
        plan.recomputeModules = modules;
    } else {
        plan.recompute = recomputeOf(cells, assume);
    }
    // The model code of Hugging Face computes attention in steps unless told otherwise.
    const std::string framework = cells.text("framework");
    const bool eager = has(framework, "hugging") || has(framework, "transformers");
    const auto flash = cells.number("flash_attn");
    plan.fusedAttention = flash ? *flash > 0 : row.framework.flashAttention && !eager;
    // Kernels with sinks came late (TransformerEngine 2.8 with cuDNN 9.13.1, pull request 2148).
    const bool sinks = !flash && plan.fusedAttention && has(cells.text("model"), "gpt-oss");
    if (sinks)
        assume.note("flash_attn=1 (attention with sinks)");
    else if (!flash)
        assume.note(plan.fusedAttention ? "flash_attn=1" : "flash_attn=0");
    if (flash && *flash > 0) row.framework.flashAttention = true;
    readOffload(cells, plan, assume);
    const std::string words = cells.text("notes");
    if (hasAny(words, {"cp_comm_type=all_gather", "rotate_method=allgather"})) plan.context = ContextExchange::Gather;
    if (hasAny(words, {"cp_comm_type=p2p", "rotate_method=alltoall"})) plan.context = ContextExchange::Ring;
    plan.schedule = plan.pp > 1 ? scheduleOf(cells, plan, assume) : PipelineSchedule::OneFOneB;
    if (plan.schedule == PipelineSchedule::Interleaved && plan.vpp == 1) {
        const std::int64_t layers = row.spec.model.transformer()->layers;
        plan.vpp = layers % (2 * plan.pp) == 0 || (layers + 2) % (2 * plan.pp) == 0 ? 2 : 1;
        if (plan.vpp == 1)
            plan.schedule = PipelineSchedule::OneFOneB;
        else
            assume.note("vpp=2");
    }
    if (plan.schedule == PipelineSchedule::OneFOneB && plan.vpp > 1) plan.vpp = 1;
    return readBatch(cells, row, assume);
}

/// What a run's recipe says of how the framework ran it.
void readRecipe(const std::string& notes, FrameworkPreset& framework)
{
    if (affirms(notes, "cuda_graph_scope=full_iteration")) {
        framework.eager = false;
        framework.launchSeconds = 0;
    }
    framework.capturesAttention = affirms(notes, "cuda_graph_scope=attn");
    if (has(notes, "grad_reduce_in_fp32=false") || affirms(notes, "gradients in 16 bits"))
        framework.gradientBytes = framework.reduceBytes = 2;
    if (has(notes, "before pytorch 2.1")) framework.recomputeStopsEarly = false;
    if (affirms(notes, "attention of cudnn")) framework.attentionKernel = "flash3";
    // Weights and moments in 16 bits and no other copy, gradients likewise.
    if (affirms(notes, "all states in 16 bits")) {
        framework.weightBytes = framework.gradientBytes = framework.reduceBytes = 2;
        framework.stateBytes = 4;
    }
    // Weight, gradient and both moments read, all but the gradient written.
    if (affirms(notes, "fused optimizer"))
        framework.optimizerBytes = 7 * (framework.weightBytes + framework.stateBytes) / 3;
    // The logits read, their log-softmax written; in the way back that and its gradient read, written as often.
    if (affirms(notes, "loss in 16 bits")) framework.lossBytesPerLogit = 12, framework.logitBytes = 8;
    constexpr std::string_view kFused = "fused kernels: ";
    const std::size_t at = notes.find(kFused);
    if (at == std::string::npos) return;
    const std::string words = notes.substr(at, notes.find(';', at) - at);
    framework.fusedNorm = framework.fusedNorm || has(words, "norm");
    framework.fusedActivation = framework.fusedActivation || has(words, "activation");
    framework.fusedRotary = framework.fusedRotary || has(words, "rotary");
    // The logits read on both ways and their gradient written over them.
    if (has(words, "loss")) framework.lossBytesPerLogit = 6, framework.logitBytes = 2;
    if (has(words, "attention without copies")) framework.attentionCopies = 0;
}

} // namespace

bool isTrainingTable(const CsvTable& table)
{
    for (const char* column : {"layers", "hidden", "seq", "gpu", "gpus", "tp", "global_batch", "precision"})
        if (!table.hasColumn(column)) return false;
    return true;
}

Result<PublishedRow> publishedRow(const CsvTable& table, std::size_t index)
{
    const Cells cells{table, index};
    PublishedRow row;
    row.id = std::string(table.text(index, "id"));
    if (row.id.empty()) row.id = "row " + std::to_string(index + 1);
    for (const auto& [column, most] : {std::pair{"layers", 1e5}, {"hidden", 1e6}, {"seq", 1e9}, {"gpus", 1e7}}) {
        if (!row.skipped.empty()) break;
        const auto count = cells.count(column);
        if (!count) row.skipped = std::string("no ") + column;
        if (count && static_cast<double>(*count) > most) row.skipped = std::string("no ") + column + " within reason";
    }
    Assumptions assume(row.assumed);
    FOURWALLS_TRY_ASSIGN(std::optional<ClusterSpec> cluster, clusterOf(cells, assume));
    if (!cluster && row.skipped.empty()) row.skipped = "no device that a preset describes";
    if (!row.skipped.empty()) return row;
    row.spec.cluster = std::move(*cluster);

    const std::string framework = frameworkOf(cells, assume);
    FOURWALLS_TRY_ASSIGN(row.framework, loadFramework(framework));
    if (const auto perNode = cells.count("gpus_per_node");
        perNode && row.spec.cluster.fabric != NodeFabric::Shared && *perNode < row.spec.cluster.devicesPerNode) {
        // Adapters belong to devices: a node of half as many has half of them.
        row.spec.cluster.nicsPerNode =
            std::max(1, static_cast<int>(row.spec.cluster.nicsPerNode * *perNode / row.spec.cluster.devicesPerNode));
        row.spec.cluster.devicesPerNode = static_cast<int>(*perNode);
    }
    readNetwork(cells, *cells.count("gpus") > row.spec.cluster.devicesPerNode, row.spec.cluster, assume);
    row.spec.framework = framework;
    row.spec.training.precision = precisionOf(cells, assume);
    if (!row.spec.cluster.device.peak(row.spec.training.precision) && row.spec.training.precision == Precision::Bf16) {
        row.spec.training.precision = Precision::F16;
        assume.note("precision=f16", "bf16, which the device has not");
    }
    const std::int64_t tensor = std::min<std::int64_t>(cells.count("tp").value_or(1), 1'000'000);
    row.spec.model = modelOf(cells, row.framework, static_cast<int>(tensor), assume);
    if (const Status fits = checkExtents(row.spec.model); !fits.ok()) {
        row.skipped = fits.error().what;
        return row;
    }
    if (const std::string lacking = readPlan(cells, row, assume); !lacking.empty()) {
        row.skipped = "no " + lacking;
        return row;
    }
    if (has(cells.text("notes"), "own pipeline layers") || has(cells.text("notes"), "transformer|embedding"))
        row.framework.stageSplit = StageSplit::EndsCount;
    readRecipe(cells.text("notes"), row.framework);
    noteUnpriced(cells, assume);
    if (affirms(cells.text("model") + " " + cells.text("notes"), "lora"))
        row.spec.training.loraRank = assume.take(cells.count("lora_rank"), "lora_rank", kUsualLoraRank);
    if (const Status can = canRun(row.framework, row.spec.plan); !can.ok())
        assume.note("plan=as said (" + can.error().what + ")");
    row.oneLayer = has(cells.text("notes"), "per-layer time");
    row.seconds = publishedSeconds(cells, row.spec, static_cast<double>(*cells.count("gpus")));
    readMemory(cells, row);
    row.sweep = cells.text("model") + "|" + cells.text("gpu") + "|" + cells.text("precision");
    if (!row.seconds && !row.outOfMemory) row.skipped = "no published time";
    FOURWALLS_TRY(addDoubts(cells, row));
    return row;
}

} // namespace fourwalls::compare
