// SPDX-License-Identifier: Apache-2.0
// The reference device's operators on rows that are looked up and on layers and sequences that are cut over ranks.
#include "profiler/engine/device/reference_device.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fourwalls::engine {

void ReferenceDevice::doEmbeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions,
                                         const Tensor& out, std::int64_t firstToken)
{
    const std::int64_t c = out.columns();
    const std::int64_t sequence = tokens.columns();
    for (std::int64_t i = 0; i < tokens.elements(); ++i) {
        const std::int64_t row = tokens.as<std::int32_t>()[i] - firstToken;
        const bool here = row >= 0 && row < table.rows();
        for (std::int64_t j = 0; j < c; ++j)
            out.as<double>()[i * c + j] = (here ? table.as<double>()[row * c + j] : 0.0) +
                                          (positions.defined() ? positions.as<double>()[i % sequence * c + j] : 0.0);
    }
}

void ReferenceDevice::doEmbeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable,
                                          const Tensor& dPositions, std::int64_t firstToken)
{
    const std::int64_t c = dOut.columns();
    const std::int64_t sequence = tokens.columns();
    for (std::int64_t i = 0; i < tokens.elements(); ++i) {
        const std::int64_t row = tokens.as<std::int32_t>()[i] - firstToken;
        for (std::int64_t j = 0; j < c; ++j) {
            const double d = dOut.as<double>()[i * c + j];
            if (row >= 0 && row < dTable.rows()) dTable.as<double>()[row * c + j] += d;
            if (dPositions.defined()) dPositions.as<double>()[i % sequence * c + j] += d;
        }
    }
}

void ReferenceDevice::doAddRows(const Tensor& ids, const Tensor& table, const Tensor& x)
{
    const std::int64_t c = x.columns();
    for (std::int64_t i = 0; i < ids.elements(); ++i)
        for (std::int64_t j = 0; j < c; ++j)
            x.as<double>()[i * c + j] += table.as<double>()[ids.as<std::int32_t>()[i] * c + j];
}

void ReferenceDevice::doAddBias(const Tensor& x, const Tensor& bias, const Tensor& residual)
{
    for (std::int64_t i = 0; i < x.elements(); ++i)
        x.as<double>()[i] += bias.as<double>()[i % x.columns()] + (residual.defined() ? residual.as<double>()[i] : 0.0);
}

void ReferenceDevice::doCopyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to,
                                    std::int64_t toColumn, std::int64_t count)
{
    for (std::int64_t i = 0; i < from.rows(); ++i)
        for (std::int64_t j = 0; j < count; ++j)
            to.as<double>()[i * to.columns() + toColumn + j] = from.as<double>()[i * from.columns() + fromColumn + j];
}

void ReferenceDevice::doRowMaxima(const Tensor& logits, const Tensor& maxima)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
        double largest = -INFINITY;
        for (std::int64_t j = 0; j < v; ++j) largest = std::max(largest, logits.as<double>()[i * v + j]);
        maxima.as<double>()[i] = largest;
    }
}

void ReferenceDevice::doShardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets,
                                          std::int64_t firstToken, const Tensor& sums)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
        double* row = logits.as<double>() + i * v;
        const double largest = maxima.as<double>()[i];
        const std::int64_t target = targets.as<std::int32_t>()[i] - firstToken;
        sums.as<double>()[2 * i + 1] = target >= 0 && target < v ? row[target] - largest : 0.0;
        double sum = 0;
        for (std::int64_t j = 0; j < v; ++j) sum += row[j] = std::exp(row[j] - largest);
        sums.as<double>()[2 * i] = sum;
    }
}

void ReferenceDevice::doShardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                                          std::int64_t firstToken, const Tensor& losses, double gradientScale)
{
    const std::int64_t v = exponentials.columns();
    for (std::int64_t i = 0; i < exponentials.rows(); ++i) {
        double* row = exponentials.as<double>() + i * v;
        if (targets.as<std::int32_t>()[i] < 0) {
            losses.as<double>()[i] = 0;
            std::fill_n(row, v, 0.0);
            continue;
        }
        const double sum = sums.as<double>()[2 * i];
        const std::int64_t target = targets.as<std::int32_t>()[i] - firstToken;
        for (std::int64_t j = 0; j < v; ++j) row[j] = gradientScale * (row[j] / sum - (j == target ? 1.0 : 0.0));
        losses.as<double>()[i] = std::log(sum) - sums.as<double>()[2 * i + 1];
    }
}

