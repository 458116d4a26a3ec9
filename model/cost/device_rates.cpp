// SPDX-License-Identifier: Apache-2.0
// See device_rates.h.
#include "model/cost/device_rates.h"

#include "model/spec/names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace fourwalls::cost {

namespace {

struct Tile {
    double rows, columns, ratio;
};

// Smaller tiles read more operand bytes per product; ratios as in resources/calibration/derive_constants.py.
constexpr std::array<Tile, 8> kTiles{{{256, 128, 1.0},
                                      {128, 256, 1.0},
                                      {128, 128, 0.92},
                                      {256, 64, 0.85},
                                      {64, 256, 0.85},
                                      {128, 64, 0.75},
                                      {64, 128, 0.75},
                                      {64, 64, 0.6}}};
constexpr double kLargestTile = 256.0 * 128.0;
constexpr double kStreamFraction = 0.8; // of the data sheet's bandwidth, for operands of matrix products; assumed
/// Of the bandwidth that a core reaches alone: 249 products of three networks at 64 to 512 rows (4 MFLOP to 70 MFLOP) take their
/// FLOPs at the peak that a sweep of products reached and their bytes at 0.5 to 0.7 of it, 5 to 6 % off in the mean.
constexpr double kCoreStreamFraction = 0.6;
/// Keys at which the engine's tiled attention on a core has half of the rate that it has of long sequences: fits through its
/// rates on 64 to 1024 keys, heads 16 and 64 wide; within 6 % from 256 keys on, too quick by up to a half below.
constexpr double kCoreForwardHalf = 280, kCoreBackwardHalf = 130;

double ceilingOf(const FamilyCalibration& family, Precision precision)
{
    constexpr double kUnmeasured = 0.8;
    const auto found = family.gemmCeiling.find(precision);
    if (found != family.gemmCeiling.end()) return found->second;
    const bool narrow = precision == Precision::Mxfp8 || precision == Precision::Fp4;
    if (narrow) return ceilingOf(family, Precision::Fp8); // the nearest that was measured
    return family.gemmCeiling.empty() ? kUnmeasured : family.gemmCeiling.begin()->second;
}

/// What products lose against a burst when they run on and on. Narrow formats that were not measured lose nothing.
double sustainedOf(const FamilyCalibration& family, Precision precision)
{
    const auto found = family.sustainedClock.find(precision);
    return found != family.sustainedClock.end() ? found->second : 1;
}

bool isNarrow(Precision precision)
{
    return precision == Precision::Fp8 || precision == Precision::Mxfp8 || precision == Precision::Fp4;
}

/// Bytes of a number in a product, with its share of a scale.
double bytesOf(Precision precision)
{
    switch (precision) {
    case Precision::F32:
    case Precision::Tf32: return 4;
    case Precision::F16:
    case Precision::Bf16: return 2;
    case Precision::Fp8: return 1;
    case Precision::Mxfp8: return 1 + 1.0 / 32;
    case Precision::Fp4: return 0.5 + 1.0 / 16;
    }
    return 2;
}

} // namespace

