// SPDX-License-Identifier: Apache-2.0
// See decoder.h. n = samples * sequence; C = hidden; V = vocabulary.
#include "profiler/engine/nn/decoder.h"

#include "profiler/engine/core/engine_error.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

// Logits held at a time when the loss is computed in chunks, and the least rows of a chunk: below, the weight
// gradient of the head would be read and written too often.
constexpr std::int64_t kChunkLogits = 4 << 20;
constexpr std::int64_t kChunkRows = 256;

} // namespace

struct Decoder::State final : ForwardState {
    std::vector<DecoderLayer::Saved> layers;
    Tensor last, normed; // input and output of the final norm
    Norm::Saved finalNorm;
    Tensor gradient; // with respect to `normed`, from loss()
};

Decoder::Decoder(const RankContext& rank, const TransformerSpec& spec, std::int64_t sequence, std::uint64_t seed,
                 const ComputeOptions& options)
    : m_spec(spec)
    , m_options(options)
{
    const bool llama = usesLlamaNames(spec);
    m_tokens = &m_parameters.addMatrix(rank, seed, llama ? "model.embed_tokens.weight" : "transformer.wte.weight",
                                       spec.vocabulary, spec.hidden, 0.02);
    if (spec.positions == Positions::Learned) {
        // Read in the master type while the tokens' embedding is looked up: no rounded copy is needed.
        RankContext master = rank;
        master.format.compute = rank.format.master;
        m_positions = &m_parameters.addMatrix(master, seed, "transformer.wpe.weight", spec.sequence, spec.hidden, 0.02);
    } else {
        m_rotary = RotaryTables::make(rank, sequence, spec.hidden / spec.heads);
    }
    m_layers.reserve(static_cast<std::size_t>(spec.layers));
    for (std::int64_t i = 0; i < spec.layers; ++i)
        m_layers.emplace_back(rank, m_parameters, spec, static_cast<std::int32_t>(i), seed, options);
    const std::string norm = llama ? "model.norm" : "transformer.ln_f";
    m_finalNorm.kind = spec.normalization == Normalization::LayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
    m_finalNorm.gain = &m_parameters.addVector(rank, norm + ".weight", spec.hidden, 1.0);
    if (m_finalNorm.kind == NormKind::LayerNorm)
        m_finalNorm.shift = &m_parameters.addVector(rank, norm + ".bias", spec.hidden, 0.0);
    m_head = spec.tiedEmbeddings
                 ? m_tokens
                 : &m_parameters.addMatrix(rank, seed, "lm_head.weight", spec.vocabulary, spec.hidden, 0.02);
}

std::unique_ptr<ForwardState> Decoder::forward(RankContext& rank, const Batch& batch)
{
    auto state = std::make_unique<State>();
    state->layers.resize(m_layers.size());
    const std::int64_t n = batch.inputs.elements();
    Tensor x;
    {
        const Scope op(rank.recorder, SliceKind::Operator, "embedding");
        x = rank.activation({n, m_spec.hidden});
        rank.device.embeddingForward(batch.inputs, m_tokens->compute, m_positions ? m_positions->weight : Tensor(), x);
    }
    for (std::size_t i = 0; i < m_layers.size(); ++i)
        x = m_layers[i].forward(rank, x, batch.samples, m_rotary, state->layers[i]);
    const Scope op(rank.recorder, SliceKind::Operator, "final norm");
    state->last = x;
    state->normed = m_finalNorm.forward(rank, x, state->finalNorm);
    return state;
}

// One chunk of rows through the head: logits, loss, and the gradients of both the rows and the head's weights.
double Decoder::headRows(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                         double scale)
{
    Device& device = rank.device;
    const Scope op(rank.recorder, SliceKind::Operator, "head and loss");
    const Tensor logits = Tensor::make(rank.allocator, {normed.rows(), m_spec.vocabulary}, rank.format.master,
                                       MemoryCategory::Activations);
    device.matmul(matrix(normed), matrix(m_head->compute).transposed(), matrix(logits));
    const Tensor losses =
        Tensor::make(rank.allocator, {normed.rows()}, rank.format.master, MemoryCategory::Temporaries);
    device.crossEntropy(logits, targets, losses, scale);
    const double sum = device.sum(losses);

    const PhaseTag input(rank.recorder, Phase::BackwardInput);
    Tensor dLogits = logits;
    if (rank.format.compute != rank.format.master) {
        dLogits = rank.temporary(logits.shape());
        device.convert(logits, dLogits);
    }
    device.matmul(matrix(dLogits), matrix(m_head->compute), matrix(dNormed));
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    MatmulOptions options;
    options.accumulate = m_head->takeAccumulate();
    device.matmul(matrix(dLogits).transposed(), matrix(normed), matrix(m_head->gradient), options);
    return sum;
}

double Decoder::loss(RankContext& rank, const Batch& batch, ForwardState& forwardState, double lossScale)
{
    auto& state = static_cast<State&>(forwardState);
    const std::int64_t n = state.normed.rows();
    std::int64_t chunk = n;
    if (m_options.fuse) chunk = std::min(n, std::max(kChunkRows, kChunkLogits / m_spec.vocabulary / 16 * 16));
    state.gradient = rank.temporary(state.normed.shape());
    const Tensor targets = batch.targets.reshaped({n, 1});
    double sum = 0;
    for (std::int64_t first = 0; first < n; first += chunk) {
        const std::int64_t rows = std::min(chunk, n - first);
        sum += headRows(rank, state.normed.rowRange(first, rows), targets.rowRange(first, rows),
                        state.gradient.rowRange(first, rows), lossScale / static_cast<double>(n));
    }
    state.normed.reset();
    return sum / static_cast<double>(n);
}

void Decoder::backward(RankContext& rank, const Batch& batch, ForwardState& forwardState)
{
    auto& state = static_cast<State&>(forwardState);
    const Tensor d = rank.temporary(state.last.shape());
    {
        const Scope op(rank.recorder, SliceKind::Operator, "final norm");
        m_finalNorm.backward(rank, state.last, state.finalNorm, state.gradient, d, false);
        state.gradient.reset();
        state.last.reset();
        state.finalNorm = {};
    }
    for (std::size_t i = m_layers.size(); i-- > 0;) m_layers[i].backward(rank, d, m_rotary, state.layers[i]);

    const Scope op(rank.recorder, SliceKind::Operator, "embedding");
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    // Rows that no token asks for receive nothing: the sums start from zero, unless the tied head wrote them.
    if (!m_tokens->takeAccumulate()) rank.device.zero(m_tokens->gradient);
    if (m_positions && !m_positions->takeAccumulate()) rank.device.zero(m_positions->gradient);
    rank.device.embeddingBackward(batch.inputs, d, m_tokens->gradient, m_positions ? m_positions->gradient : Tensor());
}

} // namespace fourwalls::engine
