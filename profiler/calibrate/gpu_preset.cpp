// SPDX-License-Identifier: Apache-2.0
// The preset of a measured GPU. Products and memory-bound kernels go before the cost model's tiles and fractions where a
// whole grid of them was measured; attention goes to the engine's entry alone, because other frameworks have other kernels.
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

double rateOf(const GpuMeasured& m)
{
    return amountOf(m.what) / m.median;
}

bool isBurstAlone(const GpuMeasured& m, GpuWork work)
{
    return m.what.work == work && !m.what.sustained() && m.what.beside == Beside::Nothing;
}

/// The rates of one pass, if every point of the grid was measured; slowed down to what lasts.
bool productGrid(const GpuCalibration& calibration, GpuWork work, double slowdown, RateGrid& grid)
{
    std::array<std::set<double>, 3> axes;
    std::map<std::array<double, 3>, double> rates;
    for (const GpuMeasured& m : calibration.measured) {
        if (!isBurstAlone(m, work)) continue;
        for (std::size_t i = 0; i < 3; ++i) axes[i].insert(m.what.extents[i]);
        rates[m.what.extents] = rateOf(m) / slowdown;
    }
    if (rates.empty() || rates.size() != axes[0].size() * axes[1].size() * axes[2].size()) return false;
    for (const auto& axis : axes) grid.axes.emplace_back(axis.begin(), axis.end());
    for (const auto& [point, rate] : rates) grid.rates.push_back(rate); // the map's order has the last axis fastest
    return true;
}

/// Rates over counted bytes, of two sizes at least.
bool memoryGrid(const GpuCalibration& calibration, GpuWork work, RateGrid& grid)
{
    std::map<double, double> rates;
    for (const GpuMeasured& m : calibration.measured)
        if (isBurstAlone(m, work)) rates[amountOf(m.what)] = rateOf(m);
    if (rates.size() < 2) return false;
    grid.axes.resize(1);
    for (const auto& [bytes, rate] : rates) {
        grid.axes[0].push_back(bytes);
        grid.rates.push_back(rate);
    }
    return true;
}

/// Rates over keys and widths of heads, at the one number of heads that all lengths were measured with.
bool attentionGrid(const GpuCalibration& calibration, GpuWork work, RateGrid& grid)
{
    std::array<std::set<double>, 2> axes;
    std::map<std::array<double, 2>, double> rates;
    for (const GpuMeasured& m : calibration.measured) {
        const auto& [length, heads, width] = m.what.extents;
        if (!isBurstAlone(m, work) || heads * width != kAttentionWidth) continue;
        axes[0].insert(length);
        axes[1].insert(width);
        rates[{length, width}] = rateOf(m);
    }
    if (rates.empty() || rates.size() != axes[0].size() * axes[1].size()) return false;
    for (const auto& axis : axes) grid.axes.emplace_back(axis.begin(), axis.end());
    for (const auto& [point, rate] : rates) grid.rates.push_back(rate);
    return true;
}

double bestRate(const GpuCalibration& calibration, GpuWork work, double slowdown = 1)
{
    double best = 0;
    for (const GpuMeasured& m : calibration.measured)
        if (m.what.work == work && m.what.beside == Beside::Nothing)
            best = std::max(best, rateOf(m) / (m.what.sustained() ? 1 : slowdown));
    return best;
}

/// What the product beside something takes longer, as a part of the time; beside an all-reduce, where it was measured.
double contentionOf(const GpuCalibration& calibration)
{
    for (const Beside beside : {Beside::AllReduce, Beside::Copying}) {
        double sum = 0;
        int count = 0;
        for (const GpuMeasured& slow : calibration.measured) {
            if (slow.what.beside != beside) continue;
            for (const GpuMeasured& alone : calibration.measured)
                if (alone.what.beside == Beside::Nothing && alone.what.sustained() &&
                    alone.what.work == slow.what.work && alone.what.extents == slow.what.extents) {
                    sum += slow.median / alone.median - 1;
                    ++count;
                }
        }
        if (count > 0) return std::clamp(sum / count, 0.0, 10.0);
    }
    return -1;
}

/// How the GPUs hang together: curves of the bus bandwidth, and the link that stands for what was not measured.
struct Links {
    json curves = json::array();
    double best = 0, latency = 0; ///< bus bandwidth [B/s]; of one hop of a ring [s]
};

Links linksOf(const GpuCalibration& calibration, const ClusterSpec& cluster)
{
    Links links;
    const double n = calibration.gpus;
    double smallest = 0;
    for (const auto& [work, name] :
         {std::pair{GpuWork::AllReduce, "all_reduce"}, std::pair{GpuWork::AllGather, "all_gather"}}) {
        std::map<double, double> rates;
        for (const GpuMeasured& m : calibration.measured) {
            if (m.what.work != work) continue;
            const bool reduce = work == GpuWork::AllReduce;
            rates[m.what.extents[0]] = rateOf(m) * (reduce ? 2 : 1) * (n - 1) / n;
            if (reduce && (smallest == 0 || m.what.extents[0] < smallest)) {
                smallest = m.what.extents[0];
                links.latency = std::min(1.0, m.median / (2 * (n - 1)));
            }
        }
        if (rates.empty()) continue;
        json bytes = json::array(), bus = json::array();
        for (const auto& [size, rate] : rates) {
            bytes.push_back(size);
            bus.push_back(rate);
            links.best = std::max(links.best, rate);
        }
        links.curves.push_back({{"family", cluster.device.family},
                                {"operation", name},
                                {"ranks", calibration.gpus},
                                {"fabric", wordOf(kFabricWords, cluster.fabric)},
                                {"bytes", bytes},
                                {"bus_bytes_per_second", bus}});
    }
    const double link = std::max(cluster.nodeLink.bytesPerSecond, links.best);
    for (json& curve : links.curves) curve["link_bytes_per_second"] = link;
    return links;
}

