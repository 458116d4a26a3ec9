// SPDX-License-Identifier: Apache-2.0
// `calibrate`: micro-benchmarks of this machine, or what traces show, as a cluster file that predict can use.
#include "app/cli/learned_report.h"
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/this_machine.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/learn/learned_calibration.h"
#include "model/spec/device_datasheet.h"
#include "model/spec/names.h"
#include "model/spec/run_spec.h"
#include "profiler/calibrate/gpu_bench.h"
#include "profiler/calibrate/gpu_calibration.h"
#include "profiler/calibrate/machine_calibration.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json clusterJson(const calibrate::MachineCalibration& measured)
{
    json operators = json::array();
    for (const calibrate::MeasuredOperator& op : measured.operators)
        operators.push_back({{"name", op.name},
                             {"shape", op.shape},
                             {"seconds", op.seconds},
                             {"flops", op.flops},
                             {"bytes", op.bytes}});
    ClusterSpec cluster = measured.cluster;
    cluster.name = "calibrated";
    json object = clusterFile(cluster, measured.calibration, "measured by fourwalls-cli calibrate");
    object["operators"] = std::move(operators);
    return object;
}

class CalibrateVerb : public Verb {
public:
    const char* name() const override { return "calibrate"; }
    const char* summary() const override
    {
        return "rates of this machine's operators, or of those of recorded traces, as a cluster file for predict";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli calibrate -o machine.json\n"
               "  fourwalls-cli calibrate --from monday.fourwalls tuesday.fourwalls -o job.json\n"
               "  fourwalls-cli calibrate --device cuda --seconds 300 -o gpu.json\n"
               "  fourwalls-cli predict --model gpt-tiny --cluster machine.json";
    }
    Arguments arguments() override
    {
        return {
            Argument("-o,--output", &m_output, "the cluster file to write").required(),
            Argument("--device", &m_device, "what is measured").oneOf({"cpu", "cuda"}),
            {"--seconds", &m_seconds,
             "of measuring per operator (default: 0.015); with --device cuda of all, the most useful first (default: "
             "480)"},
            {"--passes", &m_passes, "over all operators, between which that time is divided; their mean counts"},
            Argument("--precision", &m_precision, "measure this one alone (default: all that the processor has)")
                .oneOf({"f32", "bf16"}),
            Argument("--from", &m_from,
                     "traces to learn from, in place of measuring: rates by shape, collectives, launches, slowdowns")
                .several(),
            {"--cluster", &m_cluster,
             "with --from: preset or file of the machines, for what the traces do not show (default: what they say)"}};
    }

