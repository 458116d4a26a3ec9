// SPDX-License-Identifier: Apache-2.0
// See reference_device.h. n: rows, c: columns, T: sequence, D: head dimension.
#include "profiler/engine/device/reference_device.h"

#include "profiler/engine/core/engine_error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace fourwalls::engine {

namespace {

const double kGeluSlope = std::sqrt(2.0 / M_PI);
constexpr double kGeluCubic = 0.044715;

double sigmoid(double x)
{
    return 1.0 / (1.0 + std::exp(-x));
}

double elementOf(const Matrix& m, std::int64_t b0, std::int64_t b1, std::int64_t i, std::int64_t j)
{
    const std::int64_t batch = (m.batch0 > 1 ? b0 * m.batchStride0 : 0) + (m.batch1 > 1 ? b1 * m.batchStride1 : 0);
    return m.as<double>()[batch + i * m.rowStride + j * m.colStride];
}

std::int64_t keysOf(std::int64_t row, std::int64_t keys, bool causal, const Tensor& keysSeen)
{
    if (keysSeen.defined()) return keysSeen.as<std::int32_t>()[row % keysSeen.elements()];
    return causal ? row % keys + 1 : keys;
}

} // namespace

void ReferenceDevice::doMatmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options)
{
    for (std::int64_t b0 = 0; b0 < c.batch0; ++b0)
        for (std::int64_t b1 = 0; b1 < c.batch1; ++b1)
            for (std::int64_t i = 0; i < c.rows; ++i)
                for (std::int64_t j = 0; j < c.cols; ++j) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < a.cols; ++k)
                        sum += elementOf(a, b0, b1, i, k) * elementOf(b, b0, b1, k, j);
                    if (options.bias) sum += options.bias->as<double>()[j];
                    if (options.residual) sum += options.residual->as<double>()[i * c.cols + j];
                    double& out =
                        c.as<double>()[b0 * c.batchStride0 + b1 * c.batchStride1 + i * c.rowStride + j * c.colStride];
                    out = options.accumulate ? out + sum : sum;
                }
}

void ReferenceDevice::doColumnSum(const Tensor& x, const Tensor& out, bool accumulate)
{
    for (std::int64_t j = 0; j < x.columns(); ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.rows(); ++i) sum += x.as<double>()[i * x.columns() + j];
        out.as<double>()[j] = accumulate ? out.as<double>()[j] + sum : sum;
    }
}

void ReferenceDevice::doNormForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    const Tensor& y, const Tensor& mean, const Tensor& rstd)
{
    const std::int64_t c = x.columns();
    for (std::int64_t i = 0; i < x.rows(); ++i) {
        const double* row = x.as<double>() + i * c;
        double m = 0;
        if (kind == NormKind::LayerNorm) {
            for (std::int64_t j = 0; j < c; ++j) m += row[j];
            m /= static_cast<double>(c);
            mean.as<double>()[i] = m;
        }
        double variance = 0;
        for (std::int64_t j = 0; j < c; ++j) variance += (row[j] - m) * (row[j] - m);
        const double r = 1.0 / std::sqrt(variance / static_cast<double>(c) + kNormEpsilon);
        rstd.as<double>()[i] = r;
        for (std::int64_t j = 0; j < c; ++j)
            y.as<double>()[i * c + j] =
                (row[j] - m) * r * gamma.as<double>()[j] + (beta.defined() ? beta.as<double>()[j] : 0.0);
    }
}

