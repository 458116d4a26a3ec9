// SPDX-License-Identifier: Apache-2.0
// Kernels of which every row is computed by a team of threads: norms, softmax, cross entropy, the rows of attention
// tiles, sums. Each is a function object called with the team and the row's number; all threads of a team take the same
// way through it, because sum() and largest() need all of them. Where they go along() a row they move packs of elements
// (packs.h), of kPack each. T: type of activations.
#pragma once

#include "profiler/engine/gpu/packs.h"

namespace fourwalls::engine::gpu {

/// mean: null for RMSNorm; beta: null where the norm has none.
template <class T>
struct NormRow {
    const T* x;
    const float* gamma;
    const float* beta;
    T* y;
    float* mean;
    float* rstd;
    Index columns;
    float epsilon;
    static constexpr int kPack = kPackWidth<T>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const T* in = x + row * columns;
        const float n = static_cast<float>(columns);
        float m = 0;
        if (mean) {
            along(
                team, columns, [&](Index, T value) { m += valueOf(value); }, Reads{in});
            m = team.sum(m) / n;
        }
        float squares = 0;
        along(
            team, columns,
            [&](Index, T value) {
                const float d = valueOf(value) - m;
                squares += d * d;
            },
            Reads{in});
        const float r = 1.0f / sqrtf(team.sum(squares) / n + epsilon);
        along(
            team, columns,
            [&](Index, T value, float factor, float offset, T& out) {
                put(out, (valueOf(value) - m) * r * factor + offset);
            },
            Reads{in}, Reads{gamma}, MayRead{beta}, Writes{y + row * columns});
        if (team.rank() != 0) return;
        if (mean) mean[row] = m;
        rstd[row] = r;
    }
};

/// dx may be dy. mean: null for RMSNorm.
template <class T>
struct NormGradientRow {
    const T* x;
    const float* gamma;
    const float* mean;
    const float* rstd;
    const T* dy;
    T* dx;
    Index columns;
    bool accumulate;
    static constexpr int kPack = kPackWidth<T>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const T* in = x + row * columns;
        const T* up = dy + row * columns;
        T* out = dx + row * columns;
        const float m = mean ? mean[row] : 0.0f, r = rstd[row], n = static_cast<float>(columns);
        float sumG = 0, sumGx = 0; // of g = dy gamma, and of g xhat
        along(
            team, columns,
            [&](Index, T value, T slope, float factor) {
                const float g = valueOf(slope) * factor;
                sumG += g;
                sumGx += g * (valueOf(value) - m) * r;
            },
            Reads{in}, Reads{up}, Reads{gamma});
        sumG = mean ? team.sum(sumG) / n : 0.0f;
        sumGx = team.sum(sumGx) / n;
        along(
            team, columns,
            [&](Index, T value, T slope, float factor, T before, T& result) {
                const float g = valueOf(slope) * factor;
                const float d = r * (g - sumG - (valueOf(value) - m) * r * sumGx);
                put(result, accumulate ? valueOf(before) + d : d);
            },
            Reads{in}, Reads{up}, Reads{gamma}, MayRead<T>{accumulate ? out : nullptr}, Writes{out});
    }
};

/// How many keys a row of scores sees. seen: [period], or null.
struct SeenKeys {
    bool causal;
    const std::int32_t* seen;
    Index period;
    FOURWALLS_BOTH Index of(Index row, Index keys) const
    {
        if (seen) return seen[row % period];
        return causal ? row % keys + 1 : keys;
    }
};

template <class T>
struct SoftmaxRow {
    T* scores;
    Index keys;
    float scale;
    SeenKeys mask;
    static constexpr int kPack = kPackWidth<T>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        T* s = scores + row * keys;
        const Index seen = mask.of(row, keys);
        float top = -INFINITY, sum = 0;
        along(
            team, seen, [&](Index, T score) { top = fmaxf(top, valueOf(score)); }, Reads{s});
        top = team.largest(top);
        along(
            team, seen, [&](Index, T score) { sum += expf(scale * (valueOf(score) - top)); }, Reads{s});
        sum = team.sum(sum);
        along(
            team, keys,
            [&](Index j, T& score) { put(score, j < seen ? expf(scale * (valueOf(score) - top)) / sum : 0.0f); },
            Updates{s});
    }
};

