// SPDX-License-Identifier: Apache-2.0
// Kernels of which every element is computed by itself: activations, sums, conversions, updates. Each is an object that is
// asked for an element's number, and moves packs of elements where it can (packs.h). T: type of activations.
#pragma once

#include "profiler/engine/gpu/packs.h"

namespace fourwalls::engine::gpu {

constexpr float kGeluSlope = 0.7978845608028654f; // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

template <class T>
struct Gelu {
    const T* x;
    T* y;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [](T in, T& out) {
                const float v = valueOf(in);
                put(out, 0.5f * v * (1.0f + tanhf(kGeluSlope * (v + kGeluCubic * v * v * v))));
            },
            Reads{x + i}, Writes{y + i});
    }
};

template <class T>
struct GeluGradient {
    const T* x;
    const T* dy;
    T* dx;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [](T in, T up, T& out) {
                const float v = valueOf(in);
                const float t = tanhf(kGeluSlope * (v + kGeluCubic * v * v * v));
                const float slope =
                    0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * kGeluSlope * (1.0f + 3.0f * kGeluCubic * v * v);
                put(out, valueOf(up) * slope);
            },
            Reads{x + i}, Reads{dy + i}, Writes{dx + i});
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
    FOURWALLS_BOTH bool wholeRows(Index width) const { return f % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const T* gates = gateUp + i + quotient(i, f) * f;
        return run(
            [](T gate, T up, T& out) {
                const float g = valueOf(gate);
                put(out, g * sigmoid(g) * valueOf(up));
            },
            Reads{gates}, Reads{gates + f}, Writes{y + i});
    }
};

template <class T>
struct SwigluGradient {
    const T* gateUp;
    const T* dy;
    T* dGateUp;
    Index f;
    FOURWALLS_BOTH bool wholeRows(Index width) const { return f % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index first = i + quotient(i, f) * f;
        return run(
            [](T gate, T up, T out, T& dGate, T& dUp) {
                const float g = valueOf(gate), u = valueOf(up), s = sigmoid(g), d = valueOf(out);
                put(dGate, d * u * (s + g * s * (1.0f - s)));
                put(dUp, d * g * s);
            },
            Reads{gateUp + first}, Reads{gateUp + first + f}, Reads{dy + i}, Writes{dGateUp + first},
            Writes{dGateUp + first + f});
    }
};

template <class T>
struct Add {
    const T* a;
    const T* b;
    T* out;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([](T left, T right, T& sum) { put(sum, valueOf(left) + valueOf(right)); }, Reads{a + i},
                   Reads{b + i}, Writes{out + i});
    }
};

/// residual: may be null.
template <class T>
struct AddBias {
    T* x;
    const float* bias;
    const T* residual;
    Index columns;
    FOURWALLS_BOTH bool wholeRows(Index width) const { return columns % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([](T& value, float add, T more) { put(value, valueOf(value) + add + valueOf(more)); },
                   Updates{x + i}, Reads{bias + remainder(i, columns)}, MayRead{residual ? residual + i : nullptr});
    }
};

template <class From, class To>
struct Convert {
    const From* from;
    To* to;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([](From value, To& converted) { put(converted, valueOf(value)); }, Reads{from + i}, Writes{to + i});
    }
};

/// `count` columns of a matrix of `fromWidth` columns, from fromColumn on, to another one.
template <class From, class To>
struct CopyColumns {
    const From* from;
    Index fromWidth, fromColumn;
    To* to;
    Index toWidth, toColumn;
    Index count;
    FOURWALLS_BOTH bool wholeRows(Index width) const
    {
        return count % width == 0 && fromWidth % width == 0 && toWidth % width == 0;
    }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index row = quotient(i, count), column = i - row * count;
        return run([](From value, To& copied) { put(copied, valueOf(value)); },
                   Reads{from + row * fromWidth + fromColumn + column}, Writes{to + row * toWidth + toColumn + column});
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
    FOURWALLS_BOTH bool wholeRows(Index multiple) const { return half % multiple == 0 && width % multiple == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index pair = quotient(i, half), d = i - pair * half, row = quotient(pair, heads),
                    head = pair - row * heads;
        const Index position = remainder(row, sequence) * half + d;
        T* const lower = x + row * width + head * 2 * half + d;
        return run(
            [this](T& low, T& high, float c, float sine) {
                const float s = sine * sign, a = valueOf(low), b = valueOf(high);
                put(low, a * c - b * s);
                put(high, b * c + a * s);
            },
            Updates{lower}, Updates{lower + half}, Reads{cosines + position}, Reads{sines + position});
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
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [this](float slope, float& m, float& v, float& w, Bf16& rounded) {
                const float g = slope * scale;
                m = beta1 * m + (1.0f - beta1) * g;
                v = beta2 * v + (1.0f - beta2) * g * g;
                w = keep * w - rate * m / (sqrtf(v) * root + epsilon);
                put(rounded, w);
            },
            Reads{gradient + i}, Updates{first + i}, Updates{second + i}, Updates{weight + i},
            MayWrite{compute ? compute + i : nullptr});
    }
};

