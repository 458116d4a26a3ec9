// SPDX-License-Identifier: Apache-2.0
// See cpu_device.h. Calls are sent to the kernels of the tensor's element type; attention is in cpu_attention.cpp.
#include "profiler/engine/device/cpu_device.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/activation_type.h"
#include "profiler/engine/device/processor_name.h"
#include "profiler/engine/device/simd_kernels.h"

#include <cmath>
#include <cstring>

namespace fourwalls::engine {

namespace {

KeyMask maskOf(bool causal, const Tensor& keysSeen)
{
    if (!keysSeen.defined()) return {causal, nullptr, 0};
    return {causal, keysSeen.as<std::int32_t>(), keysSeen.elements()};
}

} // namespace

CpuDevice::CpuDevice(Recorder& recorder, Allocator& allocator, const KernelTable* table)
    : Device(recorder, allocator)
    , m_matmul(allocator)
    , m_kernels(table ? table : &kernels())
{}

std::string CpuDevice::describe() const
{
    return processorName() + ", one core, oneDNN, " + std::string(m_kernels->name) + " kernels";
}

bool CpuDevice::supports(DType compute) const
{
    return compute == DType::F32 || (compute == DType::Bf16 && OneDnnMatmul::supportsBf16());
}

void CpuDevice::doMatmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options)
{
    m_matmul.run(a, b, c, options);
}

void CpuDevice::doColumnSum(const Tensor& x, const Tensor& out, bool accumulate)
{
    dispatchActivation(x, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels).columnSum(x.as<T>(), out.as<float>(), x.rows(), x.columns(), accumulate);
    });
}

void CpuDevice::doNormForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                              const Tensor& mean, const Tensor& rstd)
{
    dispatchActivation(x, [&]<class T>(T) {
        const auto& k = kernelsOf<T>(*m_kernels);
        const float epsilon = static_cast<float>(kNormEpsilon);
        if (kind == NormKind::LayerNorm)
            k.layerNorm(x.as<T>(), gamma.as<float>(), beta.as<float>(), y.as<T>(), mean.as<float>(), rstd.as<float>(),
                        x.rows(), x.columns(), epsilon);
        else
            k.rmsNorm(x.as<T>(), gamma.as<float>(), y.as<T>(), rstd.as<float>(), x.rows(), x.columns(), epsilon);
    });
}

void CpuDevice::doNormBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                               const Tensor& rstd, const Tensor& dy, const Tensor& dx, bool accumulateDx,
                               const Tensor& dgamma, const Tensor& dbeta, bool accumulateParameters)
{
    if (!accumulateParameters) {
        doZero(dgamma);
        if (dbeta.defined()) doZero(dbeta);
    }
    dispatchActivation(x, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels)
            .normBackward(x.as<T>(), gamma.as<float>(), kind == NormKind::LayerNorm ? mean.as<float>() : nullptr,
                          rstd.as<float>(), dy.as<T>(), dx.as<T>(), accumulateDx, dgamma.as<float>(),
                          dbeta.defined() ? dbeta.as<float>() : nullptr, x.rows(), x.columns());
    });
}

void CpuDevice::doGeluForward(const Tensor& x, const Tensor& y)
{
    dispatchActivation(x, [&]<class T>(T) { kernelsOf<T>(*m_kernels).gelu(x.as<T>(), y.as<T>(), x.elements()); });
}

void CpuDevice::doGeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    dispatchActivation(
        x, [&]<class T>(T) { kernelsOf<T>(*m_kernels).geluBackward(x.as<T>(), dy.as<T>(), dx.as<T>(), x.elements()); });
}

void CpuDevice::doGeluBackwardBias(const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& dBias,
                                   bool accumulate)
{
    if (!accumulate) doZero(dBias);
    const std::int64_t c = x.columns();
    dispatchActivation(x, [&]<class T>(T) {
        const auto& k = kernelsOf<T>(*m_kernels);
        for (std::int64_t i = 0; i < x.rows(); ++i) { // a row is still in the cache when it is added up
            k.geluBackward(x.as<T>() + i * c, dy.as<T>() + i * c, dx.as<T>() + i * c, c);
            k.accumulateRow(dx.as<T>() + i * c, dBias.as<float>(), c);
        }
    });
}

void CpuDevice::doSwigluForward(const Tensor& gateUp, const Tensor& y)
{
    dispatchActivation(
        y, [&]<class T>(T) { kernelsOf<T>(*m_kernels).swiglu(gateUp.as<T>(), y.as<T>(), y.rows(), y.columns()); });
}

