// SPDX-License-Identifier: Apache-2.0
// See attention.h. Multi-head attention is one batched product per step; grouped queries take one product per
// key/value head, whose keys and values serve every query head of its group.
#include "profiler/engine/nn/attention.h"

#include "profiler/engine/nn/ring_attention.h"

#include <cmath>

namespace fourwalls::engine {

/// Keys and values (or their gradients): where they lie and how many there are per sample.
struct AttentionCore::Keys {
    Tensor tensor;
    std::int64_t keyColumn = 0, valueColumn = 0;
    std::int64_t perSample = 0;
    Tensor seen = {}; ///< I32 [sequence]: how many of them each query sees; undefined: by AttentionShape::causal
};

namespace {

// One head-wide slice [rows, headDim] per (sample, head) out of a tensor of `rows` rows per sample, from column `column`
// on.
Matrix headsOf(const AttentionShape& s, const Tensor& t, std::int64_t rows, std::int64_t column, std::int64_t count)
{
    Matrix m;
    m.data = static_cast<char*>(t.data()) + column * bytesOf(t.type());
    m.type = t.type();
    m.batch0 = s.batch;
    m.batchStride0 = rows * t.columns();
    m.batch1 = count;
    m.batchStride1 = s.headDim;
    m.rows = rows;
    m.cols = s.headDim;
    m.rowStride = t.columns();
    return m;
}

// Scores of heads [first, first + count): [sequence, keys] each.
Matrix scoresOf(const AttentionShape& s, const Tensor& t, std::int64_t first, std::int64_t count)
{
    const std::int64_t keys = t.columns(), area = s.sequence * keys;
    Matrix m;
    m.data = static_cast<char*>(t.data()) + first * area * bytesOf(t.type());
    m.type = t.type();
    m.batch0 = s.batch;
    m.batchStride0 = s.heads * area;
    m.batch1 = count;
    m.batchStride1 = area;
    m.rows = s.sequence;
    m.cols = keys;
    m.rowStride = keys;
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

template <class F>
void AttentionCore::forEachDocument(F f) const
{
    if (!documents) return f(std::int64_t{0}, shape);
    AttentionShape one = shape;
    one.batch = 1;
    std::int64_t first = 0;
    for (const std::int64_t rows : *documents) {
        one.sequence = rows;
        f(first, one);
        first += rows;
    }
}

Tensor AttentionCore::forward(RankContext& rank, const Tensor& qkv, Saved& saved) const
{
    const AttentionShape& s = shape;
    if (split.ranks > 1 && fused) return RingAttention{s, split}.forward(rank, qkv, saved.logSumExp);
    if (split.ranks > 1) return gatheredForward(rank, qkv, saved);
    if (!fused) return unfusedForward(rank, qkv, {qkv, s.keyColumn(), s.valueColumn(), s.sequence}, saved);
    Tensor out = rank.activation({s.batch * s.sequence, s.heads * s.headDim});
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.fused");
    saved.logSumExp = rank.statistic({s.batch, s.heads, s.sequence});
    forEachDocument([&](std::int64_t first, const AttentionShape& each) {
        const std::int64_t rows = each.batch * each.sequence;
        rank.device.attentionForward(each, qkv.rowRange(first, rows), out.rowRange(first, rows),
                                     saved.logSumExp.part(first * each.heads, {each.batch, each.heads, each.sequence}));
    });
    return out;
}

Tensor AttentionCore::unfusedForward(RankContext& rank, const Tensor& qkv, const Keys& keys, Saved& saved) const
{
    const AttentionShape& s = shape;
    Tensor out = rank.activation({s.batch * s.sequence, s.heads * s.headDim});
    Tensor& p = saved.probabilities;
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.scores");
        p = rank.activation({s.batch, s.heads, s.sequence, keys.perSample});
        forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
            rank.device.matmul(
                headsOf(s, qkv, s.sequence, q * s.headDim, qs),
                headsOf(s, keys.tensor, keys.perSample, keys.keyColumn + kv * s.headDim, kvs).transposed(),
                scoresOf(s, p, q, qs));
        });
    }
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.softmax");
        rank.device.softmaxForward(p, scaleOf(s), s.causal, keys.seen);
    }
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.values");
    forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
        rank.device.matmul(scoresOf(s, p, q, qs),
                           headsOf(s, keys.tensor, keys.perSample, keys.valueColumn + kv * s.headDim, kvs),
                           headsOf(s, out, s.sequence, q * s.headDim, qs));
    });
    return out;
}