struct Sgd {
    float* weight;
    const float* gradient;
    float* velocity;
    Bf16* compute;
    float scale, momentum, rate, decay;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [this](float slope, float& v, float& w, Bf16& rounded) {
                v = momentum * v + slope * scale + decay * w;
                w = w - rate * v;
                put(rounded, w);
            },
            Reads{gradient + i}, Updates{velocity + i}, Updates{weight + i}, MayWrite{compute ? compute + i : nullptr});
    }
};

/// out = a x + b y; y may be null. Elementary passes of the optimizers, and running means.
struct Mix {
    float* out;
    float a;
    const float* x;
    float b;
    const float* y;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([this](float first, float second, float& sum) { sum = a * first + (y ? b * second : 0.0f); },
                   Reads{x + i}, MayRead{y ? y + i : nullptr}, Writes{out + i});
    }
};

/// v = beta v + (1 - beta) g g.
struct SecondMoment {
    float* v;
    const float* g;
    float beta;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([this](float& moment, float slope) { moment = beta * moment + (1.0f - beta) * slope * slope; },
                   Updates{v + i}, Reads{g + i});
    }
};

/// out = sqrt(v) root + epsilon.
struct RootPass {
    float* out;
    const float* v;
    float root, epsilon;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([this](float moment, float& divisor) { divisor = sqrtf(moment) * root + epsilon; }, Reads{v + i},
                   Writes{out + i});
    }
};

/// w = w - rate m / divisor.
struct QuotientStep {
    float* w;
    const float* m;
    const float* divisor;
    float rate;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run([this](float& weight, float moment, float by) { weight = weight - rate * moment / by; },
                   Updates{w + i}, Reads{m + i}, Reads{divisor + i});
    }
};

/// into = into op from, as communicators add and compare. T: any type.
template <class T>
struct Reduce {
    T* into;
    const T* from;
    bool maximum;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [this](T& value, T other) {
                if constexpr (std::is_same_v<T, std::int32_t>) {
                    value = maximum ? most(value, other) : value + other;
                } else {
                    const auto a = valueOf(value), b = valueOf(other);
                    put(value, maximum ? most(a, b) : a + b);
                }
            },
            Updates{into + i}, Reads{from + i});
    }
};

/// Part `i / columns` of the rows (rowsPerPart each) of column `i % columns`, added up. Fixed order, so the same bits
/// every time.
template <class T>
struct ColumnPart {
    const T* x;
    float* parts;
    Index rows, columns, rowsPerPart;
    FOURWALLS_BOTH bool wholeRows(Index width) const { return columns % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index part = quotient(i, columns), column = i - part * columns, first = part * rowsPerPart;
        return run.down(
            RowStretch{first, least(rows, first + rowsPerPart), columns},
            [](Index, float& sum, float&, T value) { sum += valueOf(value); }, Writes{parts + i},
            MayWrite<float>{nullptr}, Reads{x + column});
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
    FOURWALLS_BOTH bool wholeRows(Index width) const { return columns % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index part = quotient(i, columns), column = i - part * columns, first = part * rowsPerPart;
        return run.down(
            RowStretch{first, least(rows, first + rowsPerPart), columns},
            [this](Index row, float& gamma, float& beta, T in, T slope) {
                const float up = valueOf(slope);
                gamma += up * (valueOf(in) - (mean ? mean[row] : 0.0f)) * rstd[row];
                beta += up;
            },
            Writes{gammaParts + i}, MayWrite{betaParts ? betaParts + i : nullptr}, Reads{x + column},
            Reads{dy + column});
    }
};

} // namespace fourwalls::engine::gpu
