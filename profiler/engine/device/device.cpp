// SPDX-License-Identifier: Apache-2.0
// The recording half of Device: names, FLOPs and bytes of every kernel. FLOPs count matrix products as executed
// (2 m n k; causal attention works on half of the scores when it is fused, on all of them when it is not).
// Elementwise work counts no FLOPs, as in model FLOPs.
#include "profiler/engine/device/device.h"

#include "profiler/engine/core/host_access.h"

namespace fourwalls::engine {

namespace {

std::array<std::int32_t, 4> shapeOf(const Tensor& t)
{
    return {extent(t.rows()), extent(t.columns()), 0, 0};
}

double scorePairs(const AttentionShape& s)
{
    const double t = static_cast<double>(s.sequence);
    return static_cast<double>(s.batch * s.heads) * (s.causal ? t * (t + 1) / 2 : t * t);
}

double scorePairs(const AttentionBlock& b)
{
    const double q = static_cast<double>(b.queries), k = static_cast<double>(b.keys);
    return static_cast<double>(b.batch * b.heads) * (b.causal ? q * (q + 1) / 2 : q * k);
}

std::array<std::int32_t, 4> shapeOf(const AttentionBlock& b)
{
    return {extent(b.batch * b.heads), extent(b.queries), extent(b.keys), extent(b.headDim)};
}

// Bytes of the block's rows of `width` columns.
std::int64_t queryBytes(const AttentionBlock& b, DType type)
{
    return b.batch * b.queries * b.heads * b.headDim * bytesOf(type);
}
std::int64_t keyBytes(const AttentionBlock& b, DType type)
{
    return b.batch * b.keys * 2 * b.kvHeads * b.headDim * bytesOf(type);
}

std::int64_t optionalBytes(const Tensor& t)
{
    return t.defined() ? t.bytes() : 0;
}

} // namespace

void Device::matmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options)
{
    const double flops = 2.0 * static_cast<double>(c.elements()) * static_cast<double>(a.cols);
    std::int64_t bytes = a.bytes() + b.bytes() + c.bytes() * (options.accumulate ? 2 : 1);
    if (options.residual) bytes += options.residual->bytes();
    const Scope scope(
        m_recorder, c.batch0 * c.batch1 > 1 ? "matmul batched" : "matmul", flops, bytes,
        {extent(c.rows), extent(a.cols), extent(c.cols), extent(c.batch0 * c.batch1 > 1 ? c.batch0 * c.batch1 : 0)});
    doMatmul(a, b, c, options);
}

void Device::columnSum(const Tensor& x, const Tensor& out, bool accumulate)
{
    const Scope scope(m_recorder, "column sum", 0, x.bytes() + out.bytes(), shapeOf(x));
    doColumnSum(x, out, accumulate);
}

void Device::normForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                         const Tensor& mean, const Tensor& rstd)
{
    const Scope scope(m_recorder, kind == NormKind::LayerNorm ? "layernorm" : "rmsnorm", 0, x.bytes() + y.bytes(),
                      shapeOf(x));
    doNormForward(kind, x, gamma, beta, y, mean, rstd);
}

void Device::normBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                          const Tensor& dy, const Tensor& dx, bool accumulateDx, const Tensor& dgamma,
                          const Tensor& dbeta, bool accumulateParameters)
{
    const Scope scope(m_recorder, kind == NormKind::LayerNorm ? "layernorm gradient" : "rmsnorm gradient", 0,
                      x.bytes() + dy.bytes() + dx.bytes() * (accumulateDx ? 2 : 1), shapeOf(x));
    doNormBackward(kind, x, gamma, mean, rstd, dy, dx, accumulateDx, dgamma, dbeta, accumulateParameters);
}

void Device::geluForward(const Tensor& x, const Tensor& y)
{
    const Scope scope(m_recorder, "gelu", 0, x.bytes() + y.bytes(), shapeOf(x));
    doGeluForward(x, y);
}

void Device::geluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    const Scope scope(m_recorder, "gelu gradient", 0, x.bytes() + dy.bytes() + dx.bytes(), shapeOf(x));
    doGeluBackward(x, dy, dx);
}

void Device::geluBackwardBias(const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& dBias, bool accumulate)
{
    const Scope scope(m_recorder, "gelu and bias gradient", 0, x.bytes() + dy.bytes() + dx.bytes() + dBias.bytes(),
                      shapeOf(x));
    doGeluBackwardBias(x, dy, dx, dBias, accumulate);
}

void Device::swigluForward(const Tensor& gateUp, const Tensor& y)
{
    const Scope scope(m_recorder, "swiglu", 0, gateUp.bytes() + y.bytes(), shapeOf(y));
    doSwigluForward(gateUp, y);
}