void CpuDevice::doSwigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp)
{
    dispatchActivation(dy, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels).swigluBackward(gateUp.as<T>(), dy.as<T>(), dGateUp.as<T>(), dy.rows(), dy.columns());
    });
}

void CpuDevice::doSoftmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen)
{
    dispatchActivation(scores, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels)
            .softmax(scores.as<T>(), scores.rows(), scores.columns(), static_cast<float>(scale),
                     maskOf(causal, keysSeen));
    });
}

void CpuDevice::doSoftmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                                  const Tensor& keysSeen)
{
    dispatchActivation(gradient, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels)
            .softmaxBackward(probabilities.as<T>(), gradient.as<T>(), gradient.rows(), gradient.columns(),
                             static_cast<float>(scale), maskOf(causal, keysSeen));
    });
}

void CpuDevice::doRotary(const AttentionShape& s, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                         bool inverse)
{
    const std::int64_t half = s.headDim / 2;
    dispatchActivation(qkv, [&]<class T>(T) {
        for (std::int64_t i = 0; i < s.batch * s.sequence; ++i) {
            const std::int64_t position = i % s.sequence;
            kernelsOf<T>(*m_kernels)
                .rotaryRow(qkv.as<T>() + i * s.width(), cosines.as<float>() + position * half,
                           sines.as<float>() + position * half, s.heads + s.kvHeads, half, inverse ? -1.0f : 1.0f);
        }
    });
}

void CpuDevice::doCrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses, double gradientScale)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
        float* row = logits.as<float>() + i * v;
        const std::int32_t target = targets.as<std::int32_t>()[i];
        if (target < 0) {
            losses.as<float>()[i] = 0;
            std::memset(row, 0, static_cast<std::size_t>(v) * sizeof(float));
            continue;
        }
        losses.as<float>()[i] = m_kernels->crossEntropyRow(row, v, target, static_cast<float>(gradientScale));
    }
}

void CpuDevice::doAdd(const Tensor& a, const Tensor& b, const Tensor& out)
{
    dispatchActivation(
        out, [&]<class T>(T) { kernelsOf<T>(*m_kernels).add(a.as<T>(), b.as<T>(), out.as<T>(), out.elements()); });
}

void CpuDevice::doZero(const Tensor& x)
{
    std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
}

void CpuDevice::doConvert(const Tensor& from, const Tensor& to)
{
    if (from.type() == to.type())
        std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
    else if (from.type() == DType::F32 && to.type() == DType::Bf16)
        m_kernels->bf16.fromFloat(from.as<float>(), to.as<Bf16>(), to.elements());
    else if (from.type() == DType::Bf16 && to.type() == DType::F32)
        m_kernels->bf16.toFloat(from.as<Bf16>(), to.as<float>(), to.elements());
    else
        throw EngineError(ErrorCode::Internal, "no conversion between these types on the CPU device", "convert");
}

double CpuDevice::doSumOfSquares(const Tensor& x)
{
    return m_kernels->sumOfSquares(x.as<float>(), x.elements());
}
double CpuDevice::doSum(const Tensor& x)
{
    return m_kernels->sum(x.as<float>(), x.elements());
}

void CpuDevice::doAdamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v,
                        const Tensor& compute, const AdamWStep& s)
{
    const double t = static_cast<double>(s.step);
    const double correction1 = 1.0 - std::pow(s.beta1, t);
    const double correction2 = 1.0 - std::pow(s.beta2, t);
    m_kernels->adamw(weight.as<float>(), gradient.as<float>(), m.as<float>(), v.as<float>(),
                     compute.defined() ? compute.as<Bf16>() : nullptr, weight.elements(),
                     static_cast<float>(s.gradientScale), static_cast<float>(s.beta1), static_cast<float>(s.beta2),
                     static_cast<float>(s.learningRate / correction1), static_cast<float>(1.0 / std::sqrt(correction2)),
                     static_cast<float>(s.epsilon), static_cast<float>(1.0 - s.learningRate * s.weightDecay));
}

void CpuDevice::doSgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
                      const SgdStep& s)
{
    m_kernels->sgd(weight.as<float>(), gradient.as<float>(), velocity.as<float>(),
                   compute.defined() ? compute.as<Bf16>() : nullptr, weight.elements(),
                   static_cast<float>(s.gradientScale), static_cast<float>(s.momentum),
                   static_cast<float>(s.learningRate), static_cast<float>(s.weightDecay));
}

} // namespace fourwalls::engine
