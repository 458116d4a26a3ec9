// SPDX-License-Identifier: Apache-2.0
// The text form of a plan: space-separated key=value.
#include "model/spec/parallel_plan.h"

#include "model/spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <vector>

namespace fourwalls {

namespace {

constexpr int kLargestDegree = 1'000'000;
constexpr std::int64_t kLargestWorld = 10'000'000;

Error planError(std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), "plan", std::move(hint)};
}

Status readInt(std::string_view key, std::string_view text, int least, int most, int& target)
{
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) {
        target = value;
        return {};
    }
    return planError(fmt::format("{} cannot be '{}'", key, text),
                     fmt::format("{}=N with N from {} to {}", key, least, most));
}

Status readSwitch(std::string_view key, std::string_view text, bool& target)
{
    int value = 0;
    FOURWALLS_TRY(readInt(key, text, 0, 1, value));
    target = value == 1;
    return {};
}

template <class Enum, std::size_t N>
Status readWord(std::string_view key, std::string_view text, const WordTable<Enum, N>& table, Enum& target)
{
    if (const auto value = valueOf(table, text)) {
        target = *value;
        return {};
    }
    return planError(std::string(key) + " cannot be '" + std::string(text) + "'",
                     std::string(key) + "= " + listWords(table));
}

Status readOffload(std::string_view text, ParallelPlan& plan)
{
    plan.offloadOptimizer = plan.offloadActivations = plan.offloadParameters = false;
    if (text == "none") return {};
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        bool* target = part == "optimizer"     ? &plan.offloadOptimizer
                       : part == "activations" ? &plan.offloadActivations
                       : part == "parameters"  ? &plan.offloadParameters
                                               : nullptr;
        if (!target || *target)
            return planError("offload cannot be '" + std::string(text) + "'",
                             "offload=none or a comma-separated list of optimizer, activations, parameters");
        *target = true;
        if (comma == std::string_view::npos) return {};
        text.remove_prefix(comma + 1);
    }
}

/// "3x512,2048": values with commas between, each with how often it comes, once where that is not said.
/// add(value, count) returns a Status.
template <class Add>
Status readCounted(std::string_view key, std::string_view text, Add&& add)
{
    constexpr int kMostOften = 1'000'000;
    while (true) {
        const std::size_t comma = text.find(',');
        std::string_view part = text.substr(0, comma);
        int count = 1;
        if (const std::size_t times = part.find('x'); times != std::string_view::npos) {
            FOURWALLS_TRY(readInt(key, part.substr(0, times), 1, kMostOften, count));
            part.remove_prefix(times + 1);
        }
        FOURWALLS_TRY(add(part, count));
        if (comma == std::string_view::npos) return {};
        text.remove_prefix(comma + 1);
    }
}

/// values: (value, count). text(value) says one of them.
template <class Values, class Text>
std::string countedText(const Values& values, Text&& text)
{
    std::string list;
    for (const auto& [value, count] : values) {
        if (!list.empty()) list += ',';
        if (count != 1) list += std::to_string(count) + "x";
        list += text(value);
    }
    return list;
}

constexpr std::size_t kMostStages = 100'000;

/// One value of a list by stage, `count` times. Errors: InvalidArgument.
template <class Value>
Status addStages(std::string_view key, const Value& value, int count, std::vector<Value>& target)
{
    if (target.size() + static_cast<std::size_t>(count) > kMostStages)
        return planError(std::string(key) + " names too many stages", fmt::format("at most {}", kMostStages));
    target.insert(target.end(), static_cast<std::size_t>(count), value);
    return {};
}

/// "5,6,6,5"
Status readLayers(std::string_view text, std::vector<int>& target)
{
    constexpr int kMostLayers = 100'000;
    target.clear();
    return readCounted("layers", text, [&](std::string_view part, int count) -> Status {
        int layers = 0;
        FOURWALLS_TRY(readInt("layers", part, 1, kMostLayers, layers));
        return addStages("layers", layers, count, target);
    });
}

Status readDocuments(std::string_view text, std::vector<DocumentLength>& target)
{
    constexpr int kLongest = 1'000'000'000;
    constexpr std::size_t kMostLengths = 1'000;
    target.clear();
    return readCounted("documents", text, [&](std::string_view part, int count) -> Status {
        if (target.size() >= kMostLengths)
            return planError("documents names too many lengths", fmt::format("at most {}", kMostLengths));
        DocumentLength& length = target.emplace_back();
        length.count = count;
        return readInt("documents", part, 1, kLongest, length.tokens);
    });
}

/// "layernorm+moe_act". 0 where a word is none of a module.
unsigned modulesOf(std::string_view text)
{
    unsigned modules = 0;
    while (true) {
        const std::size_t plus = text.find('+');
        const auto module = valueOf(kRecomputeModuleWords, text.substr(0, plus));
        if (!module) return 0;
        modules |= *module;
        if (plus == std::string_view::npos) return modules;
        text.remove_prefix(plus + 1);
    }
}

