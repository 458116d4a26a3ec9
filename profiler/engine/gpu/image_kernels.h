// SPDX-License-Identifier: Apache-2.0
// Kernels of convolutional networks. Images lie channels-last: element (n, h, w, c). cuDNN has the convolutions; batch
// normalisation with its ReLU in one pass, and pooling, are here because cuDNN has them fused for few types only. T:
// type of activations; n: image, c: channel.
#pragma once

#include "profiler/engine/gpu/packs.h"

namespace fourwalls::engine::gpu {

/// [n, c, pixels] to [n, pixels, c], or back.
template <class T>
struct ReorderImages {
    const T* from;
    T* to;
    Index channels, pixels;
    bool toChannelsLast;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index all = quotient(i, channels), c = i - all * channels, n = quotient(all, pixels),
                    pixel = all - n * pixels;
        const Index planar = (n * channels + c) * pixels + pixel;
        if (toChannelsLast)
            to[i] = from[planar];
        else
            to[planar] = from[i];
    }
};

/// [out, in, taps] to [out, taps, in]: element i of the latter.
template <class T>
struct PackWeights {
    const float* weights;
    T* packed;
    Index inChannels, taps;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index c = i % inChannels, tap = i / inChannels % taps, o = i / inChannels / taps;
        put(packed[i], weights[(o * inChannels + c) * taps + tap]);
    }
};

template <class T>
struct UnpackGradient {
    const T* packed;
    float* gradient;
    Index inChannels, taps;
    bool accumulate;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index c = i % inChannels, tap = i / inChannels % taps, o = i / inChannels / taps;
        float& to = gradient[(o * inChannels + c) * taps + tap];
        to = accumulate ? to + valueOf(packed[i]) : valueOf(packed[i]);
    }
};

/// Mean and sum of squared deviations of part `i / channels` of the pixels, per channel (Welford 1962).
template <class T>
struct MomentsPart {
    const T* x;
    float* means;
    float* deviations;
    Index rows, channels, rowsPerPart;
    FOURWALLS_BOTH bool wholeRows(Index width) const { return channels % width == 0; }
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        const Index part = quotient(i, channels), c = i - part * channels, first = part * rowsPerPart;
        return run.down(
            RowStretch{first, least(rows, first + rowsPerPart), channels},
            [first](Index row, float& mean, float& squares, T value) {
                const float v = valueOf(value), d = v - mean;
                mean += d / static_cast<float>(row - first + 1);
                squares += d * (v - mean);
            },
            Writes{means + i}, MayWrite{deviations + i}, Reads{x + c});
    }
};

/// Puts the parts together (Chan et al. 1979): element c is one channel.
struct Moments {
    const float* means;
    const float* deviations;
    float* mean;
    float* variance;
    Index rows, channels, rowsPerPart;
    FOURWALLS_BOTH void operator()(Index c) const
    {
        float m = 0, squares = 0, count = 0;
        for (Index p = 0; p * rowsPerPart < rows; ++p) {
            const float n = static_cast<float>(least(rowsPerPart, rows - p * rowsPerPart));
            const float d = means[p * channels + c] - m, total = count + n;
            m += d * n / total;
            squares += deviations[p * channels + c] + d * d * count * n / total;
            count = total;
        }
        mean[c] = m;
        variance[c] = squares / count;
    }
};

/// f(first element, how many, channel of the first) for the elements of an eight: at once where they are of one pixel.
template <class F>
FOURWALLS_BOTH void eightElements(Index eight, Index elements, Index channels, const F& f)
{
    const Index first = eight * 8;
    if (channels % 8 == 0) return f(first, 8, remainder(first, channels));
    for (Index i = first; i < least(elements, first + 8); ++i) f(i, 1, remainder(i, channels));
}

/// Eight elements at a time, whose ReLU bits (bit set: it passed) are one byte of mask. mask: null without ReLU.
template <class T>
struct BatchNormApply {
    const T* x;
    const float* mean;
    const float* variance;
    const float* gamma;
    const float* beta;
    T* y;
    std::uint8_t* mask;
    Index elements, channels;
    float epsilon;
    FOURWALLS_BOTH void operator()(Index eight) const
    {
        unsigned bits = 0;
        eightElements(eight, elements, channels, [&](Index first, Index count, Index c) {
            along(
                SoleTeam{}, count,
                [&](Index k, T value, float m, float deviation, float factor, float offset, T& out) {
                    float v = (valueOf(value) - m) * (factor / sqrtf(deviation + epsilon)) + offset;
                    if (mask) {
                        if (v > 0.0f)
                            bits |= 1u << (first + k) % 8;
                        else
                            v = 0.0f;
                    }
                    put(out, v);
                },
                Reads{x + first}, Reads{mean + c}, Reads{variance + c}, Reads{gamma + c}, Reads{beta + c},
                Writes{y + first});
        });
        if (mask) mask[eight] = static_cast<std::uint8_t>(bits);
    }
};

FOURWALLS_BOTH inline bool passed(const std::uint8_t* mask, Index i)
{
    return !mask || (mask[i / 8] >> (i % 8) & 1) != 0;
}

/// The parts of dbeta (sum of g) and dgamma (sum of g xhat), g being dy where the ReLU passed.
template <class T>
struct BatchNormGradientPart {
    const T* x;
    const T* dy;
    const std::uint8_t* mask;
    const float* mean;
    const float* variance;
    float* betaParts;
    float* gammaParts;
    Index rows, channels, rowsPerPart;
    float epsilon;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index c = i % channels, first = i / channels * rowsPerPart, last = least(rows, first + rowsPerPart);
        const float m = mean[c], rstd = 1.0f / sqrtf(variance[c] + epsilon);
        float beta = 0, gamma = 0;
        for (Index r = first; r < last; ++r) {
            const Index at = r * channels + c;
            const float g = passed(mask, at) ? valueOf(dy[at]) : 0.0f;
            beta += g;
            gamma += g * (valueOf(x[at]) - m) * rstd;
        }
        betaParts[i] = beta;
        gammaParts[i] = gamma;
    }
};

