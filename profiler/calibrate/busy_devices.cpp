// SPDX-License-Identifier: Apache-2.0
// See busy_devices.h. One alone and all together are compared stretch by stretch: seconds apart, a shared machine has
// another speed anyway.
#include "profiler/calibrate/busy_devices.h"

#include "model/base/median.h"
#include "profiler/engine/device/cpu_device.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fourwalls::calibrate {

using namespace engine;

namespace {

constexpr double kStretchSeconds = 0.02; // long against the start of a thread, short against a change of speed
constexpr std::int64_t kLayerRows = 512, kLayerWidth = 256;

/// One thread's operands.
class Layer {
public:
    Layer()
        : m_recorder(nullptr, RankId{0}, ClockOrigin::now())
        , m_allocator(m_recorder, 0)
        , m_device(m_recorder, m_allocator)
    {
        for (const Tensor& t : {m_x, m_w, m_y, m_z}) m_device.zero(t);
    }
    /// Seconds of so many passes.
    double run(int passes)
    {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < passes; ++i) {
            m_device.matmul(matrix(m_x), matrix(m_w), matrix(m_y));
            m_device.geluForward(m_y, m_z);
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

private:
    Tensor make(std::int64_t rows, std::int64_t columns)
    {
        return Tensor::make(m_allocator, {rows, columns}, DType::F32, MemoryCategory::Activations);
    }

    Recorder m_recorder;
    Allocator m_allocator;
    CpuDevice m_device;
    Tensor m_x = make(kLayerRows, kLayerWidth), m_w = make(kLayerWidth, 4 * kLayerWidth),
           m_y = make(kLayerRows, 4 * kLayerWidth), m_z = make(kLayerRows, 4 * kLayerWidth);
};

double plainMean(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

/// Standard deviation over the mean. Of few values it comes out too small; 4 (n - 1) / (4 n - 3) is by how much if they
/// are normal.
double spreadOf(const std::vector<double>& values)
{
    const auto n = static_cast<double>(values.size());
    const double mean = plainMean(values);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / (n - 1)) / mean / (4 * (n - 1) / (4 * n - 3));
}

} // namespace

BusyDevices summaryOf(const std::vector<BusyStretch>& stretches)
{
    std::vector<double> slowdowns, spreads;
    for (const BusyStretch& stretch : stretches) {
        slowdowns.push_back(plainMean(stretch.together) / stretch.alone);
        spreads.push_back(spreadOf(stretch.together));
    }
    return {std::max(1.0, upperMedian(std::move(slowdowns))), plainMean(spreads)};
}

BusyDevices measureBusyDevices(int threads, double seconds)
{
    if (threads < 2) return {};
    const auto count = static_cast<std::size_t>(threads);
    std::vector<std::unique_ptr<Layer>> layers;
    for (std::size_t i = 0; i < count; ++i) {
        layers.push_back(std::make_unique<Layer>());
        layers.back()->run(1); // makes the primitive, touches the pages
    }
    const int passes = std::max(1, static_cast<int>(kStretchSeconds / layers.front()->run(1)));
    std::vector<BusyStretch> stretches(static_cast<std::size_t>(std::max(2.0, seconds / kStretchSeconds / 2)));
    for (BusyStretch& stretch : stretches) stretch.together.resize(count);

    std::barrier meeting(threads);
    std::mutex mutex;
    std::exception_ptr failure; // of a thread: no memory
    const auto work = [&](std::size_t thread) {
        useSingleThread();
        try {
            for (std::size_t i = 0; i < stretches.size(); ++i) {
                meeting.arrive_and_wait();
                if (thread == i % count) stretches[i].alone = layers[thread]->run(passes);
                meeting.arrive_and_wait();
                stretches[i].together[thread] = layers[thread]->run(passes);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            meeting.arrive_and_drop();
        }
    };
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work, i);
    for (std::thread& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
    return summaryOf(stretches);
}

} // namespace fourwalls::calibrate
