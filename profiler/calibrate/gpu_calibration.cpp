// SPDX-License-Identifier: Apache-2.0
// Statistics, see gpu_calibration.h.
#include "profiler/calibrate/gpu_calibration.h"

#include "model/base/median.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace fourwalls::calibrate {

namespace {

double quantile(std::vector<double> values, double share)
{
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

} // namespace

Result<GpuCalibration> calibrateGpu(GpuBench& bench, double seconds, const std::function<void(double)>& progress)
{
    GpuCalibration result;
    std::string alone;
    result.gpus = bench.gpus(alone);
    const std::vector<GpuMeasurement> schedule = gpuSchedule(result.gpus);
    if (result.gpus < 2)
        result.leftOut.push_back("collectives, and products beside an all-reduce (beside copying stands for it): " +
                                 alone);
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

std::optional<double> medianOf(const GpuCalibration& calibration, GpuWork work, double a)
{
    for (const GpuMeasured& m : calibration.measured)
        if (m.what.work == work && m.what.extents[0] == a && m.what.beside == Beside::Nothing) return m.median;
    return std::nullopt;
}

} // namespace fourwalls::calibrate
