// SPDX-License-Identifier: Apache-2.0
// Calls back to back in one stream, between events: two batches are always asked for, so that the GPU never waits for the
// host. Clock and power come from NVML by its documented C interface, meanwhile.
#include "profiler/calibrate/gpu_bench.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/gpu/gpu_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace fourwalls::calibrate {

namespace {

using namespace engine;

/// The GPU's clock and power, where NVML is there.
class NvmlMeter {
public:
    explicit NvmlMeter(const char* pciBus)
    {
        if (*pciBus == 0) return;
        m_library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!m_library) return;
        int (*init)() = nullptr;
        int (*handle)(const char*, void**) = nullptr;
        find(init, "nvmlInit_v2");
        find(handle, "nvmlDeviceGetHandleByPciBusId_v2");
        find(m_clock, "nvmlDeviceGetClockInfo");
        find(m_power, "nvmlDeviceGetPowerUsage");
        if (!init || !handle || init() != 0 || handle(pciBus, &m_device) != 0) m_device = nullptr;
    }
    NvmlMeter(const NvmlMeter&) = delete;
    NvmlMeter& operator=(const NvmlMeter&) = delete;

    /// Adds a reading, at most ten in a second.
    void read(double now)
    {
        if (!m_device || now < m_next) return;
        m_next = now + 0.1;
        constexpr int kMultiprocessors = 1;
        unsigned value = 0;
        if (m_clock && m_clock(m_device, kMultiprocessors, &value) == 0) m_clocks.push_back(value);
        if (m_power && m_power(m_device, &value) == 0) m_powers.push_back(value * 1e-3);
    }
    void begin()
    {
        m_clocks.clear();
        m_powers.clear();
        m_next = 0;
    }
    double clock() const { return mean(m_clocks); }
    double power() const { return mean(m_powers); }

private:
    template <class Function>
    void find(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(dlsym(m_library, name));
    }
    static double mean(const std::vector<double>& values)
    {
        double sum = 0;
        for (const double value : values) sum += value;
        return values.empty() ? 0 : sum / static_cast<double>(values.size());
    }

    void* m_library = nullptr;
    void* m_device = nullptr;
    int (*m_clock)(void*, int, unsigned*) = nullptr;
    int (*m_power)(void*, unsigned*) = nullptr;
    double m_next = 0;
    std::vector<double> m_clocks, m_powers;
};

constexpr std::int64_t kCopiedBeside = 256 << 20;

class ModuleBench final : public GpuBench {
public:
    explicit ModuleBench(const gpu::Module& module)
        : m_stream(module, 0)
        , m_recorder(nullptr, RankId{0}, ClockOrigin::now())
        , m_allocator(m_recorder, 0, Allocator::Pool::Device, &m_stream)
        , m_device(m_recorder, m_allocator, m_stream, false)
        , m_meter(m_stream.facts().pciBus)
        , m_random(1 << 22)
    {
        std::uint32_t state = 12345;
        for (Bf16& value : m_random) {
            state = state * 1664525U + 1013904223U;
            value = Bf16::fromFloat((static_cast<float>(state >> 8) + 0.5F) / (1 << 23) - 1);
        }
        for (void*& event : m_events) event = module.createEvent(m_stream.handle(), true);
    }
    ~ModuleBench() override
    {
        for (void* event : m_events) m_stream.module().destroyEvent(m_stream.handle(), event);
    }

    double elapsed() override
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    }

    Result<GpuTimes> measure(const GpuMeasurement& what) override
    {
        try {
            if (bytesOf(what) > 0.8 * static_cast<double>(m_stream.facts().memoryBytes)) return GpuTimes{};
            return timesOf(what);
        } catch (const EngineError& error) {
            return error.error();
        } catch (const std::bad_alloc&) {
            return GpuTimes{};
        }
    }

