// SPDX-License-Identifier: Apache-2.0
// See published_row.h.
#include "model/compare/published_row.h"

#include "model/spec/model_extents.h"
#include "model/spec/names.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace fourwalls::compare {

namespace {

std::string lower(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool has(const std::string& text, std::string_view word)
{
    return text.find(word) != std::string::npos;
}

std::string plain(double value)
{
    std::string text = std::to_string(value);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

/// Cells of one row.
struct Cells {
    const CsvTable& table;
    std::size_t row;

    std::string text(std::string_view column) const { return lower(table.text(row, column)); }
    std::optional<double> number(std::string_view column) const { return table.number(row, column); }
    std::optional<std::int64_t> count(std::string_view column) const
    {
        constexpr double kMost = 1e15;
        const auto value = number(column);
        if (!value || *value < 1 || *value > kMost) return std::nullopt;
        return static_cast<std::int64_t>(std::llround(*value));
    }
};

/// The framework preset that a row's words mean; empty if they mean none that we know.
std::string frameworkOf(const Cells& cells)
{
    const std::string framework = cells.text("framework"), notes = cells.text("notes"), kind = cells.text("precision");
    if (has(framework, "titan")) {
        const bool later = has(cells.text("source"), "2025"); // its loss is compiled since April 2025
        if (has(notes, "async tp") || has(notes, "asynctp"))
            return later ? "torchtitan-2025-async-tp" : "torchtitan-async-tp";
        // fp8 is a pass of the compiler, and without a word on it the 2-D benchmarks are compiled (their notes).
        const bool compiled = has(notes, "compile") || has(kind, "fp8") || has(notes, "vanilla tp");
        if (!compiled) return "torchtitan";
        return later ? "torchtitan-2025" : "torchtitan-compiled";
    }
    if (has(framework, "zero bubble") || has(framework, "zero-bubble")) return "zero-bubble";
    if (has(framework, "foundry") || has(framework, "composer")) return "llm-foundry";
    if (has(framework, "megatron-deepspeed") || has(framework, "neox"))
        return has(kind, "bf16") ? "deepspeed-megatron-bf16" : "deepspeed-megatron"; // bf16 accumulates in float
    if (has(framework, "deepspeed")) return "deepspeed";
    if (has(framework, "2021")) return "megatron-2021";
    if (has(framework, "2022")) return "megatron-2022";
    if (has(framework, "megatron-bridge 26")) return "megatron-core-2026";
    // Megatron-LM without a version: what there was when the device was the newest one.
    const bool plain = has(framework, "megatron-lm") && !has(framework, "core");
    const std::string gpu = cells.text("gpu");
    if (plain && has(gpu, "v100")) return "megatron-2021";
    if (has(framework, "2023") || (plain && (has(gpu, "a100") || has(gpu, "a800")))) return "megatron-2023";
    if (has(framework, "megatron") || has(framework, "nemo") || has(framework, "megascale") || has(framework, "mcore"))
        return "megatron-core";
    if (has(framework, "fsdp") || has(framework, "nanotron") || has(framework, "pytorch")) return "fsdp";
    return {};
}

/// The cluster preset of a device's name; empty if there is none.
std::string clusterOf(const Cells& cells)
{
    const std::string gpu = cells.text("gpu"), network = cells.text("network");
    const double memory = cells.number("gpu_mem_gb").value_or(0);
    if (has(gpu, "gb300")) return "gb300-nvl72";
    if (has(gpu, "gb200")) return "gb200-nvl72";
    if (has(gpu, "b200") || has(gpu, "b300")) return "dgx-b200";
    if (has(gpu, "h200")) return "hgx-h200";
    if (has(gpu, "h100") || has(gpu, "h800") || has(gpu, "gh200"))
        return has(gpu, "500w") || has(gpu, "500 w") || memory == 96 ? "h100-96gb" : "dgx-h100";
    if (has(gpu, "a100") || has(gpu, "a800")) {
        if (has(network, "omni-path") || has(network, "jean zay")) return "jean-zay-a100";
        return has(gpu, "40gb") || memory == 40 ? "dgx-a100-40gb" : "dgx-a100";
    }
    if (has(gpu, "v100")) return has(gpu, "pcie") ? "v100-pcie" : "dgx-1-v100";
    if (has(gpu, "4090")) return "rtx4090";
    if (has(gpu, "910b")) return "atlas-800t-a2";
    if (has(gpu, "910")) return "atlas-900";
    return {};
}

/// A rate in words, such as "8x200Gb/s" per node, "1600 Gb/s" per node or "400 Gb/s per GPU".
void readNetwork(const std::string& text, ClusterSpec& cluster)
{
    for (std::size_t unit = text.find("gb"); unit != std::string::npos; unit = text.find("gb", unit + 2)) {
        if (text.compare(unit, 4, "gb/s") != 0 && text.compare(unit, 4, "gbps") != 0) continue;
        std::size_t end = unit;
        while (end > 0 && text[end - 1] == ' ') --end;
        std::size_t begin = end;
        while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.'))
            --begin;
        if (begin == end) continue;
        const double rate = std::atof(text.substr(begin, end - begin).c_str()) / 8 * 1e9;
        if (!(rate > 0)) continue;
        double adapters = 0;
        if (begin > 1 && text[begin - 1] == 'x') {
            std::size_t first = begin - 1;
            while (first > 0 && std::isdigit(static_cast<unsigned char>(text[first - 1]))) --first;
            adapters = std::atof(text.substr(first, begin - 1 - first).c_str());
        }
        const bool perDevice = text.find("per gpu", unit) != std::string::npos;
        cluster.nicLink.bytesPerSecond = rate;
        cluster.nicsPerNode = adapters >= 1 && adapters <= 1000 ? static_cast<int>(adapters)
                              : perDevice                       ? cluster.devicesPerNode
                                                                : 1;
        return;
    }
}

Precision precisionOf(const std::string& text)
{
    if (has(text, "fp8") || has(text, "mxfp8") || has(text, "nvfp4")) return Precision::Fp8;
    if (has(text, "bf16")) return Precision::Bf16;
    if (has(text, "fp16") || has(text, "f16")) return Precision::F16;
    if (has(text, "tf32")) return Precision::Tf32;
    if (has(text, "fp32") || has(text, "f32")) return Precision::F32;
    return Precision::Bf16;
}

PipelineSchedule scheduleOf(const std::string& text, int vpp)
{
    if (has(text, "zb-2p") || has(text, "zb2p")) return PipelineSchedule::ZeroBubble2p;
    if (has(text, "zb-v") || has(text, "zbv")) return PipelineSchedule::ZeroBubbleV;
    if (has(text, "zb")) return PipelineSchedule::ZeroBubbleH1;
    if (has(text, "gpipe")) return PipelineSchedule::GPipe;
    if (has(text, "interleaved") || vpp > 1) return PipelineSchedule::Interleaved;
    return PipelineSchedule::OneFOneB;
}

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

/// Fills in what a row leaves blank and remembers that.
class Assumptions {
public:
    explicit Assumptions(std::vector<std::string>& list) : m_list(list) {}
    template <class T>
    T take(const std::optional<T>& given, const char* field, T otherwise)
    {
        if (given) return *given;
        m_list.push_back(std::string(field) + "=" + plain(static_cast<double>(otherwise)));
        return otherwise;
    }
    void note(std::string text) { m_list.push_back(std::move(text)); }

private:
    std::vector<std::string>& m_list;
};

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
            t.headWidth = 128;
            t.latent = {1536, 512, 64, 128};
        }
        if (has(name, "gpt-oss")) t.headWidth = 64;
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
    double flops = trainingFlops(spec.model, spec.training.batch, spec.training.sequence, !has(kind, "causal"));
    if (has(kind, "hardware") && spec.plan.recompute == Recompute::Full) flops *= 4.0 / 3;
    if (const auto rate = cells.number("tflops_per_gpu"); rate && *rate > 0) return flops / (*rate * 1e12 * devices);
    const auto peak = spec.cluster.device.peak(spec.training.precision);
    const double model = trainingFlops(spec.model, spec.training.batch, spec.training.sequence, true);
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
    if (plan.ep > 1 && (std::int64_t{plan.dp} * plan.cp) % plan.ep != 0) {
        plan.ep = plan.dp * plan.cp;
        assume.note("ep=" + std::to_string(plan.ep));
    }
    if (plan.vpp > 1 && plan.pp == 1) plan.vpp = 1;
    if (const auto zero = cells.number("zero_stage")) plan.zero = static_cast<int>(std::clamp(*zero, 0.0, 3.0));
    plan.sequenceParallel = cells.number("seq_parallel").value_or(0) > 0 && plan.tp > 1;
    if (cells.text("seq_parallel").empty() && row.framework.asyncTensor && plan.tp > 1) {
        plan.sequenceParallel = true;
        assume.note("seq_parallel=1");
    }
    const std::string recompute = cells.text("recompute");
    if (recompute.empty()) assume.note("recompute=none");
    plan.recompute = has(recompute, "full")    ? Recompute::Full
                     : has(recompute, "selec") ? Recompute::Selective
                                               : Recompute::None;
    const auto flash = cells.number("flash_attn");
    plan.fusedAttention = flash ? *flash > 0 : row.framework.flashAttention;
    if (flash && *flash > 0) row.framework.flashAttention = true;
    const std::string offload = cells.text("offload");
    plan.offloadOptimizer = has(offload, "optim") || offload == "1";
    plan.offloadActivations = has(offload, "activ");
    plan.offloadParameters = has(offload, "param");
    plan.schedule = plan.pp > 1 ? scheduleOf(cells.text("schedule"), plan.vpp) : PipelineSchedule::OneFOneB;
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
    const std::string cluster = clusterOf(cells);
    if (cluster.empty() && row.skipped.empty()) row.skipped = "no device that a preset describes";
    if (!row.skipped.empty()) return row;

    Assumptions assume(row.assumed);
    std::string framework = frameworkOf(cells);
    if (framework.empty()) {
        framework = "megatron-core";
        assume.note("framework=megatron-core");
    }
    FOURWALLS_TRY_ASSIGN(row.framework, loadFramework(framework));
    FOURWALLS_TRY_ASSIGN(row.spec.cluster, loadCluster(cluster));
    if (const auto perNode = cells.count("gpus_per_node");
        perNode && row.spec.cluster.fabric != NodeFabric::Shared && *perNode < row.spec.cluster.devicesPerNode)
        row.spec.cluster.devicesPerNode = static_cast<int>(*perNode);
    readNetwork(cells.text("network"), row.spec.cluster);
    row.spec.framework = framework;
    row.spec.training.precision = precisionOf(cells.text("precision"));
    if (!row.spec.cluster.device.peak(row.spec.training.precision) && row.spec.training.precision == Precision::Bf16)
        row.spec.training.precision = Precision::F16;
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
    row.oneLayer = has(cells.text("notes"), "per-layer time");
    row.seconds = publishedSeconds(cells, row.spec, static_cast<double>(*cells.count("gpus")));
    readMemory(cells, row);
    row.sweep = cells.text("model") + "|" + cells.text("gpu") + "|" + cells.text("precision");
    if (!row.seconds && !row.outOfMemory) row.skipped = "no published time";
    return row;
}

} // namespace fourwalls::compare
