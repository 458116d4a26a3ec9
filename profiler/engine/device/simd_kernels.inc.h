// SPDX-License-Identifier: Apache-2.0
// The bodies of simd_kernels.h, written once with the compiler's vector types and compiled per instruction set: the
// including file sets FW_SIMD_NAMESPACE and FW_SIMD_BYTES and switches the target. Everything here has internal
// linkage and calls no inline library function, so that no wide instruction leaks into code that others share.
// No #pragma once: one inclusion per instruction set (and translation unit).

#include "profiler/engine/device/simd_vector.inc.h"

namespace fourwalls::engine::FW_SIMD_NAMESPACE {
namespace {

template <class T>
void columnSum(const T* x, float* out, std::int64_t n, std::int64_t c, bool accumulate)
{
    if (!accumulate)
        for (std::int64_t j = 0; j < c; ++j) out[j] = 0;
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T* r = x + i * c;
        sweep(
            c,
            [&](std::int64_t j) __attribute__((always_inline)) {
                store(out + j,
                      load(out + j) + ((load(r + j) + load(r + c + j)) + (load(r + 2 * c + j) + load(r + 3 * c + j))));
            },
            [&](std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                storePart(out + j,
                          loadPart(out + j, k) + ((loadPart(r + j, k) + loadPart(r + c + j, k)) +
                                                  (loadPart(r + 2 * c + j, k) + loadPart(r + 3 * c + j, k))),
                          k);
            });
    }
    for (; i < n; ++i) {
        const T* r = x + i * c;
        sweep(
            c, [&](std::int64_t j) __attribute__((always_inline)) { store(out + j, load(out + j) + load(r + j)); },
            [&](std::int64_t j, std::int64_t k)
                __attribute__((always_inline)) { storePart(out + j, loadPart(out + j, k) + loadPart(r + j, k), k); });
    }
}

template <class T>
void layerNorm(const T* x, const float* gamma, const float* beta, T* y, float* mean, float* rstd, std::int64_t n,
               std::int64_t c, float epsilon)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const T* row = x + i * c;
        const float m = sumRow(
                            row, c, [](VF v) __attribute__((always_inline)) { return v; }) /
                        static_cast<float>(c);
        const float variance = sumRow(
                                   row, c, [m](VF v) __attribute__((always_inline)) { return (v - m) * (v - m); }) /
                               static_cast<float>(c);
        const float r = 1.0f / __builtin_sqrtf(variance + epsilon);
        mean[i] = m;
        rstd[i] = r;
        mapRow(
            row, y + i * c, c, [=](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                return (v - m) * r * loadAny(gamma + j, k) + loadAny(beta + j, k);
            });
    }
}

template <class T>
void rmsNorm(const T* x, const float* gamma, T* y, float* rstd, std::int64_t n, std::int64_t c, float epsilon)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const T* row = x + i * c;
        const float square = sumRow(
                                 row, c, [](VF v) __attribute__((always_inline)) { return v * v; }) /
                             static_cast<float>(c);
        const float r = 1.0f / __builtin_sqrtf(square + epsilon);
        rstd[i] = r;
        mapRow(
            row, y + i * c, c, [=](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                return v * r * loadAny(gamma + j, k);
            });
    }
}

template <class T>
void normBackward(const T* x, const float* gamma, const float* mean, const float* rstd, const T* dy, T* dx,
                  bool accumulateDx, float* dgamma, float* dbeta, std::int64_t n, std::int64_t c)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const T* row = x + i * c;
        const T* up = dy + i * c;
        T* out = dx + i * c;
        const float m = mean ? mean[i] : 0.0f;
        const float r = rstd[i];
        VF sumG = {}, sumGx = {};
        const auto first = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
        {
            // Lanes beyond the row have gamma 0 and dy 0, so they add nothing.
            const VF xhat = (loadAny(row + j, k) - m) * r;
            const VF d = loadAny(up + j, k);
            const VF g = d * loadAny(gamma + j, k);
            sumG += g;
            sumGx += g * xhat;
            storeAny(dgamma + j, loadAny(dgamma + j, k) + d * xhat, k);
            if (dbeta) storeAny(dbeta + j, loadAny(dbeta + j, k) + d, k);
        };
        sweep(
            c, [&](std::int64_t j) __attribute__((always_inline)) { first(j, kLanes); }, first);
        const float meanG = mean ? sumLanes(sumG) / static_cast<float>(c) : 0.0f;
        const float meanGx = sumLanes(sumGx) / static_cast<float>(c);
        const auto second = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
        {
            const VF xhat = (loadAny(row + j, k) - m) * r;
            const VF g = loadAny(up + j, k) * loadAny(gamma + j, k);
            VF d = r * (g - meanG - xhat * meanGx);
            if (accumulateDx) d += loadAny(out + j, k);
            storeAny(out + j, d, k);
        };
        sweep(
            c, [&](std::int64_t j) __attribute__((always_inline)) { second(j, kLanes); }, second);
    }
}