json attentionJson(const GpuCalibration& calibration, const FamilyCalibration& published, double peak)
{
    json kernels = json::object();
    for (const auto& [kernel, rates] : published.attention)
        kernels[kernel] = {{"forward", rates.forward},
                           {"backward", rates.backward},
                           {"forward_half_keys", rates.forwardHalf},
                           {"backward_half_keys", rates.backwardHalf},
                           {"narrow", rates.narrow}};
    const double forward = bestRate(calibration, GpuWork::AttentionForward);
    const double backward = bestRate(calibration, GpuWork::AttentionBackward);
    if (!(forward > 0 && backward > 0)) return kernels;
    json& engine = kernels["engine"];
    engine = {{"forward", std::min(1.0, forward / peak)}, {"backward", std::min(1.0, backward / peak)}};
    OperatorRates grids;
    for (const auto& [work, name] :
         {std::pair{GpuWork::AttentionForward, "forward"}, std::pair{GpuWork::AttentionBackward, "backward"}})
        if (RateGrid grid; attentionGrid(calibration, work, grid)) grids.emplace(name, std::move(grid));
    if (!grids.empty()) engine["rates"] = toJson(grids);
    return kernels;
}

json familyJson(const GpuCalibration& calibration, const FamilyCalibration& published, double memoryFraction,
                double productFraction, double peak)
{
    json family{{"ramp_seconds", published.rampSeconds},
                {"power_exponent", published.powerExponent},
                {"memory_fraction", memoryFraction > 0 ? memoryFraction : published.memoryFraction},
                {"gemm_ceiling", {{"bf16", productFraction}}},
                {"attention", attentionJson(calibration, published, peak)},
                {"operators", json::object()}};
    for (const auto& [precision, ceiling] : published.gemmCeiling)
        if (precision != Precision::Bf16) family["gemm_ceiling"][std::string(fourwalls::name(precision))] = ceiling;
    OperatorRates operators;
    const double slowdown = sustainedSlowdown(calibration);
    for (const auto& [work, name] :
         {std::pair{GpuWork::Product, "gemm"}, std::pair{GpuWork::InputGradient, "gemm.input_gradient"},
          std::pair{GpuWork::WeightGradient, "gemm.weight_gradient"}})
        if (RateGrid grid; productGrid(calibration, work, slowdown, grid)) operators.emplace(name, std::move(grid));
    for (const MemoryKernel& kernel : memoryKernels())
        if (RateGrid grid; kernel.measured && memoryGrid(calibration, kernel.work, grid))
            operators.emplace(kernel.measured, std::move(grid));
    if (!operators.empty()) family["operators"]["bf16"] = toJson(operators);
    return family;
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
    const json family = familyJson(calibration, base.family(device.family),
                                   memory > 0 ? memory / device.memoryBytesPerSecond : 0, product / peak, peak);

    const double kernel = std::min(1.0, medianOf(calibration, GpuWork::Launch, 1).value_or(base.kernelSeconds));
    const auto roundTrip = medianOf(calibration, GpuWork::RoundTrip, 1);
    const double contention = contentionOf(calibration);
    json peaks = json::object();
    for (const auto& [precision, rate] : device.peakFlops) peaks[std::string(fourwalls::name(precision))] = rate;
    json preset{
        {"name", "calibrated"},
        {"device",
         {{"name", device.name},
          {"family", device.family},
          {"memory_bytes", device.memoryBytes},
          {"memory_bytes_per_second", device.memoryBytesPerSecond},
          {"multiprocessors", device.multiprocessors},
          {"host_bytes_per_second", device.hostBytesPerSecond},
          {"peak_flops", peaks}}},
        {"devices_per_node", calibration.gpus},
        {"nodes", 1},
        {"calibration",
         {{"kernel_seconds", kernel},
          {"contention", contention >= 0 ? contention : base.contention},
          {"host_link_fraction", host > 0 ? host / device.hostBytesPerSecond : base.hostLinkFraction},
          {"device_spread", base.deviceSpread},
          {"routing_imbalance", base.routingImbalance},
          {"synchronous_launch_seconds",
           roundTrip ? std::clamp(*roundTrip - kernel, 0.0, 1.0) : base.synchronousLaunchSeconds},
          {"families", {{device.family.empty() ? "other" : device.family, family}, {"other", family}}}}},
        {"sustained_over_burst", slowdown},
        {"tables", rateTables(calibration, cluster)},
        {"left_out", calibration.leftOut},
        {"source",
         "measured by fourwalls-cli calibrate --device cuda; attention rates of other kernels than the engine's "
         "are the published ones"}};
    if (const Links links = linksOf(calibration, cluster); links.best > 0) {
        const double link = std::max(cluster.nodeLink.bytesPerSecond, links.best);
        preset["fabric"] = wordOf(kFabricWords, cluster.fabric);
        preset["node_link"] = {{"bytes_per_second", link}, {"latency_seconds", links.latency}};
        preset["calibration"]["node_link_fraction"] = links.best / link;
        preset["calibration"]["collectives"] = links.curves;
    }
    return preset.dump(1) + "\n";
}

} // namespace fourwalls::calibrate
