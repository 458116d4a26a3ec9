// SPDX-License-Identifier: Apache-2.0
// Tiled attention on the CPU: kQueries rows of scores against kKeys columns at a time, small products by sgemm, the
// running maximum and sum of each row carried from tile to tile (Dao et al. 2022, arXiv:2205.14135; the backward pass
// recomputes each tile of probabilities from the stored log-sum-exp). Arithmetic is f32; bf16 heads are widened first.
#include "profiler/engine/device/cpu_device.h"

#include "profiler/engine/device/simd_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fourwalls::engine {

namespace {

constexpr std::int64_t kQueries = 64;
constexpr std::int64_t kKeys = 256;

// Rows of head-wide vectors: element (i, d) is data[i * stride + d].
struct Rows {
    float* data = nullptr;
    std::int64_t stride = 0;
    float* row(std::int64_t i) const { return data + i * stride; }
};

// Gives a head's columns of a tensor as f32 rows: the tensor itself if it is f32, else a widened copy in `scratch`.
Rows widen(const Tensor& tensor, std::int64_t firstRow, std::int64_t rows, std::int64_t column, std::int64_t width,
           const Tensor& scratch)
{
    const std::int64_t stride = tensor.columns();
    if (tensor.type() == DType::F32) return {tensor.as<float>() + firstRow * stride + column, stride};
    for (std::int64_t i = 0; i < rows; ++i)
        kernels().bf16.toFloat(tensor.as<Bf16>() + (firstRow + i) * stride + column, scratch.as<float>() + i * width,
                               width);
    return {scratch.as<float>(), width};
}

// Where to collect f32 results for a head's columns, and how to bring them home.
Rows target(const Tensor& tensor, std::int64_t firstRow, std::int64_t column, std::int64_t width, const Tensor& scratch)
{
    if (tensor.type() == DType::F32)
        return {tensor.as<float>() + firstRow * tensor.columns() + column, tensor.columns()};
    return {scratch.as<float>(), width};
}

void bringHome(const Rows& from, const Tensor& tensor, std::int64_t firstRow, std::int64_t rows, std::int64_t column,
               std::int64_t width)
{
    if (tensor.type() == DType::F32) return;
    for (std::int64_t i = 0; i < rows; ++i)
        kernels().bf16.fromFloat(from.row(i), tensor.as<Bf16>() + (firstRow + i) * tensor.columns() + column, width);
}

// One call, whole (queries, keys and values in one tensor) or a block (keys and values in another). Columns are of the
// first head.
struct Call {
    AttentionBlock block;
    const Tensor& q;
    const Tensor& kv;
    std::int64_t keyColumn = 0, valueColumn = 0;

    std::int64_t firstQueryRow(std::int64_t sample) const { return sample * block.queryRows + block.firstQuery; }
    std::int64_t firstKeyRow(std::int64_t sample) const { return sample * block.keyRows + block.firstKey; }
    std::int64_t statistic(std::int64_t sample, std::int64_t head) const
    {
        return (sample * block.heads + head) * block.queryRows + block.firstQuery;
    }
    float scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(block.headDim))); }
};

Call wholeCall(const AttentionShape& s, const Tensor& qkv)
{
    const AttentionBlock block{s.batch,    s.heads,    s.kvHeads, s.headDim,  s.sequence, 0,
                               s.sequence, s.sequence, 0,         s.sequence, s.causal};
    return {block, qkv, qkv, s.keyColumn(), s.valueColumn()};
}

Call blockCall(const AttentionBlock& block, const Tensor& q, const Tensor& kv)
{
    return {block, q, kv, 0, block.kvHeads * block.headDim};
}

// Room for `rows` head-wide vectors of the tensor in f32, if it is not f32 itself.
Tensor scratchFor(Allocator& allocator, const Tensor& tensor, std::int64_t rows, std::int64_t width)
{
    if (tensor.type() == DType::F32) return {};
    return Tensor::make(allocator, {rows, width}, DType::F32, MemoryCategory::Temporaries);
}

Tensor temporaryRows(Allocator& allocator, std::int64_t rows, std::int64_t columns)
{
    return Tensor::make(allocator, {rows, columns}, DType::F32, MemoryCategory::Temporaries);
}