void ReferenceDevice::doNormBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                     const Tensor& rstd, const Tensor& dy, const Tensor& dx, bool accumulateDx,
                                     const Tensor& dgamma, const Tensor& dbeta, bool accumulateParameters)
{
    const std::int64_t c = x.columns();
    if (!accumulateParameters) {
        doZero(dgamma);
        if (dbeta.defined()) doZero(dbeta);
    }
    for (std::int64_t i = 0; i < x.rows(); ++i) {
        const double* row = x.as<double>() + i * c;
        const double* up = dy.as<double>() + i * c;
        const double m = kind == NormKind::LayerNorm ? mean.as<double>()[i] : 0.0;
        const double r = rstd.as<double>()[i];
        double sumG = 0, sumGx = 0; // of g = dy gamma, and of g xhat
        for (std::int64_t j = 0; j < c; ++j) {
            const double xhat = (row[j] - m) * r;
            const double g = up[j] * gamma.as<double>()[j];
            sumG += g;
            sumGx += g * xhat;
            dgamma.as<double>()[j] += up[j] * xhat;
            if (dbeta.defined()) dbeta.as<double>()[j] += up[j];
        }
        const double n = static_cast<double>(c);
        for (std::int64_t j = 0; j < c; ++j) {
            const double xhat = (row[j] - m) * r;
            const double g = up[j] * gamma.as<double>()[j];
            const double d = r * (g - (kind == NormKind::LayerNorm ? sumG / n : 0.0) - xhat * sumGx / n);
            double& out = dx.as<double>()[i * c + j];
            out = accumulateDx ? out + d : d;
        }
    }
}

void ReferenceDevice::doGeluForward(const Tensor& x, const Tensor& y)
{
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        const double v = x.as<double>()[i];
        y.as<double>()[i] = 0.5 * v * (1.0 + std::tanh(kGeluSlope * (v + kGeluCubic * v * v * v)));
    }
}

void ReferenceDevice::doGeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        const double v = x.as<double>()[i];
        const double t = std::tanh(kGeluSlope * (v + kGeluCubic * v * v * v));
        const double slope = 0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * kGeluSlope * (1.0 + 3.0 * kGeluCubic * v * v);
        dx.as<double>()[i] = dy.as<double>()[i] * slope;
    }
}

void ReferenceDevice::doSwigluForward(const Tensor& gateUp, const Tensor& y)
{
    const std::int64_t f = y.columns();
    for (std::int64_t i = 0; i < y.rows(); ++i)
        for (std::int64_t j = 0; j < f; ++j) {
            const double g = gateUp.as<double>()[i * 2 * f + j];
            y.as<double>()[i * f + j] = g * sigmoid(g) * gateUp.as<double>()[i * 2 * f + f + j];
        }
}

void ReferenceDevice::doSwigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp)
{
    const std::int64_t f = dy.columns();
    for (std::int64_t i = 0; i < dy.rows(); ++i)
        for (std::int64_t j = 0; j < f; ++j) {
            const double g = gateUp.as<double>()[i * 2 * f + j];
            const double u = gateUp.as<double>()[i * 2 * f + f + j];
            const double s = sigmoid(g);
            const double d = dy.as<double>()[i * f + j];
            dGateUp.as<double>()[i * 2 * f + j] = d * u * (s + g * s * (1.0 - s));
            dGateUp.as<double>()[i * 2 * f + f + j] = d * g * s;
        }
}

void ReferenceDevice::doSoftmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen)
{
    const std::int64_t t = scores.columns();
    for (std::int64_t r = 0; r < scores.rows(); ++r) {
        double* row = scores.as<double>() + r * t;
        const std::int64_t keys = keysOf(r, t, causal, keysSeen);
        double largest = row[0];
        for (std::int64_t j = 1; j < keys; ++j) largest = std::max(largest, row[j]);
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) sum += row[j] = std::exp(scale * (row[j] - largest));
        for (std::int64_t j = 0; j < t; ++j) row[j] = j < keys ? row[j] / sum : 0.0;
    }
}

void ReferenceDevice::doSoftmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                                        const Tensor& keysSeen)
{
    const std::int64_t t = gradient.columns();
    for (std::int64_t r = 0; r < gradient.rows(); ++r) {
        const double* p = probabilities.as<double>() + r * t;
        double* d = gradient.as<double>() + r * t;
        const std::int64_t keys = keysOf(r, t, causal, keysSeen);
        double dot = 0;
        for (std::int64_t j = 0; j < keys; ++j) dot += p[j] * d[j];
        for (std::int64_t j = 0; j < t; ++j) d[j] = j < keys ? scale * p[j] * (d[j] - dot) : 0.0;
    }
}