    int run(Console& console) override
    {
        if (!m_from.empty()) return learnFrom(console);
        if (!m_cluster.empty())
            return console.wrongUsage({ErrorCode::InvalidArgument, "is for --from", "--cluster", "leave it out"});
        if (m_device == "cuda") return runGpu(console);
        const double seconds = m_seconds.value_or(calibrate::CalibrateOptions{}.secondsPerOperator);
        if (!(seconds > 0 && seconds <= 60))
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be above 0 and at most 60", "--seconds", "0.015"});
        if (m_passes < 1 || m_passes > 1000)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be 1 to 1000", "--passes", "3"});
        auto output = PendingOutput::create(m_output, OutputKind::Other);
        if (!output) return console.fail(output.error());
        ClusterSpec base;
        describeThisMachine(base);
        Progress progress("measuring");
        calibrate::CalibrateOptions options;
        options.secondsPerOperator = seconds;
        options.passes = m_passes;
        options.precision = valueOf(kPrecisionWords, m_precision);
        options.progress = [&progress](double share) { progress(share); };
        const auto measured = calibrate::calibrateMachine(base, options);
        if (!measured) return console.fail(measured.error());
        const json cluster = clusterJson(*measured);
        if (!write(console, *output, cluster.dump(1) + "\n")) return 1;
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
    int learnFrom(Console& console)
    {
        std::optional<learn::KnownMachine> known;
        if (!m_cluster.empty()) {
            auto cluster = loadCluster(m_cluster);
            if (!cluster) return console.fail(cluster.error());
            auto calibration = calibrationOfCluster(m_cluster);
            if (!calibration) return console.fail(calibration.error());
            known = {std::move(*cluster), std::move(*calibration)};
        }
        auto output = PendingOutput::create(m_output, OutputKind::Other, m_from);
        if (!output) return console.fail(output.error());
        std::vector<std::unique_ptr<TraceQuery>> traces;
        std::vector<learn::TeachingTrace> teaching;
        for (const std::string& file : m_from) {
            auto trace = openInput(file);
            if (!trace) return console.fail(trace.error());
            traces.push_back(std::move(*trace));
            teaching.push_back({traces.back().get(), file});
        }
        const auto learned = learn::learnCalibration(teaching, known);
        if (!learned) return console.fail(learned.error());
        const json file = learnedFile(*learned, m_from);
        if (!write(console, *output, file.dump(1) + "\n")) return 1;
        if (console.json()) return console.answerJson({{"file", m_output}, {"cluster", file}});
        return console.answerText(learnedText(*learned) + "written to " + m_output);
    }

    /// Places the file. False: it was told why not.
    bool write(Console& console, PendingOutput& output, const std::string& text)
    {
        {
            std::ofstream file(output.temporaryPath());
            file << text;
            if (!file.flush())
                return console.fail({ErrorCode::Io, "cannot be written", m_output, "check the space"}), false;
        }
        const Status placed = output.commit();
        return placed.ok() || (console.fail(placed.error()), false);
    }

    int runGpu(Console& console)
    {
        const double seconds = m_seconds.value_or(480);
        if (!(seconds >= 1 && seconds <= 86400))
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be 1 to 86400 with --device cuda", "--seconds", "480"});
        if (!m_precision.empty() && m_precision != "bf16")
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be bf16 with --device cuda", "--precision", "leave it out"});
        ClusterSpec cluster;
        if (const Status found = describeThisGpu(cluster); !found.ok()) return console.fail(found.error());
        if (const auto sheet = deviceDatasheet(cluster.device.name)) {
            cluster.device.memoryBytesPerSecond = sheet->memoryBytesPerSecond;
            cluster.device.hostBytesPerSecond = sheet->hostBytesPerSecond;
            cluster.nodeLink.bytesPerSecond = sheet->linkBytesPerSecond;
            cluster.fabric = sheet->linkKind == "pcie" ? NodeFabric::Pcie : NodeFabric::NvLink;
            for (const auto& [precision, arithmetic] :
                 {std::pair{Precision::F32, Arithmetic::F32}, std::pair{Precision::Tf32, Arithmetic::Tf32},
                  std::pair{Precision::Bf16, Arithmetic::Bf16}, std::pair{Precision::Fp8, Arithmetic::Fp8}})
                if (const auto peak = sheet->peak(arithmetic)) cluster.device.peakFlops[precision] = *peak;
        }
        auto output = PendingOutput::create(m_output, OutputKind::Other);
        if (!output) return console.fail(output.error());
        auto bench = calibrate::openGpuBench();
        if (!bench) return console.fail(bench.error());
        Progress progress("measuring");
        const auto measured = calibrate::calibrateGpu(**bench, seconds, [&progress](double share) { progress(share); });
        if (!measured) return console.fail(measured.error());
        const auto preset = calibrate::gpuPreset(*measured, cluster);
        if (!preset) return console.fail(preset.error());
        if (!write(console, *output, *preset)) return 1;
        if (console.json()) return console.answerJson({{"file", m_output}, {"cluster", json::parse(*preset)}});
        std::string text =
            fmt::format("{}\n{} measurements; products that last take {:.3f} of a burst's time\n", cluster.device.name,
                        measured->measured.size(), calibrate::sustainedSlowdown(*measured));
        const auto alone = calibrate::medianOf(*measured, calibrate::GpuWork::Launch, 1);
        const auto graph = calibrate::medianOf(*measured, calibrate::GpuWork::GraphLaunch, 100);
        if (alone && graph)
            text +=
                fmt::format("a kernel of one element takes {:.2f} us launched by itself, {:.2f} us in a graph of 100\n",
                            *alone * 1e6, *graph * 1e4);
        for (const std::string& line : measured->leftOut) text += fmt::format("left out: {}\n", line);
        text += "not measured: attention kernels of other libraries\n";
        return console.answerText(text + fmt::format("written to {}", m_output));
    }

    std::string m_output, m_precision, m_cluster, m_device = "cpu";
    std::vector<std::string> m_from;
    std::optional<double> m_seconds;
    int m_passes = calibrate::CalibrateOptions{}.passes;
};

} // namespace

std::unique_ptr<Verb> makeCalibrateVerb()
{
    return std::make_unique<CalibrateVerb>();
}

} // namespace fourwalls::cli