Tensor AttentionCore::backward(RankContext& rank, const Tensor& qkv, const Tensor& out, Saved& saved,
                               const Tensor& dout) const
{
    const AttentionShape& s = shape;
    if (split.ranks > 1 && fused) {
        const Tensor logSumExp = std::move(saved.logSumExp);
        saved.logSumExp.reset();
        return RingAttention{s, split}.backward(rank, qkv, out, logSumExp, dout);
    }
    if (split.ranks > 1) return gatheredBackward(rank, qkv, saved, dout);
    Tensor dqkv = rank.temporary(qkv.shape());
    if (fused) {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.fused");
        forEachDocument([&](std::int64_t first, const AttentionShape& each) {
            const std::int64_t rows = each.batch * each.sequence;
            rank.device.attentionBackward(
                each, qkv.rowRange(first, rows), out.rowRange(first, rows),
                saved.logSumExp.part(first * each.heads, {each.batch, each.heads, each.sequence}),
                dout.rowRange(first, rows), dqkv.rowRange(first, rows));
        });
        saved.logSumExp.reset();
        return dqkv;
    }
    unfusedBackward(rank, qkv, {qkv, s.keyColumn(), s.valueColumn(), s.sequence}, saved, dout, dqkv,
                    {dqkv, s.keyColumn(), s.valueColumn(), s.sequence});
    return dqkv;
}

void AttentionCore::unfusedBackward(RankContext& rank, const Tensor& qkv, const Keys& keys, Saved& saved,
                                    const Tensor& dout, const Tensor& dqkv, const Keys& dKeys) const
{
    const AttentionShape& s = shape;
    const Tensor& p = saved.probabilities;
    const Tensor dp = rank.temporary(p.shape());
    const auto headsOfKeys = [&s](const Keys& k, std::int64_t column, std::int64_t first, std::int64_t count) {
        return headsOf(s, k.tensor, k.perSample, column + first * s.headDim, count);
    };
    const auto headsOfQueries = [&s](const Tensor& t, std::int64_t first, std::int64_t count) {
        return headsOf(s, t, s.sequence, first * s.headDim, count);
    };
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
            rank.device.matmul(headsOfQueries(dout, q, qs), headsOfKeys(keys, keys.valueColumn, kv, kvs).transposed(),
                               scoresOf(s, dp, q, qs));
        });
        forEachMember([&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs, bool accumulate) {
            MatmulOptions options;
            options.accumulate = accumulate;
            rank.device.matmul(scoresOf(s, p, q, qs).transposed(), headsOfQueries(dout, q, qs),
                               headsOfKeys(dKeys, dKeys.valueColumn, kv, kvs), options);
        });
    }
    {
        const Scope scope(rank.recorder, SliceKind::Operator, "attention.softmax");
        rank.device.softmaxBackward(p, dp, scaleOf(s), s.causal, keys.seen);
        saved.probabilities.reset();
    }
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.scores");
    forEachGroup(s, [&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs) {
        rank.device.matmul(scoresOf(s, dp, q, qs), headsOfKeys(keys, keys.keyColumn, kv, kvs),
                           headsOfQueries(dqkv, q, qs));
    });
    forEachMember([&](std::int64_t q, std::int64_t qs, std::int64_t kv, std::int64_t kvs, bool accumulate) {
        MatmulOptions options;
        options.accumulate = accumulate;
        rank.device.matmul(scoresOf(s, dp, q, qs).transposed(), headsOfQueries(qkv, q, qs),
                           headsOfKeys(dKeys, dKeys.keyColumn, kv, kvs), options);
    });
}