// gelu(x) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form without its cancellation.
constexpr float kGeluSlope2 = 2.0f * 0.797884560802865f;
constexpr float kGeluCubic = 0.044715f;

template <class T>
void gelu(const T* x, T* y, std::int64_t count)
{
    mapRow(
        x, y, count, [](VF v, std::int64_t, std::int64_t) __attribute__((always_inline)) {
            return v * sigmoid(kGeluSlope2 * (v + kGeluCubic * v * v * v));
        });
}

template <class T>
void geluBackward(const T* x, const T* dy, T* dx, std::int64_t count)
{
    mapRow(
        x, dx, count, [dy](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            const VF s = sigmoid(kGeluSlope2 * (v + kGeluCubic * v * v * v));
            const VF slope = s + v * s * (1.0f - s) * kGeluSlope2 * (1.0f + 3.0f * kGeluCubic * v * v);
            return loadAny(dy + j, k) * slope;
        });
}

template <class T>
void swiglu(const T* gateUp, T* y, std::int64_t n, std::int64_t f)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const T* up = gateUp + i * 2 * f + f;
        mapRow(
            gateUp + i * 2 * f, y + i * f,
            f, [up](VF g, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                return g * sigmoid(g) * loadAny(up + j, k);
            });
    }
}

template <class T>
void swigluBackward(const T* gateUp, const T* dy, T* dGateUp, std::int64_t n, std::int64_t f)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const T* gate = gateUp + i * 2 * f;
        T* dGate = dGateUp + i * 2 * f;
        const auto body = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
        {
            const VF g = loadAny(gate + j, k);
            const VF u = loadAny(gate + f + j, k);
            const VF d = loadAny(dy + i * f + j, k);
            const VF s = sigmoid(g);
            storeAny(dGate + j, d * u * (s + g * s * (1.0f - s)), k);
            storeAny(dGate + f + j, d * g * s, k);
        };
        sweep(
            f, [&](std::int64_t j) __attribute__((always_inline)) { body(j, kLanes); }, body);
    }
}

template <class T>
FW_INLINE float largestOf(const T* row, std::int64_t count)
{
    std::int64_t j = 0;
    float m = -3.4e38f;
    if (count >= kLanes) {
        VF v = load(row);
        for (j = kLanes; j + kLanes <= count; j += kLanes) v = maximum(v, load(row + j));
        m = maxLanes(v);
    }
    if (j < count) {
        float lanes[kLanes];
        store(lanes, loadPart(row + j, count - j));
        for (std::int64_t k = 0; k < count - j; ++k) m = lanes[k] > m ? lanes[k] : m;
    }
    return m;
}

// row = exp(scale row - shift); returns the sum.
template <class T>
FW_INLINE float expOf(T* row, std::int64_t count, float scale, float shift)
{
    VF total = {};
    float rest = 0;
    sweep(
        count,
        [&](std::int64_t j) __attribute__((always_inline)) {
            const VF e = exponential(load(row + j) * scale - shift);
            store(row + j, e);
            total += e;
        },
        [&](std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            float lanes[kLanes];
            const VF e = exponential(loadPart(row + j, k) * scale - shift);
            storePart(row + j, e, k);
            store(lanes, e);
            for (std::int64_t i = 0; i < k; ++i) rest += lanes[i];
        });
    return sumLanes(total) + rest;
}

template <class T>
FW_INLINE void scaleOf(T* row, std::int64_t count, float factor)
{
    mapRow(
        row, row,
        count, [factor](VF v, std::int64_t, std::int64_t) __attribute__((always_inline)) { return v * factor; });
}

FW_INLINE std::int64_t keysOf(const KeyMask& mask, std::int64_t row, std::int64_t t)
{
    if (mask.seen) return mask.seen[row % mask.queries];
    return mask.causal ? row % t + 1 : t;
}

template <class T>
void softmax(T* scores, std::int64_t rows, std::int64_t t, float scale, const KeyMask& mask)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        T* row = scores + r * t;
        const std::int64_t keys = keysOf(mask, r, t);
        const float sum = expOf(row, keys, scale, scale * largestOf(row, keys));
        scaleOf(row, keys, 1.0f / sum);
        __builtin_memset(static_cast<void*>(row + keys), 0, static_cast<std::size_t>(t - keys) * sizeof(T));
    }
}

