// SPDX-License-Identifier: Apache-2.0
// The preset of a measured GPU. Products go before the cost model's tiles where a whole grid of them was measured;
// attention and other own kernels of the engine go to the engine's entry and the tables alone, because other frameworks
// have other ones.
#include "profiler/calibrate/gpu_calibration.h"

#include "model/spec/calibration.h"
#include "model/spec/names.h"
#include "model/spec/rate_grid.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fourwalls::calibrate {

namespace {

using nlohmann::json;

bool isProduct(GpuWork work)
{
    return work == GpuWork::Product || work == GpuWork::InputGradient || work == GpuWork::WeightGradient;
}

bool isAttention(GpuWork work)
{
    return work == GpuWork::AttentionForward || work == GpuWork::AttentionBackward;
}

/// Work of a call: FLOPs of products and attention (causal: half), else bytes moved.
double amountOf(const GpuMeasurement& what)
{
    const auto& [a, b, c] = what.extents;
    if (isProduct(what.work)) return 2 * a * b * c;
    if (isAttention(what.work)) return 2 * a * a * b * c * (what.work == GpuWork::AttentionBackward ? 2.5 : 1);
    return what.work == GpuWork::Copy ? 2 * a : a;
}

/// The rates of one layout, if every point of the grid was measured; products slowed down to what lasts.
bool gridOf(const GpuCalibration& calibration, GpuWork work, double slowdown, RateGrid& grid)
{
    std::array<std::set<double>, 3> axes;
    std::map<std::array<double, 3>, double> rates;
    for (const GpuMeasured& m : calibration.measured) {
        if (m.what.work != work || m.what.sustained() || m.what.beside != Beside::Nothing) continue;
        for (std::size_t i = 0; i < 3; ++i) axes[i].insert(m.what.extents[i]);
        rates[m.what.extents] = amountOf(m.what) / m.median / slowdown;
    }
    if (rates.empty() || rates.size() != axes[0].size() * axes[1].size() * axes[2].size()) return false;
    for (const auto& axis : axes) grid.axes.emplace_back(axis.begin(), axis.end());
    for (const auto& [point, rate] : rates) grid.rates.push_back(rate); // the map's order has the last axis fastest
    return true;
}

double bestRate(const GpuCalibration& calibration, GpuWork work, double slowdown = 1)
{
    double best = 0;
    for (const GpuMeasured& m : calibration.measured)
        if (m.what.work == work && m.what.beside == Beside::Nothing)
            best = std::max(best, amountOf(m.what) / m.median / (m.what.sustained() ? 1 : slowdown));
    return best;
}

/// What the product beside copying takes longer, as a part of the time.
double contentionOf(const GpuCalibration& calibration)
{
    double sum = 0;
    int count = 0;
    for (const GpuMeasured& beside : calibration.measured) {
        if (beside.what.beside == Beside::Nothing) continue;
        for (const GpuMeasured& alone : calibration.measured)
            if (alone.what.beside == Beside::Nothing && alone.what.sustained() && alone.what.work == beside.what.work &&
                alone.what.extents == beside.what.extents) {
                sum += beside.median / alone.median - 1;
                ++count;
            }
    }
    return count > 0 ? std::clamp(sum / count, 0.0, 10.0) : -1;
}

/// Rows in the columns of the tables of kernel rates (times in microseconds), with clock and power behind them.
json tablesOf(const GpuCalibration& calibration, const ClusterSpec& cluster)
{
    json products = json::array(), attention = json::array(), memory = json::array(), host = json::array();
    const std::string& device = cluster.device.name;
    const double peak = cluster.device.peak(Precision::Bf16).value_or(0);
    for (const GpuMeasured& m : calibration.measured) {
        const auto& [a, b, c] = m.what.extents;
        const double rate = amountOf(m.what) / m.median;
        json row{{"device", device},
                 {"time_us", m.median * 1e6},
                 {"samples", m.samples},
                 {"low_us", m.low * 1e6},
                 {"high_us", m.high * 1e6},
                 {"spread", "p10-p90"},
                 {"comm_overlap", m.what.beside == Beside::Copying ? "copying" : "no"},
                 {"context", m.what.sustained() ? "microbenchmark_sustained" : "microbenchmark_burst"},
                 {"source", "fourwalls-cli calibrate --device cuda"},
                 {"clock_mhz", m.clockMhz > 0 ? json(m.clockMhz) : json()},
                 {"power_watts", m.powerWatts > 0 ? json(m.powerWatts) : json()}};
        if (isProduct(m.what.work)) {
            row.update({{"precision", "bf16"},
                        {"m", a},
                        {"n", b},
                        {"k", c},
                        {"batch", 1},
                        {"layout", m.what.work == GpuWork::Product         ? "nn"
                                   : m.what.work == GpuWork::InputGradient ? "tn"
                                                                           : "nt"},
                        {"tflops", rate * 1e-12},
                        {"fraction_of_peak", peak > 0 ? json(rate / peak) : json()},
                        {"op", "cublasLt"}});
            products.push_back(std::move(row));
        } else if (isAttention(m.what.work)) {
            row.update({{"precision", "bf16"},
                        {"pass", m.what.work == GpuWork::AttentionForward ? "fwd" : "bwd"},
                        {"kind", "engine"},
                        {"batch", 1},
                        {"heads", b},
                        {"kv_heads", b},
                        {"seq_q", a},
                        {"seq_k", a},
                        {"head_dim", c},
                        {"causal", true},
                        {"tflops", rate * 1e-12}});
            attention.push_back(std::move(row));
        } else if (m.what.work == GpuWork::Launch) {
            row.update({{"what", "kernel of one element, back to back"},
                        {"median_us", m.median * 1e6},
                        {"p90_us", m.high * 1e6}});
            host.push_back(std::move(row));
        } else {
            row.update({{"op_class", m.what.work == GpuWork::Add    ? "elementwise"
                                     : m.what.work == GpuWork::Copy ? "copy"
                                                                    : "host_copy"},
                        {"op", m.what.work == GpuWork::Add        ? "add"
                               : m.what.work == GpuWork::Copy     ? "copy"
                               : m.what.work == GpuWork::ToDevice ? "host to device"
                                                                  : "device to host"},
                        {"bytes", amountOf(m.what)},
                        {"gb_per_s", rate * 1e-9}});
            memory.push_back(std::move(row));
        }
    }
    return {{"products", products}, {"attention", attention}, {"memory_bound", memory}, {"host", host}};
}

} // namespace

