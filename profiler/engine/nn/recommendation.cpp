// SPDX-License-Identifier: Apache-2.0
// See recommendation.h. n: samples; w: width of a table's row; f: features, the dense one first. Layers are numbered:
// the tables 0, the bottom net 1, the interaction 2, the top net 3.
#include "profiler/engine/nn/recommendation.h"

#include <cmath>
#include <utility>

namespace fourwalls::engine {

namespace {

enum LayerNumber : std::int32_t { kTables = 0, kBottom = 1, kInteraction = 2, kTop = 3 };

} // namespace

std::string tableName(std::int64_t table)
{
    return "emb_l." + std::to_string(table) + ".weight";
}

double tableDeviation(const RecommendationSpec& spec)
{
    return 1.0 / std::sqrt(static_cast<double>(spec.rowsPerTable));
}

double tableEntry(const RecommendationSpec& spec, std::uint64_t seed, std::int64_t table, std::int64_t index)
{
    return tableDeviation(spec) * RandomStream::named(seed, tableName(table)).bell(static_cast<std::uint64_t>(index));
}

struct Recommendation::State final : ForwardState {
    std::vector<Tensor> bottom, top; // what each layer gave, ReLU included
    Tensor features;                 // [n, f w]
    Tensor interaction;              // [n, interaction width]
    Tensor gradient;                 // with respect to the top net's last hidden layer, from loss()
    std::vector<Tensor> rows;        // of remote tables
};

Recommendation::Recommendation(const RankContext& rank, const RecommendationSpec& spec, std::uint64_t seed,
                               const RecommendationOptions& options)
    : m_spec(spec)
    , m_options(options)
{
    if (!options.remoteTables) {
        m_tableUnit = m_parameters.beginUnit("tables");
        // Rows are read in the master type: no rounded copy is needed.
        RankContext master = rank;
        master.format.compute = rank.format.master;
        for (std::int64_t t = 0; t < spec.tables; ++t)
            m_tables.push_back(&m_parameters.addMatrix(master, seed, tableName(t), spec.rowsPerTable,
                                                       spec.embeddingWidth, tableDeviation(spec)));
    }
    m_bottomUnit = m_parameters.beginUnit("bottom net");
    m_bottom = makeNet(rank, "bot_l.", spec.denseFeatures, spec.bottomLayers, seed);
    m_topUnit = m_parameters.beginUnit("top net");
    m_top = makeNet(rank, "top_l.", spec.interactionWidth(), spec.topLayers, seed);
}

Recommendation::Net Recommendation::makeNet(const RankContext& rank, const std::string& name, std::int64_t in,
                                            const std::vector<std::int64_t>& widths, std::uint64_t seed)
{
    Net net;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        // Twice the index: activations count as layers in the published implementation's files.
        const std::string layer = name + std::to_string(2 * i) + ".";
        const std::int64_t out = widths[i];
        Linear l;
        l.fuse = m_options.fuse;
        l.weight =
            &m_parameters.addMatrix(rank, seed, layer + "weight", in, out,
                                    std::sqrt(2.0 / static_cast<double>(in + out)), {{layer + "weight", 0, out, true}});
        l.bias = &m_parameters.addVector(rank, layer + "bias", out, 0.0);
        net.layers.push_back(l);
        in = out;
    }
    return net;
}

Shape Recommendation::inputShape(const RankContext&, const Batch& batch) const
{
    return {batch.samples, m_spec.denseFeatures};
}

void Recommendation::run(RankContext& rank, const Net& net, const Tensor& x, std::size_t layers,
                         std::vector<Tensor>& kept) const
{
    SparseOperators operators(rank.device);
    Tensor in = x;
    for (std::size_t i = 0; i < layers; ++i) {
        const Linear& layer = net.layers[i];
        kept.push_back(rank.activation({x.rows(), layer.weight->shape.last()}));
        layer.forward(rank, in, kept.back());
        operators.relu(kept.back());
        in = kept.back();
    }
}

