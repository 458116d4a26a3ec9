// SPDX-License-Identifier: Apache-2.0
// One function per part of the specification; each takes what was inferred and notes what it had to assume.
#include "model/trace/spec_guess.h"

#include "model/spec/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 24; ///< of a size that is believed
constexpr int kMostDegree = 1 << 16;

/// The inferred fields by name, and the notes on what had to be assumed.
class Evidence {
public:
    Evidence(const std::vector<InferredField>& fields, std::vector<std::string>& assumed)
        : m_fields(fields)
        , m_assumed(assumed)
    {}

    const std::string* word(std::string_view field) const
    {
        const auto found = std::find_if(m_fields.begin(), m_fields.end(),
                                        [field](const InferredField& f) { return f.field == field; });
        return found == m_fields.end() ? nullptr : &found->value;
    }
    /// A size of 1 or more; absent if it was not inferred or cannot be one.
    std::optional<std::int64_t> number(std::string_view field, std::int64_t most = kMostSize) const
    {
        const std::string* const text = word(field);
        std::int64_t value = 0;
        if (!text) return std::nullopt;
        const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
        if (failure != std::errc{} || end != text->data() + text->size() || value < 1 || value > most)
            return std::nullopt;
        return value;
    }
    std::int64_t numberOr(std::string_view field, std::int64_t usual)
    {
        if (const auto value = number(field)) return *value;
        assume(field);
        return usual;
    }
    /// A degree: 1 is no assumption, it is what a run without that kind of parallelism has.
    int degree(std::string_view field) const { return static_cast<int>(number(field, kMostDegree).value_or(1)); }

    void assume(std::string_view field)
    {
        if (std::find(m_assumed.begin(), m_assumed.end(), field) == m_assumed.end()) m_assumed.emplace_back(field);
    }

private:
    const std::vector<InferredField>& m_fields;
    std::vector<std::string>& m_assumed;
};

/// Layers that published networks of that width have. Source: arXiv:2005.14165 table 2.1 (GPT-3's family), and for 4096
/// and 8192 arXiv:2307.09288 (Llama 2).
std::int64_t usualLayers(std::int64_t hidden)
{
    if (hidden <= 768) return 12;
    if (hidden <= 2048) return 24;
    if (hidden <= 4096) return 32;
    if (hidden <= 5120) return 40;
    return hidden <= 8192 ? 80 : 96;
}

std::int64_t usualHeads(std::int64_t hidden)
{
    const std::int64_t heads = hidden / (hidden >= 4096 ? 128 : 64);
    return heads > 0 && hidden % heads == 0 ? heads : 1;
}

TransformerSpec guessNetwork(Evidence& evidence)
{
    TransformerSpec network;
    const auto heads = evidence.number("heads");
    network.hidden = evidence.numberOr("hidden", heads ? *heads * 64 : 768);
    network.layers = evidence.numberOr("layers", usualLayers(network.hidden));
    network.heads = heads.value_or(usualHeads(network.hidden));
    // A width that heads do not divide was inferred of something else.
    if (!heads || network.hidden % network.heads != 0) {
        network.heads = usualHeads(network.hidden);
        evidence.assume("heads");
    }
    network.kvHeads = evidence.numberOr("kv_heads", network.heads);
    if (network.kvHeads > network.heads || network.heads % network.kvHeads != 0) {
        network.kvHeads = network.heads;
        evidence.assume("kv_heads");
    }
    network.ffnHidden = evidence.numberOr("ffn_hidden", 4 * network.hidden);
    network.vocabulary = evidence.numberOr("vocabulary", 50257);
    network.sequence = evidence.numberOr("sequence", 1024);
    return network;
}

ParallelPlan guessPlan(const TraceInfo& info, Evidence& evidence)
{
    ParallelPlan plan;
    plan.tp = evidence.degree("tp");
    plan.pp = evidence.degree("pp");
    plan.cp = evidence.degree("cp");
    plan.dp = evidence.degree("dp");
    // Nobody has that many devices: the numbers are a damaged file's.
    const std::int64_t product = std::int64_t{plan.tp} * plan.pp * plan.cp;
    if (product > kMostDegree || product * plan.dp > kMostDegree) {
        for (const char* field : {"tp", "pp", "cp", "dp"}) evidence.assume(field);
        plan = {};
    }
    if (const auto zero = evidence.number("zero", 3)) plan.zero = static_cast<int>(*zero);
    plan.microbatches = static_cast<int>(evidence.number("microbatches", kMostDegree).value_or(1));
    const auto ranks = static_cast<std::int64_t>(info.header.ranks.size());
    const std::int64_t world = evidence.number("world_size", kMostDegree).value_or(std::max<std::int64_t>(1, ranks));
    const std::int64_t others = std::int64_t{plan.tp} * plan.pp * plan.cp;
    // Ranks that no degree speaks for are replicas: what a run without any other sign most likely is.
    if (plan.dp == 1 && world > others && world % others == 0) {
        plan.dp = static_cast<int>(world / others);
        evidence.assume("dp");
    }
    if (plan.dp * plan.cp == 1) plan.zero = 0;
    if (!evidence.number("microbatches")) evidence.assume("microbatches");
    // The network is taken for a dense one: nothing tells how many experts it has, or of what size.
    if (evidence.degree("ep") > 1) evidence.assume("experts");
    return plan;
}