void forward(const KernelTable& k, Allocator& allocator, const Call& call, const Tensor& out, const Tensor& logSumExp)
{
    const AttentionBlock& s = call.block;
    const std::int64_t d = s.headDim;
    const float scale = call.scale();
    const Tensor tile = temporaryRows(allocator, kQueries, std::min(kKeys, s.keys));
    const Tensor rowState = temporaryRows(allocator, 2, kQueries);
    const Tensor qWide = scratchFor(allocator, call.q, s.queries, d);
    const Tensor kWide = scratchFor(allocator, call.kv, s.keys, d);
    const Tensor vWide = scratchFor(allocator, call.kv, s.keys, d);
    const Tensor oWide = scratchFor(allocator, out, s.queries, d);
    float* p = tile.as<float>();
    const std::int64_t ld = tile.columns();
    float* largest = rowState.as<float>();
    float* sums = rowState.as<float>() + kQueries;

    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h) {
            const std::int64_t kv = h / s.group();
            const Rows q = widen(call.q, call.firstQueryRow(b), s.queries, h * d, d, qWide);
            const Rows key = widen(call.kv, call.firstKeyRow(b), s.keys, call.keyColumn + kv * d, d, kWide);
            const Rows value = widen(call.kv, call.firstKeyRow(b), s.keys, call.valueColumn + kv * d, d, vWide);
            const Rows o = target(out, call.firstQueryRow(b), h * d, d, oWide);
            for (std::int64_t q0 = 0; q0 < s.queries; q0 += kQueries) {
                const std::int64_t rows = std::min(kQueries, s.queries - q0);
                const std::int64_t keys = s.causal ? q0 + rows : s.keys;
                for (std::int64_t k0 = 0; k0 < keys; k0 += kKeys) {
                    const std::int64_t cols = std::min(kKeys, keys - k0);
                    sgemm(false, true, rows, cols, d, 1.0f, q.row(q0), q.stride, key.row(k0), key.stride, 0.0f, p, ld);
                    for (std::int64_t i = 0; i < rows; ++i) {
                        float* row = p + i * ld;
                        const std::int64_t seen = s.causal ? std::clamp(q0 + i + 1 - k0, std::int64_t{0}, cols) : cols;
                        float correction = 1.0f;
                        if (seen > 0) {
                            const float m = scale * k.rowMax(row, seen);
                            const float newMax = k0 == 0 ? m : std::max(largest[i], m);
                            correction = k0 == 0 ? 1.0f : std::exp(largest[i] - newMax);
                            const float sum = k.expRow(row, seen, scale, newMax);
                            sums[i] = k0 == 0 ? sum : sums[i] * correction + sum;
                            largest[i] = newMax;
                        }
                        std::memset(row + seen, 0, static_cast<std::size_t>(cols - seen) * sizeof(float));
                        if (correction != 1.0f) k.scaleRow(o.row(q0 + i), d, correction);
                    }
                    sgemm(false, false, rows, d, cols, 1.0f, p, ld, value.row(k0), value.stride, k0 == 0 ? 0.0f : 1.0f,
                          o.row(q0), o.stride);
                }
                float* lse = logSumExp.as<float>() + call.statistic(b, h) + q0;
                for (std::int64_t i = 0; i < rows; ++i) {
                    k.scaleRow(o.row(q0 + i), d, 1.0f / sums[i]);
                    lse[i] = largest[i] + std::log(sums[i]);
                }
            }
            bringHome(o, out, call.firstQueryRow(b), s.queries, h * d, d);
        }
}

// Where the gradients go: queries to the first columns of dq, keys and values to columns of dkv (which may be dq).
// add: to what is there (master type only), else everything is overwritten.
struct Gradients {
    const Tensor& dq;
    const Tensor& dkv;
    bool add = false;
};

