// SPDX-License-Identifier: Apache-2.0
// Fused attention on the GPU: scores exist for a tile of heads and queries at a time, small enough to stay in the GPU's
// second-level cache between the products (cuBLASLt, on the tensor cores) and the own kernels that work on their rows.
// What is kept is one number per row, as everywhere with fused attention.
#include "profiler/engine/gpu/gpu_device.h"

#include "profiler/engine/device/activation_type.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::engine {

namespace {

// Queries of a tile, at most and where there are many keys.
constexpr std::int64_t kTileQueries = 1024;
constexpr std::int64_t kLeastQueries = 128;
// F32 scores of a tile where the GPU does not say how large its cache is.
constexpr std::int64_t kTileBytes = 24 << 20;

} // namespace

std::int64_t GpuDevice::attentionTileBytes() const
{
    const std::int64_t cache = m_stream.facts().cacheBytes; // the other half for what goes in and out
    return cache > 0 ? cache / 2 : kTileBytes;
}

struct GpuDevice::AttentionCall {
    std::int64_t tileBytes;
    AttentionBlock block;
    const Tensor& q;
    const Tensor& kv;
    std::int64_t keyColumn = 0, valueColumn = 0;

    float scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(block.headDim))); }
    // As many as leave one head's scores in the cache, in steps that suit the products.
    std::int64_t tileQueries() const
    {
        const std::int64_t fitting = tileBytes / (4 * std::max<std::int64_t>(1, block.keys));
        const std::int64_t rows = fitting / kLeastQueries * kLeastQueries;
        return std::min(std::clamp(rows, kLeastQueries, kTileQueries), block.queries);
    }
    // Query heads of a tile: all of them share their key head, or none does.
    std::int64_t tileHeads(std::int64_t rows, std::int64_t keys) const
    {
        const std::int64_t most = std::max<std::int64_t>(1, tileBytes / (rows * keys * 4));
        return std::min(most, block.group() == 1 ? block.heads : block.group());
    }
    std::int64_t keysFor(std::int64_t firstRow, std::int64_t rows) const
    {
        return block.causal ? firstRow + rows : block.keys;
    }
};

namespace {

// Heads [first, first + count) of rows [row, row + rows) of a tensor of head-wide columns.
Matrix heads(const Tensor& t, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t count,
             std::int64_t headDim)
{
    Matrix m;
    m.data = static_cast<char*>(t.data()) + (row * t.columns() + column) * bytesOf(t.type());
    m.type = t.type();
    m.batch1 = count;
    m.batchStride1 = headDim;
    m.rows = rows;
    m.cols = headDim;
    m.rowStride = t.columns();
    return m;
}

Matrix oneHead(Matrix m, std::int64_t head)
{
    m.data = static_cast<char*>(m.data) + head * m.batchStride1 * bytesOf(m.type);
    m.batch1 = 1;
    return m;
}

Matrix scoreMatrix(const Tensor& t, std::int64_t count, std::int64_t rows, std::int64_t keys)
{
    Matrix m;
    m.data = t.data();
    m.type = t.type();
    m.batch1 = count;
    m.batchStride1 = rows * keys;
    m.rows = rows;
    m.cols = keys;
    m.rowStride = keys;
    return m;
}

Matrix part(Matrix m, std::int64_t sample, std::int64_t firstRow, std::int64_t rows, std::int64_t head,
            std::int64_t count)
{
    m.data = static_cast<char*>(m.data) +
             (sample * m.batchStride0 + firstRow * m.rowStride + head * m.batchStride1) * bytesOf(m.type);
    m.batch0 = 1;
    m.batch1 = count;
    m.rows = rows;
    return m;
}

// [samples, heads] matrices of `rows` rows from firstRow on.
Matrix gradientMatrix(const Tensor& t, std::int64_t samples, std::int64_t rowsPerSample, std::int64_t firstRow,
                      std::int64_t rows, std::int64_t column, std::int64_t count, std::int64_t headDim)
{
    Matrix m = heads(t, firstRow, rows, column, count, headDim);
    m.batch0 = samples;
    m.batchStride0 = rowsPerSample * t.columns();
    return m;
}

} // namespace

