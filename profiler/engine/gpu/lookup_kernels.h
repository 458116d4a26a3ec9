// SPDX-License-Identifier: Apache-2.0
// Kernels that look rows up: embeddings, embedding bags, experts, recommendation models. Function objects as in
// element_kernels.h and row_kernels.h. Nothing is added up with atomics: gradients of tables are sums over lists that
// the host has sorted, so they have the same bits every time.
#pragma once

#include "profiler/engine/gpu/packs.h"

namespace fourwalls::engine::gpu {

/// See Device::embeddingForward. positions: may be null.
template <class T>
struct Embedding {
    const std::int32_t* tokens;
    const T* table;
    const float* positions;
    T* out;
    Index firstToken, tableRows, columns, sequence;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index token = quotient(i, columns), column = i - token * columns, row = tokens[token] - firstToken;
        float v = row >= 0 && row < tableRows ? valueOf(table[row * columns + column]) : 0.0f;
        if (positions) v += positions[token % sequence * columns + column];
        put(out[i], v);
    }
};

/// x[i] += table[ids[i]].
template <class T>
struct AddTableRows {
    const std::int32_t* ids;
    const float* table;
    T* x;
    Index columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        put(x[i], valueOf(x[i]) + table[Index{ids[i / columns]} * columns + i % columns]);
    }
};

/// Sums of the rows of `x` that belong to one row of a table, in two steps so that a frequent row does not make one
/// thread work alone. `pieces[p]` .. `pieces[p + 1]` are the entries of piece p in `order`, which says which rows of x.
template <class T>
struct PieceSum {
    const T* x;
    Index xWidth, xColumn, columns;
    const std::int32_t* order;
    const std::int32_t* pieces;
    float* sums;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index piece = i / columns, column = i % columns;
        float sum = 0;
        for (std::int32_t k = pieces[piece]; k < pieces[piece + 1]; ++k)
            sum += valueOf(x[Index{order[k]} * xWidth + xColumn + column]);
        sums[i] = sum;
    }
};

/// table[rows[r]] += the pieces firstPiece[r] .. firstPiece[r + 1].
struct AddPieces {
    const float* sums;
    Index columns;
    const std::int32_t* rows;
    const std::int32_t* firstPiece;
    float* table;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index r = i / columns, column = i % columns;
        float sum = 0;
        for (std::int32_t p = firstPiece[r]; p < firstPiece[r + 1]; ++p) sum += sums[Index{p} * columns + column];
        table[Index{rows[r]} * columns + column] += sum;
    }
};

/// dPositions[position] += the rows of x at that position of every sample.
template <class T>
struct PositionGradient {
    const T* x;
    float* dPositions;
    Index samples, sequence, columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        float sum = 0;
        for (Index s = 0; s < samples; ++s) sum += valueOf(x[s * sequence * columns + i]);
        dPositions[i] += sum;
    }
};

/// The widest word of memory.
struct alignas(16) SixteenBytes {
    std::uint64_t low, high;
};

/// y[i] = x[rows[i]]; zeros where rows[i] is -1. T: a word of the rows' memory.
template <class T>
struct GatherRows {
    const T* x;
    const std::int32_t* rows;
    T* y;
    Index columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index at = quotient(i, columns), row = rows[at];
        y[i] = row < 0 ? T{} : x[row * columns + i - at * columns];
    }
};

/// to[rows[i]] = from[i].
template <class T>
struct ScatterRows {
    const T* from;
    const std::int32_t* rows;
    T* to;
    Index columns;
    FOURWALLS_BOTH void operator()(Index i) const { to[Index{rows[i / columns]} * columns + i % columns] = from[i]; }
};

/// See RoutingOperators::choose; one element is one token. margins[t]: of this token.
struct Choose {
    const float* probabilities;
    std::int32_t* choices;
    float* gates;
    float* margins;
    Index experts, k;
    bool forced;
    FOURWALLS_BOTH bool taken(Index t, Index count, std::int32_t e) const
    {
        for (Index j = 0; j < count; ++j)
            if (choices[t * k + j] == e) return true;
        return false;
    }
    FOURWALLS_BOTH void operator()(Index t) const
    {
        const float* p = probabilities + t * experts;
        float sum = 0, rejected = 0;
        bool rest = false;
        for (Index j = 0; j < k; ++j) {
            if (!forced) {
                std::int32_t best = -1; // the lowest number among equals
                for (std::int32_t e = 0; e < experts; ++e)
                    if (!taken(t, j, e) && (best < 0 || p[e] > p[best])) best = e;
                choices[t * k + j] = best;
            }
            sum += p[choices[t * k + j]];
        }
        for (std::int32_t e = 0; e < experts; ++e)
            if (!taken(t, k, e)) {
                rejected = rest ? most(rejected, p[e]) : p[e];
                rest = true;
            }
        margins[t] = rest && !forced ? p[choices[t * k + k - 1]] - rejected : 3.402823466e38f;
        for (Index j = 0; j < k; ++j) {
            const float chosen = p[choices[t * k + j]];
            gates[t * k + j] = k == 1 ? chosen : chosen / sum;
        }
    }
};

/// out[0] = the least of values.
struct Least {
    const float* values;
    Index count;
    double* out;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index) const
    {
        float top = -3.402823466e38f; // of the negatives
        for (Index i = team.rank(); i < count; i += team.size()) top = fmaxf(top, -values[i]);
        top = team.largest(top);
        if (team.rank() == 0) out[0] = static_cast<double>(-top);
    }
};