template <class T>
struct SoftmaxGradientRow {
    const T* probabilities;
    T* gradient;
    Index keys;
    float scale;
    SeenKeys mask;
    static constexpr int kPack = kPackWidth<T>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const T* p = probabilities + row * keys;
        T* d = gradient + row * keys;
        const Index seen = mask.of(row, keys);
        float dot = 0;
        along(
            team, seen, [&](Index, T probability, T slope) { dot += valueOf(probability) * valueOf(slope); }, Reads{p},
            Reads{d});
        dot = team.sum(dot);
        along(
            team, keys,
            [&](Index j, T probability, T& slope) {
                put(slope, j < seen ? scale * valueOf(probability) * (valueOf(slope) - dot) : 0.0f);
            },
            Reads{p}, Updates{d});
    }
};

/// Where the rows of one tile of scores [heads, rows, keys] lie: query firstQuery + row % rows of head
/// firstHead + row / rows of one sample, whose statistics [all heads, queryRows] begin at `statistics`.
struct TileRows {
    Index rows, keys;
    Index firstHead, firstQuery, queryRows;
    Index firstSeen; ///< keys that the tile's first query sees, one more for each later one; or all of them:
    bool causal;
    FOURWALLS_BOTH Index statistic(Index row) const
    {
        return (firstHead + row / rows) * queryRows + firstQuery + row % rows;
    }
    FOURWALLS_BOTH Index seen(Index row) const { return causal ? least(keys, firstSeen + row % rows) : keys; }
};

/// Scores become probabilities (in T; they may take the same memory if T is float) and the row's log of the sum of
/// exponentials.
template <class T>
struct AttentionRow {
    const float* scores;
    T* probabilities;
    float* logSumExp;
    TileRows tile;
    float scale;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const float* s = scores + row * tile.keys;
        T* p = probabilities + row * tile.keys;
        const Index seen = tile.seen(row);
        float top = -INFINITY, sum = 0;
        for (Index j = team.rank(); j < seen; j += team.size()) top = fmaxf(top, s[j]);
        top = team.largest(top);
        for (Index j = team.rank(); j < seen; j += team.size()) sum += expf(scale * (s[j] - top));
        sum = team.sum(sum);
        for (Index j = team.rank(); j < tile.keys; j += team.size())
            put(p[j], j < seen ? expf(scale * (s[j] - top)) / sum : 0.0f);
        if (team.rank() == 0) logSumExp[tile.statistic(row)] = scale * top + logf(sum);
    }
};

/// From scores and the gradient of the probabilities: the probabilities again, and the gradient of the scores. Either
/// result may take the memory of what it is computed from if T is float.
template <class T>
struct AttentionGradientRow {
    const float* scores;
    const float* dProbabilities;
    T* probabilities;
    T* dScores;
    const float* logSumExp;
    const float* delta; ///< [heads of the sample, queryRows]: <out, dout>
    TileRows tile;
    float scale;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const Index at = row * tile.keys, seen = tile.seen(row);
        const float lse = logSumExp[tile.statistic(row)], d = delta[tile.statistic(row)];
        for (Index j = team.rank(); j < tile.keys; j += team.size()) {
            const float p = j < seen ? expf(scale * scores[at + j] - lse) : 0.0f;
            const float ds = j < seen ? p * (dProbabilities[at + j] - d) * scale : 0.0f;
            put(probabilities[at + j], p);
            put(dScores[at + j], ds);
        }
    }
};

/// delta[head, firstQuery + i] = <out, dout> over the head's columns, for `queries` rows of one sample; out and dout
/// point to the sample's first row.
template <class T>
struct HeadDots {
    const T* out;
    const T* dout;
    float* delta;
    Index heads, headDim, firstQuery, queries, queryRows;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const Index head = row / queries, query = firstQuery + row % queries;
        const Index at = (query * heads + head) * headDim;
        float dot = 0;
        for (Index j = team.rank(); j < headDim; j += team.size()) dot += valueOf(out[at + j]) * valueOf(dout[at + j]);
        dot = team.sum(dot);
        if (team.rank() == 0) delta[head * queryRows + query] = dot;
    }
};

/// See Device::mergeAttention; a row is one query of one head of one sample.
struct MergeAttentionRow {
    const float* blockOut;
    const float* blockLogSumExp;
    float* out;
    float* logSumExp;
    Index heads, headDim, firstQuery, queries, queryRows;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const Index query = firstQuery + row % queries, head = row / queries % heads, sample = row / queries / heads;
        const Index statistic = (sample * heads + head) * queryRows + query;
        const Index at = ((sample * queryRows + query) * heads + head) * headDim;
        const float own = logSumExp[statistic], other = blockLogSumExp[statistic], top = fmaxf(own, other);
        const float total = top + logf(expf(own - top) + expf(other - top));
        const float a = expf(own - total), b = expf(other - total);
        for (Index j = team.rank(); j < headDim; j += team.size()) out[at + j] = a * out[at + j] + b * blockOut[at + j];
        team.sum(0.0f); // everybody has read the row's statistic
        if (team.rank() == 0) logSumExp[statistic] = total;
    }
};

