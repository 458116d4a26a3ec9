// SPDX-License-Identifier: Apache-2.0
// See attention.h. Multi-head attention is one batched product per step; grouped queries take one product per
// key/value head, whose keys and values serve every query head of its group.
#include "profiler/engine/nn/attention.h"

#include <cmath>

namespace fourwalls::engine {

namespace {

// One head-wide slice [sequence, headDim] per (sample, head) out of rows of `width` columns, from head `first` on.
Matrix headsOf(const AttentionShape& s, const Tensor& t, std::int64_t column, std::int64_t count)
{
    Matrix m;
    m.data = static_cast<char*>(t.data()) + column * bytesOf(t.type());
    m.type = t.type();
    m.batch0 = s.batch;
    m.batchStride0 = s.sequence * t.columns();
    m.batch1 = count;
    m.batchStride1 = s.headDim;
    m.rows = s.sequence;
    m.cols = s.headDim;
    m.rowStride = t.columns();
    return m;
}

// Scores of heads [first, first + count): [sequence, sequence] each.
Matrix scoresOf(const AttentionShape& s, const Tensor& t, std::int64_t first, std::int64_t count)
{
    const std::int64_t square = s.sequence * s.sequence;
    Matrix m;
    m.data = static_cast<char*>(t.data()) + first * square * bytesOf(t.type());
    m.type = t.type();
    m.batch0 = s.batch;
    m.batchStride0 = s.heads * square;
    m.batch1 = count;
    m.batchStride1 = square;
    m.rows = m.cols = s.sequence;
    m.rowStride = s.sequence;
    return m;
}

// Calls f(first query head, query heads, first key/value head, key/value heads) so that extents fit a product.
template <class F>
void forEachGroup(const AttentionShape& s, F f)
{
    if (s.group() == 1) {
        f(0, s.heads, 0, s.heads);
        return;
    }
    for (std::int64_t kv = 0; kv < s.kvHeads; ++kv) f(kv * s.group(), s.group(), kv, 1);
}

double scaleOf(const AttentionShape& s)
{
    return 1.0 / std::sqrt(static_cast<double>(s.headDim));
}

} // namespace

Tensor AttentionCore::forward(RankContext& rank, const Tensor& qkv, Saved& saved) const
{
    const AttentionShape& s = shape;
    Tensor out = rank.activation({s.batch * s.sequence, s.heads * s.headDim});
    if (fused) {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.fused");
        saved.logSumExp = rank.statistic({s.batch, s.heads, s.sequence});
        rank.device.attentionForward(s, qkv, out, saved.logSumExp);
        return out;
    }
    Tensor& p = saved.probabilities;
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.scores");
        p = rank.activation({s.batch, s.heads, s.sequence, s.sequence});
        forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
            rank.device.matmul(headsOf(s, qkv, q * s.headDim, qs),
                               headsOf(s, qkv, s.keyColumn() + kv * s.headDim, kvs).transposed(),
                               scoresOf(s, p, q, qs));
        });
    }
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.softmax");
        rank.device.softmaxForward(p, scaleOf(s), s.causal);
    }
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.values");
    forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
        rank.device.matmul(scoresOf(s, p, q, qs), headsOf(s, qkv, s.valueColumn() + kv * s.headDim, kvs),
                           headsOf(s, out, q * s.headDim, qs));
    });
    return out;
}

Tensor AttentionCore::backward(RankContext& rank, const Tensor& qkv, const Tensor& out, Saved& saved,
                               const Tensor& dout) const
{
    const AttentionShape& s = shape;
    Tensor dqkv = rank.temporary(qkv.shape());
    if (fused) {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.fused");
        rank.device.attentionBackward(s, qkv, out, saved.logSumExp, dout, dqkv);
        saved.logSumExp.reset();
        return dqkv;
    }
    const Tensor& p = saved.probabilities;
    const Tensor dp = rank.temporary(p.shape());
    // Members of a group add to the same keys and values, one after the other.
    const auto forEachMember = [&s](auto f) {
        if (s.group() == 1) {
            f(std::int64_t{0}, s.heads, std::int64_t{0}, s.heads, false);
            return;
        }
        for (std::int64_t q = 0; q < s.heads; ++q)
            f(q, std::int64_t{1}, q / s.group(), std::int64_t{1}, q % s.group() > 0);
    };
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.values");
        forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
            rank.device.matmul(headsOf(s, dout, q * s.headDim, qs),
                               headsOf(s, qkv, s.valueColumn() + kv * s.headDim, kvs).transposed(),
                               scoresOf(s, dp, q, qs));
        });
        forEachMember([&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs, bool accumulate) {
            MatmulOptions options;
            options.accumulate = accumulate;
            rank.device.matmul(scoresOf(s, p, q, qs).transposed(), headsOf(s, dout, q * s.headDim, qs),
                               headsOf(s, dqkv, s.valueColumn() + kv * s.headDim, kvs), options);
        });
    }
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.softmax");
        rank.device.softmaxBackward(p, dp, scaleOf(s), s.causal);
        saved.probabilities.reset();
    }
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.scores");
    forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
        rank.device.matmul(scoresOf(s, dp, q, qs), headsOf(s, qkv, s.keyColumn() + kv * s.headDim, kvs),
                           headsOf(s, dqkv, q * s.headDim, qs));
    });
    forEachMember([&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs, bool accumulate) {
        MatmulOptions options;
        options.accumulate = accumulate;
        rank.device.matmul(scoresOf(s, dp, q, qs).transposed(), headsOf(s, qkv, q * s.headDim, qs),
                           headsOf(s, dqkv, s.keyColumn() + kv * s.headDim, kvs), options);
    });
    return dqkv;
}

} // namespace fourwalls::engine
