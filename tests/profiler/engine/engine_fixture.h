// SPDX-License-Identifier: Apache-2.0
// What the engine's tests share: a rank on a chosen device, random tensors, comparison by rounding, and directional
// finite differences.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/onednn_matmul.h"
#include "profiler/engine/device/reference_device.h"
#include "profiler/engine/nn/parameter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine::testing {

/// A rank without a sink.
struct TestRank {
    Recorder recorder{nullptr, RankId{0}, ClockOrigin::now()};
    Allocator allocator{recorder, 0};
    std::unique_ptr<Device> device;
    std::unique_ptr<RankContext> context;

    explicit TestRank(DType compute, const KernelTable* kernels = nullptr)
    {
        const DType master = compute == DType::F64 ? DType::F64 : DType::F32;
        if (compute == DType::F64)
            device = std::make_unique<ReferenceDevice>(recorder, allocator);
        else
            device = std::make_unique<CpuDevice>(recorder, allocator, kernels);
        context = std::make_unique<RankContext>(RankContext{recorder, allocator, *device, {compute, master}});
        useSingleThread();
    }

    Tensor tensor(const Shape& shape, DType type)
    {
        return Tensor::make(allocator, shape, type, MemoryCategory::Other);
    }

    /// Uniform in [-scale, scale), the same values for every type up to rounding.
    Tensor random(const Shape& shape, DType type, std::uint64_t stream, double scale = 1.0)
    {
        Tensor t = tensor(shape, type);
        const RandomStream r(7, stream);
        for (std::int64_t i = 0; i < t.elements(); ++i)
            setElement(t, i, scale * (2.0 * r.uniform(static_cast<std::uint64_t>(i)) - 1.0));
        return t;
    }

    Tensor tokens(const Shape& shape, std::int64_t vocabulary, std::uint64_t stream)
    {
        Tensor t = tensor(shape, DType::I32);
        const RandomStream r(11, stream);
        for (std::int64_t i = 0; i < t.elements(); ++i)
            t.as<std::int32_t>()[i] = static_cast<std::int32_t>(
                r.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(vocabulary)));
        return t;
    }

    Tensor copy(const Tensor& from, DType type)
    {
        Tensor t = tensor(from.shape(), type);
        for (std::int64_t i = 0; i < t.elements(); ++i) setElement(t, i, element(from, i));
        return t;
    }
};

inline double dot(const Tensor& a, const Tensor& b)
{
    double sum = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) sum += element(a, i) * element(b, i);
    return sum;
}

inline double largest(const Tensor& t)
{
    double m = 0;
    for (std::int64_t i = 0; i < t.elements(); ++i) m = std::max(m, std::abs(element(t, i)));
    return m;
}

/// Largest difference as a share of the largest magnitude of `expected`.
inline double relativeDifference(const Tensor& actual, const Tensor& expected)
{
    double difference = 0;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
        const double d = std::abs(element(actual, i) - element(expected, i));
        if (!(d <= difference)) difference = d; // keeps a NaN
    }
    const double scale = largest(expected);
    return scale > 0 ? difference / scale : difference;
}

/// Checks a gradient along a random direction: the slope of f at x against <gradient, direction>, by central
/// differences. Returns the relative error; in double about 1e-9 is what rounding and curvature leave.
/// x: double tensor that f reads; it is restored.
inline double slopeError(const std::function<double()>& f, const Tensor& x, const Tensor& gradient,
                         std::uint64_t stream, double h = 1e-5)
{
    const RandomStream r(23, stream);
    std::vector<double> original, direction;
    double expected = 0, length = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        original.push_back(element(x, i));
        direction.push_back(2.0 * r.uniform(static_cast<std::uint64_t>(i)) - 1.0);
        expected += direction.back() * element(gradient, i);
        length += std::abs(direction.back() * element(gradient, i));
    }
    const auto at = [&](double t) {
        for (std::int64_t i = 0; i < x.elements(); ++i)
            setElement(x, i, original[static_cast<std::size_t>(i)] + t * direction[static_cast<std::size_t>(i)]);
        return f();
    };
    const double slope = (at(h) - at(-h)) / (2.0 * h);
    at(0.0);
    return std::abs(slope - expected) / std::max(length, 1e-300);
}

} // namespace fourwalls::engine::testing
