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

} // namespace

void CpuDevice::doAttentionForward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                   const Tensor& logSumExp)
{
    const KernelTable& k = *m_kernels;
    const std::int64_t t = s.sequence, d = s.headDim;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const bool wide = qkv.type() == DType::F32;
    const auto temporary = [&](std::int64_t rows, std::int64_t cols) {
        return Tensor::make(allocator(), {rows, cols}, DType::F32, MemoryCategory::Temporaries);
    };
    const Tensor tile = temporary(kQueries, std::min(kKeys, t));
    const Tensor rowState = temporary(2, kQueries);
    const Tensor qWide = wide ? Tensor() : temporary(t, d);
    const Tensor kWide = wide ? Tensor() : temporary(t, d);
    const Tensor vWide = wide ? Tensor() : temporary(t, d);
    const Tensor oWide = wide ? Tensor() : temporary(t, d);
    float* p = tile.as<float>();
    const std::int64_t ld = tile.columns();
    float* largest = rowState.as<float>();
    float* sums = rowState.as<float>() + kQueries;

    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h) {
            const std::int64_t kv = h / s.group();
            const Rows q = widen(qkv, b * t, t, h * d, d, qWide);
            const Rows key = widen(qkv, b * t, t, s.keyColumn() + kv * d, d, kWide);
            const Rows value = widen(qkv, b * t, t, s.valueColumn() + kv * d, d, vWide);
            const Rows o = target(out, b * t, h * d, d, oWide);
            for (std::int64_t q0 = 0; q0 < t; q0 += kQueries) {
                const std::int64_t rows = std::min(kQueries, t - q0);
                const std::int64_t keys = s.causal ? q0 + rows : t;
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
                float* lse = logSumExp.as<float>() + (b * s.heads + h) * t + q0;
                for (std::int64_t i = 0; i < rows; ++i) {
                    k.scaleRow(o.row(q0 + i), d, 1.0f / sums[i]);
                    lse[i] = largest[i] + std::log(sums[i]);
                }
            }
            bringHome(o, out, b * t, t, h * d, d);
        }
}

void CpuDevice::doAttentionBackward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                    const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv)
{
    const KernelTable& k = *m_kernels;
    const std::int64_t t = s.sequence, d = s.headDim;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const bool wide = qkv.type() == DType::F32;
    const auto temporary = [&](std::int64_t rows, std::int64_t cols) {
        return Tensor::make(allocator(), {rows, cols}, DType::F32, MemoryCategory::Temporaries);
    };
    const Tensor pTile = temporary(kQueries, std::min(kKeys, t));
    const Tensor dTile = temporary(kQueries, std::min(kKeys, t));
    const Tensor delta = temporary(1, kQueries);
    Tensor copies[8]; // q, k, v, o, do, then dq, dk, dv
    if (!wide)
        for (auto& copy : copies) copy = temporary(t, d);
    float* p = pTile.as<float>();
    float* dp = dTile.as<float>();
    const std::int64_t ld = pTile.columns();

    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t kv = 0; kv < s.kvHeads; ++kv) {
            const std::int64_t kColumn = s.keyColumn() + kv * d, vColumn = s.valueColumn() + kv * d;
            const Rows key = widen(qkv, b * t, t, kColumn, d, copies[1]);
            const Rows value = widen(qkv, b * t, t, vColumn, d, copies[2]);
            const Rows dKey = target(dqkv, b * t, kColumn, d, copies[6]);
            const Rows dValue = target(dqkv, b * t, vColumn, d, copies[7]);
            for (std::int64_t i = 0; i < t; ++i) { // every query adds to these
                std::memset(dKey.row(i), 0, static_cast<std::size_t>(d) * sizeof(float));
                std::memset(dValue.row(i), 0, static_cast<std::size_t>(d) * sizeof(float));
            }
            for (std::int64_t h = kv * s.group(); h < (kv + 1) * s.group(); ++h) {
                const Rows q = widen(qkv, b * t, t, h * d, d, copies[0]);
                const Rows o = widen(out, b * t, t, h * d, d, copies[3]);
                const Rows dO = widen(dout, b * t, t, h * d, d, copies[4]);
                const Rows dQ = target(dqkv, b * t, h * d, d, copies[5]);
                for (std::int64_t q0 = 0; q0 < t; q0 += kQueries) {
                    const std::int64_t rows = std::min(kQueries, t - q0);
                    const std::int64_t keys = s.causal ? q0 + rows : t;
                    const float* lse = logSumExp.as<float>() + (b * s.heads + h) * t + q0;
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
                        sgemm(false, false, rows, d, cols, 1.0f, dp, ld, key.row(k0), key.stride, k0 == 0 ? 0.0f : 1.0f,
                              dQ.row(q0), dQ.stride);
                    }
                }
                bringHome(dQ, dqkv, b * t, t, h * d, d);
            }
            bringHome(dKey, dqkv, b * t, t, kColumn, d);
            bringHome(dValue, dqkv, b * t, t, vColumn, d);
        }
}

} // namespace fourwalls::engine