/// "full", "layernorm+moe_act", or "full,none,none" by stage.
Status readRecompute(std::string_view text, ParallelPlan& plan)
{
    if (const unsigned modules = modulesOf(text); modules != 0) {
        plan.setRecompute(Recompute::Selective);
        plan.recomputeModules = modules;
        return {};
    }
    if (text.find('+') != std::string_view::npos)
        return planError("recompute cannot be '" + std::string(text) + "'",
                         "modules joined with + are " + listWords(kRecomputeModuleWords));
    std::vector<Recompute> stages;
    const auto add = [&](std::string_view part, int count) -> Status {
        Recompute recompute = Recompute::None;
        FOURWALLS_TRY(readWord("recompute", part, kRecomputeWords, recompute));
        return addStages("recompute", recompute, count, stages);
    };
    FOURWALLS_TRY(readCounted("recompute", text, add));
    if (stages.size() == 1)
        plan.setRecompute(stages.front());
    else
        plan.stageRecompute = std::move(stages); // with as many words as there are: resolve counts them
    return {};
}

constexpr std::string_view kKeys =
    "dp, tp, pp, cp, ep, etp, vpp, order, layers, microbatches, zero, shard, reshard, sp, recompute, offload, "
    "schedule, collective, overlap, fuse, inplace, "
    "attention, documents, context, routing, dispatch, epoverlap, conv, ps, servers";

Status readKey(std::string_view key, std::string_view value, ParallelPlan& plan)
{
    const auto degree = [&](int& target) { return readInt(key, value, 1, kLargestDegree, target); };
    if (key == "dp") return degree(plan.dp);
    if (key == "tp") return degree(plan.tp);
    if (key == "pp") return degree(plan.pp);
    if (key == "cp") return degree(plan.cp);
    if (key == "ep") return degree(plan.ep);
    if (key == "etp") return degree(plan.expertTensor);
    if (key == "vpp") return degree(plan.vpp);
    if (key == "order") return readWord(key, value, kOrderWords, plan.order);
    if (key == "layers") return readLayers(value, plan.stageLayers);
    if (key == "microbatches") return degree(plan.microbatches);
    if (key == "zero") return readInt(key, value, 0, 3, plan.zero);
    if (key == "shard") return degree(plan.shard);
    if (key == "reshard") return readSwitch(key, value, plan.reshard);
    if (key == "sp") return readSwitch(key, value, plan.sequenceParallel);
    if (key == "recompute") return readRecompute(value, plan);
    if (key == "offload") return readOffload(value, plan);
    if (key == "schedule") return readWord(key, value, kScheduleWords, plan.schedule);
    if (key == "collective") return readWord(key, value, kCollectiveWords, plan.collective);
    if (key == "overlap") return readSwitch(key, value, plan.overlap);
    if (key == "fuse") return readSwitch(key, value, plan.fuse);
    if (key == "inplace") return readSwitch(key, value, plan.inPlace);
    if (key == "documents") return readDocuments(value, plan.documents);
    if (key == "routing") return readWord(key, value, kRoutingWords, plan.routing);
    if (key == "context") return readWord(key, value, kContextWords, plan.context);
    if (key == "dispatch") return readWord(key, value, kDispatchWords, plan.dispatch);
    if (key == "epoverlap") return readSwitch(key, value, plan.overlapExperts);
    if (key == "conv") return readWord(key, value, kConvolutionWords, plan.convolution);
    if (key == "ps") return readWord(key, value, kParameterServerWords, plan.parameterServer);
    if (key == "servers") return readInt(key, value, 0, kLargestDegree, plan.servers);
    if (key == "attention") {
        if (value != "fused" && value != "unfused")
            return planError("attention cannot be '" + std::string(value) + "'", "attention= fused or unfused");
        plan.fusedAttention = value == "fused";
        return {};
    }
    return planError("unknown key '" + std::string(key) + "'", "one of " + std::string(kKeys));
}

/// The schedule that a plan has when its text does not name one.
PipelineSchedule impliedSchedule(const ParallelPlan& plan)
{
    return plan.vpp > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
}

} // namespace

void ParallelPlan::setRecompute(std::vector<Recompute> byStage)
{
    const bool differ = std::adjacent_find(byStage.begin(), byStage.end(), std::not_equal_to<>()) != byStage.end();
    recomputeModules = 0;
    recompute = differ || byStage.empty() ? Recompute::None : byStage.front();
    stageRecompute = differ ? std::move(byStage) : std::vector<Recompute>{};
}

std::string documentsText(const std::vector<DocumentLength>& documents)
{
    std::vector<std::pair<int, int>> lengths;
    for (const DocumentLength& each : documents) lengths.emplace_back(each.tokens, each.count);
    return countedText(lengths, [](int tokens) { return std::to_string(tokens); });
}