void ReferenceDevice::doAttentionForward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                         const Tensor& logSumExp)
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headDim));
    std::vector<double> p(static_cast<std::size_t>(s.sequence));
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.sequence; ++i) {
                const double* rows = qkv.as<double>() + b * s.sequence * s.width();
                const double* q = rows + i * s.width() + h * s.headDim;
                const double* k = rows + s.keyColumn() + h / s.group() * s.headDim;
                const double* v = rows + s.valueColumn() + h / s.group() * s.headDim;
                const std::int64_t keys = s.causal ? i + 1 : s.sequence;
                double largest = -INFINITY, sum = 0;
                for (std::int64_t j = 0; j < keys; ++j) {
                    double dot = 0;
                    for (std::int64_t d = 0; d < s.headDim; ++d) dot += q[d] * k[j * s.width() + d];
                    p[j] = dot * scale;
                    largest = std::max(largest, p[j]);
                }
                for (std::int64_t j = 0; j < keys; ++j) sum += p[j] = std::exp(p[j] - largest);
                logSumExp.as<double>()[(b * s.heads + h) * s.sequence + i] = largest + std::log(sum);
                double* o = out.as<double>() + ((b * s.sequence + i) * s.heads + h) * s.headDim;
                for (std::int64_t d = 0; d < s.headDim; ++d) {
                    o[d] = 0;
                    for (std::int64_t j = 0; j < keys; ++j) o[d] += p[j] / sum * v[j * s.width() + d];
                }
            }
}

void ReferenceDevice::doAttentionBackward(const AttentionShape& s, const Tensor& qkv, const Tensor& out,
                                          const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv)
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headDim));
    doZero(dqkv);
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.sequence; ++i) {
                const std::int64_t first = b * s.sequence * s.width();
                const std::int64_t qAt = first + i * s.width() + h * s.headDim;
                const std::int64_t oAt = ((b * s.sequence + i) * s.heads + h) * s.headDim;
                const double* o = out.as<double>() + oAt;
                const double* up = dout.as<double>() + oAt;
                const double lse = logSumExp.as<double>()[(b * s.heads + h) * s.sequence + i];
                double delta = 0; // sum of probability times its gradient
                for (std::int64_t d = 0; d < s.headDim; ++d) delta += o[d] * up[d];
                for (std::int64_t j = 0; j < (s.causal ? i + 1 : s.sequence); ++j) {
                    const std::int64_t kAt = first + j * s.width() + s.keyColumn() + h / s.group() * s.headDim;
                    const std::int64_t vAt = first + j * s.width() + s.valueColumn() + h / s.group() * s.headDim;
                    const double* x = qkv.as<double>();
                    double dot = 0, dp = 0;
                    for (std::int64_t d = 0; d < s.headDim; ++d) {
                        dot += x[qAt + d] * x[kAt + d];
                        dp += up[d] * x[vAt + d];
                    }
                    const double p = std::exp(dot * scale - lse);
                    const double ds = p * (dp - delta) * scale;
                    double* g = dqkv.as<double>();
                    for (std::int64_t d = 0; d < s.headDim; ++d) {
                        g[qAt + d] += ds * x[kAt + d];
                        g[kAt + d] += ds * x[qAt + d];
                        g[vAt + d] += p * up[d];
                    }
                }
            }
}

void ReferenceDevice::doRotary(const AttentionShape& s, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                               bool inverse)
{
    const std::int64_t half = s.headDim / 2;
    for (std::int64_t i = 0; i < s.batch * s.sequence; ++i)
        for (std::int64_t h = 0; h < s.heads + s.kvHeads; ++h)
            for (std::int64_t d = 0; d < half; ++d) {
                double* x = qkv.as<double>() + i * s.width() + h * s.headDim;
                const double c = cosines.as<double>()[i % s.sequence * half + d];
                const double sn = sines.as<double>()[i % s.sequence * half + d] * (inverse ? -1.0 : 1.0);
                const double a = x[d], b = x[d + half];
                x[d] = a * c - b * sn;
                x[d + half] = b * c + a * sn;
            }
}