/// Eight elements at a time.
template <class T>
struct BatchNormGradient {
    const T* x;
    const T* dy;
    const std::uint8_t* mask;
    const float* mean;
    const float* variance;
    const float* gamma;
    const float* dGamma;
    const float* dBeta;
    T* dx;
    Index rows, channels;
    float epsilon;
    FOURWALLS_BOTH void operator()(Index eight) const
    {
        const unsigned bits = mask ? mask[eight] : 255u;
        const float n = static_cast<float>(rows);
        eightElements(eight, rows * channels, channels, [&](Index first, Index count, Index c) {
            along(
                SoleTeam{}, count,
                [&](Index k, T value, T slope, float m, float deviation, float factor, float sumGx, float sumG,
                    T& out) {
                    const float rstd = 1.0f / sqrtf(deviation + epsilon);
                    const float g = bits >> (first + k) % 8 & 1u ? valueOf(slope) : 0.0f;
                    const float xhat = (valueOf(value) - m) * rstd;
                    put(out, factor * rstd * (g - sumG / n - xhat * sumGx / n));
                },
                Reads{x + first}, Reads{dy + first}, Reads{mean + c}, Reads{variance + c}, Reads{gamma + c},
                Reads{dGamma + c}, Reads{dBeta + c}, Writes{dx + first});
        });
    }
};

/// Extents of a max pooling, channels last.
struct PoolExtents {
    Index channels, height, width, outHeight, outWidth, kernel, stride, padding;
};

/// positions[i]: where in its window the maximum was (the first of equals).
template <class T>
struct MaxPool {
    const T* x;
    T* y;
    std::uint16_t* positions;
    PoolExtents e;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index column = quotient(i, e.channels), c = i - column * e.channels;
        const Index row = quotient(column, e.outWidth), q = column - row * e.outWidth;
        const Index n = quotient(row, e.outHeight), p = row - n * e.outHeight;
        float top = 0;
        Index place = -1;
        for (Index r = 0; r < e.kernel; ++r)
            for (Index s = 0; s < e.kernel; ++s) {
                const Index h = p * e.stride + r - e.padding, w = q * e.stride + s - e.padding;
                if (h < 0 || h >= e.height || w < 0 || w >= e.width) continue;
                const float v = valueOf(x[((n * e.height + h) * e.width + w) * e.channels + c]);
                if (place >= 0 && !(v > top)) continue;
                top = v;
                place = r * e.kernel + s;
            }
        put(y[i], top);
        positions[i] = static_cast<std::uint16_t>(place);
    }
};

/// Element i of dx: the gradients of the windows that took their maximum there.
template <class T>
struct MaxPoolGradient {
    const T* dy;
    const std::uint16_t* positions;
    T* dx;
    PoolExtents e;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index column = quotient(i, e.channels), c = i - column * e.channels;
        const Index row = quotient(column, e.width), w = column - row * e.width;
        const Index n = quotient(row, e.height), h = row - n * e.height;
        float sum = 0;
        for (Index r = 0; r < e.kernel; ++r)
            for (Index s = 0; s < e.kernel; ++s) {
                const Index down = h + e.padding - r, right = w + e.padding - s;
                if (down < 0 || right < 0 || down % e.stride != 0 || right % e.stride != 0) continue;
                const Index p = down / e.stride, q = right / e.stride;
                if (p >= e.outHeight || q >= e.outWidth) continue;
                const Index at = ((n * e.outHeight + p) * e.outWidth + q) * e.channels + c;
                if (positions[at] == r * e.kernel + s) sum += valueOf(dy[at]);
            }
        put(dx[i], sum);
    }
};

template <class T>
struct AveragePool {
    const T* x;
    T* y;
    Index channels, pixels;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index c = i % channels, n = i / channels;
        float sum = 0;
        for (Index p = 0; p < pixels; ++p) sum += valueOf(x[(n * pixels + p) * channels + c]);
        put(y[i], sum / static_cast<float>(pixels));
    }
};

template <class T>
struct AveragePoolGradient {
    const T* dy;
    T* dx;
    Index channels, pixels;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index all = quotient(i, channels), c = i - all * channels, n = quotient(all, pixels);
        put(dx[i], valueOf(dy[n * channels + c]) / static_cast<float>(pixels));
    }
};

/// y = max(y + shortcut, 0); shortcut: may be null.
template <class T>
struct AddRelu {
    T* y;
    const T* shortcut;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [](T& value, T more) {
                const float v = valueOf(value) + valueOf(more);
                put(value, v < 0.0f ? 0.0f : v);
            },
            Updates{y + i}, MayRead{shortcut ? shortcut + i : nullptr});
    }
};

/// dy = dy (+ other) where y > 0, else 0. other: may be null.
template <class T>
struct AddReluGradient {
    const T* y;
    T* dy;
    const T* other;
    template <class Run>
    FOURWALLS_BOTH auto at(Index i, const Run& run) const
    {
        return run(
            [](T& slope, T more, T value) {
                const float d = valueOf(slope) + valueOf(more);
                put(slope, valueOf(value) > 0.0f ? d : 0.0f);
            },
            Updates{dy + i}, MayRead{other ? other + i : nullptr}, Reads{y + i});
    }
};

} // namespace fourwalls::engine::gpu
