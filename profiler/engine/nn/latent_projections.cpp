// SPDX-License-Identifier: Apache-2.0
// See latent_projections.h. n: all rows; h: held rows; R: width of a latent; r: of the rotary part.
#include "profiler/engine/nn/latent_projections.h"

#include "profiler/engine/nn/self_attention.h"

namespace fourwalls::engine {

LatentProjections::LatentProjections(const RankContext& rank, LayerParameters& p)
{
    const TransformerSpec& spec = p.spec();
    const LatentAttentionSpec& latent = spec.latent;
    const std::int64_t c = spec.hidden, plain = spec.headSize();
    m_shape = {0, spec.heads / tensorRanks(rank), plain, latent.rotaryWidth, latent.valueWidth};
    m_queryRank = latent.queryRank;
    m_keyRank = latent.keyValueRank;
    const std::int64_t queries = spec.heads * m_shape.width(), keysValues = spec.heads * (plain + latent.valueWidth);
    const auto up = [&p](const std::string& name, std::int64_t in, std::int64_t out) {
        return p.column(name, in, {out}, {{name, out}}, false);
    };
    if (m_queryRank > 0) {
        m_queryDown = p.whole("self_attn.q_a_proj", c, m_queryRank);
        m_queryNorm = p.latentNorm("self_attn.q_a_layernorm", m_queryRank);
        m_queryUp = up("self_attn.q_b_proj", m_queryRank, queries);
    } else {
        m_queryUp = up("self_attn.q_proj", c, queries);
    }
    m_keyDown = p.whole("self_attn.kv_a_proj_with_mqa", c, m_keyRank + latent.rotaryWidth);
    m_keyNorm = p.latentNorm("self_attn.kv_a_layernorm", m_keyRank);
    m_keyUp = up("self_attn.kv_b_proj", m_keyRank, keysValues);
}

LatentShape LatentProjections::shapeFor(std::int64_t sequence) const
{
    LatentShape shape = m_shape;
    shape.sequence = sequence;
    return shape;
}

Tensor LatentProjections::forward(RankContext& rank, const Tensor& x, std::int64_t sequence, const RotaryTables& rotary,
                                  Saved& s) const
{
    const std::int64_t h = x.rows(), n = allRows(rank, h), r = m_shape.rotary;
    const Tensor queries = rank.temporary({n, m_shape.queryColumns()});
    s.input = x;
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.queries");
        if (m_queryRank > 0) {
            s.queryDown = rank.activation({h, m_queryRank});
            m_queryDown.forward(rank, x, s.queryDown);
            s.queryLatent = m_queryNorm.forward(rank, s.queryDown, s.queryNorm);
        }
        m_queryUp.forward(rank, m_queryRank > 0 ? s.queryLatent : x, queries);
    }
    const Scope op(rank.recorder, SliceKind::Operator, "attention.latent");
    const Tensor keysValues = rank.temporary({n, m_shape.keyValueColumns()}), ownRotary = rank.temporary({h, r});
    {
        const Tensor down = rank.temporary({h, m_keyRank + r});
        m_keyDown.forward(rank, x, down);
        s.keyDown = rank.activation({h, m_keyRank});
        rank.device.copyColumns(down, 0, s.keyDown, 0, m_keyRank);
        rank.device.copyColumns(down, m_keyRank, ownRotary, 0, r);
    }
    s.keyLatent = m_keyNorm.forward(rank, s.keyDown, s.keyNorm);
    m_keyUp.forward(rank, s.keyLatent, keysValues);
    Tensor qkv = rank.activation({n, 3 * m_shape.queryColumns()});
    LatentOperators(rank.device)
        .join(shapeFor(sequence), queries, keysValues, gatherRows(rank, ownRotary), rotary.cosines, rotary.sines, qkv);
    return qkv;
}

Tensor LatentProjections::backward(RankContext& rank, const Tensor& dqkv, std::int64_t sequence,
                                   const RotaryTables& rotary, Saved& s) const
{
    const std::int64_t n = dqkv.rows(), h = s.input.rows(), r = m_shape.rotary;
    const Tensor dQueries = rank.temporary({n, m_shape.queryColumns()});
    const Tensor dDown = rank.temporary({h, m_keyRank + r});
    Tensor dx;
    {
        const Scope op(rank.recorder, SliceKind::Operator, "attention.latent");
        const Tensor dKeysValues = rank.temporary({n, m_shape.keyValueColumns()});
        Tensor dRotary =
            Tensor::make(rank.allocator, {n, r}, rank.format.compute,
                         tensorRanks(rank) > 1 ? MemoryCategory::CommBuffers : MemoryCategory::Temporaries);
        LatentOperators(rank.device)
            .split(shapeFor(sequence), dqkv, rotary.cosines, rotary.sines, dQueries, dKeysValues, dRotary);
        // Every rank has the sum over its own heads.
        if (rowsAreCut(rank)) {
            const Tensor held = rank.temporary({h, r});
            rank.tensorGroup()->reduceScatter(dRotary, held);
            dRotary = held;
        } else if (tensorRanks(rank) > 1) {
            rank.tensorGroup()->allReduce(dRotary);
        }
        rank.device.copyColumns(dRotary, 0, dDown, m_keyRank, r);
        const Tensor dLatent = m_keyUp.backward(rank, s.keyLatent, dKeysValues);
        const Tensor dKeyDown = rank.temporary(dLatent.shape());
        m_keyNorm.backward(rank, s.keyDown, s.keyNorm, dLatent, dKeyDown, false);
        rank.device.copyColumns(dKeyDown, 0, dDown, 0, m_keyRank);
        dx = rank.temporary(s.input.shape());
        m_keyDown.backwardInput(rank, dDown, dx);
        m_keyDown.backwardWeight(rank, s.input, dDown);
    }
    const Scope op(rank.recorder, SliceKind::Operator, "attention.queries");
    Tensor other;
    if (m_queryRank > 0) {
        const Tensor dLatent = m_queryUp.backward(rank, s.queryLatent, dQueries);
        const Tensor dQueryDown = rank.temporary(dLatent.shape());
        m_queryNorm.backward(rank, s.queryDown, s.queryNorm, dLatent, dQueryDown, false);
        other = rank.temporary(s.input.shape());
        m_queryDown.backwardInput(rank, dQueryDown, other);
        m_queryDown.backwardWeight(rank, s.input, dQueryDown);
    } else {
        other = m_queryUp.backward(rank, s.input, dQueries);
    }
    const Tensor sum = rank.inPlace ? dx : rank.temporary(dx.shape());
    rank.device.add(dx, other, sum);
    s = {};
    return sum;
}

Tensor LatentProjections::valuesOf(RankContext& rank, const Tensor& attended) const
{
    if (m_shape.value == m_shape.width()) return attended;
    Tensor values = rank.temporary({attended.rows(), m_shape.heads * m_shape.value});
    LatentOperators(rank.device).dropFilling(m_shape, attended, values);
    return values;
}

Tensor LatentProjections::filled(RankContext& rank, const Tensor& values) const
{
    if (m_shape.value == m_shape.width()) return values;
    Tensor all = rank.temporary({values.rows(), m_shape.queryColumns()});
    LatentOperators(rank.device).addFilling(m_shape, values, all);
    return all;
}

} // namespace fourwalls::engine
