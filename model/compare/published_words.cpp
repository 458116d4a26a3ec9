// SPDX-License-Identifier: Apache-2.0
// See published_words.h.
#include "model/compare/published_words.h"

#include "model/base/ascii.h"
#include "model/spec/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace fourwalls::compare {

namespace {

/// Whether what stands at `at` is no part of a longer word.
bool beginsWord(std::string_view text, std::size_t at)
{
    return at == 0 || !std::isalpha(static_cast<unsigned char>(text[at - 1]));
}

/// Of "10 of 80 layers": an eighth. Nothing where a text does not say it so.
std::optional<double> shareOfLayers(std::string_view text)
{
    const std::size_t of = text.find(" of ");
    if (of == std::string_view::npos || !has(text, "layer")) return std::nullopt;
    std::size_t begin = of;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
    const double some = std::atof(std::string(text.substr(begin, of - begin)).c_str());
    const double all = std::atof(std::string(text.substr(of + 4)).c_str());
    if (!(some > 0) || !(all >= some)) return std::nullopt;
    return some / all;
}

/// "none", "0" and the like.
bool isNo(const std::string& text)
{
    return text.empty() || text == "none" || text == "no" || text == "0" || text == "off" || text == "false";
}

/// The year of a release of NeMo, of 100, as in "NeMo 24.12" or "NeMo Framework v23.08"; 0: there is none.
int nemoOf(std::string_view framework)
{
    constexpr std::string_view kName = "nemo";
    const std::size_t at = framework.find(kName);
    if (at == std::string_view::npos) return 0;
    const std::size_t digit = framework.find_first_of("0123456789(;", at + kName.size());
    int year = 0;
    if (digit != std::string_view::npos)
        std::from_chars(framework.data() + digit, framework.data() + framework.size(), year);
    if (year >= 22 && year < 100) return year;
    return has(framework, "2023") ? 23 : 0;
}

/// States are sharded by the compiler, element-wise work is fused by it; what runs on GPUs since 2024 fuses attention, too.
const char* compiledByXla(std::string_view framework)
{
    const bool isEarly = hasAny(framework, {"2022", "2023"}) ||
                         (hasAny(framework, {"pax", "t5x"}) && !hasAny(framework, {"2024", "2025", "2026"}));
    if (!isEarly) return "torchtitan-compiled";
    return has(framework, "transformer engine") ? "xla-2023-te" : "xla-2023";
}

} // namespace

bool has(std::string_view text, std::string_view word)
{
    return text.find(word) != std::string_view::npos;
}

bool hasAny(std::string_view text, std::initializer_list<std::string_view> words)
{
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(text, word); });
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
    if (has(framework, "deepspeed")) return has(framework, "2021") ? "deepspeed-2021" : "deepspeed";
    if (hasAny(framework, {"pax", "t5x", "maxtext", "axlearn", "levanter", "jax", "xla"}))
        return assumed(compiledByXla(framework));
    const bool ampere = has(gpu, "a100") || has(gpu, "a800");
    // FSDP around Megatron's tensor-parallel layers: no preset is both; the layers' one stands for it.
    if (has(framework, "fsdp") && has(framework, "megatron"))
        return assumed(ampere ? "megatron-2023" : "megatron-core");
    if (has(framework, "2021")) return "megatron-2021";
    if (hasAny(framework, {"2019", "2020"})) return assumed("megatron-2021");
    if (has(framework, "2022") || nemoOf(framework) == 22) return "megatron-2022";
    if (nemoOf(framework) == 23) return assumed("megatron-2022");
    if (has(framework, "internevo")) return assumed("internevo");
    if (has(framework, "automodel")) return "automodel";
    // Recipes that shard with PyTorch's FSDP, whoever ships them.
    if (has(framework, "fsdp")) return affirms(notes, "compile") ? assumed("torchtitan-compiled") : "fsdp";
    if (has(framework, "megatron-bridge 26")) return "megatron-core-2026";
    // Megatron-LM without a version: what there was when the device was the newest one.
    const bool plain = has(framework, "megatron-lm") && !has(framework, "core");
    if (plain && has(gpu, "v100")) return "megatron-2021";
    if (has(framework, "2023") || (plain && ampere)) return "megatron-2023";
    if (has(framework, "(meta)")) return assumed("llama3-2024");
    // The preset of Megatron-Core begins with its version 0.8.
    if (hasAny(framework, {"megatron-core 0.3", "megatron-core 0.4", "megatron-core 0.5", "megatron-core 0.6",
                           "megatron-core 0.7"}))
        return "megatron-2023";
    if (hasAny(framework, {"megatron", "nemo", "megascale", "mcore"})) return "megatron-core";
    if (hasAny(framework, {"colossal", "hugging", "transformers", "accelerate", "fairscale", "metaseq"}))
        return assumed(has(framework, "colossal") ? "deepspeed" : "fsdp");
    if (hasAny(framework, {"nanotron", "pytorch", "ddp"})) return assumed("fsdp");
    if (has(framework, "internlm")) return assumed("internevo");
    // Others, and none: what was usual when the device was the newest one.
    return assumed(has(gpu, "v100") ? "megatron-2021" : ampere ? "megatron-2023" : "megatron-core");
}