Tensor Recommendation::runBackward(RankContext& rank, const Net& net, const Tensor& x, std::size_t layers,
                                   std::vector<Tensor>& kept, Tensor dy, bool wanted) const
{
    SparseOperators operators(rank.device);
    for (std::size_t i = layers; i-- > 0;) {
        const Linear& layer = net.layers[i];
        operators.reluGradient(kept[i], dy);
        kept[i].reset();
        const Tensor& in = i > 0 ? kept[i - 1] : x;
        layer.backwardWeight(rank, in, dy);
        if (i == 0 && !wanted) return {};
        const Tensor dx = rank.temporary(in.shape());
        layer.backwardInput(rank, dy, dx);
        dy = dx;
    }
    return dy;
}

Tensor Recommendation::table(std::int64_t index) const
{
    const auto i = static_cast<std::size_t>(index);
    return m_options.remoteTables ? m_rows[i] : m_tables[i]->weight;
}

std::unique_ptr<ForwardState> Recommendation::forward(RankContext& rank, const Batch& batch, const Tensor&)
{
    auto state = std::make_unique<State>();
    SparseOperators operators(rank.device);
    const std::int64_t n = batch.samples, w = m_spec.embeddingWidth, lookups = m_spec.lookupsPerTable;
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "bottom net", Phase::None, kBottom);
        rank.enter(m_bottomUnit, UnitPass::Forward);
        run(rank, m_bottom, batch.inputs, m_bottom.layers.size(), state->bottom);
        rank.leave(m_bottomUnit, UnitPass::Forward);
    }
    state->features = rank.activation({n, (m_spec.tables + 1) * w});
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "tables", Phase::None, kTables);
        if (m_tableUnit) rank.enter(m_tableUnit, UnitPass::Forward);
        for (std::int64_t t = 0; t < m_spec.tables; ++t)
            operators.sumRows(table(t), batch.rows, t * lookups, lookups, state->features, (t + 1) * w);
        if (m_tableUnit) rank.leave(m_tableUnit, UnitPass::Forward);
        state->rows = std::move(m_rows);
        m_rows.clear();
    }
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "interaction", Phase::None, kInteraction);
        rank.device.copyColumns(state->bottom.back(), 0, state->features, 0, w);
        state->interaction = rank.activation({n, m_spec.interactionWidth()});
        operators.interact(state->features, w, state->interaction);
    }
    const Scope layer(rank.recorder, SliceKind::Layer, "top net", Phase::None, kTop);
    rank.enter(m_topUnit, UnitPass::Forward);
    run(rank, m_top, state->interaction, m_top.layers.size() - 1, state->top);
    rank.leave(m_topUnit, UnitPass::Forward);
    return state;
}

// What the last layer reads.
const Tensor& Recommendation::lastInput(const State& state)
{
    return state.top.empty() ? state.interaction : state.top.back();
}

// The sum of the losses; returns the logits, which have become their gradient.
Tensor Recommendation::headLoss(RankContext& rank, const Batch& batch, const State& state, double scale,
                                double& sum) const
{
    const Tensor logits = rank.statistic({batch.samples, 1}); // in the master type
    m_top.layers.back().forward(rank, lastInput(state), logits);
    const Tensor losses =
        Tensor::make(rank.allocator, {batch.samples}, rank.format.master, MemoryCategory::Temporaries);
    SparseOperators(rank.device).binaryCrossEntropy(logits, batch.targets, losses, scale);
    sum = rank.device.sum(losses);
    return logits;
}

