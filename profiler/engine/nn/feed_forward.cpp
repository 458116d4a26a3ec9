// SPDX-License-Identifier: Apache-2.0
// See feed_forward.h. n = all rows; F = the rank's share of the inner width.
#include "profiler/engine/nn/feed_forward.h"

namespace fourwalls::engine {

FeedForward::FeedForward(LayerParameters& p) : m_gated(p.spec().activation == Activation::SwiGlu)
{
    using Pieces = std::vector<LayerParameters::Piece>;
    const std::int64_t c = p.spec().hidden, f = p.spec().ffnHidden;
    const std::vector<std::int64_t> sections = m_gated ? std::vector{f, f} : std::vector{f};
    const Pieces pieces = p.llama() && m_gated
                              ? Pieces{{"mlp.gate_proj", f}, {"mlp.up_proj", f}}
                              : Pieces{{p.named("intermediate.dense", "mlp.up_proj", "mlp.c_fc"), m_gated ? 2 * f : f}};
    m_up = p.column("mlp.c_fc", c, sections, pieces);
    m_down = p.row("mlp.c_proj", f, c, p.named("output.dense", "mlp.down_proj", "mlp.c_proj"));
    m_width = m_down.linear.weight->shape[0];
}

Tensor FeedForward::forward(RankContext& rank, const Tensor& x, const Tensor& residual, Saved& s) const
{
    const std::int64_t n = allRows(rank, x.rows());
    s.input = x;
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.up");
        s.hidden = rank.activation({n, m_gated ? 2 * m_width : m_width});
        m_up.forward(rank, x, s.hidden);
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.activation");
        s.activated = rank.activation({n, m_width});
        if (m_gated)
            rank.device.swigluForward(s.hidden, s.activated);
        else
            rank.device.geluForward(s.hidden, s.activated);
    }
    const Scope op(rank.recorder, SliceKind::Operator, "mlp.down");
    Tensor y = rank.activation(x.shape());
    m_down.forward(rank, s.activated, y, residual);
    return y;
}

Tensor FeedForward::backward(RankContext& rank, const Tensor& dy, Saved& s) const
{
    Tensor up; // the gradient on its way down
    Parameter* bias = m_up.linear.bias;
    const bool fusedBias = m_up.linear.fuse && bias && !m_gated && !rank.deferred; // with the activation's gradient
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.down");
        up = m_down.backward(rank, s.activated, dy);
        s.activated.reset();
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mlp.activation");
        if (m_gated) {
            const Tensor dHidden = rank.temporary(s.hidden.shape());
            rank.device.swigluBackward(s.hidden, up, dHidden);
            up = dHidden;
        } else {
            const Tensor dHidden = rank.inPlace ? up : rank.temporary(up.shape());
            if (fusedBias)
                rank.device.geluBackwardBias(s.hidden, up, dHidden, bias->gradient, bias->takeAccumulate());
            else
                rank.device.geluBackward(s.hidden, up, dHidden);
            up = dHidden;
        }
        s.hidden.reset();
    }
    const Scope op(rank.recorder, SliceKind::Operator, "mlp.up");
    up = m_up.backward(rank, s.input, up, !fusedBias);
    s.input.reset();
    return up;
}

} // namespace fourwalls::engine
