// SPDX-License-Identifier: Apache-2.0
// Evidence by shape, then one rule per figure.
#include "model/import/spec_inference.h"

#include "model/import/decimal_time.h"
#include "model/import/parallel_groups.h"
#include "model/spec/names.h"

#include <algorithm>
#include <array>

namespace fourwalls::importers {

namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::size_t kMostShapes = 1000;     ///< of one kind: more are no network
constexpr std::int64_t kMostSize = std::int64_t{1} << 32;

/// The first two inputs' shapes; details may be cut behind them.
std::vector<Shape> firstShapes(std::string_view dims)
{
    std::vector<Shape> shapes;
    if (dims.empty() || dims[0] != '[') return shapes;
    const std::string text = std::string(dims) + std::string(16, '\0');
    forEachElement(std::string_view(text).substr(0, dims.size()), [&](const JsonToken& input) {
        if (shapes.size() >= 2) return;
        Shape shape;
        if (input.kind == JsonToken::Kind::Array)
            forEachElement(input.text, [&](const JsonToken& size) {
                const auto number = integerFromText(size.text);
                if (shape.size() < 8) shape.push_back(number && *number > 0 && *number < kMostSize ? *number : 0);
            });
        if (std::find(shape.begin(), shape.end(), 0) != shape.end()) shape.clear();
        shapes.push_back(std::move(shape));
    });
    return shapes;
}

template <std::size_t N>
bool among(std::string_view name, const std::array<std::string_view, N>& names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string number(std::int64_t value) { return std::to_string(value); }

/// The shape met most often; null if there is none.
template <class Counted>
const typename Counted::value_type* mostFrequent(const Counted& counted)
{
    const auto most = std::max_element(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counted.end() ? nullptr : &*most;
}

} // namespace

/// What several rules need.
struct SpecEvidence::Figures {
    std::int64_t hidden = 0, attention = 0, microbatches = 0, norms = 0;
    int tp = 1, pp = 1;
};

void SpecEvidence::addOperator(std::string_view name, std::string_view inputDims, std::int64_t count)
{
    static constexpr std::array<std::string_view, 3> kFused{"aten::scaled_dot_product_attention", "xformers::efficient_attention_forward", "flash_attn::_flash_attn_forward"};
    static constexpr std::array<std::string_view, 5> kNorms{"aten::native_layer_norm", "aten::rms_norm", "_C::fused_add_rms_norm", "FusedLayerNormAffineFunction", "FusedLayerNorm"};
    static constexpr std::array<std::string_view, 3> kLosses{"aten::nll_loss_forward", "aten::nll_loss2d_forward", "aten::mse_loss"};
    const auto add = [count](Counted& counted, const Shape& shape) {
        if (counted.size() < kMostShapes || counted.contains(shape)) counted[shape] += count;
    };
    if (among(name, kLosses)) m_losses += count;
    const bool attention = among(name, kFused) || name == "vllm::unified_attention_with_output" || name == "aten::_native_multi_head_attention";
    const bool softmax = name == "aten::_softmax", norm = among(name, kNorms), embedding = name == "aten::embedding";
    if (!attention && !softmax && !norm && !embedding) return;
    const std::vector<Shape> shapes = firstShapes(inputDims);
    const Shape first = shapes.empty() ? Shape{} : shapes[0];
    if (attention) add(m_attention, first.size() == 4 && among(name, kFused) ? first : Shape{});
    if (softmax) add(m_softmax, first.size() == 4 && first[2] == first[3] ? first : Shape{});
    if (norm) add(m_norms, first.empty() ? Shape{} : Shape{first.back()});
    if (embedding) {
        Shape shape;
        if (shapes.size() > 1 && first.size() == 2) {
            shape = first;
            shape.insert(shape.end(), shapes[1].begin(), shapes[1].end());
        }
        add(m_embeddings, shape);
    }
}

void SpecEvidence::addName(std::string_view name)
{
    constexpr std::string_view kStep = "Optimizer.step#", kModule = "nn.Module: ";
    if (name.substr(0, kStep.size()) == kStep) {
        name.remove_prefix(kStep.size());
        m_optimizer = std::string(name.substr(0, std::min<std::size_t>(name.find('.'), 60)));
    } else if (name.substr(0, kModule.size()) == kModule) {
        name.remove_prefix(kModule.size());
        const std::size_t under = name.rfind('_');
        const auto index = under == std::string_view::npos ? std::nullopt : integerFromText(name.substr(under + 1));
        if (!index || *index < 0 || *index > 100000 || m_modules.size() > kMostShapes) return;
        m_modules[std::string(name.substr(0, under))].insert(static_cast<int>(*index));
    } else if (name == "DistributedDataParallel.forward") {
        m_distributed = true;
    } else if (name.substr(0, 26) == "FullyShardedDataParallel._" || name == "FullyShardedDataParallel.forward" || name.substr(0, 6) == "FSDP::") {
        m_sharded = true;
    }
}

void SpecEvidence::addGroups(const std::vector<HostGroup>& groups)
{
    for (const HostGroup& group : groups) {
        static constexpr std::array<std::pair<GroupPurpose, const char*>, 5> kKeys{
            {{GroupPurpose::Tensor, "tp"}, {GroupPurpose::Pipeline, "pp"}, {GroupPurpose::Data, "dp"}, {GroupPurpose::Context, "cp"}, {GroupPurpose::Expert, "ep"}}};
        const GroupPurpose purpose = purposeOfGroup(group);
        const int size = group.ranks.empty() ? group.size : static_cast<int>(group.ranks.size());
        for (const auto& [known, key] : kKeys)
            if (known == purpose && size > 0) m_degrees[key] = std::max(m_degrees[key], size);
    }
}

void SpecEvidence::inferPlan(Figures& figures, std::vector<InferredField>& fields) const
{
    const int world = m_worldSize.value_or(m_ranks);
    if (m_worldSize || m_ranks > 1)
        fields.push_back({"world_size", number(world), m_worldSize ? Confidence::High : Confidence::Medium, m_worldSize ? "the file says so" : "ranks imported together"});
    int product = 1;
    for (const auto& [key, degree] : m_degrees) {
        fields.push_back({key, number(degree), Confidence::High, "a process group of that purpose and size"});
        if (key != "ep") product *= degree;
        if (key == "tp") figures.tp = degree;
        if (key == "pp") figures.pp = degree;
    }
    if (m_degrees.empty() && m_forwardReductions >= 2 && m_forwardGroup > 1) {
        figures.tp = m_forwardGroup;
        product = m_forwardGroup;
        fields.push_back({"tp", number(m_forwardGroup), Confidence::Medium, number(m_forwardReductions) + " all-reduces in the forward pass, in groups of that size"});
    }
    if (m_degrees.contains("dp") || world % product != 0) return;
    if ((m_distributed || m_sharded) && world > 1)
        fields.push_back({"dp", number(world / product), product == 1 ? Confidence::High : Confidence::Medium, m_sharded ? "FullyShardedDataParallel is used" : "DistributedDataParallel is used"});
    else if (product > 1 && world > product)
        fields.push_back({"dp", number(world / product), Confidence::Low, "what the other degrees leave of the world"});
    if (m_sharded) fields.push_back({"zero", "3", Confidence::Medium, "FullyShardedDataParallel is used"});
}

void SpecEvidence::inferSizes(Figures& figures, std::vector<InferredField>& fields) const
{
    // The table with most rows is the one of the words; positions have fewer.
    const auto words = std::max_element(m_embeddings.begin(), m_embeddings.end(), [](const auto& a, const auto& b) { return (a.first.empty() ? 0 : a.first[0]) < (b.first.empty() ? 0 : b.first[0]); });
    const auto* const norm = mostFrequent(m_norms);
    const bool table = words != m_embeddings.end() && words->first.size() >= 3;
    const std::int64_t ofNorm = norm && !norm->first.empty() ? norm->first[0] : 0;
    figures.hidden = table ? words->first[1] : ofNorm;
    if (figures.hidden > 0) {
        const bool both = table && ofNorm == figures.hidden;
        fields.push_back({"hidden", number(figures.hidden), both ? Confidence::High : Confidence::Medium, both ? "width of the embedding and of the norms" : table ? "width of the embedding" : "width of most norms"});
    }
    if (table) {
        const bool cut = figures.tp > 1;
        fields.push_back({"vocabulary", number(words->first[0] * figures.tp), cut ? Confidence::Low : Confidence::Medium, cut ? "rows of the embedding, times tp" : "rows of the embedding"});
        if (words->first.size() == 4) {
            fields.push_back({"microbatch_size", number(words->first[2]), Confidence::Medium, "shape of the embedding's indices"});
            fields.push_back({"sequence", number(words->first[3]), Confidence::Medium, "shape of the embedding's indices"});
        }
    }
    // A fused operator says more than a softmax over a square.
    const auto* const fused = mostFrequent(m_attention);
    const auto* const soft = mostFrequent(m_softmax);
    const auto* const shaped = fused && !fused->first.empty() ? fused : soft && !soft->first.empty() ? soft : nullptr;
    if (shaped) {
        const Shape& shape = shaped->first;
        fields.push_back({"heads", number(shape[1] * figures.tp), Confidence::High, std::string("shape of the attention") + (figures.tp > 1 ? ", times tp" : "")});
        const bool known = std::any_of(fields.begin(), fields.end(), [](const InferredField& field) { return field.field == "sequence"; });
        if (!known) fields.push_back({"sequence", number(shape[2]), Confidence::High, "shape of the attention"});
        const std::int64_t width = shaped == fused ? shape[1] * shape[3] * figures.tp : 0;
        if (figures.hidden == 0 && width > 0) fields.push_back({"hidden", number(width), Confidence::Medium, "heads times their width"});
    }
    std::int64_t attention = 0, softmax = 0;
    for (const auto& [shape, count] : m_attention) attention += count;
    for (const auto& [shape, count] : m_softmax) softmax += count;
    figures.attention = attention > 0 ? attention : softmax;
    figures.norms = norm ? norm->second : 0;
    // Without shapes, words and positions cannot be told apart; losses are one per micro-batch.
    if (m_steps > 0 && table && words->second % m_steps == 0) figures.microbatches = words->second / m_steps;
    if (m_steps > 0 && m_losses > 0 && m_losses % m_steps == 0) {
        const bool agree = figures.microbatches == m_losses / m_steps;
        figures.microbatches = m_losses / m_steps;
        fields.push_back({"microbatches", number(figures.microbatches), agree ? Confidence::High : Confidence::Medium, agree ? "embeddings and losses per step" : "losses per step"});
    } else if (figures.microbatches > 0) {
        fields.push_back({"microbatches", number(figures.microbatches), Confidence::Medium, "embeddings per step"});
    }
}

void SpecEvidence::inferRepetition(const Figures& figures, std::vector<InferredField>& fields) const
{
    // Modules are numbered by class; a block holds the others, so its class has "Block" or ends in "Layer".
    std::size_t blocks = 0;
    std::string blockName;
    for (const auto& [module, instances] : m_modules) {
        const bool block = module.find("Block") != std::string::npos || (module.size() > 5 && module.ends_with("Layer"));
        if (block && instances.size() > blocks) blocks = instances.size(), blockName = module;
    }
    std::int64_t repeated = 0;
    const std::int64_t runs = m_steps > 0 ? m_steps * std::max<std::int64_t>(1, figures.microbatches) : 1;
    if (figures.attention > 0 && figures.attention % runs == 0) repeated = figures.attention / runs;
    const std::int64_t own = blocks > 1 ? static_cast<std::int64_t>(blocks) : repeated;
    if (own == 0) return;
    const bool bothAgree = blocks > 1 && own == repeated;
    const bool normsAgree = repeated > 0 && (figures.norms == 2 * figures.attention || figures.norms == 2 * figures.attention + runs);
    std::string why = blocks > 1 ? number(own) + " modules " + blockName : number(own) + " times attention" + (figures.microbatches > 0 ? " per micro-batch" : m_steps > 0 ? " per step, if that is one micro-batch" : "");
    if (bothAgree) why += ", as often attention";
    if (normsAgree) why += ", two norms each";
    Confidence confidence = bothAgree || (blocks <= 1 && normsAgree) ? Confidence::High : Confidence::Medium;
    if (blocks <= 1 && figures.microbatches == 0) confidence = Confidence::Low;
    if (figures.pp > 1) {
        why += ", times pp";
        confidence = std::min(confidence, Confidence::Medium);
    }
    fields.push_back({"layers", number(own * figures.pp), confidence, why});
}

std::vector<InferredField> SpecEvidence::infer() const
{
    std::vector<InferredField> fields;
    Figures figures;
    if (!m_device.empty() && m_device != "accelerator" && m_device != "CPU") fields.push_back({"device", m_device, Confidence::High, "the file names it"});
    const auto most = std::max_element(m_flops.begin(), m_flops.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != m_flops.end()) fields.push_back({"precision", std::string(name(most->first)), Confidence::High, "type of the inputs of most matrix products"});
    if (!m_optimizer.empty()) fields.push_back({"optimizer", m_optimizer, Confidence::High, "the annotation of its step"});
    inferPlan(figures, fields);
    inferSizes(figures, fields);
    inferRepetition(figures, fields);
    return fields;
}

} // namespace fourwalls::importers