Result<DeviceRates> deviceRates(const DeviceSpec& device, Precision precision, const FrameworkPreset& framework,
                                const Calibration& calibration)
{
    const auto missing = [&](const std::string& what, const std::string& hint) {
        return Error{ErrorCode::Unsupported, "the device description has no " + what, "device " + device.name, hint};
    };
    const bool narrow = isNarrow(precision);
    const Precision half = narrow ? Precision::Bf16 : precision;
    std::optional<double> peak = device.peak(precision == Precision::Mxfp8 ? Precision::Fp8 : precision);
    if (!peak && precision == Precision::Fp8) peak = device.peak(Precision::F16);
    if (!peak && precision == Precision::Bf16) peak = device.peak(Precision::F16);
    if (!peak && precision == Precision::Tf32) peak = device.peak(Precision::F32);
    if (!peak || !(*peak > 0))
        return missing("peak rate for " + std::string(fourwalls::name(precision)),
                       "peak_flops." + std::string(fourwalls::name(precision)) + ", or another --precision");
    if (!(device.memoryBytesPerSecond > 0)) return missing("memory bandwidth", "memory_bytes_per_second");

    const FamilyCalibration& family = calibration.family(device.family);
    const bool limited = device.fullPowerWatts > 0 && device.powerWatts > 0;
    const double share = limited ? std::min(1.0, device.powerWatts / device.fullPowerWatts) : 1.0;
    const double power = std::pow(share, family.powerExponent), attentionPower = std::cbrt(share);
    DeviceRates rates;
    rates.operandBytes = bytesOf(precision);
    rates.castBytes = narrow ? 2 + rates.operandBytes : 0;
    rates.peakFlops = *peak;
    rates.plainFlops = device.peak(Precision::F32).value_or(*peak / 16) * ceilingOf(family, Precision::F32) * power;
    const auto sustained = [&](Precision p) { return share < 1 ? 1.0 : sustainedOf(family, p); };
    rates.gemmFlops = *peak * ceilingOf(family, precision) * power * sustained(precision);
    rates.attentionPeak = device.peak(half).value_or(*peak);
    rates.attentionGemmFlops = rates.attentionPeak * ceilingOf(family, half) * power * sustained(half);
    static const AttentionRates kUnknown;
    const auto kernel = family.attention.find(framework.attentionKernel);
    const AttentionRates& attention = kernel != family.attention.end() ? kernel->second : kUnknown;
    rates.attentionMeasured = &attention.measured;
    rates.attentionForward = rates.attentionPeak * attention.forward * attentionPower;
    rates.attentionBackward = rates.attentionPeak * attention.backward * attentionPower;
    rates.updateBytes = device.memoryBytesPerSecond * family.memoryFraction;
    rates.attentionForwardHalf = attention.forwardHalf;
    rates.attentionBackwardHalf = attention.backwardHalf;
    rates.attentionNarrow = attention.narrow;
    for (std::size_t i = 0; i < kMemoryClasses; ++i) {
        const auto fraction = family.memoryFractions.find(static_cast<MemoryClass>(i));
        rates.memoryBytes[i] = device.memoryBytesPerSecond *
                               (fraction != family.memoryFractions.end() ? fraction->second : family.memoryFraction);
    }
    rates.fetchesInTurn = device.family == "cpu";
    if (rates.fetchesInTurn && rates.attentionForwardHalf <= 0) rates.attentionForwardHalf = kCoreForwardHalf;
    if (rates.fetchesInTurn && rates.attentionBackwardHalf <= 0) rates.attentionBackwardHalf = kCoreBackwardHalf;
    rates.streamBytes = device.memoryBytesPerSecond *
                        (rates.fetchesInTurn ? kCoreStreamFraction : std::max(kStreamFraction, family.memoryFraction));
    rates.rampSeconds = family.rampSeconds;
    rates.kernelSeconds = calibration.kernelSeconds;
    rates.gemmKernelSeconds = family.gemmKernelSeconds < 0 ? calibration.kernelSeconds : family.gemmKernelSeconds;
    rates.multiprocessors = device.multiprocessors;
    if (const auto found = family.operators.find(precision); found != family.operators.end())
        rates.measured = &found->second;
    rates.elementBytes = precision == Precision::F32 || precision == Precision::Tf32 ? 4 : 2;
    return rates;
}

MemoryClass memoryClassOf(std::string_view name)
{
    constexpr std::pair<std::string_view, MemoryClass> kKinds[] = {
        {"attention.softmax", MemoryClass::Softmax}, {"attention.dropout", MemoryClass::Softmax},
        {"attention.rotary", MemoryClass::Layout},   {"attention.transpose", MemoryClass::Layout},
        {"attention.copies", MemoryClass::Layout},   {"cast.", MemoryClass::Cast},
        {"dropout", MemoryClass::Softmax},           {"loss", MemoryClass::Softmax},
        {"moe.permute", MemoryClass::Layout},        {"moe.unpermute", MemoryClass::Layout},
        {"moe.sort", MemoryClass::Layout},           {"moe.unsort", MemoryClass::Layout}};
    if (name.starts_with("norm")) return name.ends_with("backward") ? MemoryClass::NormBackward : MemoryClass::Norm;
    for (const auto& [prefix, kind] : kKinds)
        if (name.starts_with(prefix)) return kind;
    return MemoryClass::Contiguous;
}

