// SPDX-License-Identifier: Apache-2.0
// Reads calibration files.
#include "model/spec/calibration.h"

#include "model/spec/json_fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fourwalls {

namespace {

using nlohmann::json;

Status readFamily(const json& object, std::string_view where, const std::string& path, FamilyCalibration& family)
{
    JsonFields fields(object, where, path);
    fields.number("ramp_seconds", family.rampSeconds, 0, 1);
    fields.number("gemm_kernel_seconds", family.gemmKernelSeconds, 0, 1);
    fields.text("relative", family.relative);
    fields.number("step_band", family.stepBand, 0, 10);
    fields.number("power_exponent", family.powerExponent, 0, 1);
    fields.number("memory_fraction", family.memoryFraction, 1e-6, 1);
    if (const json* ceilings = fields.find("gemm_ceiling", true)) {
        JsonFields rates(*ceilings, where, path + ".gemm_ceiling");
        for (const auto& [precision, word] : kPrecisionWords) {
            double fraction = 0;
            rates.number(std::string(word).c_str(), fraction, 1e-6, 1);
            if (fraction > 0) family.gemmCeiling[precision] = fraction;
        }
        FOURWALLS_TRY(rates.status());
    }
    if (const json* clocks = fields.find("sustained_clock", false)) {
        JsonFields rates(*clocks, where, path + ".sustained_clock");
        for (const auto& [precision, word] : kPrecisionWords) {
            double factor = 0;
            rates.number(std::string(word).c_str(), factor, 1e-6, 1);
            if (factor > 0) family.sustainedClock[precision] = factor;
        }
        FOURWALLS_TRY(rates.status());
    }
    if (const json* classes = fields.find("memory_fractions", false)) {
        JsonFields rates(*classes, where, path + ".memory_fractions");
        for (const auto& [kind, word] : kMemoryClassWords) {
            double fraction = 0;
            rates.number(std::string(word).c_str(), fraction, 1e-6, 1);
            if (fraction > 0) family.memoryFractions[kind] = fraction;
        }
        FOURWALLS_TRY(rates.status());
    }
    if (const json* kernels = fields.find("attention", false)) {
        if (!kernels->is_object()) fields.fail("attention", "is not an object");
        FOURWALLS_TRY(fields.status());
        for (const auto& [kernel, value] : kernels->items()) {
            AttentionRates rates;
            JsonFields entry(value, where, path + ".attention." + kernel);
            entry.number("forward", rates.forward, 1e-6, 1, true);
            entry.number("backward", rates.backward, 1e-6, 1, true);
            entry.number("forward_half_keys", rates.forwardHalf, 0, 1e9);
            entry.number("backward_half_keys", rates.backwardHalf, 0, 1e9);
            entry.number("narrow", rates.narrow, 1e-6, 1);
            if (const json* grids = entry.find("rates", false)) {
                FOURWALLS_TRY_ASSIGN(rates.measured,
                                     operatorRatesFromJson(*grids, where, path + ".attention." + kernel + ".rates"));
            }
            FOURWALLS_TRY(entry.status());
            family.attention[kernel] = rates;
        }
    }
    if (const json* operators = fields.find("operators", false)) {
        JsonFields byPrecision(*operators, where, path + ".operators");
        FOURWALLS_TRY(byPrecision.status());
        for (const auto& [precision, word] : kPrecisionWords)
            if (const json* list = byPrecision.find(std::string(word).c_str(), false)) {
                FOURWALLS_TRY_ASSIGN(family.operators[precision],
                                     operatorRatesFromJson(*list, where, path + ".operators." + std::string(word)));
            }
    }
    return fields.status();
}

/// A list of positive numbers, rising if `rising`.
Status readNumbers(JsonFields& fields, const char* key, bool rising, std::vector<double>& numbers)
{
    const json* list = fields.find(key, true);
    FOURWALLS_TRY(fields.status());
    if (!list->is_array() || list->empty() || list->size() > 1000) fields.fail(key, "is not a list of numbers");
    FOURWALLS_TRY(fields.status());
    for (const json& item : *list) {
        const double value = item.is_number() ? item.get<double>() : 0;
        if (!(value > 0 && value < 1e24))
            fields.fail(key, "holds something that is not a positive number");
        else if (rising && !numbers.empty() && value <= numbers.back())
            fields.fail(key, "does not rise");
        FOURWALLS_TRY(fields.status());
        numbers.push_back(value);
    }
    return {};
}

Result<CollectiveCurve> readCurve(const json& object, std::string_view where, const std::string& path)
{
    CollectiveCurve curve;
    JsonFields fields(object, where, path);
    std::int64_t ranks = 0;
    fields.text("family", curve.family, true);
    fields.text("operation", curve.operation, true);
    fields.integer("ranks", ranks, 2, 1'000'000, true);
    std::int64_t perNode = 0;
    fields.integer("per_node", perNode, 0, 1'000'000);
    fields.word("fabric", kFabricWords, curve.fabric);
    fields.number("link_bytes_per_second", curve.linkBytesPerSecond, 1, 1e18, true);
    FOURWALLS_TRY(readNumbers(fields, "bytes", true, curve.bytes));
    FOURWALLS_TRY(readNumbers(fields, "bus_bytes_per_second", false, curve.busBytesPerSecond));
    if (curve.bytes.size() != curve.busBytesPerSecond.size())
        fields.fail("bus_bytes_per_second", "has another length than \"bytes\"");
    FOURWALLS_TRY(fields.status());
    makeMonotone(curve);
    curve.perNode = static_cast<int>(perNode);
    curve.ranks = static_cast<int>(ranks);
    return curve;
}

} // namespace