void Device::swigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp)
{
    const Scope scope(m_recorder, "swiglu gradient", 0, gateUp.bytes() + dy.bytes() + dGateUp.bytes(), shapeOf(dy));
    doSwigluBackward(gateUp, dy, dGateUp);
}

void Device::softmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen)
{
    const Scope scope(m_recorder, "softmax", 0, 2 * scores.bytes(), shapeOf(scores));
    doSoftmaxForward(scores, scale, causal, keysSeen);
}

void Device::softmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                             const Tensor& keysSeen)
{
    const Scope scope(m_recorder, "softmax gradient", 0, probabilities.bytes() + 2 * gradient.bytes(),
                      shapeOf(gradient));
    doSoftmaxBackward(probabilities, gradient, scale, causal, keysSeen);
}

void Device::attentionForward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out,
                              const Tensor& logSumExp)
{
    // Two products (scores, values) of 2 headDim FLOPs per score.
    const Scope scope(m_recorder, "fused attention", 4.0 * scorePairs(shape) * static_cast<double>(shape.headDim),
                      qkv.bytes() + out.bytes() + logSumExp.bytes(),
                      {extent(shape.batch), extent(shape.heads), extent(shape.sequence), extent(shape.headDim)});
    doAttentionForward(shape, qkv, out, logSumExp);
}

void Device::attentionBackward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out,
                               const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv)
{
    // Four products for the gradients; the recomputed scores are not model FLOPs and are left out.
    const Scope scope(m_recorder, "fused attention gradient",
                      8.0 * scorePairs(shape) * static_cast<double>(shape.headDim),
                      2 * (qkv.bytes() + out.bytes()) + logSumExp.bytes() + dqkv.bytes(),
                      {extent(shape.batch), extent(shape.heads), extent(shape.sequence), extent(shape.headDim)});
    doAttentionBackward(shape, qkv, out, logSumExp, dout, dqkv);
}

void Device::attentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                                   const Tensor& logSumExp)
{
    const Scope scope(m_recorder, "attention block", 4.0 * scorePairs(block) * static_cast<double>(block.headDim),
                      queryBytes(block, q.type()) + keyBytes(block, kv.type()) + queryBytes(block, out.type()),
                      shapeOf(block));
    doAttentionBlockForward(block, q, kv, out, logSumExp);
}

void Device::mergeAttention(const AttentionBlock& block, const Tensor& blockOut, const Tensor& blockLogSumExp,
                            const Tensor& out, const Tensor& logSumExp)
{
    const Scope scope(m_recorder, "attention merge", 0, 3 * queryBytes(block, out.type()), shapeOf(block));
    doMergeAttention(block, blockOut, blockLogSumExp, out, logSumExp);
}

void Device::attentionBlockBackward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                                    const Tensor& logSumExp, const Tensor& dout, const Tensor& dq, const Tensor& dkv)
{
    const Scope scope(m_recorder, "attention block gradient",
                      8.0 * scorePairs(block) * static_cast<double>(block.headDim),
                      3 * queryBytes(block, q.type()) + keyBytes(block, kv.type()) + 2 * queryBytes(block, dq.type()) +
                          2 * keyBytes(block, dkv.type()),
                      shapeOf(block));
    doAttentionBlockBackward(block, q, kv, out, logSumExp, dout, dq, dkv);
}

void Device::rotary(const AttentionShape& shape, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                    bool inverse)
{
    const std::int64_t touched = shape.batch * shape.sequence * shape.valueColumn() * bytesOf(qkv.type());
    const Scope scope(m_recorder, "rotary", 0, 2 * touched, shapeOf(qkv));
    doRotary(shape, qkv, cosines, sines, inverse);
}

void Device::embeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions, const Tensor& out,
                              std::int64_t firstToken)
{
    const Scope scope(m_recorder, "embedding", 0, tokens.bytes() + 2 * out.bytes(), shapeOf(out));
    doEmbeddingForward(tokens, table, positions, out, firstToken);
}

void Device::embeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable, const Tensor& dPositions,
                               std::int64_t firstToken)
{
    const Scope scope(m_recorder, "embedding gradient", 0, tokens.bytes() + 3 * dOut.bytes(), shapeOf(dOut));
    doEmbeddingBackward(tokens, dOut, dTable, dPositions, firstToken);
}

void Device::addRows(const Tensor& ids, const Tensor& table, const Tensor& x)
{
    const Scope scope(m_recorder, "add rows", 0, ids.bytes() + 3 * x.bytes(), shapeOf(x));
    doAddRows(ids, table, x);
}

void Device::crossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses, double gradientScale)
{
    const Scope scope(m_recorder, "cross entropy", 0, 2 * logits.bytes(), shapeOf(logits));
    doCrossEntropy(logits, targets, losses, gradientScale);
}

void Device::rowMaxima(const Tensor& logits, const Tensor& maxima)
{
    const Scope scope(m_recorder, "row maxima", 0, logits.bytes() + maxima.bytes(), shapeOf(logits));
    doRowMaxima(logits, maxima);
}