void backward(const KernelTable& k, Allocator& allocator, const Call& call, const Tensor& out, const Tensor& logSumExp,
              const Tensor& dout, const Gradients& gradients)
{
    const AttentionBlock& s = call.block;
    const std::int64_t d = s.headDim;
    const float scale = call.scale();
    const Tensor pTile = temporaryRows(allocator, kQueries, std::min(kKeys, s.keys));
    const Tensor dTile = temporaryRows(allocator, kQueries, std::min(kKeys, s.keys));
    const Tensor delta = temporaryRows(allocator, 1, kQueries);
    const Tensor qWide = scratchFor(allocator, call.q, s.queries, d), kWide = scratchFor(allocator, call.kv, s.keys, d),
                 vWide = scratchFor(allocator, call.kv, s.keys, d), oWide = scratchFor(allocator, out, s.queries, d),
                 dOWide = scratchFor(allocator, dout, s.queries, d),
                 dQWide = scratchFor(allocator, gradients.dq, s.queries, d),
                 dKWide = scratchFor(allocator, gradients.dkv, s.keys, d),
                 dVWide = scratchFor(allocator, gradients.dkv, s.keys, d);
    float* p = pTile.as<float>();
    float* dp = dTile.as<float>();
    const std::int64_t ld = pTile.columns();

    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t kv = 0; kv < s.kvHeads; ++kv) {
            const std::int64_t firstKey = call.firstKeyRow(b), firstQuery = call.firstQueryRow(b);
            const std::int64_t kColumn = call.keyColumn + kv * d, vColumn = call.valueColumn + kv * d;
            const Rows key = widen(call.kv, firstKey, s.keys, kColumn, d, kWide);
            const Rows value = widen(call.kv, firstKey, s.keys, vColumn, d, vWide);
            const Rows dKey = target(gradients.dkv, firstKey, kColumn, d, dKWide);
            const Rows dValue = target(gradients.dkv, firstKey, vColumn, d, dVWide);
            for (std::int64_t i = 0; i < s.keys && !gradients.add; ++i) { // every query adds to these
                std::memset(dKey.row(i), 0, static_cast<std::size_t>(d) * sizeof(float));
                std::memset(dValue.row(i), 0, static_cast<std::size_t>(d) * sizeof(float));
            }
            for (std::int64_t h = kv * s.group(); h < (kv + 1) * s.group(); ++h) {
                const Rows q = widen(call.q, firstQuery, s.queries, h * d, d, qWide);
                const Rows o = widen(out, firstQuery, s.queries, h * d, d, oWide);
                const Rows dO = widen(dout, firstQuery, s.queries, h * d, d, dOWide);
                const Rows dQ = target(gradients.dq, firstQuery, h * d, d, dQWide);
                for (std::int64_t q0 = 0; q0 < s.queries; q0 += kQueries) {
                    const std::int64_t rows = std::min(kQueries, s.queries - q0);
                    const std::int64_t keys = s.causal ? q0 + rows : s.keys;
                    const float* lse = logSumExp.as<float>() + call.statistic(b, h) + q0;
                    for (std::int64_t i = 0; i < rows; ++i)
                        delta.as<float>()[i] = k.dot(o.row(q0 + i), dO.row(q0 + i), d);
                    for (std::int64_t k0 = 0; k0 < keys; k0 += kKeys) {
                        const std::int64_t cols = std::min(kKeys, keys - k0);
                        sgemm(false, true, rows, cols, d, 1.0f, q.row(q0), q.stride, key.row(k0), key.stride, 0.0f, p,
                              ld);
                        sgemm(false, true, rows, cols, d, 1.0f, dO.row(q0), dO.stride, value.row(k0), value.stride,
                              0.0f, dp, ld);
                        for (std::int64_t i = 0; i < rows; ++i) {
                            const std::int64_t seen =
                                s.causal ? std::clamp(q0 + i + 1 - k0, std::int64_t{0}, cols) : cols;
                            const std::size_t unseen = static_cast<std::size_t>(cols - seen) * sizeof(float);
                            k.expRow(p + i * ld, seen, scale, lse[i]);
                            k.scoreGradientRow(p + i * ld, dp + i * ld, seen, delta.as<float>()[i], scale);
                            std::memset(p + i * ld + seen, 0, unseen);
                            std::memset(dp + i * ld + seen, 0, unseen);
                        }
                        sgemm(true, false, cols, d, rows, 1.0f, p, ld, dO.row(q0), dO.stride, 1.0f, dValue.row(k0),
                              dValue.stride);
                        sgemm(true, false, cols, d, rows, 1.0f, dp, ld, q.row(q0), q.stride, 1.0f, dKey.row(k0),
                              dKey.stride);
                        sgemm(false, false, rows, d, cols, 1.0f, dp, ld, key.row(k0), key.stride,
                              k0 == 0 && !gradients.add ? 0.0f : 1.0f, dQ.row(q0), dQ.stride);
                    }
                }
                bringHome(dQ, gradients.dq, firstQuery, s.queries, h * d, d);
            }
            bringHome(dKey, gradients.dkv, firstKey, s.keys, kColumn, d);
            bringHome(dValue, gradients.dkv, firstKey, s.keys, vColumn, d);
        }
}

} // namespace

void CpuDevice::doAttentionForward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                   const Tensor& logSumExp)
{
    forward(*m_kernels, allocator(), wholeCall(s, qkv), out, logSumExp);
}

void CpuDevice::doAttentionBackward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                    const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv)
{
    backward(*m_kernels, allocator(), wholeCall(s, qkv), out, logSumExp, dout, {dqkv, dqkv, false});
}

void CpuDevice::doAttentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv,
                                        const Tensor& out, const Tensor& logSumExp)
{
    forward(*m_kernels, allocator(), blockCall(block, q, kv), out, logSumExp);
}

void CpuDevice::doAttentionBlockBackward(const AttentionBlock& block, const Tensor& q, const Tensor& kv,
                                         const Tensor& out, const Tensor& logSumExp, const Tensor& dout,
                                         const Tensor& dq, const Tensor& dkv)
{
    backward(*m_kernels, allocator(), blockCall(block, q, kv), out, logSumExp, dout, {dq, dkv, true});
}

void CpuDevice::doMergeAttention(const AttentionBlock& s, const Tensor& blockOut, const Tensor& blockLogSumExp,
                                 const Tensor& out, const Tensor& logSumExp)
{
    const std::int64_t d = s.headDim;
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = s.firstQuery; i < s.firstQuery + s.queries; ++i) {
                const std::int64_t at = (b * s.heads + h) * s.queryRows + i;
                float& lse = logSumExp.as<float>()[at];
                const float other = blockLogSumExp.as<float>()[at], largest = std::max(lse, other);
                const float total = largest + std::log(std::exp(lse - largest) + std::exp(other - largest));
                const std::int64_t row = ((b * s.queryRows + i) * s.heads + h) * d;
                m_kernels->mixRow(out.as<float>() + row, std::exp(lse - total), blockOut.as<float>() + row,
                                  std::exp(other - total), d);
                lse = total;
            }
}

} // namespace fourwalls::engine
