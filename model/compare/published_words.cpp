// SPDX-License-Identifier: Apache-2.0
// See published_words.h.
#include "model/compare/published_words.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace fourwalls::compare {

namespace {

bool hasAny(std::string_view text, std::initializer_list<std::string_view> words)
{
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(text, word); });
}

/// Whether what stands at `at` is no part of a longer word.
bool beginsWord(std::string_view text, std::size_t at)
{
    return at == 0 || !std::isalpha(static_cast<unsigned char>(text[at - 1]));
}

/// "none", "0" and the like.
bool isNo(const std::string& text)
{
    return text.empty() || text == "none" || text == "no" || text == "0" || text == "off" || text == "false";
}

/// The number that ends just before `end`, spaces between allowed; moves `end` to where it begins. Nothing if there is
/// none.
std::optional<double> numberBefore(std::string_view text, std::size_t& end)
{
    while (end > 0 && text[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.')) --begin;
    if (begin == end) return std::nullopt;
    const double value = std::atof(std::string(text.substr(begin, end - begin)).c_str());
    end = begin;
    if (!(value > 0)) return std::nullopt;
    return value;
}

/// Bytes per second of a unit such as "Gb/s" or "TBps" at `at`; 0 if it is none. A 'b' means bits, a 'B' bytes.
double unitAt(std::string_view text, std::size_t at)
{
    if (at + 4 > text.size()) return 0;
    const char prefix = lowerCase(text[at]);
    const double scale = prefix == 'g' ? 1e9 : prefix == 't' ? 1e12 : prefix == 'm' ? 1e6 : 0;
    if (scale == 0) return 0;
    const std::string rest = lowerCase(text.substr(at + 1, 5));
    const bool isRate = rest.starts_with("b/s") || rest.starts_with("bps") || rest.starts_with("bit/s");
    const bool isEthernet = rest.starts_with("be") || rest.starts_with("bit");
    if (!isRate && !isEthernet) return 0;
    return text[at + 1] == 'B' && isRate ? scale : scale / 8;
}

/// The part of a text between separators around `at`.
std::string_view clauseAround(std::string_view text, std::size_t at)
{
    const std::size_t before = text.find_last_of(";,", at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = text.find_first_of(";,", at);
    return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

struct Adapters {
    double bytesPerSecond = 0, count = 0; ///< count: 0 where it is not said
    bool perDevice = false, perNode = false;
};

/// The first rate of a text that is not that of the links inside a node.
Adapters adaptersOf(std::string_view text)
{
    for (std::size_t at = 1; at < text.size(); ++at) {
        const double unit = unitAt(text, at);
        if (unit == 0) continue;
        std::size_t end = at;
        const auto rate = numberBefore(text, end);
        if (!rate) continue;
        const std::string clause = lowerCase(clauseAround(text, at));
        if (hasAny(clause, {"nvlink", "nvswitch", "intra-node", "intra node", "pcie", "hbm"}) &&
            !hasAny(clause, {"inter", "adapter", "infiniband", "roce", "ethernet", "omni-path", "per gpu", "per node"}))
            continue;
        Adapters result{*rate * unit, 0, hasAny(clause, {"per gpu", "/gpu", "per device"}),
                        hasAny(clause, {"per node", "/node", "node-node"})};
        while (end > 0 && text[end - 1] == ' ') --end;
        if (end > 0 && (text[end - 1] == 'x' || text[end - 1] == '*')) {
            --end;
            result.count = numberBefore(text, end).value_or(0);
        }
        return result;
    }
    return {};
}

/// Speeds of InfiniBand by name [bytes/s].
double infiniBand(const std::string& text)
{
    for (const auto& [word, bits] : {std::pair{"xdr", 800e9}, {"ndr", 400e9}, {"hdr", 200e9}, {"edr", 100e9}})
        if (has(text, word)) return bits / 8;
    return 0;
}

} // namespace

bool has(std::string_view text, std::string_view word)
{
    return text.find(word) != std::string_view::npos;
}

bool affirms(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        constexpr std::size_t kNear = 14;
        const std::string_view before = text.substr(at < kNear ? 0 : at - kNear, std::min(at, kNear));
        if (beginsWord(text, at) && !hasAny(before, {"not ", "no ", "without ", "disabled "})) return true;
    }
    return false;
}

std::optional<int> numberAfter(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        if (!beginsWord(text, at)) continue;
        std::size_t next = at + word.size();
        while (next < text.size() && (text[next] == '=' || text[next] == ':' || text[next] == ' ')) ++next;
        int value = 0;
        const auto [end, failure] = std::from_chars(text.data() + next, text.data() + text.size(), value);
        if (failure == std::errc{} && next > at + word.size() && value > 0) return value;
    }
    return std::nullopt;
}

std::string Cells::text(std::string_view column) const
{
    return lowerCase(table.text(row, column));
}

std::optional<std::int64_t> Cells::count(std::string_view column) const
{
    constexpr double kMost = 1e15;
    const auto value = number(column);
    if (!value || *value < 1 || *value > kMost) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(*value));
}

