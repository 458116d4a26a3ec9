// SPDX-License-Identifier: Apache-2.0
// See self_attention.h. n = all rows; W = (heads + 2 kvHeads) headDim of this rank.
#include "profiler/engine/nn/self_attention.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/nn/sequence_split.h"

#include <cmath>

namespace fourwalls::engine {

RotaryTables RotaryTables::make(const RankContext& rank, std::int64_t sequence, std::int64_t headDim)
{
    const std::int64_t half = headDim / 2;
    const SequenceSplit split = SequenceSplit::of(rank, sequence);
    RotaryTables tables;
    tables.cosines = Tensor::make(rank.allocator, {split.length(), half}, rank.format.master, MemoryCategory::Other);
    tables.sines = Tensor::make(rank.allocator, {split.length(), half}, rank.format.master, MemoryCategory::Other);
    const auto angle = [&](std::int64_t at) {
        return static_cast<double>(split.position(at / half)) *
               std::pow(10000.0, -2.0 * static_cast<double>(at % half) / static_cast<double>(headDim));
    };
    fillElements(tables.cosines, [&](std::int64_t at) { return std::cos(angle(at)); });
    fillElements(tables.sines, [&](std::int64_t at) { return std::sin(angle(at)); });
    return tables;
}

SelfAttention::SelfAttention(const RankContext& rank, LayerParameters& p, const ComputeOptions& options)
    : m_options(options)
{
    using Pieces = std::vector<LayerParameters::Piece>;
    const TransformerSpec& spec = p.spec();
    if (spec.latent.keyValueRank > 0) {
        m_latent.emplace(rank, p);
        const std::int64_t heads = spec.heads / tensorRanks(rank);
        m_shape = {0, 0, heads, heads, m_latent->headWidth(), spec.causal};
        m_projection = p.row("attn.c_proj", spec.heads * spec.latent.valueWidth, spec.hidden,
                             p.named("attention.output.dense", "self_attn.o_proj", "attn.c_proj"), false);
        return;
    }
    const std::int64_t c = spec.hidden, d = spec.headSize(), queryWidth = spec.heads * d, keyWidth = spec.kvHeads * d;
    m_shape = {0, 0, spec.heads / tensorRanks(rank), spec.kvHeads / tensorRanks(rank), d, spec.causal};
    Pieces pieces{{"attn.c_attn", queryWidth + 2 * keyWidth}};
    if (p.bert())
        pieces = {
            {"attention.self.query", queryWidth}, {"attention.self.key", keyWidth}, {"attention.self.value", keyWidth}};
    else if (p.llama())
        pieces = {{"self_attn.q_proj", queryWidth}, {"self_attn.k_proj", keyWidth}, {"self_attn.v_proj", keyWidth}};
    m_qkv = p.column("attn.c_attn", c, {queryWidth, keyWidth, keyWidth}, pieces, spec.biases);
    m_projection = p.row("attn.c_proj", queryWidth, c,
                         p.named("attention.output.dense", "self_attn.o_proj", "attn.c_proj"), spec.biases);
}

AttentionCore SelfAttention::coreFor(const RankContext& rank, const SampleRows& of, std::int64_t rows) const
{
    AttentionShape shape = m_shape;
    shape.batch = of.samples;
    shape.sequence = rows / of.samples;
    const SequenceSplit split = SequenceSplit::of(rank, shape.sequence * sizeOf(rank.contextGroup()));
    return {shape, m_options.fusedAttention, split, of.documents.get()};
}

Tensor SelfAttention::forward(RankContext& rank, const Tensor& x, const Tensor& residual, const SampleRows& of,
                              const RotaryTables& rotary, Saved& s) const
{
    const std::int64_t n = allRows(rank, x.rows());
    const AttentionCore core = coreFor(rank, of, n);
    s.of = of;
    if (m_latent) {
        s.qkv = m_latent->forward(rank, x, core.shape.sequence, rotary, s.latent);
    } else {
        s.input = x;
        const Scope op(rank.recorder, SliceKind::Operator, "attention.qkv");
        s.qkv = rank.activation({n, m_shape.width()});
        m_qkv.forward(rank, x, s.qkv);
    }
    if (rotary.defined() && !m_latent) {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.rotary");
        rank.device.rotary(core.shape, s.qkv, rotary.cosines, rotary.sines, false);
    }
    s.attended = core.forward(rank, s.qkv, s.core);
    if (m_options.recompute == Recompute::Selective) s.core = {};
    const Scope op(rank.recorder, SliceKind::Operator, "attention.projection");
    Tensor y = rank.activation(x.shape());
    m_projection.forward(rank, m_latent ? m_latent->valuesOf(rank, s.attended) : s.attended, y, residual);
    return y;
}

Tensor SelfAttention::backward(RankContext& rank, const Tensor& dy, const RotaryTables& rotary, Saved& s) const
{
    const AttentionCore core = coreFor(rank, s.of, s.qkv.rows());
    Tensor up; // the gradient on its way down
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.projection");
        up = m_projection.backward(rank, m_latent ? m_latent->valuesOf(rank, s.attended) : s.attended, dy);
        if (m_latent) up = m_latent->filled(rank, up);
    }
    if (m_options.recompute == Recompute::Selective) {
        // What the core returned was kept for the projection; only what it keeps for itself is needed again.
        const PhaseTag tag(rank.recorder, Phase::Recompute);
        core.forward(rank, s.qkv, s.core);
    }
    up = core.backward(rank, s.qkv, s.attended, s.core, up);
    s.qkv.reset();
    s.attended.reset();
    if (m_latent) return m_latent->backward(rank, up, core.shape.sequence, rotary, s.latent);
    if (rotary.defined()) {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.rotary");
        rank.device.rotary(core.shape, up, rotary.cosines, rotary.sines, true);
    }
    const Scope op(rank.recorder, SliceKind::Operator, "attention.qkv");
    up = m_qkv.backward(rank, s.input, up);
    s.input.reset();
    return up;
}

} // namespace fourwalls::engine
