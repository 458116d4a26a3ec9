// SPDX-License-Identifier: Apache-2.0
// See decoder_layer.h. n = batch * sequence rows; C = hidden; F = feed-forward width; W = (heads + 2 kvHeads) headDim.
#include "profiler/engine/nn/decoder_layer.h"

#include <cmath>

namespace fourwalls::engine {

bool usesLlamaNames(const TransformerSpec& spec)
{
    return spec.positions == Positions::Rotary && spec.causal;
}

bool usesBertNames(const TransformerSpec& spec)
{
    return !spec.causal;
}

RotaryTables RotaryTables::make(const RankContext& rank, std::int64_t sequence, std::int64_t headDim)
{
    const std::int64_t half = headDim / 2;
    RotaryTables tables;
    tables.cosines = Tensor::make(rank.allocator, {sequence, half}, rank.format.master, MemoryCategory::Other);
    tables.sines = Tensor::make(rank.allocator, {sequence, half}, rank.format.master, MemoryCategory::Other);
    for (std::int64_t p = 0; p < sequence; ++p)
        for (std::int64_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(p) *
                                 std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(headDim));
            setElement(tables.cosines, p * half + i, std::cos(angle));
            setElement(tables.sines, p * half + i, std::sin(angle));
        }
    return tables;
}

DecoderLayer::DecoderLayer(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                           std::int32_t index, std::uint64_t seed, const ComputeOptions& options)
    : m_spec(spec)
    , m_index(index)
    , m_options(options)
{
    const std::int64_t c = spec.hidden, d = c / spec.heads, f = spec.ffnHidden;
    const std::int64_t keyWidth = spec.kvHeads * d, width = c + 2 * keyWidth;
    const bool llama = usesLlamaNames(spec), bert = usesBertNames(spec);
    const bool transposed = llama || bert; // how the files keep their matrices
    const bool gated = spec.activation == Activation::SwiGlu;
    const std::string layer = (bert    ? "bert.encoder.layer."
                               : llama ? "model.layers."
                                       : "transformer.h.") +
                              std::to_string(index) + ".";
    // Projections onto the residual stream start smaller, by the number of additions (GPT-2, section 2.3).
    const double deviation = 0.02, residualDeviation = 0.02 / std::sqrt(2.0 * static_cast<double>(spec.layers));

    const auto norm = [&](const std::string& name) {
        Norm n;
        n.kind = spec.normalization == Normalization::LayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
        n.gain = &list.addVector(rank, layer + name + ".weight", c, 1.0);
        if (n.kind == NormKind::LayerNorm) n.shift = &list.addVector(rank, layer + name + ".bias", c, 0.0);
        return n;
    };
    // pieces: names and widths of what the columns hold.
    struct Columns {
        std::string name;
        std::int64_t width;
    };
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out, double spread,
                            const std::vector<Columns>& columns) {
        std::vector<ExternalPiece> weights, biases;
        std::int64_t first = 0;
        for (const auto& part : columns) {
            weights.push_back({layer + part.name + ".weight", first, part.width, transposed});
            biases.push_back({layer + part.name + ".bias", first, part.width, false});
            first += part.width;
        }
        Linear l;
        l.fuse = options.fuse;
        l.weight = &list.addMatrix(rank, seed, layer + name + ".weight", in, out, spread, weights);
        if (spec.biases) l.bias = &list.addVector(rank, layer + name + ".bias", out, 0.0, biases);
        return l;
    };
    // Names of one kind of file: BERT's, LLaMA's or GPT-2's.
    const auto named = [&](const char* ofBert, const char* ofLlama, const char* ofGpt) {
        return bert ? ofBert : llama ? ofLlama : ofGpt;
    };
    m_norm1 = norm(named("attention.output.LayerNorm", "input_layernorm", "ln_1"));
    m_qkv = linear("attn.c_attn", c, width, deviation,
                   bert    ? std::vector<Columns>{{"attention.self.query", c},
                                                  {"attention.self.key", keyWidth},
                                                  {"attention.self.value", keyWidth}}
                   : llama ? std::vector<Columns>{{"self_attn.q_proj", c},
                                                  {"self_attn.k_proj", keyWidth},
                                                  {"self_attn.v_proj", keyWidth}}
                           : std::vector<Columns>{{"attn.c_attn", width}});
    m_projection = linear("attn.c_proj", c, c, residualDeviation,
                          {{named("attention.output.dense", "self_attn.o_proj", "attn.c_proj"), c}});
    m_norm2 = norm(named("output.LayerNorm", "post_attention_layernorm", "ln_2"));
    if (llama && gated)
        m_up = linear("mlp.c_fc", c, 2 * f, deviation, {{"mlp.gate_proj", f}, {"mlp.up_proj", f}});
    else
        m_up = linear("mlp.c_fc", c, gated ? 2 * f : f, deviation,
                      {{named("intermediate.dense", "mlp.up_proj", "mlp.c_fc"), gated ? 2 * f : f}});
    m_down = linear("mlp.c_proj", f, c, residualDeviation, {{named("output.dense", "mlp.down_proj", "mlp.c_proj"), c}});
}

namespace {

// The same gradient in a tensor that may be added to: a copy where a deferred weight gradient still reads dy.
Tensor writable(const RankContext& rank, const Tensor& dy)
{
    if (!rank.deferred) return dy;
    Tensor copy = rank.temporary(dy.shape());
    rank.device.convert(dy, copy);
    return copy;
}

} // namespace

AttentionCore DecoderLayer::attentionFor(std::int64_t batch, std::int64_t rows) const
{
    return {{batch, rows / batch, m_spec.heads, m_spec.kvHeads, m_spec.hidden / m_spec.heads, m_spec.causal},
            m_options.fusedAttention};
}

