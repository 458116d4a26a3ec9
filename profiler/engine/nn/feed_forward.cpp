// SPDX-License-Identifier: Apache-2.0
// See feed_forward.h. n = all rows; F = the rank's share of the inner width.
#include "profiler/engine/nn/feed_forward.h"

namespace fourwalls::engine {

namespace {

using Pieces = std::vector<LayerParameters::Piece>;

bool isGated(const LayerParameters& p)
{
    return p.spec().activation == Activation::SwiGlu;
}

// Gate and up side by side, with names of their own or, in files that have no gate, with one.
Pieces upPieces(const LayerParameters& p, const std::string& gate, const std::string& up, std::int64_t width)
{
    if (!isGated(p)) return {{up, width}};
    if (!p.llama()) return {{up, 2 * width}};
    return {{gate, width}, {up, width}};
}

} // namespace

FeedForward::FeedForward(LayerParameters& p, std::int64_t width, const std::string& name, const Pieces& up,
                         const std::string& down, bool biases)
    : m_gated(isGated(p))
{
    const std::int64_t c = p.spec().hidden;
    const std::vector<std::int64_t> sections = m_gated ? std::vector{width, width} : std::vector{width};
    m_up = p.column(name + "c_fc", c, sections, up, biases);
    m_down = p.row(name + "c_proj", width, c, down, biases);
    m_width = m_down.linear.weight->shape[0];
}

FeedForward::FeedForward(LayerParameters& p)
    : FeedForward(
          p, p.spec().ffnHidden, "mlp.",
          upPieces(p, "mlp.gate_proj", p.named("intermediate.dense", "mlp.up_proj", "mlp.c_fc"), p.spec().ffnHidden),
          p.named("output.dense", "mlp.down_proj", "mlp.c_proj"), p.spec().biases)
{}

FeedForward FeedForward::sharedExpert(LayerParameters& p)
{
    const std::string name = "block_sparse_moe.shared_expert.";
    const std::int64_t width = p.spec().mixture.sharedHidden;
    return {p, width, name, upPieces(p, name + "gate_proj", name + "up_proj", width), name + "down_proj", false};
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
