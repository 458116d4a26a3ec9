// SPDX-License-Identifier: Apache-2.0
// What one device really reaches: data-sheet rates times the calibrated fractions, for one run's precision.
#pragma once

#include "model/spec/calibration.h"
#include "model/spec/cluster_spec.h"
#include "model/spec/framework_preset.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace fourwalls::cost {

/// Rates of a device under one precision. All positive.
struct DeviceRates {
    double peakFlops = 0;          ///< data sheet, of matrix products [FLOP/s]
    double plainFlops = 0;         ///< data sheet, without tensor cores: of products whose rows are not aligned
    double gemmFlops = 0;          ///< sustained, of large aligned matrix products
    double attentionPeak = 0;      ///< data sheet, of the precision that attention runs in (never fp8)
    double attentionGemmFlops = 0; ///< sustained, of attention's products where they are separate
    double attentionForward = 0, attentionBackward = 0;         ///< of the fused kernel at long sequences [FLOP/s]
    double attentionForwardHalf = 0, attentionBackwardHalf = 0; ///< keys per query at which it reaches half of that
    double attentionNarrow = 1;                                 ///< factor for heads of 64 and less
    std::array<double, kMemoryClasses> memoryBytes{};           ///< that kernels of a kind reach [bytes/s]
    double updateBytes = 0;                                     ///< that updates of weights reach [bytes/s]
    double streamBytes = 0;                                     ///< that matrix products stream operands at [bytes/s]
    double rampSeconds = 0;                                     ///< of one wave of the largest tiles
    double kernelSeconds = 0;                                   ///< of every kernel, on top
    double gemmKernelSeconds = 0;                               ///< likewise of a product
    int multiprocessors = 0;                                    ///< 0: no tiles
    bool fetchesInTurn = false; ///< a core fetches operands, then computes; else both at once
    double elementBytes = 2;    ///< of activations and weights as computed with
    /// Linear layers run in fewer bits than activations have: an operand is cast first. 0: they do not.
    double castBytes = 0;                             ///< read and written for that, per element
    double operandBytes = 2;                          ///< of an element of such a product's operands
    const OperatorRates* measured = nullptr;          ///< operators measured one by one; null or of the calibration
    const OperatorRates* attentionMeasured = nullptr; ///< likewise of the framework's fused kernel alone
};

/// Rate that kernels of a kind reach in memory.
inline double memoryRate(const DeviceRates& rates, MemoryClass kind)
{
    return rates.memoryBytes[static_cast<std::size_t>(kind)];
}

/// The kind of an operator by its name in the engine ("attention.softmax", "moe.permute", …).
MemoryClass memoryClassOf(std::string_view name);

/// Of a fused attention kernel, with the keys per query and the width of a head.
double attentionRate(const DeviceRates& rates, bool backward, double keys, double width);

/// How a matrix product's operands lie: plain, with the second one transposed (the gradient of the input), or with the
/// first one transposed (the gradient of the weights).
enum class GemmLayout { Plain, SecondTransposed, FirstTransposed };

/// Names of measured operators. Products have the axes (m, n, k), attention (keys per query, width of a head), the
/// others the bytes that PassBuilder::memory counts.
std::string_view measuredGemm(GemmLayout layout);

/// Likewise of a weight gradient that is added to what is there: that is read as well as written.
inline constexpr std::string_view kAddedGradient = "gemm.weight_gradient.added";

/// Rate of a measured operator, or nothing if it was not measured.
std::optional<double> measuredRate(const DeviceRates& rates, std::string_view name,
                                   std::initializer_list<double> point);

/// Rate of the framework's fused attention kernel, if it was measured over lengths.
std::optional<double> measuredAttention(const DeviceRates& rates, bool backward, double keys, double width);

/// precision: of the linear layers; attention and activations are bf16 under fp8. A limit below the power at which the
/// rates were measured slows the clock by the cube root of the ratio (power ~ voltage^2 x frequency, both falling
/// together; arXiv:2001.07104 section 2 and the CMOS power law), and matrix products, which draw most, by the power of it
/// that the calibration measured (1 where the voltage is as low as it gets).
/// The result points into `calibration`.
/// Errors: Unsupported if the device has no rate for the precision or no memory bandwidth.
Result<DeviceRates> deviceRates(const DeviceSpec& device, Precision precision, const FrameworkPreset& framework,
                                const Calibration& calibration);

/// Seconds of `batch` matrix products [m x k] x [k x n]: the tiling that is quickest, in whole waves over the
/// multiprocessors, each with its ramp, or the operands' way through memory if that takes longer; kernelSeconds on top.
/// alignment: largest power of two that divides the rows' lengths in elements. Half-precision rows that do not begin on
/// 16 bytes (8 elements) are multiplied without tensor cores where the product is one of attention's batches, and fed
/// with narrower loads elsewhere (NVIDIA, Matrix Multiplication Background User's Guide, "Requirements to use Tensor
/// Cores"). outputBytes: per element written (4 for gradients kept in fp32, doubled
/// when they are added to what is there).
double gemmSeconds(const DeviceRates& rates, double batch, double m, double n, double k, double alignment = 8,
                   double outputBytes = 2, bool attention = false);

/// What the host needs for a kernel [s]: as a trace taught it, or as eager PyTorch or compiled code launch.
inline double launchSeconds(const FrameworkPreset& framework, const Calibration& calibration)
{
    if (calibration.launchSeconds >= 0) return calibration.launchSeconds;
    return framework.eager ? calibration.eagerLaunchSeconds : framework.launchSeconds;
}

/// How much slower the slowest of `devices` is than the typical one: the expected largest of that many normal deviates
/// (Blom's approximation) times the spread. They all wait for it in every step.
double slowestDevice(int devices, double spread);

/// How much slower than alone a device of a node is while so many ranks compute: from 1 for one of them to `slowdown` once
/// they fill the node.
double busyFactor(int ranks, int devicesPerNode, double slowdown);

} // namespace fourwalls::cost