void GpuDevice::attentionForward(const AttentionCall& call, const Tensor& out, const Tensor& logSumExp)
{
    const AttentionBlock& s = call.block;
    const std::int64_t d = s.headDim, tileRows = call.tileQueries(), together = call.tileHeads(tileRows, s.keys);
    const Tensor scores = scratch({together, tileRows, s.keys}, DType::F32);
    const bool rounds = call.q.type() != DType::F32;
    const Tensor rounded = rounds ? scratch(scores.shape(), call.q.type()) : scores;
    float* statistics = logSumExp.as<float>();
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads;) {
            // Not beyond the heads that share a key head.
            const std::int64_t rest = s.group() == 1 ? s.heads - h : s.group() - h % s.group();
            const std::int64_t count = std::min(together, rest), kv = h / s.group();
            const std::int64_t kvCount = s.group() == 1 ? count : 1;
            for (std::int64_t q0 = 0; q0 < s.queries; q0 += tileRows) {
                const std::int64_t rows = std::min(tileRows, s.queries - q0), keys = call.keysFor(q0, rows);
                const std::int64_t row = b * s.queryRows + s.firstQuery + q0, keyRow = b * s.keyRows + s.firstKey;
                const Matrix p = scoreMatrix(scores, count, rows, keys);
                const Matrix q = heads(call.q, row, rows, h * d, count, d);
                const Matrix k = heads(call.kv, keyRow, keys, call.keyColumn + kv * d, kvCount, d);
                const Matrix v = heads(call.kv, keyRow, keys, call.valueColumn + kv * d, kvCount, d);
                doMatmul(q, k.transposed(), p, {});
                const gpu::TileRows tile{rows, keys, h, s.firstQuery + q0, s.queryRows, q0 + 1, s.causal};
                float* sampleStatistics = statistics + b * s.heads * s.queryRows;
                dispatchActivation(rounded, [&]<class T>(T) {
                    m_stream.rows(
                        gpu::AttentionRow<T>{scores.as<float>(), rounded.as<T>(), sampleStatistics, tile, call.scale()},
                        count * rows, keys);
                });
                doMatmul(scoreMatrix(rounded, count, rows, keys), v, heads(out, row, rows, h * d, count, d), {});
            }
            h += count;
        }
}

// dq: [samples, heads] matrices [queries, headDim]; dk, dv: [samples, kvHeads] of [keys, headDim]. add: to what they
// hold. Where one product cannot give the sum over tiles or heads at once, dk and dv must be in f32.
void GpuDevice::attentionBackward(const AttentionCall& call, const Tensor& out, const Tensor& logSumExp,
                                  const Tensor& dout, const Matrix& dq, const Matrix& dk, const Matrix& dv, bool add)
{
    const AttentionBlock& s = call.block;
    const std::int64_t d = s.headDim, tileRows = call.tileQueries(), together = call.tileHeads(tileRows, s.keys);
    const DType type = call.q.type();
    const Tensor scores = scratch({together, tileRows, s.keys}, DType::F32);
    const Tensor dScores = scratch(scores.shape(), DType::F32);
    const bool rounds = type != DType::F32;
    const Tensor p = rounds ? scratch(scores.shape(), type) : scores;
    const Tensor ds = rounds ? scratch(scores.shape(), type) : dScores;
    const Tensor delta = scratch({s.heads, s.queryRows}, DType::F32);
    // The gradient of the output in the type of the products.
    Tensor up = dout;
    if (up.type() != type) {
        up = scratch(dout.shape(), type);
        doConvert(dout, up);
    }
    Tensor result = out; // in the type of its gradient
    if (result.type() != dout.type()) {
        result = scratch(out.shape(), dout.type());
        doConvert(out, result);
    }
    MatmulOptions adding;
    adding.accumulate = true;
    const MatmulOptions overwriting;
    const std::int64_t tiles = (s.queries + tileRows - 1) / tileRows;
    for (std::int64_t b = 0; b < s.batch; ++b) {
        const std::int64_t firstRow = b * s.queryRows, keyRow = b * s.keyRows + s.firstKey;
        dispatchActivation(dout, [&]<class T>(T) {
            m_stream.rows(gpu::HeadDots<T>{result.as<T>() + firstRow * s.heads * d,
                                           dout.as<T>() + firstRow * s.heads * d, delta.as<float>(), s.heads, d,
                                           s.firstQuery, s.queries, s.queryRows},
                          s.heads * s.queries, d);
        });
        for (std::int64_t h = 0; h < s.heads;) {
            const std::int64_t rest = s.group() == 1 ? s.heads - h : s.group() - h % s.group();
            const std::int64_t count = std::min(together, rest), kv = h / s.group();
            const std::int64_t kvCount = s.group() == 1 ? count : 1;
            // The last tile sees all keys, so it comes first and may overwrite.
            for (std::int64_t t = tiles - 1; t >= 0; --t) {
                const std::int64_t q0 = t * tileRows, rows = std::min(tileRows, s.queries - q0);
                const std::int64_t keys = call.keysFor(q0, rows), row = firstRow + s.firstQuery + q0;
                const Matrix q = heads(call.q, row, rows, h * d, count, d);
                const Matrix dO = heads(up, row, rows, h * d, count, d);
                const Matrix k = heads(call.kv, keyRow, keys, call.keyColumn + kv * d, kvCount, d);
                const Matrix v = heads(call.kv, keyRow, keys, call.valueColumn + kv * d, kvCount, d);
                doMatmul(q, k.transposed(), scoreMatrix(scores, count, rows, keys), overwriting);
                doMatmul(dO, v.transposed(), scoreMatrix(dScores, count, rows, keys), overwriting);
                const gpu::TileRows tile{rows, keys, h, s.firstQuery + q0, s.queryRows, q0 + 1, s.causal};
                dispatchActivation(p, [&]<class T>(T) {
                    m_stream.rows(gpu::AttentionGradientRow<T>{scores.as<float>(), dScores.as<float>(), p.as<T>(),
                                                               ds.as<T>(),
                                                               logSumExp.as<float>() + b * s.heads * s.queryRows,
                                                               delta.as<float>(), tile, call.scale()},
                                  count * rows, keys);
                });
                const Matrix pm = scoreMatrix(p, count, rows, keys), dsm = scoreMatrix(ds, count, rows, keys);
                doMatmul(dsm, k, part(dq, b, q0, rows, h, count), add ? adding : overwriting);
                const Matrix dKeys = part(dk, b, 0, keys, kv, kvCount), dValues = part(dv, b, 0, keys, kv, kvCount);
                if (s.group() == 1) {
                    const bool first = t == tiles - 1;
                    doMatmul(pm.transposed(), dO, dValues, first && !add ? overwriting : adding);
                    doMatmul(dsm.transposed(), q, dKeys, first && !add ? overwriting : adding);
                } else { // several query heads add to one key head
                    for (std::int64_t i = 0; i < count; ++i) {
                        const bool first = t == tiles - 1 && (h + i) % s.group() == 0;
                        doMatmul(oneHead(pm, i).transposed(), oneHead(dO, i), dValues,
                                 first && !add ? overwriting : adding);
                        doMatmul(oneHead(dsm, i).transposed(), oneHead(q, i), dKeys,
                                 first && !add ? overwriting : adding);
                    }
                }
            }
            h += count;
        }
    }
}

