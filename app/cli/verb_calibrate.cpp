// SPDX-License-Identifier: Apache-2.0
// `calibrate`: micro-benchmarks of this machine as a cluster file that predict can use.
#include "app/cli/output_file.h"
#include "app/cli/this_machine.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/spec/names.h"
#include "profiler/calibrate/machine_calibration.h"

#include <fmt/format.h>

#include <fstream>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json clusterJson(const calibrate::MachineCalibration& measured)
{
    const ClusterSpec& cluster = measured.cluster;
    json device{{"name", cluster.device.name},
                {"family", cluster.device.family},
                {"memory_bytes", cluster.device.memoryBytes},
                {"memory_bytes_per_second", cluster.device.memoryBytesPerSecond},
                {"peak_flops", json::object()}};
    const FamilyCalibration& family = measured.calibration.family("cpu");
    json rates{{"ramp_seconds", family.rampSeconds},
               {"memory_fraction", family.memoryFraction},
               {"gemm_ceiling", json::object()},
               {"attention", json::object()},
               {"operators", json::object()}};
    for (const auto& [precision, list] : family.operators)
        rates["operators"][std::string(fourwalls::name(precision))] = toJson(list);
    for (const auto& [precision, peak] : cluster.device.peakFlops)
        device["peak_flops"][std::string(fourwalls::name(precision))] = peak;
    for (const auto& [precision, fraction] : family.gemmCeiling)
        rates["gemm_ceiling"][std::string(fourwalls::name(precision))] = fraction;
    for (const auto& [kernel, fractions] : family.attention)
        rates["attention"][kernel] = {{"forward", fractions.forward}, {"backward", fractions.backward}};
    json operators = json::array();
    for (const calibrate::MeasuredOperator& op : measured.operators)
        operators.push_back({{"name", op.name},
                             {"shape", op.shape},
                             {"seconds", op.seconds},
                             {"flops", op.flops},
                             {"bytes", op.bytes}});
    return {{"name", "calibrated"},
            {"device", device},
            {"devices_per_node", cluster.devicesPerNode},
            {"nodes", 1},
            {"fabric", "shared"},
            {"node_link",
             {{"bytes_per_second", cluster.nodeLink.bytesPerSecond},
              {"latency_seconds", cluster.nodeLink.latencySeconds}}},
            {"calibration",
             {{"kernel_seconds", measured.calibration.kernelSeconds},
              {"node_link_fraction", measured.calibration.nodeLinkFraction},
              {"contention", measured.calibration.contention},
              {"busy_slowdown", measured.calibration.busySlowdown},
              {"device_spread", measured.calibration.deviceSpread},
              {"families", {{"cpu", rates}, {"other", rates}}}}},
            {"operators", operators},
            {"source", "measured by fourwalls-cli calibrate"}};
}

class CalibrateVerb : public Verb {
public:
    const char* name() const override { return "calibrate"; }
    const char* summary() const override { return "measures this machine's operators into a cluster file for predict"; }
    const char* examples() const override
    {
        return "  fourwalls-cli calibrate -o machine.json\n"
               "  fourwalls-cli predict --model gpt-tiny --cluster machine.json";
    }
    Arguments arguments() override
    {
        return {Argument("-o,--output", &m_output, "the cluster file to write").required(),
                {"--seconds", &m_seconds, "of measuring per operator"},
                {"--passes", &m_passes, "over all operators, between which that time is divided; their mean counts"},
                Argument("--precision", &m_precision, "measure this one alone (default: all that the processor has)")
                    .oneOf({"f32", "bf16"})};
    }

    int run(Console& console) override
    {
        if (!(m_seconds > 0 && m_seconds <= 60))
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be above 0 and at most 60", "--seconds", "0.015"});
        if (m_passes < 1 || m_passes > 1000)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be 1 to 1000", "--passes", "3"});
        auto output = PendingOutput::create(m_output);
        if (!output) return console.fail(output.error());
        ClusterSpec base;
        describeThisMachine(base);
        Progress progress("measuring");
        calibrate::CalibrateOptions options;
        options.secondsPerOperator = m_seconds;
        options.passes = m_passes;
        options.precision = valueOf(kPrecisionWords, m_precision);
        options.progress = [&progress](double share) { progress(share); };
        const auto measured = calibrate::calibrateMachine(base, options);
        if (!measured) return console.fail(measured.error());
        const json cluster = clusterJson(*measured);
        {
            std::ofstream file(output->temporaryPath());
            file << cluster.dump(1) << '\n';
            if (!file.flush()) return console.fail({ErrorCode::Io, "cannot be written", m_output, "check the space"});
        }
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        if (console.json()) return console.answerJson({{"file", m_output}, {"cluster", cluster}});
        std::string text = fmt::format("{}\n", measured->cluster.device.name);
        const FamilyCalibration& family = measured->calibration.family("cpu");
        for (const auto& [precision, peak] : measured->cluster.device.peakFlops)
            text += fmt::format("{:<6}{} at best, {} of it in products of networks\n", fourwalls::name(precision),
                                formatRate(peak, "FLOP/s"), formatPercent(family.gemmCeiling.at(precision)));
        text += fmt::format("memory-bound operators move {}\nwritten to {}",
                            formatRate(measured->cluster.device.memoryBytesPerSecond, "B/s"), m_output);
        return console.answerText(text);
    }

private:
    std::string m_output, m_precision;
    double m_seconds = calibrate::CalibrateOptions{}.secondsPerOperator;
    int m_passes = calibrate::CalibrateOptions{}.passes;
};

} // namespace

std::unique_ptr<Verb> makeCalibrateVerb()
{
    return std::make_unique<CalibrateVerb>();
}

} // namespace fourwalls::cli
