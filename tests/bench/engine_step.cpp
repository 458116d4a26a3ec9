// SPDX-License-Identifier: Apache-2.0
// Times training steps of the embedded engine on one rank, untraced or recorded into memory, and prints one line per
// step. Usage: bench_engine_step MODEL [steps=10] [batch=8] [plan="attention=unfused"] [precision=f32|bf16]
//              [optimizer=adamw|sgd] [load=DIR] [save=DIR] [traced=0|1] [kernels=0|1] [quiet=0|1]
// kernels=1 records and prints where the time of the kernels went, by name and shape.
#include "model/spec/run_spec.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace fourwalls;

namespace {

int fail(const Error& error)
{
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return 1;
}

// Time per kernel name and shape over all steps, longest first.
void printKernels(InMemoryTrace& trace)
{
    InMemoryTraceQuery query(trace.data());
    struct Sum {
        double ms = 0, flops = 0;
        long count = 0;
    };
    std::map<std::string, Sum> sums;
    double total = 0;
    const Status status = query.scanSlices([&](const SliceView& s) {
        const OpInfo op = **query.op(s.op);
        if (op.kind != SliceKind::Kernel || op.phase == Phase::Setup) return true;
        Sum& sum = sums[op.name + " " + op.detail];
        sum.ms += s.duration.milliseconds();
        sum.flops += op.flops;
        ++sum.count;
        total += s.duration.milliseconds();
        return true;
    });
    if (!status) return;
    std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
    for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 25); ++i) {
        const Sum& s = sorted[i].second;
        std::printf("%5.1f %%  %9.2f ms  %6ld x  %7.1f GFLOP/s  %s\n", 100 * s.ms / total, s.ms, s.count,
                    s.flops / s.ms * 1e-6, sorted[i].first.c_str());
    }
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: bench_engine_step MODEL [key=value …]\n");
        return 2;
    }
    std::map<std::string, std::string> arguments;
    for (int i = 2; i < argc; ++i) {
        const std::string text = argv[i];
        const auto equals = text.find('=');
        if (equals != std::string::npos) arguments[text.substr(0, equals)] = text.substr(equals + 1);
    }
    const auto number = [&](const char* key, long fallback) {
        return arguments.count(key) ? std::strtol(arguments[key].c_str(), nullptr, 10) : fallback;
    };
    RunSpec spec;
    auto model = loadModel(argv[1]);
    if (!model) return fail(model.error());
    spec.model = *model;
    auto plan = parsePlan(arguments["plan"]);
    if (!plan) return fail(plan.error());
    spec.plan = *plan;
    spec.training.steps = number("steps", 10);
    spec.training.batch = number("batch", 8);
    spec.training.sequence = number("seq", 0);
    spec.training.precision = arguments["precision"] == "bf16" ? Precision::Bf16 : Precision::F32;
    spec.training.optimizer = arguments["optimizer"] == "sgd" ? Optimizer::Sgd : Optimizer::AdamW;
    if (Status status = resolve(spec); !status) return fail(status.error());

    engine::RunOptions options;
    options.loadWeightsDirectory = arguments["load"];
    options.saveWeightsDirectory = arguments["save"];
    options.measurePeak = number("peak", 0) != 0;
    options.origin = engine::ClockOrigin::now();
    const bool quiet = number("quiet", 0) != 0;
    std::unique_ptr<InMemoryTrace> trace;
    if (number("traced", 0) || number("kernels", 0)) {
        trace = std::make_unique<InMemoryTrace>(engine::describeRun(spec, options.origin));
        options.sink = trace.get();
    }
    engine::RunCallbacks callbacks;
    callbacks.onStep = [&](const engine::StepProgress& s) {
        if (!quiet)
            std::printf("step %ld loss %.9g norm %.7g lr %.4g ms %.2f\n", static_cast<long>(s.step), s.loss,
                        s.gradientNorm, s.learningRate, s.duration.milliseconds());
        std::fflush(stdout);
    };
    auto report = engine::runTraining(spec, options, callbacks);
    if (!report) return fail(report.error());
    std::vector<double> times;
    for (const auto& step : report->steps)
        if (!step.warmup) times.push_back(step.duration.milliseconds());
    if (times.empty()) return 0;
    std::sort(times.begin(), times.end());
    std::printf("median ms %.3f  parameters %ld  peak bytes %ld  reserved %ld", times[times.size() / 2],
                static_cast<long>(report->parameters), static_cast<long>(report->peakBytes),
                static_cast<long>(report->peakReservedBytes));
    if (report->closing.peakFlopsPerDevice)
        std::printf("  peak GFLOP/s %.1f (%s)", *report->closing.peakFlopsPerDevice * 1e-9,
                    report->closing.peakSource.c_str());
    if (report->closing.memoryBytesPerSecond) std::printf("  GB/s %.1f", *report->closing.memoryBytesPerSecond * 1e-9);
    if (report->closing.recorderOverheadFraction)
        std::printf("  overhead %.5f", *report->closing.recorderOverheadFraction);
    std::printf("\n");
    if (number("kernels", 0) && trace->finish(report->closing).ok()) printKernels(*trace);
    return 0;
}
