// SPDX-License-Identifier: Apache-2.0
// Gathering by name and shape; what follows from it stands in spec_fit.cpp.
#include "model/trace/spec_evidence.h"

#include "model/trace/group_label.h"
#include "model/trace/job_step.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace fourwalls {

namespace {

constexpr std::size_t kMostShapesKept = 1000; ///< of one kind: more are no network
constexpr std::int64_t kMostSizeBelieved = std::int64_t{1} << 32;

template <std::size_t N>
bool isAmong(std::string_view name, const std::array<std::string_view, N>& names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

void addShape(CountedShapes& counted, const Shape& shape, std::int64_t count)
{
    if (counted.size() < kMostShapesKept || counted.contains(shape)) counted[shape] += count;
}

/// A size at the beginning of the text, which is shortened by it; 0: none that is believed.
std::int64_t takeSize(std::string_view& text)
{
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return failure == std::errc{} && value > 0 && value < kMostSizeBelieved ? value : 0;
}

Shape argumentAt(const std::vector<Shape>& shapes, std::size_t index)
{
    return index < shapes.size() ? shapes[index] : Shape{};
}

/// The [m, k, n] of a product of two matrices; empty if they are none.
Shape productOf(const Shape& a, const Shape& b)
{
    return a.size() == 2 && b.size() == 2 && a[1] == b[0] ? Shape{a[0], a[1], b[1]} : Shape{};
}

} // namespace

std::vector<Shape> shapesOf(std::string_view detail, std::size_t most)
{
    constexpr std::size_t kMostSizes = 8;
    std::vector<Shape> shapes;
    constexpr std::string_view kOwn = "shape ";
    if (detail.substr(0, kOwn.size()) == kOwn) {
        detail.remove_prefix(kOwn.size());
        Shape shape;
        while (shape.size() < kMostSizes) {
            shape.push_back(takeSize(detail));
            if (detail.empty() || detail[0] != 'x') break;
            detail.remove_prefix(1);
        }
        if (std::find(shape.begin(), shape.end(), 0) == shape.end()) shapes.push_back(std::move(shape));
        return shapes;
    }
    // A list of lists of numbers; lists of lists within it (tensors in a list) are an argument without sizes.
    if (detail.empty() || detail[0] != '[') return shapes;
    int depth = 0;
    bool sound = true, nested = false;
    Shape shape;
    while (!detail.empty() && shapes.size() < most) {
        const char letter = detail[0];
        if (letter == '[') {
            if (++depth == 2) shape.clear(), sound = true, nested = false;
            if (depth > 2) nested = true;
            detail.remove_prefix(1);
        } else if (letter == ']') {
            if (depth-- == 2) shapes.push_back(sound && !nested ? shape : Shape{});
            if (depth == 0) break;
            detail.remove_prefix(1);
        } else if (letter == ',' || letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t') {
            detail.remove_prefix(1);
        } else {
            const std::size_t before = detail.size();
            const std::int64_t size = takeSize(detail);
            if (detail.size() == before) detail.remove_prefix(1);
            if (depth != 2) continue;
            if (size == 0) sound = false;
            if (shape.size() < kMostSizes) shape.push_back(size);
        }
    }
    return shapes;
}

void SpecEvidence::addOperator(std::string_view name, std::string_view detail, std::int64_t count)
{
    OpInfo info;
    info.name = std::string(name);
    info.detail = std::string(detail);
    addOperator(info, count);
}

void SpecEvidence::addOperator(const OpInfo& op, std::int64_t count)
{
    static constexpr std::array<std::string_view, 3> kLosses{"aten::nll_loss_forward", "aten::nll_loss2d_forward",
                                                             "aten::mse_loss"};
    static constexpr std::array<std::string_view, 2> kHeadsFirst{"aten::scaled_dot_product_attention",
                                                                 "fused attention"};
    constexpr std::string_view kInsideAttention = "aten::_scaled_dot_product_flash_attention_for_cpu";
    static constexpr std::array<std::string_view, 4> kHeadsThird{"xformers::efficient_attention_forward",
                                                                 "flash_attn::_flash_attn_forward",
                                                                 "flash_attn::_flash_attn_forward_v3", "FlashAttnFunc"};
    static constexpr std::array<std::string_view, 2> kOther{"vllm::unified_attention_with_output",
                                                            "aten::_native_multi_head_attention"};
    static constexpr std::array<std::string_view, 8> kNorms{"aten::native_layer_norm",
                                                            "aten::rms_norm",
                                                            "aten::_fused_rms_norm",
                                                            "_C::fused_add_rms_norm",
                                                            "FusedLayerNormAffineFunction",
                                                            "FusedLayerNorm",
                                                            "layernorm",
                                                            "rmsnorm"};
    static constexpr std::array<std::string_view, 5> kActivations{"gelu", "gelu gradient", "gelu and bias gradient",
                                                                  "swiglu", "swiglu gradient"};
    const std::string_view name = op.name;
    const bool isForward = op.phase == Phase::Forward, isOwn = op.detail.starts_with("shape ");
    if (op.layer && op.layer->value >= 0) m_data.layers.insert(op.layer->value);
    m_data.hasForward |= isForward || name == "aten::linear" || name == "aten::conv2d";
    m_data.hasBackward |= op.phase == Phase::BackwardInput || op.phase == Phase::BackwardWeight ||
                          phaseOfOperator(name) == Phase::BackwardInput || name == "aten::convolution_backward";
    m_data.hasOptimizer |= op.phase == Phase::Optimizer || name.starts_with("Optimizer.step#") ||
                           name.starts_with("aten::_fused_adam") || name.starts_with("aten::_fused_sgd");
    if (isAmong(name, kLosses)) m_data.lossCount += count;
    m_data.hasExperts |= name == "mixture.router";
    if (name == "aten::convolution") m_data.convolutions += count;
    // What is done again, or goes backward, says nothing new of attention, norms and tables.
    const bool isAgain = op.phase == Phase::Recompute || op.phase == Phase::BackwardInput ||
                         op.phase == Phase::BackwardWeight || op.phase == Phase::Setup;
    const auto product = [&](const Shape& shape) {
        if (shape.size() != 3 || op.phase == Phase::Setup) return;
        addShape(m_data.products, shape, count);
        if (isForward) addShape(m_data.forwardProducts, shape, count);
    };
    const auto shapes = [&](std::size_t most) { return shapesOf(op.detail, most); };
    if (name == "aten::mm" || name == "aten::_scaled_mm") {
        const auto of = shapes(2);
        product(productOf(argumentAt(of, 0), argumentAt(of, 1)));
    } else if (name == "aten::addmm" || name == "aten::_addmm_activation") {
        const auto of = shapes(3);
        product(productOf(argumentAt(of, 1), argumentAt(of, 2)));
    } else if (name == "aten::bmm") {
        const auto of = shapes(2);
        const Shape a = argumentAt(of, 0), b = argumentAt(of, 1);
        if (a.size() == 3 && b.size() == 3 && a[2] == b[1])
            addShape(m_data.batchedProducts, {a[0], a[1], a[2], b[2]}, count);
    } else if (isOwn && name == "matmul") {
        m_data.ownNames = true;
        product(argumentAt(shapes(1), 0));
    } else if (isOwn && name == "matmul batched" && isForward) {
        addShape(m_data.batchedProducts, argumentAt(shapes(1), 0), count);
    } else if (isOwn && name == "softmax" && isForward) {
        addShape(m_data.softmax, argumentAt(shapes(1), 0), count);
    } else if (isOwn && name == "attention block" && isForward) {
        addShape(m_data.attentionBlocks, argumentAt(shapes(1), 0), count);
    } else if (isOwn && isAmong(name, kActivations)) {
        const Shape shape = argumentAt(shapes(1), 0);
        if (shape.size() == 2) addShape(m_data.activations, {shape[1]}, count);
    } else if (isOwn && name == "cross entropy" && isForward) {
        addShape(m_data.losses, argumentAt(shapes(1), 0), count);
    } else if (isOwn && name.starts_with("convolution")) {
        m_data.convolutions += count;
    }
    if (isAgain) return;
    if (isAmong(name, kHeadsFirst) || name == kInsideAttention) {
        const auto of = shapes(2);
        Shape first = argumentAt(of, 0);
        const Shape key = argumentAt(of, 1);
        if (first.size() != 4)
            first.clear();
        else if (key.size() == 4)
            first.push_back(key[1]);
        addShape(name == kInsideAttention ? m_data.attentionParts : m_data.attention, first, count);
    } else if (isAmong(name, kHeadsThird)) {
        const auto of = shapes(2);
        const Shape first = argumentAt(of, 0), key = argumentAt(of, 1);
        Shape turned;
        if (first.size() == 4) turned = {first[0], first[2], first[1], first[3]};
        if (!turned.empty() && key.size() == 4) turned.push_back(key[2]);
        addShape(m_data.attention, turned, count);
    } else if (isAmong(name, kOther)) {
        addShape(m_data.attention, {}, count);
    } else if (name == "aten::_softmax") {
        const Shape first = argumentAt(shapes(1), 0);
        addShape(m_data.softmax, first.size() == 4 && first[2] == first[3] ? first : Shape{}, count);
    } else if (isAmong(name, kNorms)) {
        const Shape first = argumentAt(shapes(1), 0);
        addShape(m_data.norms, first.empty() ? Shape{} : Shape{first.back()}, count);
    } else if (name == "aten::embedding") {
        const auto of = shapes(2);
        Shape shape;
        if (of.size() > 1 && of[0].size() == 2) {
            shape = of[0];
            shape.insert(shape.end(), of[1].begin(), of[1].end());
        }
        addShape(m_data.embeddings, shape, count);
    } else if (isOwn && name == "embedding") {
        m_data.ownEmbeddings += count;
    }
    if (name == "aten::nll_loss_forward" || name == "aten::_log_softmax" || name == "aten::cross_entropy_loss") {
        const Shape first = argumentAt(shapes(1), 0);
        if (first.size() == 2) addShape(m_data.losses, first, count);
    }
}

void SpecEvidence::addName(std::string_view name)
{
    constexpr std::string_view kStep = "Optimizer.step#", kModule = "nn.Module: ";
    if (name.substr(0, kStep.size()) == kStep) {
        name.remove_prefix(kStep.size());
        m_data.optimizer = std::string(name.substr(0, std::min<std::size_t>(name.find('.'), 60)));
        m_data.hasOptimizer = true;
    } else if (name.substr(0, kModule.size()) == kModule) {
        name.remove_prefix(kModule.size());
        const std::size_t under = name.rfind('_');
        if (under == std::string_view::npos) return;
        const std::string_view digits = name.substr(under + 1);
        int index = -1;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
        if (failure != std::errc{} || end != digits.data() + digits.size() || index < 0 || index > 100000 ||
            m_data.modules.size() > kMostShapesKept)
            return;
        m_data.modules[std::string(name.substr(0, under))].insert(index);
    } else if (name == "DistributedDataParallel.forward") {
        m_data.distributed = true;
    } else if (name.starts_with("FullyShardedDataParallel._") || name == "FullyShardedDataParallel.forward" ||
               name.starts_with("FSDP::")) {
        m_data.sharded = true;
    }
}

void SpecEvidence::addGroup(std::string_view name, int size)
{
    static constexpr std::array<std::pair<GroupPurpose, const char*>, 5> kKeys{{{GroupPurpose::Tensor, "tp"},
                                                                                {GroupPurpose::Pipeline, "pp"},
                                                                                {GroupPurpose::Data, "dp"},
                                                                                {GroupPurpose::Context, "cp"},
                                                                                {GroupPurpose::Expert, "ep"}}};
    if (size <= 0) return;
    const GroupPurpose purpose = purposeOfGroup(name);
    if (purpose == GroupPurpose::Other) m_data.otherGroups.insert(std::string(name));
    for (const auto& [known, key] : kKeys)
        if (known == purpose) m_data.degrees[key] = std::max(m_data.degrees[key], size);
}

void SpecEvidence::addForwardReduction(int groupSize)
{
    ++m_data.forwardReductions;
    m_data.forwardGroup = std::max(m_data.forwardGroup, groupSize);
}

std::vector<InferredField> SpecEvidence::infer() const
{
    return fitSpec(m_data);
}

Result<SpecEvidence> evidenceOf(TraceQuery& trace)
{
    SpecEvidence evidence;
    SpecEvidenceData& data = evidence.m_data;
    const TraceInfo& info = trace.info();
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    data.steps = std::count_if(steps.begin(), steps.end(),
                               [](const JobStep& step) { return step.state == StepState::Measured; });
    data.ranks = std::max(1, static_cast<int>(info.header.ranks.size()));
    data.manyRanks = true;
    data.worldSize = info.header.worldSize;
    for (const RankInfo& rank : info.header.ranks) data.stages = std::max(data.stages, rank.pipelineStage + 1);
    if (!info.header.ranks.empty()) data.device = info.header.ranks.front().device;
    for (const ProcessGroupInfo& group : info.groups)
        evidence.addGroup(group.name, static_cast<int>(group.ranks.size()));
    if (const auto step = typicalStep(steps)) {
        if (step->tokens > 0) data.stepTokens = step->tokens;
        if (step->samples > 0) data.stepSamples = step->samples;
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries,
                         trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(const auto op, trace.op(summary.op));
        if (!op) continue;
        if (op->kind == SliceKind::Marker || op->kind == SliceKind::Layer) evidence.addName(op->name);
        if (op->kind == SliceKind::Operator || op->kind == SliceKind::Kernel || op->kind == SliceKind::Marker ||
            op->kind == SliceKind::Phase)
            evidence.addOperator(*op, summary.count);
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveSummary> collectives, trace.collectiveSummaries());
    for (const CollectiveSummary& summary : collectives) {
        if (summary.group.value < 0 || static_cast<std::size_t>(summary.group.value) >= info.groups.size()) continue;
        const std::size_t members = info.groups[static_cast<std::size_t>(summary.group.value)].ranks.size();
        const auto size = static_cast<int>(members);
        auto found =
            std::find_if(data.collectives.begin(), data.collectives.end(), [&](const RecordedCollectives& each) {
                return each.operation == summary.operation && each.groupSize == size;
            });
        if (found == data.collectives.end())
            found = data.collectives.insert(data.collectives.end(), {summary.operation, size, 0});
        // Operations are counted once for all their members that are in the trace.
        const double present = std::min<double>(static_cast<double>(std::max<std::size_t>(1, members)), data.ranks);
        found->perStep += static_cast<double>(summary.count) * present / static_cast<double>(data.runs());
    }
    return evidence;
}

Result<TraceInfo> infoWithInferences(TraceQuery& trace)
{
    TraceInfo info = trace.info();
    if (info.header.spec || !inferredFields(info.audit).empty()) return info;
    FOURWALLS_TRY_ASSIGN(const SpecEvidence evidence, evidenceOf(trace));
    for (const InferredField& field : evidence.infer()) info.audit.push_back(toAudit(field));
    return info;
}

} // namespace fourwalls
