// SPDX-License-Identifier: Apache-2.0
// See machine_peak.h.
#include "profiler/engine/device/machine_peak.h"

#include "profiler/engine/device/cpu_device.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

// Values without denormals or special cases, so that speed does not depend on them.
void fill(Device& device, Allocator& allocator, const Tensor& t)
{
    const Tensor source =
        t.type() == DType::F32 ? t : Tensor::make(allocator, t.shape(), DType::F32, MemoryCategory::Other);
    for (std::int64_t i = 0; i < source.elements(); ++i) source.as<float>()[i] = 1.0f / static_cast<float>(1 + i % 7);
    if (t.type() != DType::F32) device.convert(source, t);
}

} // namespace

MachinePeak measureMachinePeak(DType compute, const std::function<bool()>& stop)
{
    Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
    Allocator allocator(silent, 0);
    CpuDevice device(silent, allocator);
    MachinePeak peak;
    constexpr std::int64_t sizes[] = {384, 512, 768, 1024};
    const Instant begin = silent.now();
    for (int round = 0; round < 8 && silent.now() - begin < Duration{100'000'000}; ++round)
        for (const std::int64_t n : sizes) {
            if (stop && stop()) return peak;
            const auto square = [&] { return Tensor::make(allocator, {n, n}, compute, MemoryCategory::Other); };
            const Tensor a = square(), b = square(), c = square();
            fill(device, allocator, a);
            fill(device, allocator, b);
            device.matmul(matrix(a), matrix(b), matrix(c)); // makes the primitive
            for (int i = 0; i < 2; ++i) {
                const Instant start = silent.now();
                device.matmul(matrix(a), matrix(b), matrix(c));
                const double seconds = (silent.now() - start).seconds();
                peak.flops = std::max(peak.flops, 2.0 * static_cast<double>(n * n * n) / seconds);
            }
        }
    if (stop && stop()) return peak;
    // Larger than the caches that one core can reach.
    constexpr std::int64_t elements = 16 << 20;
    const auto array = [&] { return Tensor::make(allocator, {elements}, DType::F32, MemoryCategory::Other); };
    const Tensor x = array(), y = array(), z = array();
    device.zero(x);
    device.zero(y);
    device.zero(z);
    // Whoever else uses the memory meanwhile takes from it: the best of many.
    const Instant first = silent.now();
    for (int i = 0; (i < 3 || silent.now() - first < Duration{150'000'000}) && !(stop && stop()); ++i) {
        const Instant start = silent.now();
        device.add(x, y, z);
        peak.bytesPerSecond =
            std::max(peak.bytesPerSecond, static_cast<double>(3 * x.bytes()) / (silent.now() - start).seconds());
    }
    return peak;
}

} // namespace fourwalls::engine
