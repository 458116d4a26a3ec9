// SPDX-License-Identifier: Apache-2.0
// Kernels of which every element is computed by itself: activations, sums, conversions, updates. Each is a function
// object that is called with the element's number. T: type of activations.
#pragma once

#include "profiler/engine/gpu/kernel_support.h"

namespace fourwalls::engine::gpu {

constexpr float kGeluSlope = 0.7978845608028654f; // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

template <class T>
struct Gelu {
    const T* x;
    T* y;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const float v = valueOf(x[i]);
        put(y[i], 0.5f * v * (1.0f + tanhf(kGeluSlope * (v + kGeluCubic * v * v * v))));
    }
};

template <class T>
struct GeluGradient {
    const T* x;
    const T* dy;
    T* dx;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const float v = valueOf(x[i]);
        const float t = tanhf(kGeluSlope * (v + kGeluCubic * v * v * v));
        const float slope =
            0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * kGeluSlope * (1.0f + 3.0f * kGeluCubic * v * v);
        put(dx[i], valueOf(dy[i]) * slope);
    }
};

FOURWALLS_BOTH inline float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/// gateUp: [n, 2 f]; y: [n, f].
template <class T>
struct Swiglu {
    const T* gateUp;
    T* y;
    Index f;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index at = i + quotient(i, f) * f;
        const float g = valueOf(gateUp[at]);
        put(y[i], g * sigmoid(g) * valueOf(gateUp[at + f]));
    }
};

template <class T>
struct SwigluGradient {
    const T* gateUp;
    const T* dy;
    T* dGateUp;
    Index f;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index at = i + quotient(i, f) * f;
        const float g = valueOf(gateUp[at]), u = valueOf(gateUp[at + f]), s = sigmoid(g), d = valueOf(dy[i]);
        put(dGateUp[at], d * u * (s + g * s * (1.0f - s)));
        put(dGateUp[at + f], d * g * s);
    }
};

template <class T>
struct Add {
    const T* a;
    const T* b;
    T* out;
    FOURWALLS_BOTH void operator()(Index i) const { put(out[i], valueOf(a[i]) + valueOf(b[i])); }
};

/// residual: may be null.
template <class T>
struct AddBias {
    T* x;
    const float* bias;
    const T* residual;
    Index columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        float v = valueOf(x[i]) + bias[remainder(i, columns)];
        if (residual) v += valueOf(residual[i]);
        put(x[i], v);
    }
};

template <class From, class To>
struct Convert {
    const From* from;
    To* to;
    FOURWALLS_BOTH void operator()(Index i) const { put(to[i], static_cast<float>(valueOf(from[i]))); }
};

/// `count` columns of a matrix of `fromWidth` columns, from fromColumn on, to another one.
template <class From, class To>
struct CopyColumns {
    const From* from;
    Index fromWidth, fromColumn;
    To* to;
    Index toWidth, toColumn;
    Index count;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index row = quotient(i, count), column = i - row * count;
        put(to[row * toWidth + toColumn + column], valueOf(from[row * fromWidth + fromColumn + column]));
    }
};

/// Element i of pair (i, i + half) of the first `heads` heads of every row of `width` columns.
template <class T>
struct Rotary {
    T* x;
    const float* cosines;
    const float* sines;
    Index width, heads, half, sequence;
    float sign;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index pair = quotient(i, half), d = i - pair * half, row = quotient(pair, heads),
                    head = pair - row * heads;
        const Index position = remainder(row, sequence) * half + d;
        T* at = x + row * width + head * 2 * half + d;
        const float c = cosines[position], s = sines[position] * sign, a = valueOf(at[0]), b = valueOf(at[half]);
        put(at[0], a * c - b * s);
        put(at[half], b * c + a * s);
    }
};

/// See Device::adamw; the caller folds the corrections into rate and root.
struct Adamw {
    float* weight;
    const float* gradient;
    float* first;
    float* second;
    Bf16* compute;
    float scale, beta1, beta2, rate, root, epsilon, keep;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const float g = gradient[i] * scale;
        const float m = beta1 * first[i] + (1.0f - beta1) * g;
        const float v = beta2 * second[i] + (1.0f - beta2) * g * g;
        first[i] = m;
        second[i] = v;
        const float w = keep * weight[i] - rate * m / (sqrtf(v) * root + epsilon);
        weight[i] = w;
        if (compute) put(compute[i], w);
    }
};