namespace {

// Calls f(row among the gathered rows (rank by rank), row among the ordered ones (sample by sample, by position), rows)
// for every stretch.
template <class F>
void forEachStretch(const AttentionShape& s, const SequenceSplit& split, F f)
{
    for (int owner = 0; owner < split.ranks; ++owner)
        for (std::int64_t sample = 0; sample < s.batch; ++sample) {
            std::int64_t row = (owner * s.batch + sample) * s.sequence;
            for (const IndexRange& stretch : split.stretchesOf(owner)) {
                f(row, sample * split.sequence + stretch.first, stretch.count);
                row += stretch.count;
            }
        }
}

// Keys and values of whole samples: [batch * the whole sequence, 2 kvHeads headDim].
Tensor gatherKeys(RankContext& rank, const AttentionShape& s, const SequenceSplit& split, const Tensor& qkv)
{
    const std::int64_t width = 2 * s.kvHeads * s.headDim;
    Tensor ordered = rank.communicated({s.batch * split.sequence, width});
    const Tensor gathered = rank.communicated(ordered.shape());
    const Tensor own = gathered.rowRange(split.index * qkv.rows(), qkv.rows());
    rank.device.copyColumns(qkv, s.keyColumn(), own, 0, width);
    rank.contextGroup()->allGather(own, gathered);
    forEachStretch(s, split, [&](std::int64_t from, std::int64_t to, std::int64_t rows) {
        rank.device.convert(gathered.rowRange(from, rows), ordered.rowRange(to, rows));
    });
    return ordered;
}

// How many keys each of the rank's queries sees, or undefined if it is all of them.
Tensor keysSeen(RankContext& rank, const AttentionShape& s, const SequenceSplit& split)
{
    if (!s.causal) return {};
    Tensor seen = Tensor::make(rank.allocator, {s.sequence}, DType::I32, MemoryCategory::Other);
    for (std::int64_t i = 0; i < s.sequence; ++i)
        seen.as<std::int32_t>()[i] = static_cast<std::int32_t>(split.position(i) + 1);
    return seen;
}

} // namespace

Tensor AttentionCore::gatheredForward(RankContext& rank, const Tensor& qkv, Saved& saved) const
{
    const std::int64_t valueColumn = shape.kvHeads * shape.headDim;
    return unfusedForward(
        rank, qkv, {gatherKeys(rank, shape, split, qkv), 0, valueColumn, split.sequence, keysSeen(rank, shape, split)},
        saved);
}

Tensor AttentionCore::gatheredBackward(RankContext& rank, const Tensor& qkv, Saved& saved, const Tensor& dout) const
{
    const std::int64_t valueColumn = shape.kvHeads * shape.headDim;
    const Keys keys{gatherKeys(rank, shape, split, qkv), 0, valueColumn, split.sequence, keysSeen(rank, shape, split)};
    const Keys dKeys{rank.communicated(keys.tensor.shape()), 0, valueColumn, split.sequence, {}};
    Tensor dqkv = rank.temporary(qkv.shape());
    unfusedBackward(rank, qkv, keys, saved, dout, dqkv, dKeys);
    // Everybody's part of everybody's keys and values goes home.
    const Tensor byOwner = rank.communicated(keys.tensor.shape());
    forEachStretch(shape, split, [&](std::int64_t to, std::int64_t from, std::int64_t rows) {
        rank.device.convert(dKeys.tensor.rowRange(from, rows), byOwner.rowRange(to, rows));
    });
    const Tensor own = rank.communicated({qkv.rows(), keys.tensor.columns()});
    rank.contextGroup()->reduceScatter(byOwner, own);
    rank.device.copyColumns(own, 0, dqkv, shape.keyColumn(), own.columns());
    return dqkv;
}

} // namespace fourwalls::engine
