// SPDX-License-Identifier: Apache-2.0
// What a GPU reaches, measured: which measurements in which order within a time, their statistics, and the preset made of
// them. What carries a measurement out is behind an interface, so that all of this is tested without a GPU.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace fourwalls::calibrate {

enum class GpuWork {
    Product,           ///< C[a, b] = A[a, c] B[c, b], bf16 with sums in f32, random data
    InputGradient,     ///< likewise, B transposed
    WeightGradient,    ///< likewise, A transposed
    AttentionForward,  ///< causal, a = length, b = heads, c = width of a head; the engine's own
    AttentionBackward, ///< likewise
    Add,               ///< two bf16 tensors into a third, a bytes over all three
    Copy,              ///< device to device, a bytes read and as many written
    ToDevice,          ///< a bytes from pinned memory
    FromDevice,        ///< a bytes to pinned memory
    Launch,            ///< a kernel of one element
};

/// What runs on the GPU meanwhile.
enum class Beside { Nothing, Copying };

struct GpuMeasurement {
    std::string stage;
    GpuWork work = GpuWork::Launch;
    std::array<double, 3> extents{};
    double seconds = 0; ///< of work, back to back; 0.2 and less is a burst
    Beside beside = Beside::Nothing;
    bool sustained() const { return seconds >= 1; }
};

/// Times of a call, each the mean over so many calls that events do not count, with clock and power meanwhile.
struct GpuTimes {
    std::vector<double> seconds;
    double clockMhz = 0, powerWatts = 0; ///< 0: NVML does not tell
};

/// Carries measurements out.
class GpuBench {
public:
    virtual ~GpuBench() = default;
    /// Errors: what the GPU refused. No times: it does not fit into memory.
    virtual Result<GpuTimes> measure(const GpuMeasurement& measurement) = 0;
    /// Since the beginning [s].
    virtual double elapsed() = 0;
};

struct GpuMeasured {
    GpuMeasurement what;
    double median = 0, low = 0, high = 0; ///< seconds; low and high: 10th and 90th of 100
    std::size_t samples = 0;
    double clockMhz = 0, powerWatts = 0;
};

struct GpuCalibration {
    std::vector<GpuMeasured> measured;
    std::vector<std::string> leftOut; ///< one sentence each
};

/// In the order of worth: products for ten seconds against a burst, products beside copying, products over shapes,
/// attention, memory-bound work, launches, copies.
std::vector<GpuMeasurement> gpuSchedule();

/// As much of the schedule as fits into `seconds` by what it is to take and by the bench's clock. progress: may be empty.
Result<GpuCalibration> calibrateGpu(GpuBench& bench, const std::vector<GpuMeasurement>& schedule, double seconds,
                                    const std::function<void(double)>& progress = {});

/// Median sustained time over that of a burst of the same product, at least 1; 1 where there is no pair.
double sustainedSlowdown(const GpuCalibration& calibration);

/// A file for --cluster: the device, its calibration, and tables in the columns of kernel rates. cluster: name, family and
/// memory of the device; its data sheet's rates, where they are known.
/// Errors: Unsupported if not even one product was measured.
Result<std::string> gpuPreset(const GpuCalibration& calibration, ClusterSpec cluster);

} // namespace fourwalls::calibrate