private:
    using Call = std::function<void()>;
    Device& device() { return m_device; } // whose names are not hidden

    static double bytesOf(const GpuMeasurement& what)
    {
        const auto& [a, b, c] = what.extents;
        const double beside = what.beside == Beside::Copying ? 2.0 * kCopiedBeside : 0;
        switch (what.work) {
        case GpuWork::Product:
        case GpuWork::InputGradient:
        case GpuWork::WeightGradient: return 4 * (a * b + b * c + a * c) + beside;
        case GpuWork::AttentionForward:
        case GpuWork::AttentionBackward: return 32 * a * b * c + beside;
        default: return 2 * a + beside;
        }
    }

    Tensor random(const Shape& shape)
    {
        const Tensor t = Tensor::make(m_allocator, shape, DType::Bf16, MemoryCategory::Activations);
        const auto chunk = static_cast<std::int64_t>(m_random.size() * sizeof(Bf16));
        for (std::int64_t at = 0; at < t.bytes(); at += chunk)
            m_stream.copyNow(static_cast<char*>(t.data()) + at, m_random.data(), std::min(chunk, t.bytes() - at));
        return t;
    }

    /// The call keeps its tensors.
    Call callOf(const GpuMeasurement& what)
    {
        const auto a = static_cast<std::int64_t>(what.extents[0]), b = static_cast<std::int64_t>(what.extents[1]);
        const auto c = static_cast<std::int64_t>(what.extents[2]);
        switch (what.work) {
        case GpuWork::Product:
        case GpuWork::InputGradient:
        case GpuWork::WeightGradient: {
            const bool first = what.work == GpuWork::WeightGradient, second = what.work == GpuWork::InputGradient;
            const Tensor x = random(first ? Shape{c, a} : Shape{a, c}), w = random(second ? Shape{b, c} : Shape{c, b});
            const Tensor y =
                Tensor::make(m_allocator, {a, b}, first ? DType::F32 : DType::Bf16, MemoryCategory::Activations);
            return [this, x, w, y, first, second] {
                m_device.matmul(first ? matrix(x).transposed() : matrix(x), second ? matrix(w).transposed() : matrix(w),
                                matrix(y));
            };
        }
        case GpuWork::AttentionForward:
        case GpuWork::AttentionBackward: {
            const AttentionShape shape{1, a, b, b, c, true};
            const Tensor qkv = random({a, shape.width()}), out = random({a, b * c});
            const Tensor sums = Tensor::make(m_allocator, {1, b, a}, DType::F32, MemoryCategory::Activations);
            device().attentionForward(shape, qkv, out, sums);
            if (what.work == GpuWork::AttentionForward)
                return [this, shape, qkv, out, sums] { device().attentionForward(shape, qkv, out, sums); };
            const Tensor dout = random({a, b * c}), dqkv = random({a, shape.width()});
            return [this, shape, qkv, out, sums, dout, dqkv] {
                device().attentionBackward(shape, qkv, out, sums, dout, dqkv);
            };
        }
        case GpuWork::Launch:
        case GpuWork::Add: {
            const std::int64_t n = what.work == GpuWork::Launch ? 1 : std::max<std::int64_t>(1, a / 6);
            const Tensor x = random({n}), y = random({n}), z = random({n});
            return [this, x, y, z] { m_device.add(x, y, z); };
        }
        case GpuWork::Copy: {
            const Tensor x = random({a / 2}), y = random({a / 2});
            return [this, x, y] { m_stream.copy(y.data(), x.data(), x.bytes()); };
        }
        case GpuWork::ToDevice:
        case GpuWork::FromDevice: {
            const Tensor x = random({a / 2});
            const std::shared_ptr<void> pinned(m_stream.take(a, RankMemory::Place::Host), [this](void* memory) {
                m_stream.give(memory, RankMemory::Place::Host);
            });
            if (!pinned) throw std::bad_alloc();
            std::memset(pinned.get(), 1, static_cast<std::size_t>(a));
            if (what.work == GpuWork::ToDevice)
                return [this, x, pinned] { m_stream.copy(x.data(), pinned.get(), x.bytes()); };
            return [this, x, pinned] { m_stream.copy(pinned.get(), x.data(), x.bytes()); };
        }
        }
        return {};
    }

    void record(std::size_t event) { m_stream.module().record(m_stream.handle(), m_events[event]); }
    double secondsBetween(std::size_t first, std::size_t second)
    {
        m_stream.module().waitFor(m_stream.handle(), m_events[second]);
        return m_stream.module().nanosecondsBetween(m_stream.handle(), m_events[first], m_events[second]) * 1e-9;
    }

    GpuTimes timesOf(const GpuMeasurement& what)
    {
        constexpr double kBatch = 0.01; // of work
        const Call call = callOf(what);
        const std::unique_ptr<RankMemory> other = what.beside == Beside::Copying ? m_stream.beside() : nullptr;
        Tensor from, to;
        if (other) {
            from = random({kCopiedBeside / 2});
            to = random({kCopiedBeside / 2});
        }
        call(); // loads kernels, chooses algorithms
        record(0);
        call();
        record(1);
        const double one = std::max(secondsBetween(0, 1), 1e-7);
        const int batch =
            static_cast<int>(std::clamp(std::ceil(std::min(kBatch, what.seconds / 4) / one), 1.0, 2000.0));
        GpuTimes times;
        m_meter.begin();
        std::deque<RankMemory::Fence> copying;
        const double end = elapsed() + what.seconds;
        record(0);
        for (std::size_t i = 0; i < 3 || elapsed() < end; ++i) {
            while (other && !copying.empty() && other->passed(copying.front())) copying.pop_front();
            while (other && copying.size() < 3) {
                for (int n = 0; n < 64; ++n) other->copy(to.data(), from.data(), from.bytes());
                copying.push_back(other->fence());
            }
            for (int n = 0; n < batch; ++n) call();
            record((i + 1) % 3);
            if (i > 0) times.seconds.push_back(secondsBetween((i - 1) % 3, i % 3) / batch);
            m_meter.read(elapsed());
        }
        m_stream.settle();
        if (other) other->settle();
        times.clockMhz = m_meter.clock();
        times.powerWatts = m_meter.power();
        return times;
    }

    GpuStream m_stream;
    Recorder m_recorder;
    Allocator m_allocator;
    GpuDevice m_device;
    NvmlMeter m_meter;
    std::vector<Bf16> m_random;
    std::array<void*, 3> m_events{};
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

} // namespace

Result<std::unique_ptr<GpuBench>> openGpuBench(const gpu::Module& module)
{
    try {
        return std::unique_ptr<GpuBench>(std::make_unique<ModuleBench>(module));
    } catch (const EngineError& error) {
        return error.error();
    }
}

Result<std::unique_ptr<GpuBench>> openGpuBench()
{
    FOURWALLS_TRY_ASSIGN(const gpu::LoadedModule loaded, gpu::loadModule());
    return openGpuBench(*loaded.module);
}

} // namespace fourwalls::calibrate