/// See RoutingOperators::combineRows.
template <class T>
struct CombineRows {
    const T* x;
    const std::int32_t* spots;
    const float* gates;
    const T* residual;
    T* y;
    Index k, columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index t = quotient(i, columns), column = i - t * columns;
        float sum = residual ? valueOf(residual[i]) : 0.0f;
        for (Index j = 0; j < k; ++j)
            sum += (gates ? gates[t * k + j] : 1.0f) * valueOf(x[Index{spots[t * k + j]} * columns + column]);
        put(y[i], sum);
    }
};

/// See RoutingOperators::combineGradient; a row is one choice of one token.
template <class T>
struct CombineGradientRow {
    const T* x;
    const std::int32_t* spots;
    const float* gates;
    const T* dy;
    T* dx;
    float* dGates;
    Index k, columns;
    static constexpr int kPack = kPackWidth<T>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const T* up = dy + row / k * columns;
        const Index at = Index{spots[row]} * columns;
        const float gate = gates[row];
        float dot = 0;
        along(
            team, columns,
            [&](Index, T slope, T in, T& out) {
                const float d = valueOf(slope);
                dot += d * valueOf(in);
                put(out, gate * d);
            },
            Reads{up}, Reads{x + at}, Writes{dx + at});
        dot = team.sum(dot);
        if (team.rank() == 0) dGates[row] = dot;
    }
};

/// See RoutingOperators::routerGradient; one element is one token.
struct RouterGradient {
    float* probabilities;
    const std::int32_t* choices;
    const float* gates;
    const float* dGates;
    const float* expertTerm;
    Index experts, k;
    FOURWALLS_BOTH void operator()(Index t) const
    {
        float* p = probabilities + t * experts;
        const std::int32_t* chosen = choices + t * k;
        float sum = 0, dot = 0;
        for (Index j = 0; j < k; ++j) {
            sum += p[chosen[j]];
            dot += gates[t * k + j] * dGates[t * k + j];
        }
        const auto slope = [&](Index e) {
            float d = expertTerm[e];
            for (Index j = 0; j < k; ++j)
                if (chosen[j] == e) d += k == 1 ? dGates[t * k + j] : (dGates[t * k + j] - dot) / sum;
            return d;
        };
        float mean = 0;
        for (Index e = 0; e < experts; ++e) mean += p[e] * slope(e);
        for (Index e = 0; e < experts; ++e) p[e] *= slope(e) - mean;
    }
};

/// See SparseOperators::sumRows.
template <class T>
struct BagSum {
    const float* table;
    const std::int32_t* rows;
    Index rowsWidth, rowColumn, lookups;
    T* out;
    Index outWidth, outColumn, columns;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index sample = i / columns, column = i % columns;
        float sum = 0;
        for (Index l = 0; l < lookups; ++l)
            sum += table[Index{rows[sample * rowsWidth + rowColumn + l]} * columns + column];
        put(out[sample * outWidth + outColumn + column], sum);
    }
};

/// The two features of the pair-th pair: second before first.
FOURWALLS_BOTH inline void pairOf(Index pair, Index& a, Index& b)
{
    a = 1;
    while (pair >= a) pair -= a++;
    b = pair;
}

/// See SparseOperators::interact: element i of out [n, width + pairs].
template <class T>
struct Interact {
    const T* features;
    T* out;
    Index width, count; ///< count: features
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index pairs = count * (count - 1) / 2, sample = i / (width + pairs), column = i % (width + pairs);
        const T* x = features + sample * count * width;
        if (column < width) {
            out[i] = x[column];
            return;
        }
        Index a, b;
        pairOf(column - width, a, b);
        float sum = 0;
        for (Index c = 0; c < width; ++c) sum += valueOf(x[a * width + c]) * valueOf(x[b * width + c]);
        put(out[i], sum);
    }
};

/// Element i of dFeatures [n, features width].
template <class T>
struct InteractGradient {
    const T* features;
    const T* dOut;
    T* dFeatures;
    Index width, count;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const Index pairs = count * (count - 1) / 2, sample = i / (count * width);
        const Index own = i / width % count, column = i % width;
        const T* x = features + sample * count * width;
        const T* up = dOut + sample * (width + pairs);
        float sum = own == 0 ? valueOf(up[column]) : 0.0f;
        for (Index other = 0; other < count; ++other) {
            if (other == own) continue;
            const Index a = most(own, other), b = least(own, other);
            sum += valueOf(up[width + a * (a - 1) / 2 + b]) * valueOf(x[other * width + column]);
        }
        put(dFeatures[i], sum);
    }
};

/// See SparseOperators::binaryCrossEntropy.
struct BinaryCrossEntropy {
    float* logits;
    const std::int32_t* labels;
    float* losses;
    float scale;
    FOURWALLS_BOTH void operator()(Index i) const
    {
        const float z = logits[i], label = static_cast<float>(labels[i]), tail = expf(-fabsf(z));
        losses[i] = most(z, 0.0f) - label * z + log1pf(tail);
        logits[i] = scale * ((z >= 0.0f ? 1.0f / (1.0f + tail) : tail / (1.0f + tail)) - label);
    }
};

} // namespace fourwalls::engine::gpu