void ReferenceDevice::doAttentionBlockForward(const AttentionBlock& s, const Tensor& q, const Tensor& kv,
                                              const Tensor& out, const Tensor& logSumExp)
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headDim));
    const std::int64_t qWidth = q.columns(), kvWidth = kv.columns(), valueColumn = s.kvHeads * s.headDim;
    std::vector<double> p(static_cast<std::size_t>(s.keys));
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.queries; ++i) {
                const std::int64_t row = s.firstQuery + i;
                const double* query = q.as<double>() + (b * s.queryRows + row) * qWidth + h * s.headDim;
                const double* key =
                    kv.as<double>() + (b * s.keyRows + s.firstKey) * kvWidth + h / s.group() * s.headDim;
                const std::int64_t keys = s.causal ? i + 1 : s.keys;
                double largest = -INFINITY, sum = 0;
                for (std::int64_t j = 0; j < keys; ++j) {
                    double dot = 0;
                    for (std::int64_t d = 0; d < s.headDim; ++d) dot += query[d] * key[j * kvWidth + d];
                    p[static_cast<std::size_t>(j)] = dot * scale;
                    largest = std::max(largest, dot * scale);
                }
                for (std::int64_t j = 0; j < keys; ++j) {
                    double& e = p[static_cast<std::size_t>(j)];
                    sum += e = std::exp(e - largest);
                }
                logSumExp.as<double>()[(b * s.heads + h) * s.queryRows + row] = largest + std::log(sum);
                double* o = out.as<double>() + ((b * s.queryRows + row) * s.heads + h) * s.headDim;
                for (std::int64_t d = 0; d < s.headDim; ++d) {
                    o[d] = 0;
                    for (std::int64_t j = 0; j < keys; ++j)
                        o[d] += p[static_cast<std::size_t>(j)] / sum * key[j * kvWidth + valueColumn + d];
                }
            }
}

void ReferenceDevice::doMergeAttention(const AttentionBlock& s, const Tensor& blockOut, const Tensor& blockLogSumExp,
                                       const Tensor& out, const Tensor& logSumExp)
{
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = s.firstQuery; i < s.firstQuery + s.queries; ++i) {
                double& lse = logSumExp.as<double>()[(b * s.heads + h) * s.queryRows + i];
                const double other = blockLogSumExp.as<double>()[(b * s.heads + h) * s.queryRows + i];
                const double largest = std::max(lse, other);
                const double total = largest + std::log(std::exp(lse - largest) + std::exp(other - largest));
                const std::int64_t at = ((b * s.queryRows + i) * s.heads + h) * s.headDim;
                for (std::int64_t d = at; d < at + s.headDim; ++d)
                    out.as<double>()[d] = std::exp(lse - total) * out.as<double>()[d] +
                                          std::exp(other - total) * blockOut.as<double>()[d];
                lse = total;
            }
}

void ReferenceDevice::doAttentionBlockBackward(const AttentionBlock& s, const Tensor& q, const Tensor& kv,
                                               const Tensor& out, const Tensor& logSumExp, const Tensor& dout,
                                               const Tensor& dq, const Tensor& dkv)
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headDim));
    const std::int64_t qWidth = q.columns(), kvWidth = kv.columns(), valueColumn = s.kvHeads * s.headDim;
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.queries; ++i) {
                const std::int64_t row = s.firstQuery + i;
                const double* query = q.as<double>() + (b * s.queryRows + row) * qWidth + h * s.headDim;
                const std::int64_t at = ((b * s.queryRows + row) * s.heads + h) * s.headDim;
                const double* o = out.as<double>() + at;
                const double* up = dout.as<double>() + at;
                const double lse = logSumExp.as<double>()[(b * s.heads + h) * s.queryRows + row];
                double delta = 0;
                for (std::int64_t d = 0; d < s.headDim; ++d) delta += o[d] * up[d];
                for (std::int64_t j = 0; j < (s.causal ? i + 1 : s.keys); ++j) {
                    const std::int64_t keyAt = (b * s.keyRows + s.firstKey + j) * kvWidth + h / s.group() * s.headDim;
                    const double* key = kv.as<double>() + keyAt;
                    double dot = 0, dp = 0;
                    for (std::int64_t d = 0; d < s.headDim; ++d) {
                        dot += query[d] * key[d];
                        dp += up[d] * key[valueColumn + d];
                    }
                    const double p = std::exp(dot * scale - lse);
                    const double ds = p * (dp - delta) * scale;
                    double* dKey = dkv.as<double>() + keyAt;
                    for (std::int64_t d = 0; d < s.headDim; ++d) {
                        dq.as<double>()[at + d] += ds * key[d];
                        dKey[d] += ds * query[d];
                        dKey[valueColumn + d] += p * up[d];
                    }
                }
            }
}

} // namespace fourwalls::engine
