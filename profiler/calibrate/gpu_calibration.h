// SPDX-License-Identifier: Apache-2.0
// What a GPU reaches, measured: which measurements in which order within a time, their statistics, and the preset made of
// them. What carries a measurement out is behind an interface, so that all of this is tested without a GPU.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::calibrate {

enum class GpuWork {
    Product,           ///< C[a, b] = A[a, c] B[c, b], bf16 with sums in f32, random data
    InputGradient,     ///< likewise, B transposed
    WeightGradient,    ///< likewise, A transposed
    AttentionForward,  ///< causal, a = length, b = heads, c = width of a head; the engine's own
    AttentionBackward, ///< likewise
    // Memory-bound kernels of the engine (memoryKernels()) on rows of kRowWidth, a = bytes as the cost model counts them.
    Add,
    Cast, ///< f32 to bf16
    NormForward,
    NormBackward,
    RmsForward,
    RmsBackward,
    GeluForward,
    GeluBackward,
    SwigluForward,
    SwigluBackward,
    SoftmaxForward, ///< of whole rows, not only up to the diagonal
    SoftmaxBackward,
    Rotary,
    CrossEntropy,
    BiasGradient,
    AdamW,
    Copy,        ///< device to device, a bytes read and as many written
    ToDevice,    ///< a bytes from pinned memory
    FromDevice,  ///< a bytes to pinned memory
    Launch,      ///< a kernel of one element, back to back
    RoundTrip,   ///< the same, each waited for by the host
    GraphLaunch, ///< a graph of a such kernels, back to back
    AllReduce,   ///< of all GPUs, bf16, a = bytes of the whole tensor
    AllGather,
    ReduceScatter,
};

/// What runs on the GPU meanwhile. AllReduce: of all GPUs.
enum class Beside { Nothing, Copying, AllReduce };

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

bool isProduct(GpuWork work);
bool isAttention(GpuWork work);
bool isCollective(GpuWork work);

/// A memory-bound kernel. measured: under which name the cost model looks for its rate (device_rates.h), null where the
/// engine's kernel says nothing about others; opClass, op: in the tables. Bytes of an element: as the cost model counts
/// them, and the least that have to be moved (inputs read once, outputs written once).
struct MemoryKernel {
    GpuWork work;
    const char* measured;
    const char* opClass;
    const char* op;
    double countedBytes, leastBytes;
};
std::span<const MemoryKernel> memoryKernels();
/// Null: it is none.
const MemoryKernel* memoryKernelOf(GpuWork work);

inline constexpr std::int64_t kRowWidth = 4096;
/// Of all heads together, in the measurements of attention over lengths.
inline constexpr double kAttentionWidth = 2048;
/// Rows of a memory-bound kernel, at least 1.
std::int64_t rowsOf(const GpuMeasurement& what);

/// Work of a call: FLOPs of products and attention (causal: half), else bytes moved, of memory-bound kernels as the cost
/// model counts them, of collectives those of the whole tensor. 0: there is no such measure.
double amountOf(const GpuMeasurement& what);

/// Carries measurements out.
class GpuBench {
public:
    virtual ~GpuBench() = default;
    /// Errors: what the GPU refused. No times: it does not fit into memory.
    virtual Result<GpuTimes> measure(const GpuMeasurement& measurement) = 0;
    /// Since the beginning [s].
    virtual double elapsed() = 0;
    /// GPUs that collectives run between; 1: none, `why` says why.
    virtual int gpus(std::string& why) = 0;
};

struct GpuMeasured {
    GpuMeasurement what;
    double median = 0, low = 0, high = 0; ///< seconds; low and high: 10th and 90th of 100
    std::size_t samples = 0;
    double clockMhz = 0, powerWatts = 0;
};

struct GpuCalibration {
    int gpus = 1; ///< that collectives were measured between
    std::vector<GpuMeasured> measured;
    std::vector<std::string> leftOut; ///< one sentence each
};

/// In the order of worth: products in a burst (all of them while the GPU is still cool) and for ten seconds, products beside
/// an all-reduce (several GPUs) and beside copying, products over shapes, collectives over sizes (several GPUs), attention, memory-bound kernels, launches, copies.
std::vector<GpuMeasurement> gpuSchedule(int gpus);

/// As much of the bench's schedule as fits into `seconds` by what it is to take and by the bench's clock. progress: may be
/// empty.
Result<GpuCalibration> calibrateGpu(GpuBench& bench, double seconds, const std::function<void(double)>& progress = {});

/// Median sustained time over that of a burst of the same product, at least 1; 1 where there is no pair.
double sustainedSlowdown(const GpuCalibration& calibration);

/// The measurement's median, absent: it was not made.
std::optional<double> medianOf(const GpuCalibration& calibration, GpuWork work, double a);

/// Every measurement as a row of the tables of kernel rates, by table (times in microseconds), with clock and power behind
/// their columns.
nlohmann::json rateTables(const GpuCalibration& calibration, const ClusterSpec& cluster);

/// A file for --cluster: the devices, their calibration, and the tables. cluster: name, family and memory of the device;
/// its data sheet's rates and link, where they are known.
/// Errors: Unsupported if not even one product was measured.
Result<std::string> gpuPreset(const GpuCalibration& calibration, ClusterSpec cluster);

} // namespace fourwalls::calibrate
