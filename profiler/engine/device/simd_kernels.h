// SPDX-License-Identifier: Apache-2.0
// The engine's own CPU kernels: what oneDNN does not have, or does slower than one pass over memory allows. They are
// compiled for several instruction sets; kernels() picks the best one that this processor has.
// Sizes: n rows, c columns, row-major without gaps. T is the activation type (float or Bf16); sums are in float.
#pragma once

#include "profiler/engine/core/dtype.h"

#include <cstdint>
#include <string_view>

namespace fourwalls::engine {

/// Which keys a row of scores sees.
struct KeyMask {
    bool causal = false;                ///< row r is query r mod t and sees keys up to its own
    const std::int32_t* seen = nullptr; ///< [queries]: row r sees seen[r mod queries] keys; comes before causal
    std::int64_t queries = 0;
};

template <class T>
struct ActivationKernels {
    void (*columnSum)(const T* x, float* out, std::int64_t n, std::int64_t c, bool accumulate);
    void (*layerNorm)(const T* x, const float* gamma, const float* beta, T* y, float* mean, float* rstd, std::int64_t n,
                      std::int64_t c, float epsilon);
    void (*rmsNorm)(const T* x, const float* gamma, T* y, float* rstd, std::int64_t n, std::int64_t c, float epsilon);
    /// mean and dbeta null: RMSNorm. dgamma, dbeta are added to.
    void (*normBackward)(const T* x, const float* gamma, const float* mean, const float* rstd, const T* dy, T* dx,
                         bool accumulateDx, float* dgamma, float* dbeta, std::int64_t n, std::int64_t c);
    void (*gelu)(const T* x, T* y, std::int64_t count);
    void (*geluBackward)(const T* x, const T* dy, T* dx, std::int64_t count);
    void (*swiglu)(const T* gateUp, T* y, std::int64_t n, std::int64_t f);
    void (*swigluBackward)(const T* gateUp, const T* dy, T* dGateUp, std::int64_t n, std::int64_t f);
    /// Rows of t scores, of which row r sees the first keysOf(mask, r, t).
    void (*softmax)(T* scores, std::int64_t rows, std::int64_t t, float scale, const KeyMask& mask);
    void (*softmaxBackward)(const T* p, T* d, std::int64_t rows, std::int64_t t, float scale, const KeyMask& mask);
    /// Rotates the pair (x[i], x[i + half]) of `heads` adjacent heads of one row.
    void (*rotaryRow)(T* x, const float* cosines, const float* sines, std::int64_t heads, std::int64_t half,
                      float sign);
    void (*embeddingRow)(const T* table, const float* position, T* out, std::int64_t c);
    void (*accumulateRow)(const T* x, float* sum, std::int64_t c);
    /// x = x + bias in each of n rows of c (+ residual, if not null).
    void (*addBias)(T* x, const float* bias, const T* residual, std::int64_t n, std::int64_t c);
    void (*add)(const T* a, const T* b, T* out, std::int64_t count);
    void (*toFloat)(const T* from, float* to, std::int64_t count);
    void (*fromFloat)(const float* from, T* to, std::int64_t count);
};

struct KernelTable {
    std::string_view name;
    ActivationKernels<float> f32;
    ActivationKernels<Bf16> bf16;

    /// Returns the loss; the row becomes gradientScale * (softmax - onehot(target)).
    float (*crossEntropyRow)(float* logits, std::int64_t v, std::int32_t target, float gradientScale);
    double (*sumOfSquares)(const float* x, std::int64_t count);
    double (*sum)(const float* x, std::int64_t count);
    /// w, m, v updated; correction1, correction2: 1 - beta^step; copy (may be null): the new weights, rounded.
    void (*adamw)(float* w, const float* g, float* m, float* v, Bf16* copy, std::int64_t count, float gradientScale,
                  float beta1, float beta2, float stepSize, float inverseRootCorrection2, float epsilon, float keep);
    void (*sgd)(float* w, const float* g, float* v, Bf16* copy, std::int64_t count, float gradientScale, float momentum,
                float rate, float weightDecay);

    // Pieces of the tiled attention.
    float (*rowMax)(const float* x, std::int64_t count);
    /// x = exp(scale x - shift); returns the sum.
    float (*expRow)(float* x, std::int64_t count, float scale, float shift);
    void (*scaleRow)(float* x, std::int64_t count, float factor);
    /// x = factor x + otherFactor other.
    void (*mixRow)(float* x, float factor, const float* other, float otherFactor, std::int64_t count);
    float (*dot)(const float* a, const float* b, std::int64_t count);
    /// d = p (d - delta) scale.
    void (*scoreGradientRow)(const float* p, float* d, std::int64_t count, float delta, float scale);
};

/// The table for this processor; the choice is made once.
const KernelTable& kernels();

/// All tables that this processor can run, best first (for tests).
struct KernelTableList {
    const KernelTable* tables[3];
    int count;
};
KernelTableList runnableKernels();

template <class T>
const ActivationKernels<T>& kernelsOf(const KernelTable& table);
template <>
inline const ActivationKernels<float>& kernelsOf<float>(const KernelTable& table)
{
    return table.f32;
}
template <>
inline const ActivationKernels<Bf16>& kernelsOf<Bf16>(const KernelTable& table)
{
    return table.bf16;
}

} // namespace fourwalls::engine
