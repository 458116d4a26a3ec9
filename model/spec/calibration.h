// SPDX-License-Identifier: Apache-2.0
// Constants of the cost model that come from micro-benchmarks: how much of a data sheet's rate real kernels and real
// collectives reach. The published set is derived by resources/calibration/derive_constants.py; `calibrate` measures
// one for this machine.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"
#include "model/spec/names.h"
#include "model/spec/rate_grid.h"
#include "model/spec/training_settings.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Kinds of kernels that the memory's rate limits, by what they reach of it.
enum class MemoryClass { Contiguous, Softmax, Cast, Norm, NormBackward, Layout };
inline constexpr std::size_t kMemoryClasses = 6;
inline constexpr WordTable<MemoryClass, kMemoryClasses> kMemoryClassWords{{{MemoryClass::Contiguous, "contiguous"},
                                                                           {MemoryClass::Softmax, "softmax"},
                                                                           {MemoryClass::Cast, "cast"},
                                                                           {MemoryClass::Norm, "norm"},
                                                                           {MemoryClass::NormBackward, "norm_backward"},
                                                                           {MemoryClass::Layout, "layout"}}};

/// A measured curve of a collective, ordered by size.
struct CollectiveCurve {
    std::string family;    ///< of the device it was measured on
    std::string operation; ///< "all_reduce", "all_gather", "reduce_scatter", "all_to_all"
    int ranks = 0;
    int perNode = 0;                          ///< of them on each node that they touch; 0: all
    NodeFabric fabric = NodeFabric::NvSwitch; ///< it was measured on; it holds for that one
    /// Data-sheet rate of the device's link there, or of the network's adapter; curves scale with it.
    double linkBytesPerSecond = 0;
    std::vector<double> bytes, busBytesPerSecond;
};

/// A larger buffer is never quicker; where a measurement says so (by a few percent), the smaller one was disturbed.
void makeMonotone(CollectiveCurve& curve);

/// Rates of a fused attention kernel, as fractions of the data-sheet peak, causal work counted half.
struct AttentionRates {
    double forward = 0.35, backward = 0.30;   ///< of long sequences and heads over 64 wide
    double forwardHalf = 0, backwardHalf = 0; ///< keys per query at which half of that is reached
    double narrow = 1;                        ///< factor for heads of 64 and less
    /// "forward" and "backward" over keys per query and the width of a head [FLOP/s], where they were measured: they go
    /// before the fractions.
    OperatorRates measured;
};

/// What is known of one family of devices.
struct FamilyCalibration {
    std::map<Precision, double> gemmCeiling; ///< sustained fraction of the peak for large, aligned matrix products
    /// Factor on products that run for a whole step, against the bursts that the ceiling was measured in. Not for parts
    /// that are held below their full power, whose rates were measured held.
    std::map<Precision, double> sustainedClock;
    double rampSeconds = 6e-6;      ///< fill and drain of one wave of tiles
    double gemmKernelSeconds = -1;  ///< of a product on top; negative: as every kernel
    double powerExponent = 1.0 / 3; ///< of the rate of matrix products, in the power that a part is limited to
    double memoryFraction = 0.75;   ///< of the data sheet's memory rate that element-wise kernels reach
    std::map<MemoryClass, double> memoryFractions; ///< likewise by kind of kernel, where that was measured
    std::string relative; ///< the family that was measured in place of this one; empty: measured itself
    /// Of families of which single operations were measured and no training step: half-width of the band on top of that of
    /// the others, in the logarithm.
    double stepBand = 0;
    std::map<std::string, AttentionRates> attention; ///< by kernel name
    /// Operators that were measured one by one; they go before the fractions above. See device_rates.h for the names.
    std::map<Precision, OperatorRates> operators;
};

struct Calibration {
    std::map<std::string, FamilyCalibration> families; ///< "" holds for devices of other families
    std::vector<CollectiveCurve> curves;
    double kernelSeconds = 5e-6;             ///< of a kernel on top of its roofline time
    double synchronousLaunchSeconds = 15e-6; ///< on top, when the host waits for every kernel
    double eagerLaunchSeconds = 50e-6;       ///< of the host per kernel, where operators of eager PyTorch launch
    /// Likewise of the host, where a trace taught it; negative: as the framework's preset says.
    double launchSeconds = -1; ///< per kernel
    double stepSeconds = -1;   ///< once per step, which hides nothing
    /// Of any transfer between devices, beside latency and bytes of its links (NCCL src/graph/tuning.cc: ring, Simple).
    double transferSeconds = 8.4e-6;
    double nodeLinkFraction = 0.78; ///< of a node link's rate that collectives reach, where no curve was measured
    double networkFraction = 0.80;  ///< likewise of the network
    std::map<std::string, double> networkFractions; ///< of kinds of networks that were measured (ClusterSpec::network)
    double hostLinkFraction = 0.80;                 ///< likewise of the link to the host
    double hostOptimizerFraction = 0.80;            ///< of the host's memory rate that an optimizer there reaches
    double besideFraction = 1;                      ///< of its rate alone that a transfer reaches beside computation
    /// Of an all-reduce between nodes, times the square root of their number: what it takes beyond bytes over bandwidth.
    /// Messages of nodesLatencyBytes have half of it, a gather or scatter half as well.
    double nodesLatency = 0, nodesLatencyBytes = 4e6;
    double contention = 0.189;      ///< slowdown of computation beside communication
    double busySlowdown = 1;        ///< of a device while all devices of its node compute, against one alone
    double deviceSpread = 0;        ///< standard deviation of the compute rate between devices of one kind
    double routingImbalance = 1.20; ///< most loaded expert rank against the mean, natural routing
    /// Half-widths of the band that is meant to hold nine predictions in ten, in the logarithm, added as squares. From
    /// steps whose source was left out; where nothing is said, the ranges below make the band.
    struct Band {
        double dense = 0, narrow = 0, experts = 0; ///< one of these: 16 bits and more; linear layers in fewer; experts
        double unmeasured = 0;                     ///< a family of devices that another one stands for
        double perDoubling = 0;                    ///< of the devices, beyond one node
    } band;
    /// What operators take against the rates above, by their names, where a trace taught it; otherFactor: of all other
    /// computation.
    std::map<std::string, double, std::less<>> operatorFactors;
    double otherFactor = 1;
    double factorOf(std::string_view name) const
    {
        if (operatorFactors.empty()) return otherFactor;
        const auto found = operatorFactors.find(name);
        return found != operatorFactors.end() ? found->second : otherFactor;
    }
    // Ranges for the uncertainty band where `band` is not given: factors on seconds.
    double computeLow = 0.97, computeHigh = 1.10;
    double memoryLow = 0.90, memoryHigh = 1.15;
    double communicationLow = 0.85, communicationHigh = 1.30;

    const FamilyCalibration& family(const std::string& name) const;
    /// Fraction of an adapter's rate that collectives reach on a kind of network.
    double fractionOfNetwork(const std::string& kind) const;
};

/// Rates that do not depend on the size of an operator. The published ones are of GPUs, where small operators do not fill the
/// device; on a processor's core they would count twice what a recording's own times already have.
Calibration rateOfACore();

/// Reads a calibration file. Errors: Format with the field.
Result<Calibration> calibrationFromJson(std::string_view json, std::string_view where);
/// What calibrationFromJson reads: all that is not as a Calibration begins.
nlohmann::json toJson(const Calibration& calibration);

/// A calibration by name ("published") or else a JSON file by path. Errors: NotFound with the names.
Result<Calibration> loadCalibration(const std::string& nameOrFile);

} // namespace fourwalls