Precision precisionOf(const Cells& cells, Assumptions& assume)
{
    const std::string text = cells.text("precision");
    if (has(text, "fp4")) return Precision::Fp4;
    if (has(text, "mxfp8") || (has(text, "fp8") && has(text, "mx"))) return Precision::Mxfp8;
    if (has(text, "fp8")) {
        // "mx" scales blocks of 32, "cs" and tensor-wise have one scale for a tensor; rows and blocks of 128 are priced
        // as these are, and a word of neither is a guess.
        if (!hasAny(text, {"cs", "tensor", "delayed", "current", "linear"}))
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

PipelineSchedule scheduleOf(const Cells& cells, const ParallelPlan& plan, Assumptions& assume)
{
    const std::string text = cells.text("schedule");
    const auto assumed = [&](PipelineSchedule schedule) {
        assume.note("schedule=" + std::string(fourwalls::name(schedule)), cells.raw("schedule"));
        return schedule;
    };
    if (hasAny(text, {"zb-2p", "zb2p"})) return PipelineSchedule::ZeroBubble2p;
    if (hasAny(text, {"zb-v", "zbv"})) return PipelineSchedule::ZeroBubbleV;
    if (has(text, "zb")) return PipelineSchedule::ZeroBubbleH1;
    if (has(text, "gpipe")) return PipelineSchedule::GPipe;
    if (hasAny(text, {"interleaved", "vpp"}) || (text.empty() && plan.vpp > 1)) return PipelineSchedule::Interleaved;
    if (hasAny(text, {"1f1b", "pipedream-flush"}))
        return plan.vpp > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
    // Two streams of micro-batches through a stage, weight gradients put off: the nearest that there is goes as a V.
    if (plan.vpp <= 2 && hasAny(text, {"dualpipe", "v-half", "v-min", "vhalf", "vmin", "zero bubble", "zero-bubble"}))
        return assumed(PipelineSchedule::ZeroBubbleV);
    return assumed(plan.vpp > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB);
}

unsigned recomputedModules(const Cells& cells)
{
    std::string text = cells.text("recompute");
    constexpr std::string_view kInNotes = "recomputed: ";
    const std::string notes = cells.text("notes");
    if (const std::size_t at = notes.find(kInNotes); text.empty() && at != std::string::npos)
        text = notes.substr(at + kInNotes.size(), notes.find_first_of("(;", at) - at - kInNotes.size());
    unsigned modules = 0;
    for (const auto& [module, word] : kRecomputeModuleWords)
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
            const auto isPart = [&](std::size_t place) {
                return place < text.size() &&
                       (std::isalnum(static_cast<unsigned char>(text[place])) || text[place] == '_');
            };
            if ((at == 0 || !isPart(at - 1)) && !isPart(at + word.size())) modules |= module;
        }
    return modules;
}

Recompute recomputeOf(const Cells& cells, Assumptions& assume)
{
    const std::string text = cells.text("recompute");
    const std::string_view raw = cells.raw("recompute");
    if (const auto share = shareOfLayers(text)) {
        const Recompute nearest = *share < 0.5 ? Recompute::None : Recompute::Full;
        if (*share < 1) assume.note("recompute=" + std::string(wordOf(kRecomputeWords, nearest)), raw);
        return nearest;
    }
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
    // A part of something is priced as all of it.
    if (some && (has(text, "%") || hasAny(text, {"partial", "half", "some"})))
        assume.note(std::string("offload=") + (plan.offloadOptimizer     ? "optimizer"
                                               : plan.offloadActivations ? "activations"
                                                                         : "parameters"),
                    cells.raw("offload"));
}

void noteUnpriced(const Cells& cells, Assumptions& assume)
{
    const std::string all = cells.text("model") + " " + cells.text("notes");
    if (affirms(all, "sft") || affirms(all, "fine-tun") || affirms(all, "finetun"))
        assume.note("training=pre-training (said: fine-tuning)");
    if (affirms(all, "mtp") || affirms(all, "multi-token")) assume.note("heads of prediction=1 (said: several tokens)");
    if (affirms(all, "tokendrop") || affirms(all, "token drop")) assume.note("routing=dropless (said: tokens dropped)");
}

} // namespace fourwalls::compare