template <class T>
void softmaxBackward(const T* p, T* d, std::int64_t rows, std::int64_t t, float scale, const KeyMask& mask)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* pr = p + r * t;
        T* dr = d + r * t;
        const std::int64_t keys = keysOf(mask, r, t);
        VF sum = {};
        const auto dot = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
        {
            sum += loadAny(pr + j, k) * loadAny(dr + j, k);
        };
        sweep(
            keys, [&](std::int64_t j) __attribute__((always_inline)) { dot(j, kLanes); }, dot);
        const float delta = sumLanes(sum);
        mapRow(
            dr, dr, keys, [=](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                return loadAny(pr + j, k) * (v - delta) * scale;
            });
        __builtin_memset(static_cast<void*>(dr + keys), 0, static_cast<std::size_t>(t - keys) * sizeof(T));
    }
}

template <class T>
void rotaryRow(T* x, const float* cosines, const float* sines, std::int64_t heads, std::int64_t half, float sign)
{
    for (std::int64_t h = 0; h < heads; ++h) {
        T* a = x + h * 2 * half;
        T* b = a + half;
        const auto body = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
        {
            const VF c = loadAny(cosines + j, k);
            const VF s = loadAny(sines + j, k) * sign;
            const VF u = loadAny(a + j, k);
            const VF v = loadAny(b + j, k);
            storeAny(a + j, u * c - v * s, k);
            storeAny(b + j, v * c + u * s, k);
        };
        sweep(
            half, [&](std::int64_t j) __attribute__((always_inline)) { body(j, kLanes); }, body);
    }
}

template <class T>
void embeddingRow(const T* table, const float* position, T* out, std::int64_t c)
{
    mapRow(
        table, out, c, [position](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            return position ? v + loadAny(position + j, k) : v;
        });
}

template <class T>
void accumulateRow(const T* x, float* sum, std::int64_t c)
{
    mapRow(
        sum, sum,
        c, [x](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) { return v + loadAny(x + j, k); });
}

template <class T>
void addBias(T* x, const float* bias, const T* residual, std::int64_t n, std::int64_t c)
{
    for (std::int64_t i = 0; i < n; ++i) {
        T* row = x + i * c;
        const T* other = residual ? residual + i * c : nullptr;
        mapRow(
            row, row, c, [ bias, other ](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
                v += loadAny(bias + j, k);
                return other ? v + loadAny(other + j, k) : v;
            });
    }
}

template <class T>
void add(const T* a, const T* b, T* out, std::int64_t count)
{
    mapRow(
        a, out, count, [b](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            return v + loadAny(b + j, k);
        });
}

template <class T>
void toFloat(const T* from, float* to, std::int64_t count)
{
    sweep(
        count, [&](std::int64_t j) __attribute__((always_inline)) { store(to + j, load(from + j)); },
        [&](std::int64_t j, std::int64_t k)
            __attribute__((always_inline)) { storePart(to + j, loadPart(from + j, k), k); });
}

template <class T>
void fromFloat(const float* from, T* to, std::int64_t count)
{
    sweep(
        count, [&](std::int64_t j) __attribute__((always_inline)) { store(to + j, load(from + j)); },
        [&](std::int64_t j, std::int64_t k)
            __attribute__((always_inline)) { storePart(to + j, loadPart(from + j, k), k); });
}

float crossEntropyRow(float* logits, std::int64_t v, std::int32_t target, float gradientScale)
{
    const float largest = largestOf(logits, v);
    const float wanted = logits[target];
    const float sum = expOf(logits, v, 1.0f, largest);
    scaleOf(logits, v, gradientScale / sum);
    logits[target] -= gradientScale;
    return (largest - wanted) + __builtin_logf(sum);
}

double sumOfSquares(const float* x, std::int64_t count)
{
    // Blocks in float, their sums in double.
    double total = 0;
    for (std::int64_t i = 0; i < count; i += 1024) {
        const std::int64_t block = count - i < 1024 ? count - i : 1024;
        total += static_cast<double>(sumRow(
            x + i, block, [](VF v) __attribute__((always_inline)) { return v * v; }));
    }
    return total;
}

double sum(const float* x, std::int64_t count)
{
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += static_cast<double>(x[i]);
    return total;
}