void Device::shardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets,
                               std::int64_t firstToken, const Tensor& sums)
{
    const Scope scope(m_recorder, "cross entropy exponentials", 0, 2 * logits.bytes() + sums.bytes(), shapeOf(logits));
    doShardExponentials(logits, maxima, targets, firstToken, sums);
}

void Device::shardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                               std::int64_t firstToken, const Tensor& losses, double gradientScale)
{
    const Scope scope(m_recorder, "cross entropy", 0, 2 * exponentials.bytes() + sums.bytes(), shapeOf(exponentials));
    doShardCrossEntropy(exponentials, sums, targets, firstToken, losses, gradientScale);
}

void Device::addBias(const Tensor& x, const Tensor& bias, const Tensor& residual)
{
    const Scope scope(m_recorder, residual.defined() ? "bias and residual" : "bias", 0,
                      2 * x.bytes() + bias.bytes() + optionalBytes(residual), shapeOf(x));
    doAddBias(x, bias, residual);
}

void Device::copyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                         std::int64_t count)
{
    const Scope scope(m_recorder, "copy columns", 0, from.rows() * count * (bytesOf(from.type()) + bytesOf(to.type())),
                      {extent(from.rows()), extent(count), 0, 0});
    doCopyColumns(from, fromColumn, to, toColumn, count);
}

void Device::add(const Tensor& a, const Tensor& b, const Tensor& out)
{
    const Scope scope(m_recorder, "add", 0, a.bytes() + b.bytes() + out.bytes(), shapeOf(out));
    doAdd(a, b, out);
}

void Device::zero(const Tensor& x)
{
    const Scope scope(m_recorder, "zero", 0, x.bytes(), shapeOf(x));
    doZero(x);
}

void Device::convert(const Tensor& from, const Tensor& to)
{
    const Scope scope(m_recorder, "convert", 0, from.bytes() + to.bytes(), shapeOf(to));
    doConvert(from, to);
}

double Device::sumOfSquares(const Tensor& x)
{
    const Scope scope(m_recorder, "sum of squares", 0, x.bytes(), shapeOf(x));
    return doSumOfSquares(x);
}

double Device::sum(const Tensor& x)
{
    const Scope scope(m_recorder, "sum", 0, x.bytes(), shapeOf(x));
    return doSum(x);
}

double Device::sumOfSquares(std::span<const Tensor> all)
{
    double squares = 0;
    for (const Tensor& x : all) squares += sumOfSquares(x);
    return squares;
}

void Device::blend(const Tensor& to, double keep, const Tensor& from, double share)
{
    const HostAccess target(to, HostAccess::Mode::ReadWrite), source(from, HostAccess::Mode::Read);
    for (std::int64_t i = 0; i < to.elements(); ++i) target.set(i, keep * target.get(i) + share * source.get(i));
}

void Device::adamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v,
                   const Tensor& compute, const AdamWStep& step)
{
    const Scope scope(m_recorder, "adamw", 0, 7 * weight.bytes() + optionalBytes(compute), shapeOf(weight));
    doAdamw(weight, gradient, m, v, compute, step);
}

void Device::sgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
                 const SgdStep& step)
{
    const Scope scope(m_recorder, "sgd", 0, 5 * weight.bytes() + optionalBytes(compute), shapeOf(weight));
    doSgd(weight, gradient, velocity, compute, step);
}

void Device::adamw(std::span<const UpdateTensors> all, const AdamWStep& step)
{
    std::int64_t bytes = 0;
    for (const UpdateTensors& t : all) bytes += 7 * t.weight.bytes() + optionalBytes(t.compute);
    const Scope scope(m_recorder, "adamw multi-tensor", 0, bytes,
                      {extent(static_cast<std::int64_t>(all.size())), 0, 0, 0});
    for (const UpdateTensors& t : all) {
        AdamWStep own = step;
        own.weightDecay = t.weightDecay;
        own.learningRate *= t.rateScale;
        doAdamw(t.weight, t.gradient, t.first, t.second, t.compute, own);
    }
}

void Device::sgd(std::span<const UpdateTensors> all, const SgdStep& step)
{
    std::int64_t bytes = 0;
    for (const UpdateTensors& t : all) bytes += 5 * t.weight.bytes() + optionalBytes(t.compute);
    const Scope scope(m_recorder, "sgd multi-tensor", 0, bytes,
                      {extent(static_cast<std::int64_t>(all.size())), 0, 0, 0});
    for (const UpdateTensors& t : all) {
        SgdStep own = step;
        own.weightDecay = t.weightDecay;
        own.learningRate *= t.rateScale;
        doSgd(t.weight, t.gradient, t.first, t.compute, own);
    }
}

} // namespace fourwalls::engine