double Recommendation::loss(RankContext& rank, const Batch& batch, ForwardState& forwardState, double lossScale)
{
    auto& state = static_cast<State&>(forwardState);
    const auto n = static_cast<double>(batch.samples);
    const Scope layer(rank.recorder, SliceKind::Layer, "top net", Phase::None, kTop);
    const Scope op(rank.recorder, SliceKind::Operator, "click and loss");
    const Linear& last = m_top.layers.back();
    const Tensor& in = lastInput(state);
    rank.enter(m_topUnit, UnitPass::Head);
    double sum = 0;
    Tensor dLogits = headLoss(rank, batch, state, lossScale / n, sum);

    const PhaseTag tag(rank.recorder, Phase::BackwardInput);
    if (rank.format.compute != rank.format.master) {
        const Tensor rounded = rank.temporary(dLogits.shape());
        rank.device.convert(dLogits, rounded);
        dLogits = rounded;
    }
    state.gradient = rank.temporary(in.shape());
    last.backwardInput(rank, dLogits, state.gradient);
    last.backwardWeight(rank, in, dLogits);
    rank.leave(m_topUnit, UnitPass::Head);
    return sum / n;
}

double Recommendation::evaluate(RankContext& rank, const Batch& batch, ForwardState& state)
{
    const Scope layer(rank.recorder, SliceKind::Layer, "top net", Phase::None, kTop);
    const Scope op(rank.recorder, SliceKind::Operator, "click and loss");
    rank.enter(m_topUnit, UnitPass::Head);
    double sum = 0;
    headLoss(rank, batch, static_cast<const State&>(state), 0.0, sum);
    rank.leave(m_topUnit, UnitPass::Head);
    return sum / static_cast<double>(batch.samples);
}

Tensor Recommendation::backward(RankContext& rank, const Batch& batch, ForwardState& forwardState, const Tensor&)
{
    auto& state = static_cast<State&>(forwardState);
    SparseOperators operators(rank.device);
    const std::int64_t w = m_spec.embeddingWidth, lookups = m_spec.lookupsPerTable;
    Tensor d = std::move(state.gradient);
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "top net", Phase::None, kTop);
        rank.enter(m_topUnit, UnitPass::Backward);
        d = runBackward(rank, m_top, state.interaction, state.top.size(), state.top, d, true);
        rank.leave(m_topUnit, UnitPass::Backward);
        state.interaction.reset();
    }
    const Tensor dFeatures = rank.temporary(state.features.shape());
    const Tensor dBottom = rank.temporary(state.bottom.back().shape());
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "interaction", Phase::None, kInteraction);
        operators.interactGradient(state.features, w, d, dFeatures);
        rank.device.copyColumns(dFeatures, 0, dBottom, 0, w);
        state.features.reset();
    }
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "bottom net", Phase::None, kBottom);
        rank.enter(m_bottomUnit, UnitPass::Backward);
        runBackward(rank, m_bottom, batch.inputs, state.bottom.size(), state.bottom, dBottom, false);
        rank.leave(m_bottomUnit, UnitPass::Backward);
    }
    const Scope layer(rank.recorder, SliceKind::Layer, "tables", Phase::None, kTables);
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    if (m_tableUnit) rank.enter(m_tableUnit, UnitPass::Backward);
    m_rowGradients.clear();
    for (std::int64_t t = 0; t < m_spec.tables; ++t) {
        Tensor gradient;
        if (m_options.remoteTables) {
            const Tensor& rows = state.rows[static_cast<std::size_t>(t)];
            gradient = Tensor::make(rank.allocator, rows.shape(), rows.type(), MemoryCategory::Gradients);
            rank.device.zero(gradient);
            m_rowGradients.push_back(gradient);
        } else {
            Parameter& p = *m_tables[static_cast<std::size_t>(t)];
            gradient = p.gradient;
            // Rows that nobody asks for receive nothing.
            if (!p.takeAccumulate()) rank.device.zero(gradient);
        }
        operators.sumRowsGradient(batch.rows, t * lookups, lookups, dFeatures, (t + 1) * w, gradient);
    }
    if (m_tableUnit) rank.leave(m_tableUnit, UnitPass::Backward);
    state.rows.clear();
    return {};
}

} // namespace fourwalls::engine