template <bool Copy>
FW_INLINE void adamwLoop(float* __restrict w, const float* __restrict g, float* __restrict m, float* __restrict v,
                         Bf16* __restrict copy, std::int64_t count, float gradientScale, float beta1, float beta2,
                         float stepSize, float inverseRootCorrection2, float epsilon, float keep)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float gi = g[i] * gradientScale;
        const float mi = beta1 * m[i] + (1.0f - beta1) * gi;
        const float vi = beta2 * v[i] + (1.0f - beta2) * gi * gi;
        m[i] = mi;
        v[i] = vi;
        w[i] = keep * w[i] - stepSize * mi / (__builtin_sqrtf(vi) * inverseRootCorrection2 + epsilon);
    }
    if (Copy) fromFloat(w, copy, count);
}

void adamw(float* w, const float* g, float* m, float* v, Bf16* copy, std::int64_t count, float gradientScale,
           float beta1, float beta2, float stepSize, float inverseRootCorrection2, float epsilon, float keep)
{
    // In blocks, so that the copy reads weights that are still in the cache.
    for (std::int64_t i = 0; i < count; i += 4096) {
        const std::int64_t block = count - i < 4096 ? count - i : 4096;
        if (copy)
            adamwLoop<true>(w + i, g + i, m + i, v + i, copy + i, block, gradientScale, beta1, beta2, stepSize,
                            inverseRootCorrection2, epsilon, keep);
        else
            adamwLoop<false>(w + i, g + i, m + i, v + i, nullptr, block, gradientScale, beta1, beta2, stepSize,
                             inverseRootCorrection2, epsilon, keep);
    }
}

void sgd(float* w, const float* g, float* v, Bf16* copy, std::int64_t count, float gradientScale, float momentum,
         float rate, float weightDecay)
{
    const auto body = [&](std::int64_t i, std::int64_t k) __attribute__((always_inline))
    {
        const VF wi = loadAny(w + i, k);
        const VF vi = momentum * loadAny(v + i, k) + loadAny(g + i, k) * gradientScale + weightDecay * wi;
        const VF next = wi - rate * vi;
        storeAny(v + i, vi, k);
        storeAny(w + i, next, k);
        if (copy) storeAny(copy + i, next, k);
    };
    sweep(
        count, [&](std::int64_t i) __attribute__((always_inline)) { body(i, kLanes); }, body);
}

float rowMax(const float* x, std::int64_t count)
{
    return largestOf(x, count);
}
float expRow(float* x, std::int64_t count, float scale, float shift)
{
    return expOf(x, count, scale, shift);
}
void scaleRow(float* x, std::int64_t count, float factor)
{
    scaleOf(x, count, factor);
}

void mixRow(float* x, float factor, const float* other, float otherFactor, std::int64_t count)
{
    mapRow(
        x, x, count, [=](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            return v * factor + loadAny(other + j, k) * otherFactor;
        });
}

float dot(const float* a, const float* b, std::int64_t count)
{
    VF total = {};
    const auto body = [&](std::int64_t j, std::int64_t k) __attribute__((always_inline))
    {
        total += loadAny(a + j, k) * loadAny(b + j, k);
    };
    sweep(
        count, [&](std::int64_t j) __attribute__((always_inline)) { body(j, kLanes); }, body);
    return sumLanes(total);
}

void scoreGradientRow(const float* p, float* d, std::int64_t count, float delta, float scale)
{
    mapRow(
        d, d, count, [=](VF v, std::int64_t j, std::int64_t k) __attribute__((always_inline)) {
            return loadAny(p + j, k) * (v - delta) * scale;
        });
}

template <class T>
constexpr ActivationKernels<T> activationKernels()
{
    return {columnSum<T>,     layerNorm<T>,      rmsNorm<T>, normBackward<T>,    gelu<T>,      geluBackward<T>,
            swiglu<T>,        swigluBackward<T>, softmax<T>, softmaxBackward<T>, rotaryRow<T>, embeddingRow<T>,
            accumulateRow<T>, addBias<T>,        add<T>,     toFloat<T>,         fromFloat<T>};
}

} // namespace

extern const KernelTable kTable;
const KernelTable kTable = {FW_SIMD_NAME,
                            activationKernels<float>(),
                            activationKernels<Bf16>(),
                            crossEntropyRow,
                            sumOfSquares,
                            sum,
                            adamw,
                            sgd,
                            rowMax,
                            expRow,
                            scaleRow,
                            mixRow,
                            dot,
                            scoreGradientRow};

#undef FW_INLINE

} // namespace fourwalls::engine::FW_SIMD_NAMESPACE