std::string recomputeText(const ParallelPlan& plan)
{
    if (plan.recomputeModules != 0) {
        std::string text;
        for (const auto& [module, word] : kRecomputeModuleWords)
            if (plan.recomputeModules & module) text.append(text.empty() ? "" : "+").append(word);
        return text;
    }
    const auto word = [](Recompute each) { return std::string(wordOf(kRecomputeWords, each)); };
    return plan.stageRecompute.empty() ? word(plan.recompute) : countedText(runsOf(plan.stageRecompute), word);
}

Result<ParallelPlan> parsePlan(std::string_view text)
{
    constexpr std::string_view kSpaces = " \t\r\n";
    ParallelPlan plan;
    std::set<std::string_view> seen;
    while (true) {
        const std::size_t begin = text.find_first_not_of(kSpaces);
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(kSpaces));
        text.remove_prefix(word.size());
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos)
            return planError("'" + std::string(word) + "' is not key=value", "for example dp=2 pp=4 schedule=gpipe");
        const std::string_view key = word.substr(0, equals);
        if (!seen.insert(key).second) return planError("repeated key '" + std::string(key) + "'", "name it once");
        FOURWALLS_TRY(readKey(key, word.substr(equals + 1), plan));
    }
    if (!seen.contains("schedule")) plan.schedule = impliedSchedule(plan);
    // Products of degrees are handled as int everywhere.
    std::int64_t world = 1;
    for (const int degree : {plan.dp, plan.tp, plan.pp, plan.cp}) {
        world *= degree;
        if (world > kLargestWorld)
            return planError("the world size dp*tp*pp*cp is too large", fmt::format("at most {} ranks", kLargestWorld));
    }
    return plan;
}

std::string formatPlan(const ParallelPlan& plan)
{
    const ParallelPlan defaults;
    std::string text;
    const auto add = [&text](std::string_view key, std::string_view value) {
        if (!text.empty()) text += ' ';
        text.append(key).append("=").append(value);
    };
    const auto addInt = [&](std::string_view key, int value, int standard) {
        if (value != standard) add(key, std::to_string(value));
    };
    addInt("dp", plan.dp, defaults.dp);
    addInt("tp", plan.tp, defaults.tp);
    addInt("pp", plan.pp, defaults.pp);
    addInt("cp", plan.cp, defaults.cp);
    addInt("ep", plan.ep, defaults.ep);
    addInt("etp", plan.expertTensor, defaults.expertTensor);
    addInt("vpp", plan.vpp, defaults.vpp);
    if (plan.order != defaults.order) add("order", wordOf(kOrderWords, plan.order));
    if (!plan.stageLayers.empty())
        add("layers", countedText(runsOf(plan.stageLayers), [](int layers) { return std::to_string(layers); }));
    addInt("microbatches", plan.microbatches, defaults.microbatches);
    addInt("zero", plan.zero, defaults.zero);
    addInt("shard", plan.shard, defaults.shard);
    addInt("reshard", plan.reshard, defaults.reshard);
    addInt("sp", plan.sequenceParallel, defaults.sequenceParallel);
    if (plan.recomputes()) add("recompute", recomputeText(plan));
    std::string offload;
    for (const auto& [on, word] :
         {std::pair{plan.offloadOptimizer, "optimizer"}, std::pair{plan.offloadActivations, "activations"},
          std::pair{plan.offloadParameters, "parameters"}})
        if (on) offload += (offload.empty() ? "" : ",") + std::string(word);
    if (!offload.empty()) add("offload", offload);
    if (plan.schedule != impliedSchedule(plan)) add("schedule", wordOf(kScheduleWords, plan.schedule));
    if (plan.collective != defaults.collective) add("collective", wordOf(kCollectiveWords, plan.collective));
    addInt("overlap", plan.overlap, defaults.overlap);
    addInt("fuse", plan.fuse, defaults.fuse);
    addInt("inplace", plan.inPlace, defaults.inPlace);
    if (plan.fusedAttention != defaults.fusedAttention) add("attention", "unfused");
    if (!plan.documents.empty()) add("documents", documentsText(plan.documents));
    if (plan.context != defaults.context) add("context", wordOf(kContextWords, plan.context));
    if (plan.routing != defaults.routing) add("routing", wordOf(kRoutingWords, plan.routing));
    if (plan.dispatch != defaults.dispatch) add("dispatch", wordOf(kDispatchWords, plan.dispatch));
    addInt("epoverlap", plan.overlapExperts, defaults.overlapExperts);
    if (plan.convolution != defaults.convolution) add("conv", wordOf(kConvolutionWords, plan.convolution));
    if (plan.parameterServer != defaults.parameterServer)
        add("ps", wordOf(kParameterServerWords, plan.parameterServer));
    addInt("servers", plan.servers, defaults.servers);
    return text;
}

} // namespace fourwalls