std::string Assumptions::number(double value)
{
    std::string text = std::to_string(value);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string frameworkOf(const Cells& cells, Assumptions& assume)
{
    const std::string framework = cells.text("framework"), notes = cells.text("notes"), kind = cells.text("precision");
    const std::string gpu = cells.text("gpu");
    const auto assumed = [&](const char* preset) {
        assume.note(std::string("framework=") + preset, cells.raw("framework"));
        return std::string(preset);
    };
    if (has(framework, "titan")) {
        const bool later = has(cells.text("source"), "2025"); // its loss is compiled since April 2025
        if (has(notes, "async tp") || has(notes, "asynctp"))
            return later ? "torchtitan-2025-async-tp" : "torchtitan-async-tp";
        // fp8 is a pass of the compiler, and without a word on it the 2-D benchmarks are compiled (their notes).
        const bool compiled = affirms(notes, "compile") || has(kind, "fp8") || has(notes, "vanilla tp");
        if (!compiled) return "torchtitan";
        return later ? "torchtitan-2025" : "torchtitan-compiled";
    }
    if (has(framework, "zero bubble") || has(framework, "zero-bubble")) return "zero-bubble";
    if (has(framework, "foundry") || has(framework, "composer")) return "llm-foundry";
    if (has(framework, "megatron-deepspeed") || has(framework, "neox"))
        return has(kind, "bf16") ? "deepspeed-megatron-bf16" : "deepspeed-megatron"; // bf16 accumulates in float
    if (has(framework, "deepspeed")) return "deepspeed";
    if (has(framework, "2021")) return "megatron-2021";
    if (has(framework, "2022") || has(framework, "nemo 22") || has(framework, "nemo-megatron 22"))
        return "megatron-2022";
    // Recipes that shard with PyTorch's FSDP, whoever ships them. FSDP with Megatron's tensor parallelism is not meant.
    if (has(framework, "fsdp") && !has(framework, "megatron"))
        return affirms(notes, "compile") ? assumed("torchtitan-compiled") : "fsdp";
    if (has(framework, "megatron-bridge 26")) return "megatron-core-2026";
    // Megatron-LM without a version: what there was when the device was the newest one.
    const bool plain = has(framework, "megatron-lm") && !has(framework, "core");
    const bool ampere = has(gpu, "a100") || has(gpu, "a800");
    if (plain && has(gpu, "v100")) return "megatron-2021";
    if (has(framework, "2023") || (plain && ampere)) return "megatron-2023";
    if (hasAny(framework, {"megatron", "nemo", "megascale", "mcore"})) return "megatron-core";
    if (hasAny(framework, {"colossal", "hugging", "transformers", "accelerate", "fairscale", "metaseq"}))
        return assumed(has(framework, "colossal") ? "deepspeed" : "fsdp");
    if (hasAny(framework, {"nanotron", "pytorch", "ddp"})) return "fsdp";
    // States sharded by the compiler, element-wise work fused by it.
    if (hasAny(framework, {"pax", "maxtext", "axlearn", "levanter", "jax", "xla"}))
        return assumed("torchtitan-compiled");
    // Others, and none: what was usual when the device was the newest one.
    return assumed(has(gpu, "v100") ? "megatron-2021" : ampere ? "megatron-2023" : "megatron-core");
}

std::string clusterOf(const Cells& cells, Assumptions& assume)
{
    const std::string gpu = cells.text("gpu"), network = cells.text("network");
    const double memory = cells.number("gpu_mem_gb").value_or(0);
    const auto assumed = [&](const char* preset) {
        assume.note(std::string("cluster=") + preset, cells.raw("gpu"));
        return std::string(preset);
    };
    if (has(gpu, "gb300")) return "gb300-nvl72";
    if (has(gpu, "gb200")) return "gb200-nvl72";
    if (has(gpu, "b300")) return "dgx-b300";
    if (has(gpu, "b200")) return "dgx-b200";
    if (has(gpu, "h200") && !has(gpu, "gh200")) return "hgx-h200";
    if (has(gpu, "h800")) return "hgx-h800";
    if (has(gpu, "gh200")) return assumed("dgx-h100");
    if (has(gpu, "h100")) {
        if (has(gpu, "pcie") || has(gpu, "nvl")) return assumed("dgx-h100");
        return has(gpu, "500w") || has(gpu, "500 w") || memory == 96 ? "h100-96gb" : "dgx-h100";
    }
    if (has(gpu, "a800")) return "hgx-a800";
    if (has(gpu, "a100")) {
        if (has(network, "omni-path") || has(network, "jean zay")) return "jean-zay-a100";
        const char* cluster = has(gpu, "40gb") || memory == 40 ? "dgx-a100-40gb" : "dgx-a100";
        return has(gpu, "pcie") ? assumed(cluster) : cluster;
    }
    if (has(gpu, "v100")) return has(gpu, "pcie") ? "v100-pcie" : "dgx-1-v100";
    if (has(gpu, "4090")) return "rtx4090";
    if (has(gpu, "mi355")) return "mi355x-platform";
    if (has(gpu, "mi350")) return assumed("mi355x-platform");
    if (has(gpu, "mi325")) return "mi325x-platform";
    if (has(gpu, "mi300")) return has(gpu, "mi300a") ? assumed("mi300x-platform") : "mi300x-platform";
    if (has(gpu, "910c")) return "cloudmatrix-384";
    if (has(gpu, "910b")) return "atlas-800t-a2";
    if (has(gpu, "910")) return "atlas-900";
    return {};
}

void readNetwork(const Cells& cells, bool crossesNodes, ClusterSpec& cluster, Assumptions& assume)
{
    const std::string_view raw = cells.raw("network");
    const std::string text = cells.text("network");
    const auto note = [&] {
        if (!crossesNodes) return;
        const double gigabits = cluster.nicLink.bytesPerSecond * 8e-9;
        assume.note("network=" + std::to_string(cluster.nicsPerNode) + "x" + Assumptions::number(gigabits) + " Gb/s",
                    raw);
    };
    const Adapters found = adaptersOf(raw);
    if (found.bytesPerSecond > 0) {
        cluster.nicLink.bytesPerSecond = found.bytesPerSecond;
        cluster.nicsPerNode = found.count >= 1 && found.count <= 1000 ? static_cast<int>(found.count)
                              : found.perDevice                       ? cluster.devicesPerNode
                                                                      : 1;
        if (found.count < 1 && !found.perDevice && !found.perNode) note();
        return;
    }
    if (const double rate = infiniBand(text); rate > 0) cluster.nicLink.bytesPerSecond = rate;
    note();
}

Precision precisionOf(const Cells& cells, Assumptions& assume)
{
    const std::string text = cells.text("precision");
    if (has(text, "fp4")) return Precision::Fp4;
    if (has(text, "mxfp8") || (has(text, "fp8") && has(text, "mx"))) return Precision::Mxfp8;
    if (has(text, "fp8")) {
        // "mx" scales blocks of 32, "cs" and tensor-wise have one scale for a tensor; a word of neither is a guess.
        if (!hasAny(text, {"cs", "mx", "tensor", "row", "block", "delayed", "current", "linear"}))
            assume.note("fp8=one scale for a tensor", cells.raw("precision"));
        return Precision::Fp8;
    }
    if (has(text, "bf16")) return Precision::Bf16;
    if (has(text, "fp16") || has(text, "f16")) return Precision::F16;
    if (has(text, "tf32")) return Precision::Tf32;
    if (has(text, "fp32") || has(text, "f32")) return Precision::F32;
    assume.note("precision=bf16", cells.raw("precision"));
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

Recompute recomputeOf(const Cells& cells, Assumptions& assume)
{
    const std::string text = cells.text("recompute");
    const std::string_view raw = cells.raw("recompute");
    if (has(text, "full") || text == "1" || text == "yes" || text == "true" || text == "on") return Recompute::Full;
    if (has(text, "selec")) {
        // Which blocks, layers or modules is more than "selective" says here: attention's core, or every second product.
        if (hasAny(text, {"block", "layer", "module", "norm", "moe", "mla", "act,", "mlp"}))
            assume.note("recompute=selective", raw);
        return Recompute::Selective;
    }
    if (text == "no" || text == "none" || text == "0" || text == "off" || text == "false") return Recompute::None;
    if (hasAny(text, {"core_attn", "core attention", "attention core", "attn"})) {
        assume.note("recompute=selective", raw);
        return Recompute::Selective;
    }
    assume.note("recompute=none", raw);
    return Recompute::None;
}

void readOffload(const Cells& cells, ParallelPlan& plan, Assumptions& assume)
{
    const std::string text = cells.text("offload");
    plan.offloadOptimizer = hasAny(text, {"optim", "adam"}) || text == "1" || text == "yes";
    plan.offloadActivations = has(text, "activ");
    plan.offloadParameters = has(text, "param") || has(text, "weight");
    const bool some = plan.offloadOptimizer || plan.offloadActivations || plan.offloadParameters;
    if (!some && !isNo(text)) assume.note("offload=none", cells.raw("offload"));
}

void noteUnpriced(const Cells& cells, Assumptions& assume)
{
    const std::string all = cells.text("model") + " " + cells.text("notes");
    if (affirms(all, "lora")) assume.note("training=all weights (said: LoRA)");
    if (affirms(all, "sft") || affirms(all, "fine-tun") || affirms(all, "finetun"))
        assume.note("training=pre-training (said: fine-tuning)");
    if (affirms(all, "mtp") || affirms(all, "multi-token")) assume.note("heads of prediction=1 (said: several tokens)");
    if (affirms(all, "tokendrop") || affirms(all, "token drop")) assume.note("routing=dropless (said: tokens dropped)");
}

} // namespace fourwalls::compare
