// SPDX-License-Identifier: Apache-2.0
// Puts the benchmarks of operators and of the transport between threads together into a cluster's description.
#include "profiler/calibrate/machine_calibration.h"

#include "model/spec/names.h"
#include "profiler/calibrate/busy_devices.h"
#include "profiler/calibrate/operator_benchmarks.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/machine_peak.h"
#include "profiler/engine/train/rank_world.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <optional>
#include <thread>

namespace fourwalls::calibrate {

namespace {

using namespace engine;

/// The summary that predictions fall back to where an operator was not measured: rates over a band of sizes.
double meanRate(const OperatorRates& rates, std::string_view name)
{
    const auto found = rates.find(name);
    if (found == rates.end()) return 0;
    double inverse = 0; // equal work at every point
    for (const double rate : found->second.rates) inverse += 1 / rate;
    return static_cast<double>(found->second.rates.size()) / inverse;
}

void addPrecision(Precision precision, OperatorBenchmarks&& measured, double peak, MachineCalibration& result,
                  FamilyCalibration& family)
{
    const double reached = meanRate(measured.rates, "gemm");
    const double best = std::max(peak, reached);
    result.cluster.device.peakFlops[precision] = best;
    family.gemmCeiling[precision] = reached / best;
    if (family.operators.empty()) {
        // What the operators reach, whether from a cache or from memory, is the rate that predictions need.
        result.cluster.device.memoryBytesPerSecond = meanRate(measured.rates, "residual");
        family.memoryFraction = 1;
        AttentionRates& attention = family.attention["engine"];
        attention.forward = std::min(1.0, meanRate(measured.rates, "attention.fused") / best);
        attention.backward = std::min(1.0, meanRate(measured.rates, "attention.fused.backward") / best);
    }
    family.operators[precision] = std::move(measured.rates);
    result.operators.insert(result.operators.end(), std::make_move_iterator(measured.operators.begin()),
                            std::make_move_iterator(measured.operators.end()));
}

/// Seconds of an all-reduce of so many bytes between two rank threads: of many, the lower quartile, because a
/// neighbour's work can only make it longer.
Result<double> allReduceSeconds(std::int64_t bytes, int repetitions)
{
    ParallelPlan plan;
    plan.dp = 2;
    double seconds = 0;
    FOURWALLS_TRY(runRanks(plan, {DType::F32, DType::F32}, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const Tensor t = Tensor::make(rank.allocator, {bytes / 4}, DType::F32, MemoryCategory::CommBuffers);
        rank.device.zero(t);
        std::vector<double> times;
        for (int i = 0; i < repetitions; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            group.allReduce(t);
            times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        const auto quartile = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
        std::nth_element(times.begin(), quartile, times.end());
        if (group.index() == 0) seconds = *quartile;
    }));
    return seconds;
}

/// The link between threads: a direct all-reduce of S bytes between two takes 2 latencies + S / rate.
Result<LinkSpec> threadLink()
{
    constexpr std::int64_t kSmall = 64, kLarge = 4 << 20;
    FOURWALLS_TRY_ASSIGN(const double small, allReduceSeconds(kSmall, 400));
    FOURWALLS_TRY_ASSIGN(const double large, allReduceSeconds(kLarge, 40));
    LinkSpec link;
    link.latencySeconds = small / 2;
    link.bytesPerSecond = static_cast<double>(kLarge) / std::max(large - small, large / 100);
    return link;
}

/// What the processor computes in, f32 first; of these, the one that is asked for.
std::vector<std::pair<Precision, DType>> typesToMeasure(const std::optional<Precision>& only)
{
    Recorder recorder(nullptr, RankId{0}, ClockOrigin::now());
    Allocator allocator(recorder, 0);
    std::vector<std::pair<Precision, DType>> types{{Precision::F32, DType::F32}};
    if (CpuDevice(recorder, allocator).supports(DType::Bf16)) types.emplace_back(Precision::Bf16, DType::Bf16);
    if (only) std::erase_if(types, [&](const auto& type) { return type.first != *only; });
    return types;
}

/// What needs no measuring: ranks are threads that share memory.
void describeProcessor(FamilyCalibration family, MachineCalibration& result)
{
    family.rampSeconds = 0;
    // Moving data between threads is work of the same cores: what runs beside the computation slows it by its length.
    result.calibration.contention = 1;
    result.calibration.nodeLinkFraction = 1;
    result.calibration.kernelSeconds = 0;
    result.calibration.families["cpu"] = family;
    result.calibration.families[""] = family;
    result.cluster.device.family = "cpu";
    result.cluster.device.multiprocessors = 0;
    result.cluster.fabric = NodeFabric::Shared;
}

constexpr double kBusyShare = 140; // how much longer all cores at once are looked at than one operator

void measure(const CalibrateOptions& options, const std::vector<std::pair<Precision, DType>>& types,
             MachineCalibration& result)
{
    FamilyCalibration family;
    const auto passes = static_cast<std::size_t>(std::max(1, options.passes));
    const MeasuringTime ofPass{options.secondsPerOperator / double(passes), (3 + passes - 1) / passes};
    std::vector<std::vector<OperatorBenchmarks>> measured(types.size());
    std::vector<double> peaks(types.size());
    BusyDevices busy{0, 0}; // of all passes, their mean
    double done = 0, steps = double(passes * types.size());
    const auto progress = [&](double share) {
        if (options.progress) options.progress(0.95 * (done + share) / steps);
    };
    for (std::size_t pass = 0; pass < passes; ++pass) {
        for (std::size_t i = 0; i < types.size(); ++i, ++done) {
            measured[i].push_back(benchmarkOperators(types[i].second, ofPass, options.mostPoints, progress));
            peaks[i] = std::max(peaks[i], measureMachinePeak(types[i].second).flops);
        }
        const BusyDevices now = measureBusyDevices(result.cluster.devicesPerNode, kBusyShare * ofPass.seconds);
        busy.slowdown += now.slowdown / double(passes);
        busy.spread += now.spread / double(passes);
    }
    for (std::size_t i = 0; i < types.size(); ++i)
        addPrecision(types[i].first, meanOf(std::move(measured[i])), peaks[i], result, family);
    result.calibration.busySlowdown = busy.slowdown;
    result.calibration.deviceSpread = std::min(1.0, busy.spread);
    describeProcessor(std::move(family), result);
}

} // namespace

CalibrateOptions quickLook()
{
    CalibrateOptions options;
    options.secondsPerOperator = 0.001;
    options.mostPoints = 3;
    options.passes = 1;
    return options;
}

Result<MachineCalibration> calibrateMachine(const ClusterSpec& base, const CalibrateOptions& options)
{
    MachineCalibration result;
    result.cluster = base;
    const auto types = typesToMeasure(options.precision);
    if (types.empty())
        return Error{ErrorCode::Unsupported, "this processor does not compute in it",
                     std::string(name(*options.precision)), "f32 is always possible"};
    std::optional<Error> failure;
    std::thread thread([&] { // its own, so that the caller's OpenMP settings stay as they are
        try {
            useSingleThread();
            measure(options, types, result);
        } catch (const EngineError& error) {
            failure = error.error();
        } catch (const std::bad_alloc&) {
            failure = Error{ErrorCode::Internal, "out of memory", "calibrate", "close other programs"};
        }
    });
    thread.join();
    if (failure) return *failure;
    if (result.cluster.devicesPerNode > 1) {
        FOURWALLS_TRY_ASSIGN(result.cluster.nodeLink, threadLink());
    }
    if (options.progress) options.progress(1);
    return result;
}

} // namespace fourwalls::calibrate