double attentionRate(const DeviceRates& rates, bool backward, double keys, double width)
{
    constexpr double kNarrow = 64;
    const double rate = backward ? rates.attentionBackward : rates.attentionForward;
    const double half = backward ? rates.attentionBackwardHalf : rates.attentionForwardHalf;
    return rate * (width <= kNarrow ? rates.attentionNarrow : 1) * keys / (keys + half);
}

std::string_view measuredGemm(GemmLayout layout)
{
    switch (layout) {
    case GemmLayout::Plain: return "gemm";
    case GemmLayout::SecondTransposed: return "gemm.input_gradient";
    case GemmLayout::FirstTransposed: return "gemm.weight_gradient";
    }
    return "gemm";
}

std::optional<double> measuredRate(const DeviceRates& rates, std::string_view name, std::initializer_list<double> point)
{
    if (!rates.measured) return std::nullopt;
    const auto found = rates.measured->find(name);
    if (found == rates.measured->end() || found->second.axes.size() != point.size()) return std::nullopt;
    return found->second.at(std::span(point.begin(), point.size()));
}

std::optional<double> measuredAttention(const DeviceRates& rates, bool backward, double keys, double width)
{
    if (!rates.attentionMeasured) return std::nullopt;
    const auto found = rates.attentionMeasured->find(backward ? "backward" : "forward");
    if (found == rates.attentionMeasured->end() || found->second.axes.size() != 2) return std::nullopt;
    return found->second.at(std::array{keys, width});
}

double gemmSeconds(const DeviceRates& rates, double batch, double m, double n, double k, double alignment,
                   double outputBytes, bool attention)
{
    if (!(m > 0 && n > 0 && k > 0 && batch > 0)) return 0;
    double sustained = attention ? rates.attentionGemmFlops : rates.gemmFlops;
    const bool half = rates.elementBytes <= 2;
    const double narrow = !half || attention || alignment >= 8 ? 1.0 : std::max(alignment, 1.0) / 8;
    if (half && attention && alignment < 8) sustained = std::min(sustained, rates.plainFlops);
    const double operand = attention ? std::min(rates.elementBytes, 2.0) : rates.operandBytes;
    const double bytes = batch * (operand * (m * k + k * n) + outputBytes * m * n);
    double compute = 2 * batch * m * n * k / sustained;
    if (rates.multiprocessors > 0) {
        const double sms = rates.multiprocessors;
        double best = std::numeric_limits<double>::infinity();
        for (const Tile& tile : kTiles) {
            const double tiles = batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
            const double area = tile.rows * tile.columns;
            const double each = 2 * area * k * sms / (sustained * tile.ratio) + rates.rampSeconds * area / kLargestTile;
            best = std::min(best, std::ceil(tiles / sms) * each);
        }
        compute = best;
    }
    const double computing = compute / narrow, fetching = bytes / rates.streamBytes;
    return (rates.fetchesInTurn ? computing + fetching : std::max(computing, fetching)) + rates.gemmKernelSeconds;
}

double slowestDevice(int devices, double spread)
{
    if (devices <= 1 || !(spread > 0)) return 1;
    // Inverse of the normal distribution at (n - 0.375) / (n + 0.25), tail form (Abramowitz and Stegun 26.2.23).
    const double tail = 0.625 / (devices + 0.25);
    const double t = std::sqrt(-2 * std::log(tail));
    const double deviate =
        t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
    return 1 + spread * std::max(0.0, deviate);
}

double busyFactor(int ranks, int devicesPerNode, double slowdown)
{
    if (devicesPerNode <= 1) return 1;
    const int others = std::min(ranks, devicesPerNode) - 1;
    return 1 + (slowdown - 1) * others / (devicesPerNode - 1);
}

} // namespace fourwalls::cost