/// Eager PyTorch trains with replicas or FSDP; tensor and pipeline groups are mostly Megatron's.
std::string frameworkOf(const ParallelPlan& plan)
{
    if (plan.tp > 1 || plan.pp > 1) return "megatron-core";
    return plan.zero == 3 ? "fsdp" : "torchtitan";
}

std::optional<ClusterSpec> guessCluster(const TraceInfo& info, int worldSize, Precision precision, Evidence& evidence)
{
    const std::string* const word = evidence.word("device");
    std::string device = word ? *word : "";
    if (device.empty() && !info.header.ranks.empty()) device = info.header.ranks.front().device;
    bool exact = false;
    ClusterSpec cluster;
    auto found = clusterWithDevice(device, exact);
    if (!found) return std::nullopt; // nobody knows its rates
    cluster = std::move(*found);
    if (!exact) {
        evidence.assume("device");
        // What the trace itself tells of its device is better than what the nearest preset says.
        const TraceClosing& closing = info.closing;
        if (closing.peakFlopsPerDevice) cluster.device.peakFlops[precision] = *closing.peakFlopsPerDevice;
        if (closing.memoryBytesPerSecond) cluster.device.memoryBytesPerSecond = *closing.memoryBytesPerSecond;
        if (!device.empty()) cluster.device.name = device;
    }
    if (!info.header.ranks.empty() && info.header.ranks.front().memoryBytes > 0)
        cluster.device.memoryBytes = info.header.ranks.front().memoryBytes;
    cluster.devicesPerNode = std::max(1, std::min(cluster.devicesPerNode, worldSize));
    cluster.nodes = (worldSize + cluster.devicesPerNode - 1) / cluster.devicesPerNode;
    return cluster;
}

/// Takes back what keeps the parts from fitting together, the least certain first.
bool makeFit(RunSpec& spec, Evidence& evidence)
{
    if (resolve(spec)) return true;
    const int world = spec.plan.worldSize();
    for (const auto& [field, degree] :
         {std::pair{"cp", &ParallelPlan::cp}, std::pair{"tp", &ParallelPlan::tp}, std::pair{"pp", &ParallelPlan::pp}}) {
        if (spec.plan.*degree == 1) continue;
        spec.plan.*degree = 1;
        evidence.assume(field);
        spec.plan.dp = world / (spec.plan.tp * spec.plan.pp * spec.plan.cp);
        spec.training.batch = std::int64_t{spec.plan.dp} * spec.plan.microbatches;
        if (resolve(spec)) return true;
    }
    return false;
}

} // namespace

std::string_view deviceGeneration(std::string_view device)
{
    static constexpr std::array<std::string_view, 9> kWords{"GB300", "GB200", "B200", "H200", "H100",
                                                            "A100",  "V100",  "4090", "910B"};
    for (const std::string_view word : kWords)
        if (device.find(word) != std::string_view::npos) return word;
    return {};
}

std::optional<ClusterSpec> clusterWithDevice(std::string_view device, bool& exact)
{
    exact = false;
    std::optional<ClusterSpec> near;
    const std::string_view word = deviceGeneration(device);
    for (const std::string& preset : clusterPresetNames()) {
        if (preset == "this-machine") continue;
        auto cluster = loadCluster(preset);
        if (!cluster) continue;
        if (cluster->device.name == device) {
            // Several presets have that device; the one named after a product is the usual machine.
            if (!near || !exact || preset.starts_with("dgx")) near = std::move(*cluster);
            exact = true;
        } else if (!exact && !word.empty() && deviceGeneration(cluster->device.name) == word &&
                   (!near || preset.starts_with("dgx"))) {
            near = std::move(*cluster);
        }
    }
    return near;
}

std::optional<SpecGuess> guessSpec(const TraceInfo& info)
{
    if (info.header.spec) return std::nullopt;
    SpecGuess guess;
    guess.evidence = inferredFields(info.audit);
    Evidence evidence(guess.evidence, guess.assumed);
    if (!evidence.number("layers") && !evidence.number("hidden") && !evidence.number("heads")) return std::nullopt;

    RunSpec& spec = guess.spec;
    TransformerSpec network = guessNetwork(evidence);
    spec.model = {"inferred", network};
    spec.plan = guessPlan(info, evidence);
    spec.framework = frameworkOf(spec.plan);
    evidence.assume("framework");
    spec.training.sequence = network.sequence;
    spec.training.batch = evidence.numberOr("microbatch_size", 1) * spec.plan.dp * spec.plan.microbatches;
    if (const std::string* optimizer = evidence.word("optimizer")) {
        const bool sgd = optimizer->find("SGD") != std::string::npos;
        spec.training.optimizer = sgd ? Optimizer::Sgd : Optimizer::AdamW;
        if (!sgd && optimizer->find("Adam") == std::string::npos) evidence.assume("optimizer");
    } else {
        evidence.assume("optimizer");
    }
    const std::string* const word = evidence.word("precision");
    const auto precision = word ? valueOf(kPrecisionWords, *word) : std::nullopt;
    if (!precision) evidence.assume("precision");
    spec.training.precision = precision.value_or(Precision::Bf16);
    spec.training.device = DeviceKind::Cuda;
    auto cluster = guessCluster(info, spec.plan.worldSize(), spec.training.precision, evidence);
    if (!cluster) return std::nullopt;
    spec.cluster = std::move(*cluster);
    if (!makeFit(spec, evidence)) return std::nullopt;
    return guess;
}

} // namespace fourwalls