Result<std::string> gpuPreset(const GpuCalibration& calibration, ClusterSpec cluster)
{
    const double slowdown = sustainedSlowdown(calibration), product = bestRate(calibration, GpuWork::Product, slowdown);
    if (!(product > 0))
        return Error{ErrorCode::Unsupported, "not one product was measured", "--seconds", "more of them"};
    FOURWALLS_TRY_ASSIGN(Calibration base, loadCalibration("published"));
    DeviceSpec& device = cluster.device;
    double& peak = device.peakFlops[Precision::Bf16];
    peak = std::max(peak, product);
    const double memory = bestRate(calibration, GpuWork::Add);
    device.memoryBytesPerSecond = std::max(device.memoryBytesPerSecond, memory);
    const double host = std::max(bestRate(calibration, GpuWork::ToDevice), bestRate(calibration, GpuWork::FromDevice));
    device.hostBytesPerSecond = std::max(device.hostBytesPerSecond, host);

    const FamilyCalibration& published = base.family(device.family);
    json family{{"ramp_seconds", published.rampSeconds},
                {"power_exponent", published.powerExponent},
                {"memory_fraction", memory > 0 ? memory / device.memoryBytesPerSecond : published.memoryFraction},
                {"gemm_ceiling", {{"bf16", product / peak}}},
                {"attention", json::object()},
                {"operators", json::object()}};
    for (const auto& [precision, ceiling] : published.gemmCeiling)
        if (precision != Precision::Bf16) family["gemm_ceiling"][std::string(fourwalls::name(precision))] = ceiling;
    for (const auto& [kernel, rates] : published.attention)
        family["attention"][kernel] = {{"forward", rates.forward}, {"backward", rates.backward}};
    const double forward = bestRate(calibration, GpuWork::AttentionForward);
    const double backward = bestRate(calibration, GpuWork::AttentionBackward);
    if (forward > 0 && backward > 0)
        family["attention"]["engine"] = {{"forward", std::min(1.0, forward / peak)},
                                         {"backward", std::min(1.0, backward / peak)}};
    OperatorRates operators;
    for (const auto& [work, name] :
         {std::pair{GpuWork::Product, "gemm"}, std::pair{GpuWork::InputGradient, "gemm.input_gradient"},
          std::pair{GpuWork::WeightGradient, "gemm.weight_gradient"}})
        if (RateGrid grid; gridOf(calibration, work, slowdown, grid)) operators.emplace(name, std::move(grid));
    if (!operators.empty()) family["operators"]["bf16"] = toJson(operators);

    double kernel = base.kernelSeconds;
    for (const GpuMeasured& m : calibration.measured)
        if (m.what.work == GpuWork::Launch) kernel = std::min(1.0, m.median);
    const double contention = contentionOf(calibration);
    json peaks = json::object();
    for (const auto& [precision, rate] : device.peakFlops) peaks[std::string(fourwalls::name(precision))] = rate;
    const json preset{
        {"name", "calibrated"},
        {"device",
         {{"name", device.name},
          {"family", device.family},
          {"memory_bytes", device.memoryBytes},
          {"memory_bytes_per_second", device.memoryBytesPerSecond},
          {"multiprocessors", device.multiprocessors},
          {"host_bytes_per_second", device.hostBytesPerSecond},
          {"peak_flops", peaks}}},
        {"devices_per_node", 1},
        {"nodes", 1},
        {"calibration",
         {{"kernel_seconds", kernel},
          {"contention", contention >= 0 ? contention : base.contention},
          {"host_link_fraction", host > 0 ? host / device.hostBytesPerSecond : base.hostLinkFraction},
          {"device_spread", base.deviceSpread},
          {"routing_imbalance", base.routingImbalance},
          {"synchronous_launch_seconds", base.synchronousLaunchSeconds},
          {"families", {{device.family.empty() ? "other" : device.family, family}, {"other", family}}}}},
        {"sustained_over_burst", slowdown},
        {"tables", tablesOf(calibration, cluster)},
        {"left_out", calibration.leftOut},
        {"source",
         "measured by fourwalls-cli calibrate --device cuda; attention rates of other kernels than the engine's "
         "are the published ones"}};
    return preset.dump(1) + "\n";
}

} // namespace fourwalls::calibrate