void makeMonotone(CollectiveCurve& curve)
{
    for (std::size_t i = curve.bytes.size() - 1; i > 0; --i)
        curve.busBytesPerSecond[i - 1] =
            std::max(curve.busBytesPerSecond[i - 1], curve.busBytesPerSecond[i] * curve.bytes[i - 1] / curve.bytes[i]);
}

const FamilyCalibration& Calibration::family(const std::string& name) const
{
    static const FamilyCalibration kUnknown;
    const auto found = families.find(name);
    if (found != families.end()) return found->second;
    const auto other = families.find("");
    return other != families.end() ? other->second : kUnknown;
}

double Calibration::fractionOfNetwork(const std::string& kind) const
{
    const auto found = networkFractions.find(kind);
    return found != networkFractions.end() ? found->second : networkFraction;
}

Calibration rateOfACore()
{
    Calibration rates;
    FamilyCalibration family;
    for (const auto& [precision, word] : kPrecisionWords)
        family.gemmCeiling[precision] = 1; // the peak is one that products reached
    family.rampSeconds = 0;
    rates.families[""] = family;
    rates.kernelSeconds = 1e-6; // norms and sums of 64 kB take so much beyond their share of those of 1 MB
    rates.synchronousLaunchSeconds = 0;
    return rates;
}

Result<Calibration> calibrationFromJson(std::string_view text, std::string_view where)
{
    FOURWALLS_TRY_ASSIGN(const json object, parseJson(text, where));
    Calibration c;
    JsonFields fields(object, where, "");
    fields.number("kernel_seconds", c.kernelSeconds, 0, 1);
    fields.number("synchronous_launch_seconds", c.synchronousLaunchSeconds, 0, 1);
    fields.number("eager_launch_seconds", c.eagerLaunchSeconds, 0, 1);
    fields.number("launch_seconds", c.launchSeconds, 0, 1);
    fields.number("step_seconds", c.stepSeconds, 0, 1e6);
    fields.number("transfer_seconds", c.transferSeconds, 0, 1);
    fields.number("other_factor", c.otherFactor, 1e-6, 1e6);
    if (const json* factors = fields.find("operator_factors", false)) {
        JsonFields operators(*factors, where, "operator_factors");
        FOURWALLS_TRY(operators.status());
        for (const auto& [name, value] : factors->items())
            operators.number(name.c_str(), c.operatorFactors[name], 1e-6, 1e6, true);
        FOURWALLS_TRY(operators.status());
    }
    fields.number("node_link_fraction", c.nodeLinkFraction, 1e-6, 1);
    fields.number("network_fraction", c.networkFraction, 1e-6, 1);
    fields.number("host_link_fraction", c.hostLinkFraction, 1e-6, 1);
    fields.number("host_optimizer_fraction", c.hostOptimizerFraction, 1e-6, 1);
    fields.number("beside_fraction", c.besideFraction, 1e-6, 1);
    fields.number("nodes_latency_seconds", c.nodesLatency, 0, 10);
    fields.number("nodes_latency_bytes", c.nodesLatencyBytes, 1, 1e12);
    fields.number("contention", c.contention, 0, 10);
    fields.number("busy_slowdown", c.busySlowdown, 1, 1000);
    fields.number("device_spread", c.deviceSpread, 0, 1);
    fields.number("routing_imbalance", c.routingImbalance, 1, 1000);
    fields.number("compute_low", c.computeLow, 1e-3, 1);
    fields.number("compute_high", c.computeHigh, 1, 1e3);
    fields.number("memory_low", c.memoryLow, 1e-3, 1);
    fields.number("memory_high", c.memoryHigh, 1, 1e3);
    fields.number("communication_low", c.communicationLow, 1e-3, 1);
    fields.number("communication_high", c.communicationHigh, 1, 1e3);
    if (const json* widths = fields.find("band", false)) {
        JsonFields band(*widths, where, "band");
        band.number("dense", c.band.dense, 0, 10);
        band.number("narrow", c.band.narrow, 0, 10);
        band.number("experts", c.band.experts, 0, 10);
        band.number("unmeasured", c.band.unmeasured, 0, 10);
        band.number("per_doubling", c.band.perDoubling, 0, 10);
        FOURWALLS_TRY(band.status());
    }
    const json* families = fields.find("families", true);
    const json* curves = fields.find("collectives", false);
    const json* networks = fields.find("network_fractions", false);
    FOURWALLS_TRY(fields.status());
    if (networks && !networks->is_object()) fields.fail("network_fractions", "is not an object");
    FOURWALLS_TRY(fields.status());
    if (networks) {
        JsonFields kinds(*networks, where, "network_fractions");
        for (const auto& [kind, value] : networks->items())
            kinds.number(kind.c_str(), c.networkFractions[kind], 1e-6, 1, true);
        FOURWALLS_TRY(kinds.status());
    }
    if (!families->is_object()) fields.fail("families", "is not an object");
    if (curves && !curves->is_array()) fields.fail("collectives", "is not a list");
    FOURWALLS_TRY(fields.status());
    for (const auto& [name, value] : families->items())
        FOURWALLS_TRY(readFamily(value, where, "families." + name, c.families[name == "other" ? "" : name]));
    for (std::size_t i = 0; curves && i < curves->size(); ++i) {
        FOURWALLS_TRY_ASSIGN(CollectiveCurve curve,
                             readCurve((*curves)[i], where, "collectives[" + std::to_string(i) + "]"));
        c.curves.push_back(std::move(curve));
    }
    return c;
}

} // namespace fourwalls