void GpuDevice::doAttentionForward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                   const Tensor& logSumExp)
{
    const AttentionBlock block{s.batch,    s.heads,    s.kvHeads, s.headDim,  s.sequence, 0,
                               s.sequence, s.sequence, 0,         s.sequence, s.causal};
    attentionForward({attentionTileBytes(), block, qkv, qkv, s.keyColumn(), s.valueColumn()}, out, logSumExp);
}

void GpuDevice::doAttentionBackward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                    const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv)
{
    const AttentionBlock block{s.batch,    s.heads,    s.kvHeads, s.headDim,  s.sequence, 0,
                               s.sequence, s.sequence, 0,         s.sequence, s.causal};
    const AttentionCall call{attentionTileBytes(), block, qkv, qkv, s.keyColumn(), s.valueColumn()};
    const std::int64_t d = s.headDim, t = s.sequence, rows = s.batch * t, kvWidth = s.kvHeads * d;
    const Matrix dq = gradientMatrix(dqkv, s.batch, t, 0, t, 0, s.heads, d);
    const bool once = s.group() == 1 && call.tileQueries() == s.sequence;
    if (once || qkv.type() == DType::F32)
        return attentionBackward(call, out, logSumExp, dout, dq,
                                 gradientMatrix(dqkv, s.batch, t, 0, t, s.keyColumn(), s.kvHeads, d),
                                 gradientMatrix(dqkv, s.batch, t, 0, t, s.valueColumn(), s.kvHeads, d), false);
    // Sums of several products are rounded once, at the end.
    const Tensor sums = scratch({rows, 2 * kvWidth}, DType::F32);
    attentionBackward(call, out, logSumExp, dout, dq, gradientMatrix(sums, s.batch, t, 0, t, 0, s.kvHeads, d),
                      gradientMatrix(sums, s.batch, t, 0, t, kvWidth, s.kvHeads, d), false);
    doCopyColumns(sums, 0, dqkv, s.keyColumn(), 2 * kvWidth);
}

void GpuDevice::doAttentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv,
                                        const Tensor& out, const Tensor& logSumExp)
{
    attentionForward({attentionTileBytes(), block, q, kv, 0, block.kvHeads * block.headDim}, out, logSumExp);
}

void GpuDevice::doAttentionBlockBackward(const AttentionBlock& s, const Tensor& q, const Tensor& kv, const Tensor& out,
                                         const Tensor& logSumExp, const Tensor& dout, const Tensor& dq,
                                         const Tensor& dkv)
{
    const std::int64_t d = s.headDim, value = s.kvHeads * d;
    const auto keyGradient = [&](std::int64_t column) {
        return gradientMatrix(dkv, s.batch, s.keyRows, s.firstKey, s.keys, column, s.kvHeads, d);
    };
    attentionBackward({attentionTileBytes(), s, q, kv, 0, value}, out, logSumExp, dout,
                      gradientMatrix(dq, s.batch, s.queryRows, s.firstQuery, s.queries, 0, s.heads, d), keyGradient(0),
                      keyGradient(value), true);
}

void GpuDevice::doMergeAttention(const AttentionBlock& s, const Tensor& blockOut, const Tensor& blockLogSumExp,
                                 const Tensor& out, const Tensor& logSumExp)
{
    m_stream.rows(gpu::MergeAttentionRow{blockOut.as<float>(), blockLogSumExp.as<float>(), out.as<float>(),
                                         logSumExp.as<float>(), s.heads, s.headDim, s.firstQuery, s.queries,
                                         s.queryRows},
                  s.batch * s.heads * s.queries, s.headDim);
}

} // namespace fourwalls::engine
