// SPDX-License-Identifier: Apache-2.0
// Schedule and statistics, see gpu_calibration.h.
#include "profiler/calibrate/gpu_calibration.h"

#include "model/base/median.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace fourwalls::calibrate {

namespace {

constexpr double kBurst = 0.2, kSustained = 10;

double quantile(std::vector<double> values, double share)
{
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

} // namespace

std::vector<GpuMeasurement> gpuSchedule()
{
    const std::vector<double> rows{4096, 8192, 16384, 32768}, hidden{1536, 3072, 4096, 8192};
    std::vector<GpuMeasurement> all;
    const auto each = [&](const char* stage, GpuWork work, std::array<double, 3> extents, double seconds,
                          Beside beside = Beside::Nothing) {
        all.push_back({stage, work, extents, seconds, beside});
    };
    // The corners first: if time ends early, they say most.
    for (const double h : {4096.0, 8192.0, 1536.0, 3072.0})
        for (const double r : {8192.0, 32768.0, 4096.0, 16384.0}) {
            each("products, sustained", GpuWork::Product, {r, h, h}, kBurst);
            each("products, sustained", GpuWork::Product, {r, h, h}, kSustained);
        }
    for (const double h : {4096.0, 8192.0, 1536.0, 3072.0})
        each("products beside copying", GpuWork::Product, {8192, h, h}, kSustained, Beside::Copying);
    for (const double r : rows)
        for (const double n : hidden)
            for (const double k : hidden) {
                each("products over shapes", GpuWork::Product, {r, n, k}, kBurst);
                each("products over shapes", GpuWork::InputGradient, {r, n, k}, kBurst);
                each("products over shapes", GpuWork::WeightGradient, {n, k, r}, kBurst);
            }
    for (const double length : {512.0, 1024.0, 2048.0, 4096.0, 8192.0})
        for (const double width : {64.0, 128.0})
            for (const GpuWork work : {GpuWork::AttentionForward, GpuWork::AttentionBackward})
                each("attention", work, {length, 2048 / width, width}, kBurst);
    for (double bytes = 1 << 16; bytes <= (1 << 30); bytes *= 4) each("memory-bound", GpuWork::Add, {bytes}, kBurst);
    each("memory-bound", GpuWork::Add, {double{1 << 30}}, kSustained);
    each("launches", GpuWork::Launch, {1}, kBurst);
    for (const GpuWork work : {GpuWork::Copy, GpuWork::ToDevice, GpuWork::FromDevice})
        for (double bytes = 1 << 16; bytes <= (1 << 28); bytes *= 16) each("copies", work, {bytes}, kBurst);
    return all;
}

Result<GpuCalibration> calibrateGpu(GpuBench& bench, const std::vector<GpuMeasurement>& schedule, double seconds,
                                    const std::function<void(double)>& progress)
{
    GpuCalibration result;
    std::map<std::string, std::pair<int, int>> missing; // by stage: for want of time, of memory
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const GpuMeasurement& next = schedule[i];
        if (progress) progress(static_cast<double>(i) / static_cast<double>(schedule.size()));
        if (bench.elapsed() + next.seconds > seconds) {
            ++missing[next.stage].first;
            continue; // a shorter one may still fit
        }
        FOURWALLS_TRY_ASSIGN(const GpuTimes times, bench.measure(next));
        if (times.seconds.empty()) {
            ++missing[next.stage].second;
            continue;
        }
        result.measured.push_back({next, median(times.seconds), quantile(times.seconds, 0.1),
                                   quantile(times.seconds, 0.9), times.seconds.size(), times.clockMhz,
                                   times.powerWatts});
    }
    for (const auto& [stage, counts] : missing) {
        if (counts.first > 0)
            result.leftOut.push_back(stage + ": " + std::to_string(counts.first) + " measurements for want of time");
        if (counts.second > 0)
            result.leftOut.push_back(stage + ": " + std::to_string(counts.second) + " measurements for want of memory");
    }
    if (progress) progress(1);
    return result;
}

double sustainedSlowdown(const GpuCalibration& calibration)
{
    std::vector<double> ratios;
    for (const GpuMeasured& slow : calibration.measured) {
        if (!slow.what.sustained() || slow.what.work != GpuWork::Product || slow.what.beside != Beside::Nothing)
            continue;
        for (const GpuMeasured& quick : calibration.measured)
            if (!quick.what.sustained() && quick.what.work == GpuWork::Product &&
                quick.what.extents == slow.what.extents) {
                ratios.push_back(slow.median / quick.median);
                break;
            }
    }
    return ratios.empty() ? 1 : std::max(1.0, median(std::move(ratios)));
}

} // namespace fourwalls::calibrate
