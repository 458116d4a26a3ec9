// SPDX-License-Identifier: Apache-2.0
// See update_operators.h.
#include "profiler/engine/device/update_operators.h"

#include "profiler/engine/device/element_access.h"
#include "profiler/engine/gpu/gpu_device.h"

#include <cmath>

namespace fourwalls::engine {

namespace {

// One kernel: f(element) for every element of `to`, which becomes the result; f sees the number of the element. g(gpu)
// does the same on a GPU. streams: tensors of this size that the pass reads or writes.
template <class F, class G>
void pass(Device& device, const char* name, const Tensor& to, int streams, F f, G g)
{
    const Scope scope(device.recorder(), name, 0, streams * to.bytes(),
                      {static_cast<std::int32_t>(to.rows()), static_cast<std::int32_t>(to.columns()), 0, 0});
    if (GpuDevice* gpu = device.asGpu()) return g(*gpu);
    dispatchElements(to, [&]<class T, class S>(T, S) {
        S* out = static_cast<S*>(to.data());
        const std::int64_t n = to.elements();
        for (std::int64_t i = 0; i < n; ++i) out[i] = f(S{}, i);
    });
}

template <class S>
const S* values(const Tensor& t)
{
    return static_cast<const S*>(t.data());
}

} // namespace

void UpdateOperators::clip(const Tensor& gradient, double scale)
{
    if (scale == 1.0) return;
    pass(
        m_device, "clip", gradient, 2,
        [&]<class S>(S, std::int64_t i) { return values<S>(gradient)[i] * static_cast<S>(scale); },
        [&](GpuDevice& gpu) { gpu.mix(gradient, scale, gradient, 0, {}); });
}

void UpdateOperators::adamw(const UpdateTensors& t, const AdamWStep& s)
{
    const double power = static_cast<double>(s.step);
    const double rate = s.learningRate / (1.0 - std::pow(s.beta1, power));
    const double root = 1.0 / std::sqrt(1.0 - std::pow(s.beta2, power));
    clip(t.gradient, s.gradientScale);
    if (t.weightDecay != 0)
        pass(
            m_device, "weight decay", t.weight, 2,
            [&, keep = 1.0 - s.learningRate * t.weightDecay]<class S>(S, std::int64_t i) {
                return static_cast<S>(keep) * values<S>(t.weight)[i];
            },
            [&](GpuDevice& gpu) { gpu.mix(t.weight, 1.0 - s.learningRate * t.weightDecay, t.weight, 0, {}); });
    pass(
        m_device, "first moment", t.first, 3,
        [&]<class S>(S, std::int64_t i) {
            const S beta = static_cast<S>(s.beta1);
            return beta * values<S>(t.first)[i] + (S{1} - beta) * values<S>(t.gradient)[i];
        },
        [&](GpuDevice& gpu) { gpu.mix(t.first, s.beta1, t.first, 1.0 - s.beta1, t.gradient); });
    pass(
        m_device, "second moment", t.second, 3,
        [&]<class S>(S, std::int64_t i) {
            const S beta = static_cast<S>(s.beta2), g = values<S>(t.gradient)[i];
            return beta * values<S>(t.second)[i] + (S{1} - beta) * g * g;
        },
        [&](GpuDevice& gpu) { gpu.secondMoment(t.second, t.gradient, s.beta2); });
    const Tensor divisor =
        Tensor::make(m_device.allocator(), t.weight.shape(), t.weight.type(), MemoryCategory::Temporaries);
    pass(
        m_device, "root of the second moment", divisor, 2,
        [&]<class S>(S, std::int64_t i) {
            return std::sqrt(values<S>(t.second)[i]) * static_cast<S>(root) + static_cast<S>(s.epsilon);
        },
        [&](GpuDevice& gpu) { gpu.rootPass(divisor, t.second, root, s.epsilon); });
    pass(
        m_device, "weight step", t.weight, 4,
        [&]<class S>(S, std::int64_t i) {
            return values<S>(t.weight)[i] - static_cast<S>(rate) * values<S>(t.first)[i] / values<S>(divisor)[i];
        },
        [&](GpuDevice& gpu) { gpu.quotientStep(t.weight, t.first, divisor, rate); });
    if (t.compute.defined()) m_device.convert(t.weight, t.compute);
}

void UpdateOperators::sgd(const UpdateTensors& t, const SgdStep& s)
{
    clip(t.gradient, s.gradientScale);
    pass(
        m_device, "momentum", t.first, 3,
        [&]<class S>(S, std::int64_t i) {
            return static_cast<S>(s.momentum) * values<S>(t.first)[i] + values<S>(t.gradient)[i];
        },
        [&](GpuDevice& gpu) { gpu.mix(t.first, s.momentum, t.first, 1, t.gradient); });
    if (t.weightDecay != 0)
        pass(
            m_device, "weight decay", t.first, 3,
            [&]<class S>(S, std::int64_t i) {
                return values<S>(t.first)[i] + static_cast<S>(t.weightDecay) * values<S>(t.weight)[i];
            },
            [&](GpuDevice& gpu) { gpu.mix(t.first, 1, t.first, t.weightDecay, t.weight); });
    pass(
        m_device, "weight step", t.weight, 3,
        [&]<class S>(S, std::int64_t i) {
            return values<S>(t.weight)[i] - static_cast<S>(s.learningRate) * values<S>(t.first)[i];
        },
        [&](GpuDevice& gpu) { gpu.mix(t.weight, 1, t.weight, -s.learningRate, t.first); });
    if (t.compute.defined()) m_device.convert(t.weight, t.compute);
}

} // namespace fourwalls::engine