Tensor DecoderLayer::forward(RankContext& rank, const Tensor& x, std::int64_t batch, const RotaryTables& rotary,
                             Saved& s) const
{
    const Scope layer(rank.recorder, SliceKind::Layer, "decoder layer", Phase::None, m_index);
    const std::int64_t n = x.rows(), f = m_spec.ffnHidden;
    const AttentionCore attention = attentionFor(batch, n);
    s.batch = batch;
    s.forward = rank.recorder.now();
    s.input = x;
    const bool post = m_spec.postNorm;
    if (!post) {
        const Scope op(rank.recorder, SliceKind::Operator, "norm1");
        s.normed1 = m_norm1.forward(rank, x, s.norm1);
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.qkv");
        s.qkv = rank.activation({n, attention.shape.width()});
        m_qkv.forward(rank, post ? x : s.normed1, s.qkv);
    }
    if (rotary.defined()) {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.rotary");
        rank.device.rotary(attention.shape, s.qkv, rotary.cosines, rotary.sines, false);
    }
    s.attended = attention.forward(rank, s.qkv, s.attention);
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.projection");
        s.middle = rank.activation(x.shape());
        m_projection.forward(rank, s.attended, s.middle, &x);
    }
    // What the feed-forward block reads: with norms after the sums, that is also what its result is added to.
    if (post) {
        const Scope op(rank.recorder, SliceKind::Operator, "norm1");
        s.normed2 = m_norm1.forward(rank, s.middle, s.norm1);
    } else {
        const Scope op(rank.recorder, SliceKind::Operator, "norm2");
        s.normed2 = m_norm2.forward(rank, s.middle, s.norm2);
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.up");
        s.hidden = rank.activation({n, m_up.weight->weight.columns()});
        m_up.forward(rank, s.normed2, s.hidden);
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.activation");
        s.activated = rank.activation({n, f});
        if (m_spec.activation == Activation::SwiGlu)
            rank.device.swigluForward(s.hidden, s.activated);
        else
            rank.device.geluForward(s.hidden, s.activated);
    }
    Tensor y = rank.activation(x.shape());
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.down");
        m_down.forward(rank, s.activated, y, post ? &s.normed2 : &s.middle);
    }
    if (!post) return y;
    const Scope op(rank.recorder, SliceKind::Operator, "norm2");
    s.last = y;
    return m_norm2.forward(rank, s.last, s.norm2);
}

Tensor DecoderLayer::backward(RankContext& rank, Tensor dy, const RotaryTables& rotary, Saved& s) const
{
    const Scope layer(rank.recorder, SliceKind::Layer, "decoder layer", Phase::None, m_index);
    rank.recorder.forwardToBackward(s.forward);
    const AttentionCore attention = attentionFor(s.batch, dy.rows());
    const bool post = m_spec.postNorm;
    if (post) {
        const Scope op(rank.recorder, SliceKind::Operator, "norm2");
        dy = writable(rank, dy);
        m_norm2.backward(rank, s.last, s.norm2, dy, dy, false);
        s.last.reset();
        s.norm2 = {};
    }
    Tensor up; // the gradient on its way down one branch
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.down");
        up = rank.temporary(s.activated.shape());
        m_down.backwardInput(rank, dy, up);
        m_down.backwardWeight(rank, s.activated, dy);
        s.activated.reset();
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.activation");
        if (m_spec.activation == Activation::SwiGlu) {
            const Tensor dHidden = rank.temporary(s.hidden.shape());
            rank.device.swigluBackward(s.hidden, up, dHidden);
            up = dHidden;
        } else {
            rank.device.geluBackward(s.hidden, up, up);
        }
        s.hidden.reset();
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.up");
        const Tensor dNormed = rank.temporary(s.normed2.shape());
        m_up.backwardInput(rank, up, dNormed);
        m_up.backwardWeight(rank, s.normed2, up);
        s.normed2.reset();
        up = dNormed;
    }
    if (post) {
        const Scope op(rank.recorder, SliceKind::Operator, "norm1");
        dy = writable(rank, dy);
        rank.device.add(dy, up, dy);
        m_norm1.backward(rank, s.middle, s.norm1, dy, dy, false);
        s.middle.reset();
        s.norm1 = {};
    } else {
        const Scope op(rank.recorder, SliceKind::Operator, "norm2");
        dy = writable(rank, dy);
        m_norm2.backward(rank, s.middle, s.norm2, up, dy, true);
        s.middle.reset();
        s.norm2 = {};
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.projection");
        up = rank.temporary(s.attended.shape());
        m_projection.backwardInput(rank, dy, up);
        m_projection.backwardWeight(rank, s.attended, dy);
    }
    up = attention.backward(rank, s.qkv, s.attended, s.attention, up);
    s.qkv.reset();
    s.attended.reset();
    if (rotary.defined()) {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.rotary");
        rank.device.rotary(attention.shape, up, rotary.cosines, rotary.sines, true);
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.qkv");
        const Tensor dNormed = rank.temporary(dy.shape());
        m_qkv.backwardInput(rank, up, dNormed);
        m_qkv.backwardWeight(rank, post ? s.input : s.normed1, up);
        s.normed1.reset();
        up = dNormed;
    }
    if (post) {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.residual");
        dy = writable(rank, dy);
        rank.device.add(dy, up, dy);
    } else {
        const Scope op(rank.recorder, SliceKind::Operator, "norm1");
        dy = writable(rank, dy);
        m_norm1.backward(rank, s.input, s.norm1, up, dy, true);
    }
    s = {};
    return dy;
}

} // namespace fourwalls::engine