void ReferenceDevice::doCrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses,
                                     double gradientScale)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
        double* row = logits.as<double>() + i * v;
        const std::int32_t target = targets.as<std::int32_t>()[i];
        if (target < 0) {
            losses.as<double>()[i] = 0;
            std::fill_n(row, v, 0.0);
            continue;
        }
        double largest = row[0], sum = 0;
        for (std::int64_t j = 1; j < v; ++j) largest = std::max(largest, row[j]);
        for (std::int64_t j = 0; j < v; ++j) sum += std::exp(row[j] - largest);
        losses.as<double>()[i] = largest + std::log(sum) - row[target];
        for (std::int64_t j = 0; j < v; ++j)
            row[j] = gradientScale * (std::exp(row[j] - largest) / sum - (j == target ? 1.0 : 0.0));
    }
}

void ReferenceDevice::doAdd(const Tensor& a, const Tensor& b, const Tensor& out)
{
    for (std::int64_t i = 0; i < out.elements(); ++i) out.as<double>()[i] = a.as<double>()[i] + b.as<double>()[i];
}

void ReferenceDevice::doZero(const Tensor& x)
{
    std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
}

void ReferenceDevice::doConvert(const Tensor& from, const Tensor& to)
{
    const auto value = [&from](std::int64_t i) -> double {
        switch (from.type()) {
        case DType::F32: return from.as<float>()[i];
        case DType::Bf16: return from.as<Bf16>()[i].toFloat();
        case DType::F64: return from.as<double>()[i];
        case DType::I32: return from.as<std::int32_t>()[i];
        }
        return 0;
    };
    for (std::int64_t i = 0; i < to.elements(); ++i) {
        switch (to.type()) {
        case DType::F32: to.as<float>()[i] = static_cast<float>(value(i)); break;
        case DType::Bf16: to.as<Bf16>()[i] = Bf16::fromFloat(static_cast<float>(value(i))); break;
        case DType::F64: to.as<double>()[i] = value(i); break;
        case DType::I32: to.as<std::int32_t>()[i] = static_cast<std::int32_t>(value(i)); break;
        }
    }
}

double ReferenceDevice::doSumOfSquares(const Tensor& x)
{
    double sum = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) sum += x.as<double>()[i] * x.as<double>()[i];
    return sum;
}

double ReferenceDevice::doSum(const Tensor& x)
{
    double sum = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) sum += x.as<double>()[i];
    return sum;
}

void ReferenceDevice::doAdamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v,
                              const Tensor&, const AdamWStep& s)
{
    const double t = static_cast<double>(s.step);
    for (std::int64_t i = 0; i < weight.elements(); ++i) {
        const double g = gradient.as<double>()[i] * s.gradientScale;
        double& mi = m.as<double>()[i];
        double& vi = v.as<double>()[i];
        double& w = weight.as<double>()[i];
        mi = s.beta1 * mi + (1.0 - s.beta1) * g;
        vi = s.beta2 * vi + (1.0 - s.beta2) * g * g;
        const double mHat = mi / (1.0 - std::pow(s.beta1, t));
        const double vHat = vi / (1.0 - std::pow(s.beta2, t));
        w -= s.learningRate * (mHat / (std::sqrt(vHat) + s.epsilon) + s.weightDecay * w);
    }
}

void ReferenceDevice::doSgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor&,
                            const SgdStep& s)
{
    for (std::int64_t i = 0; i < weight.elements(); ++i) {
        double& w = weight.as<double>()[i];
        double& v = velocity.as<double>()[i];
        v = s.momentum * v + gradient.as<double>()[i] * s.gradientScale + s.weightDecay * w;
        w -= s.learningRate * v;
    }
}

} // namespace fourwalls::engine
