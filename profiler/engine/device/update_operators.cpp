// SPDX-License-Identifier: Apache-2.0
// See update_operators.h.
#include "profiler/engine/device/update_operators.h"

#include "profiler/engine/device/element_access.h"

#include <cmath>

namespace fourwalls::engine {

namespace {

template <class S>
const S* values(const Tensor& t)
{
    return static_cast<const S*>(t.data());
}

/// f(element) for every element of `to`, which becomes the result; f sees the number of the element.
template <class F>
void eachElement(const Tensor& to, F f)
{
    dispatchElements(to, [&]<class T, class S>(T, S) {
        S* out = static_cast<S*>(to.data());
        const std::int64_t n = to.elements();
        for (std::int64_t i = 0; i < n; ++i) out[i] = f(S{}, i);
    });
}

class HostUpdateKernels final : public UpdateKernels {
public:
    void mix(const Tensor& out, double a, const Tensor& x, double b, const Tensor& y) override
    {
        if (!y.defined())
            return eachElement(out, [&]<class S>(S, std::int64_t i) { return static_cast<S>(a) * values<S>(x)[i]; });
        eachElement(out, [&]<class S>(S, std::int64_t i) {
            return static_cast<S>(a) * values<S>(x)[i] + static_cast<S>(b) * values<S>(y)[i];
        });
    }

    void firstMoment(const Tensor& m, const Tensor& g, double beta) override
    {
        eachElement(m, [&]<class S>(S, std::int64_t i) {
            const S keep = static_cast<S>(beta);
            return keep * values<S>(m)[i] + (S{1} - keep) * values<S>(g)[i];
        });
    }

    void secondMoment(const Tensor& v, const Tensor& g, double beta) override
    {
        eachElement(v, [&]<class S>(S, std::int64_t i) {
            const S keep = static_cast<S>(beta), one = values<S>(g)[i];
            return keep * values<S>(v)[i] + (S{1} - keep) * one * one;
        });
    }

    void rootPass(const Tensor& out, const Tensor& v, double root, double epsilon) override
    {
        eachElement(out, [&]<class S>(S, std::int64_t i) {
            return std::sqrt(values<S>(v)[i]) * static_cast<S>(root) + static_cast<S>(epsilon);
        });
    }

    void quotientStep(const Tensor& w, const Tensor& m, const Tensor& divisor, double rate) override
    {
        eachElement(w, [&]<class S>(S, std::int64_t i) {
            return values<S>(w)[i] - static_cast<S>(rate) * values<S>(m)[i] / values<S>(divisor)[i];
        });
    }
};

/// One kernel that results in `to`. streams: tensors of this size that the pass reads or writes.
Scope pass(Device& device, const char* name, const Tensor& to, int streams)
{
    return Scope(device.recorder(), name, 0, streams * to.bytes(), {extent(to.rows()), extent(to.columns()), 0, 0});
}

} // namespace

UpdateKernels& Device::updateKernels()
{
    static HostUpdateKernels kernels; // without state
    return kernels;
}

void UpdateOperators::clip(const Tensor& gradient, double scale)
{
    if (scale == 1.0) return;
    const Scope scope = pass(m_device, "clip", gradient, 2);
    m_device.updateKernels().mix(gradient, scale, gradient, 0, {});
}

void UpdateOperators::adamw(const UpdateTensors& t, const AdamWStep& s)
{
    UpdateKernels& kernels = m_device.updateKernels();
    const double power = static_cast<double>(s.step);
    const double scheduled = s.learningRate * t.rateScale;
    const double rate = scheduled / (1.0 - std::pow(s.beta1, power));
    const double root = 1.0 / std::sqrt(1.0 - std::pow(s.beta2, power));
    clip(t.gradient, s.gradientScale);
    if (t.weightDecay != 0) {
        const Scope scope = pass(m_device, "weight decay", t.weight, 2);
        kernels.mix(t.weight, 1.0 - scheduled * t.weightDecay, t.weight, 0, {});
    }
    {
        const Scope scope = pass(m_device, "first moment", t.first, 3);
        kernels.firstMoment(t.first, t.gradient, s.beta1);
    }
    {
        const Scope scope = pass(m_device, "second moment", t.second, 3);
        kernels.secondMoment(t.second, t.gradient, s.beta2);
    }
    const Tensor divisor =
        Tensor::make(m_device.allocator(), t.weight.shape(), t.weight.type(), MemoryCategory::Temporaries);
    {
        const Scope scope = pass(m_device, "root of the second moment", divisor, 2);
        kernels.rootPass(divisor, t.second, root, s.epsilon);
    }
    {
        const Scope scope = pass(m_device, "weight step", t.weight, 4);
        kernels.quotientStep(t.weight, t.first, divisor, rate);
    }
    if (t.compute.defined()) m_device.convert(t.weight, t.compute);
}

void UpdateOperators::sgd(const UpdateTensors& t, const SgdStep& s)
{
    UpdateKernels& kernels = m_device.updateKernels();
    clip(t.gradient, s.gradientScale);
    {
        const Scope scope = pass(m_device, "momentum", t.first, 3);
        kernels.mix(t.first, s.momentum, t.first, 1, t.gradient);
    }
    if (t.weightDecay != 0) {
        const Scope scope = pass(m_device, "weight decay", t.first, 3);
        kernels.mix(t.first, 1, t.first, t.weightDecay, t.weight);
    }
    {
        const Scope scope = pass(m_device, "weight step", t.weight, 3);
        kernels.mix(t.weight, 1, t.weight, -s.learningRate * t.rateScale, t.first);
    }
    if (t.compute.defined()) m_device.convert(t.weight, t.compute);
}

} // namespace fourwalls::engine
