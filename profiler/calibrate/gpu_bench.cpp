// SPDX-License-Identifier: Apache-2.0
// Calls back to back in one stream, between events: two batches are always asked for, so that the GPU never waits for the
// host. What is waited for call by call is timed by the host's clock. Clock and power come from NVML, meanwhile.
#include "profiler/calibrate/gpu_bench.h"

#include "profiler/calibrate/gpu_calls.h"
#include "profiler/calibrate/nvml_meter.h"
#include "profiler/engine/core/engine_error.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <new>
#include <string>

namespace fourwalls::calibrate {

namespace {

using namespace engine;

class ModuleBench final : public GpuBench {
public:
    ModuleBench(const gpu::Module& module, int devices)
        : m_calls(module, devices)
        , m_stream(m_calls.stream())
        , m_meter(m_stream.facts().pciBus)
    {
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
    int gpus(std::string& why) override
    {
        why = m_calls.group().why();
        return m_calls.group().size();
    }

    Result<GpuTimes> measure(const GpuMeasurement& what) override
    {
        try {
            if (m_calls.memoryOf(what) > 0.8 * static_cast<double>(m_stream.facts().memoryBytes)) return GpuTimes{};
            return timesOf(what);
        } catch (const EngineError& error) {
            return error.error();
        } catch (const std::bad_alloc&) {
            return GpuTimes{};
        }
    }

private:
    using Call = GpuCalls::Call;

    void record(std::size_t event) { m_stream.module().record(m_stream.handle(), m_events[event]); }
    double secondsBetween(std::size_t first, std::size_t second)
    {
        m_stream.module().waitFor(m_stream.handle(), m_events[second]);
        return m_stream.module().nanosecondsBetween(m_stream.handle(), m_events[first], m_events[second]) * 1e-9;
    }

    /// Work of another stream that never runs out.
    class Meanwhile {
    public:
        Meanwhile(GpuCalls& calls, Beside beside) : m_calls(calls)
        {
            if (beside == Beside::Nothing) return;
            m_stream = std::make_unique<GpuStream>(calls.stream().module(), calls.stream().device());
            m_call = calls.makeBeside(beside, *m_stream);
        }
        void ask()
        {
            constexpr std::size_t kAhead = 3;
            if (!m_stream) return;
            while (!m_asked.empty() && m_stream->passed(m_asked.front())) m_asked.pop_front();
            while (m_asked.size() < kAhead) {
                m_call();
                m_asked.push_back(m_stream->fence());
            }
        }
        void settle()
        {
            m_asked.clear();
            if (m_stream) m_stream->settle();
            m_calls.group().settle();
        }

    private:
        GpuCalls& m_calls;
        std::unique_ptr<GpuStream> m_stream;
        Call m_call;
        std::deque<RankMemory::Fence> m_asked;
    };

    GpuTimes timesOf(const GpuMeasurement& what)
    {
        const Call call = m_calls.make(what);
        Meanwhile meanwhile(m_calls, what.beside);
        call(); // loads kernels, chooses algorithms
        GpuTimes times;
        if (what.work == GpuWork::RoundTrip)
            measureRoundTrips(call, what.seconds, times);
        else
            measureBatches(call, what.seconds, meanwhile, times);
        m_stream.settle();
        meanwhile.settle();
        times.clockMhz = m_meter.clock();
        times.powerWatts = m_meter.power();
        return times;
    }

    void measureBatches(const Call& call, double seconds, Meanwhile& meanwhile, GpuTimes& times)
    {
        constexpr double kBatch = 0.01; // of work
        record(0);
        call();
        record(1);
        const double one = std::max(secondsBetween(0, 1), 1e-7);
        const int batch = static_cast<int>(std::clamp(std::ceil(std::min(kBatch, seconds / 4) / one), 1.0, 2000.0));
        m_meter.begin();
        const double end = elapsed() + seconds;
        record(0);
        for (std::size_t i = 0; i < 3 || elapsed() < end; ++i) {
            meanwhile.ask();
            for (int n = 0; n < batch; ++n) call();
            record((i + 1) % 3);
            if (i > 0) times.seconds.push_back(secondsBetween((i - 1) % 3, i % 3) / batch);
            m_meter.read(elapsed());
        }
    }

    void measureRoundTrips(const Call& call, double seconds, GpuTimes& times)
    {
        m_stream.settle();
        m_meter.begin();
        const double end = elapsed() + seconds;
        while (times.seconds.size() < 3 || elapsed() < end) {
            const double before = elapsed();
            call();
            m_stream.settle();
            times.seconds.push_back(elapsed() - before);
            m_meter.read(elapsed());
        }
    }

    GpuCalls m_calls;
    GpuStream& m_stream;
    NvmlMeter m_meter;
    std::array<void*, 3> m_events{};
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

} // namespace

Result<std::unique_ptr<GpuBench>> openGpuBench(const gpu::Module& module, int devices)
{
    try {
        return std::unique_ptr<GpuBench>(std::make_unique<ModuleBench>(module, devices));
    } catch (const EngineError& error) {
        return error.error();
    }
}

Result<std::unique_ptr<GpuBench>> openGpuBench()
{
    FOURWALLS_TRY_ASSIGN(const gpu::LoadedModule loaded, gpu::loadModule());
    return openGpuBench(*loaded.module, loaded.devices);
}

} // namespace fourwalls::calibrate
