// SPDX-License-Identifier: Apache-2.0
// Writes calibration files: the fields that calibration.cpp reads.
#include "model/spec/calibration.h"
#include "model/spec/names.h"

#include <nlohmann/json.hpp>

namespace fourwalls {

namespace {

using nlohmann::json;

json byPrecision(const std::map<Precision, double>& values)
{
    json object = json::object();
    for (const auto& [precision, value] : values) object[std::string(name(precision))] = value;
    return object;
}

json attentionJson(const AttentionRates& rates)
{
    json object{{"forward", rates.forward},
                {"backward", rates.backward},
                {"forward_half_keys", rates.forwardHalf},
                {"backward_half_keys", rates.backwardHalf},
                {"narrow", rates.narrow}};
    if (!rates.measured.empty()) object["rates"] = toJson(rates.measured);
    return object;
}

json familyJson(const FamilyCalibration& family)
{
    json object{{"ramp_seconds", family.rampSeconds},
                {"power_exponent", family.powerExponent},
                {"memory_fraction", family.memoryFraction},
                {"gemm_ceiling", byPrecision(family.gemmCeiling)}};
    if (family.gemmKernelSeconds >= 0) object["gemm_kernel_seconds"] = family.gemmKernelSeconds;
    if (!family.relative.empty()) object["relative"] = family.relative;
    if (family.stepBand > 0) object["step_band"] = family.stepBand;
    if (!family.sustainedClock.empty()) object["sustained_clock"] = byPrecision(family.sustainedClock);
    for (const auto& [kind, fraction] : family.memoryFractions)
        object["memory_fractions"][std::string(wordOf(kMemoryClassWords, kind))] = fraction;
    for (const auto& [kernel, rates] : family.attention) object["attention"][kernel] = attentionJson(rates);
    for (const auto& [precision, rates] : family.operators)
        object["operators"][std::string(name(precision))] = toJson(rates);
    return object;
}

json curveJson(const CollectiveCurve& curve)
{
    json object{{"family", curve.family},
                {"operation", curve.operation},
                {"ranks", curve.ranks},
                {"fabric", wordOf(kFabricWords, curve.fabric)},
                {"link_bytes_per_second", curve.linkBytesPerSecond},
                {"bytes", curve.bytes},
                {"bus_bytes_per_second", curve.busBytesPerSecond}};
    if (curve.perNode > 0) object["per_node"] = curve.perNode;
    return object;
}

} // namespace

json toJson(const Calibration& c)
{
    json object{{"kernel_seconds", c.kernelSeconds},
                {"synchronous_launch_seconds", c.synchronousLaunchSeconds},
                {"eager_launch_seconds", c.eagerLaunchSeconds},
                {"transfer_seconds", c.transferSeconds},
                {"node_link_fraction", c.nodeLinkFraction},
                {"network_fraction", c.networkFraction},
                {"host_link_fraction", c.hostLinkFraction},
                {"host_optimizer_fraction", c.hostOptimizerFraction},
                {"beside_fraction", c.besideFraction},
                {"nodes_latency_seconds", c.nodesLatency},
                {"nodes_latency_bytes", c.nodesLatencyBytes},
                {"contention", c.contention},
                {"busy_slowdown", c.busySlowdown},
                {"device_spread", c.deviceSpread},
                {"routing_imbalance", c.routingImbalance},
                {"compute_low", c.computeLow},
                {"compute_high", c.computeHigh},
                {"memory_low", c.memoryLow},
                {"memory_high", c.memoryHigh},
                {"communication_low", c.communicationLow},
                {"communication_high", c.communicationHigh},
                {"other_factor", c.otherFactor},
                {"families", json::object()}};
    if (c.launchSeconds >= 0) object["launch_seconds"] = c.launchSeconds;
    if (c.stepSeconds >= 0) object["step_seconds"] = c.stepSeconds;
    if (c.band.dense > 0)
        object["band"] = {{"dense", c.band.dense},
                          {"narrow", c.band.narrow},
                          {"experts", c.band.experts},
                          {"unmeasured", c.band.unmeasured},
                          {"per_doubling", c.band.perDoubling}};
    for (const auto& [kind, fraction] : c.networkFractions) object["network_fractions"][kind] = fraction;
    for (const auto& [operation, factor] : c.operatorFactors) object["operator_factors"][operation] = factor;
    for (const auto& [family, rates] : c.families)
        object["families"][family.empty() ? "other" : family] = familyJson(rates);
    for (const CollectiveCurve& curve : c.curves) object["collectives"].push_back(curveJson(curve));
    return object;
}

} // namespace fourwalls
