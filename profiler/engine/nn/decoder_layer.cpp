// SPDX-License-Identifier: Apache-2.0
// See decoder_layer.h.
#include "profiler/engine/nn/decoder_layer.h"

#include <cmath>
#include <string>

namespace fourwalls::engine {

namespace {

// The same gradient in a tensor that may be added to: a copy where a deferred weight gradient still reads dy, or where
// nothing is to work in place.
Tensor writable(const RankContext& rank, const Tensor& dy)
{
    if (!rank.deferred && rank.inPlace) return dy;
    Tensor copy = rank.temporary(dy.shape());
    rank.device.convert(dy, copy);
    return copy;
}

// dy becomes the sum of two gradients, in the memory of one of them if it may; `other` is read by nobody else.
void addResidual(RankContext& rank, const char* name, Tensor& dy, const Tensor& other)
{
    const Scope op(rank.recorder, SliceKind::Operator, name);
    const Tensor sum = !rank.inPlace ? rank.temporary(other.shape()) : rank.deferred ? other : dy;
    rank.device.add(dy, other, sum);
    dy = sum;
}

} // namespace

DecoderLayer::DecoderLayer(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                           std::int32_t index, std::uint64_t seed, const ComputeOptions& options)
    : m_postNorm(spec.postNorm)
    , m_fuse(options.fuse)
    , m_index(index)
    , m_recompute(options.recompute)
{
    LayerParameters parameters(rank, list, spec, index, seed, options.fuse);
    m_norm1 = parameters.norm(parameters.named("attention.output.LayerNorm", "input_layernorm", "ln_1"));
    m_attention = SelfAttention(rank, parameters, options);
    m_norm2 = parameters.norm(parameters.named("output.LayerNorm", "post_attention_layernorm", "ln_2"));
    if (!spec.isMixtureLayer(index)) {
        m_feedForward = FeedForward(parameters);
        return;
    }
    const std::string prefix = std::string(parameters.named("bert.encoder.layer.", "model.layers.", "transformer.h.")) +
                               std::to_string(index) + ".block_sparse_moe.";
    m_mixture.emplace(rank, list, spec, prefix, seed, 0.02, 0.02 / std::sqrt(2.0 * static_cast<double>(spec.layers)),
                      MixtureOptions{options.routing, 1.0 / options.microbatches, options.fuse});
    if (spec.mixture.sharedHidden > 0) m_sharedExpert = FeedForward::sharedExpert(parameters);
}

// The feed-forward block or the mixture of experts, with the residual.
Tensor DecoderLayer::widen(RankContext& rank, const Tensor& x, const Tensor& residual, Saved& s) const
{
    if (!m_mixture) return m_feedForward.forward(rank, x, residual, s.feedForward);
    const Tensor y = m_mixture->forward(rank, x, residual, s.of.samples, s.mixture);
    return m_sharedExpert ? m_sharedExpert->forward(rank, x, y, s.feedForward) : y;
}

Tensor DecoderLayer::widenBackward(RankContext& rank, const Tensor& dy, Saved& s) const
{
    if (!m_mixture) return m_feedForward.backward(rank, dy, s.feedForward);
    if (!m_sharedExpert) return m_mixture->backward(rank, dy, s.mixture);
    Tensor dx = m_sharedExpert->backward(rank, dy, s.feedForward);
    addResidual(rank, "mixture.shared", dx, m_mixture->backward(rank, dy, s.mixture));
    return dx;
}

// s.input and s.of are set.
Tensor DecoderLayer::compute(RankContext& rank, const Tensor& x, const RotaryTables& rotary, Saved& s) const
{
    const auto norm = [&](const char* name, const Norm& n, const Tensor& in, Norm::Saved& saved) {
        const Scope op(rank.recorder, SliceKind::Operator, name);
        return n.forward(rank, in, saved);
    };
    if (m_postNorm) {
        s.middle = m_attention.forward(rank, x, x, s.of, rotary, s.attention);
        const Tensor normed = norm("norm1", m_norm1, s.middle, s.norm1);
        s.last = widen(rank, normed, normed, s);
        return norm("norm2", m_norm2, s.last, s.norm2);
    }
    s.middle = m_attention.forward(rank, norm("norm1", m_norm1, x, s.norm1), x, s.of, rotary, s.attention);
    return widen(rank, norm("norm2", m_norm2, s.middle, s.norm2), s.middle, s);
}

Tensor DecoderLayer::forward(RankContext& rank, const Tensor& x, const SampleRows& of, const RotaryTables& rotary,
                             Saved& s) const
{
    const Scope layer(rank.recorder, SliceKind::Layer, "decoder layer", Phase::None, m_index);
    s.of = of;
    s.forward = rank.recorder.now();
    s.input = x;
    if (m_recompute != Recompute::Full) return compute(rank, x, rotary, s);
    Saved dropped;
    dropped.of = of;
    return compute(rank, x, rotary, dropped);
}

// dy becomes dy + the gradient through the norm of what came `up` to it: in one pass, or apart.
void DecoderLayer::addGradient(RankContext& rank, const char* name, const Norm& norm, const Tensor& x,
                               Norm::Saved& saved, const Tensor& up, Tensor& dy) const
{
    if (m_fuse) {
        dy = writable(rank, dy);
        const Scope op(rank.recorder, SliceKind::Operator, name);
        norm.backward(rank, x, saved, up, dy, true);
    } else {
        const Tensor own = rank.temporary(dy.shape());
        {
            const Scope op(rank.recorder, SliceKind::Operator, name);
            norm.backward(rank, x, saved, up, own, false);
        }
        addResidual(rank, "residual", dy, own);
    }
    saved = {};
}

Tensor DecoderLayer::backward(RankContext& rank, Tensor dy, const RotaryTables& rotary, Saved& s) const
{
    const Scope layer(rank.recorder, SliceKind::Layer, "decoder layer", Phase::None, m_index);
    rank.recorder.forwardToBackward(s.forward);
    if (m_recompute == Recompute::Full) {
        const Scope op(rank.recorder, SliceKind::Operator, "recomputation", Phase::Recompute);
        compute(rank, s.input, rotary, s);
    }
    // The gradient through a norm, in dy's memory where that may be.
    const auto norm = [&](const char* name, const Norm& n, const Tensor& in, Norm::Saved& saved) {
        const Scope op(rank.recorder, SliceKind::Operator, name);
        const Tensor dx = rank.inPlace && !rank.deferred ? dy : rank.temporary(dy.shape());
        n.backward(rank, in, saved, dy, dx, false);
        dy = dx;
        saved = {};
    };
    if (m_postNorm) {
        norm("norm2", m_norm2, s.last, s.norm2);
        s.last.reset();
        Tensor up = widenBackward(rank, dy, s);
        addResidual(rank, "mlp.residual", dy, up);
        up.reset();
        norm("norm1", m_norm1, s.middle, s.norm1);
        s.middle.reset();
        up = m_attention.backward(rank, dy, rotary, s.attention);
        addResidual(rank, "attention.residual", dy, up);
        s = {};
        return dy;
    }
    Tensor up = widenBackward(rank, dy, s);
    addGradient(rank, "norm2", m_norm2, s.middle, s.norm2, up, dy);
    up.reset();
    s.middle.reset();
    up = m_attention.backward(rank, dy, rotary, s.attention);
    addGradient(rank, "norm1", m_norm1, s.input, s.norm1, up, dy);
    s = {};
    return dy;
}

} // namespace fourwalls::engine