struct Sgd {
    float* weight;
    const float* gradient;
    float* velocity;
    Bf16* compute;
    float scale, momentum, rate, decay;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const float v = momentum * velocity[i] + gradient[i] * scale + decay * weight[i];
        velocity[i] = v;
        const float w = weight[i] - rate * v;
        weight[i] = w;
        if (compute) put(compute[i], w);
    }
};

/// out = a x + b y; y may be null. Elementary passes of the optimizers, and running means.
struct Mix {
    float* out;
    float a;
    const float* x;
    float b;
    const float* y;
    FOURWALLS_BOTH void operator()(Index i) const { out[i] = a * x[i] + (y ? b * y[i] : 0.0f); }
};

/// v = beta v + (1 - beta) g g.
struct SecondMoment {
    float* v;
    const float* g;
    float beta;
    FOURWALLS_BOTH void operator()(Index i) const { v[i] = beta * v[i] + (1.0f - beta) * g[i] * g[i]; }
};

/// out = sqrt(v) root + epsilon.
struct RootPass {
    float* out;
    const float* v;
    float root, epsilon;
    FOURWALLS_BOTH void operator()(Index i) const { out[i] = sqrtf(v[i]) * root + epsilon; }
};

/// w = w - rate m / divisor.
struct QuotientStep {
    float* w;
    const float* m;
    const float* divisor;
    float rate;
    FOURWALLS_BOTH void operator()(Index i) const { w[i] = w[i] - rate * m[i] / divisor[i]; }
};

/// into = into op from, as communicators add and compare. T: any type.
template <class T>
struct Reduce {
    T* into;
    const T* from;
    bool maximum;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const auto a = valueOf(into[i]), b = valueOf(from[i]);
        put(into[i], maximum ? most(a, b) : a + b);
    }
};
template <>
struct Reduce<std::int32_t> {
    std::int32_t* into;
    const std::int32_t* from;
    bool maximum;
    FOURWALLS_BOTH void operator()(Index i) const { into[i] = maximum ? most(into[i], from[i]) : into[i] + from[i]; }
};

/// Part `i / columns` of the rows (rowsPerPart each) of column `i % columns`, added up. Fixed order, so the same bits
/// every time.
template <class T>
struct ColumnPart {
    const T* x;
    float* parts;
    Index rows, columns, rowsPerPart;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index column = i % columns, first = i / columns * rowsPerPart, last = least(rows, first + rowsPerPart);
        float sum = 0;
        for (Index r = first; r < last; ++r) sum += valueOf(x[r * columns + column]);
        parts[i] = sum;
    }
};

/// out[i] (+)= sum over parts of parts[part * columns + i].
struct ColumnSum {
    const float* parts;
    float* out;
    Index count, columns;
    bool accumulate;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        float sum = 0;
        for (Index p = 0; p < count; ++p) sum += parts[p * columns + i];
        out[i] = accumulate ? out[i] + sum : sum;
    }
};

/// The parts of a norm's dgamma and dbeta. mean: null for RMSNorm; betaParts: null without beta.
template <class T>
struct NormParameterPart {
    const T* x;
    const T* dy;
    const float* mean;
    const float* rstd;
    float* gammaParts;
    float* betaParts;
    Index rows, columns, rowsPerPart;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index column = i % columns, first = i / columns * rowsPerPart, last = least(rows, first + rowsPerPart);
        float gamma = 0, beta = 0;
        for (Index r = first; r < last; ++r) {
            const float up = valueOf(dy[r * columns + column]);
            gamma += up * (valueOf(x[r * columns + column]) - (mean ? mean[r] : 0.0f)) * rstd[r];
            beta += up;
        }
        gammaParts[i] = gamma;
        if (betaParts) betaParts[i] = beta;
    }
};

} // namespace fourwalls::engine::gpu