/// See Device::crossEntropy.
struct CrossEntropyRow {
    float* logits;
    const std::int32_t* targets;
    float* losses;
    Index columns;
    float scale;
    static constexpr int kPack = kPackWidth<float>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        float* z = logits + row * columns;
        const std::int32_t target = targets[row];
        float top = -INFINITY, sum = 0;
        along(
            team, columns, [&](Index, float logit) { top = fmaxf(top, logit); }, Reads{z});
        top = team.largest(top);
        along(
            team, columns, [&](Index, float logit) { sum += expf(logit - top); }, Reads{z});
        sum = team.sum(sum);
        if (team.rank() == 0) losses[row] = target < 0 ? 0.0f : top + logf(sum) - z[target];
        team.sum(0.0f); // the target's logit has been read
        const float factor = scale / sum;
        along(
            team, columns,
            [&](Index j, float& logit) {
                logit = target < 0 ? 0.0f : factor * expf(logit - top) - (j == target ? scale : 0.0f);
            },
            Updates{z});
    }
};

struct RowMaximum {
    const float* logits;
    float* maxima;
    Index columns;
    static constexpr int kPack = kPackWidth<float>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        float top = -INFINITY;
        along(
            team, columns, [&](Index, float logit) { top = fmaxf(top, logit); }, Reads{logits + row * columns});
        top = team.largest(top);
        if (team.rank() == 0) maxima[row] = top;
    }
};

/// See Device::shardExponentials.
struct ShardExponentialRow {
    float* logits;
    const float* maxima;
    const std::int32_t* targets;
    Index firstToken;
    float* sums;
    Index columns;
    static constexpr int kPack = kPackWidth<float>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        float* z = logits + row * columns;
        const float top = maxima[row];
        const Index target = targets[row] - firstToken;
        if (team.rank() == 0) sums[2 * row + 1] = target >= 0 && target < columns ? z[target] - top : 0.0f;
        team.sum(0.0f); // the target's logit has been read
        float sum = 0;
        along(
            team, columns,
            [&](Index, float& logit) {
                logit = expf(logit - top);
                sum += logit;
            },
            Updates{z});
        sum = team.sum(sum);
        if (team.rank() == 0) sums[2 * row] = sum;
    }
};

/// See Device::shardCrossEntropy.
struct ShardCrossEntropyRow {
    float* exponentials;
    const float* sums;
    const std::int32_t* targets;
    Index firstToken;
    float* losses;
    Index columns;
    float scale;
    static constexpr int kPack = kPackWidth<float>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        float* z = exponentials + row * columns;
        const bool counts = targets[row] >= 0;
        const Index target = targets[row] - firstToken;
        const float factor = scale / sums[2 * row];
        along(
            team, columns,
            [&](Index j, float& value) { value = counts ? factor * value - (j == target ? scale : 0.0f) : 0.0f; },
            Updates{z});
        if (team.rank() == 0) losses[row] = counts ? logf(sums[2 * row]) - sums[2 * row + 1] : 0.0f;
    }
};

/// parts[row] = sum (of squares) of the row-th of `parts` stretches of x. In double: what is added up may be long.
struct SumPart {
    const float* x;
    double* parts;
    Index elements, perPart;
    bool squares;
    static constexpr int kPack = kPackWidth<float>;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index row) const
    {
        const Index first = row * perPart, last = least(elements, first + perPart);
        double sum = 0;
        along(
            team, last - first,
            [&](Index, float value) {
                const double v = static_cast<double>(value);
                sum += squares ? v * v : v;
            },
            Reads{x + first});
        sum = team.sum(sum);
        if (team.rank() == 0) parts[row] = sum;
    }
};

/// out[0] (+)= sum of parts[0 .. count).
struct SumOfParts {
    const double* parts;
    double* out;
    Index count;
    bool accumulate;
    template <class Team>
    FOURWALLS_BOTH void operator()(Team& team, Index) const
    {
        double sum = 0;
        for (Index i = team.rank(); i < count; i += team.size()) sum += parts[i];
        sum = team.sum(sum);
        if (team.rank() == 0) out[0] = accumulate ? out[0] + sum : sum;
    }
};

} // namespace fourwalls::engine::gpu
