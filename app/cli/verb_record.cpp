// SPDX-License-Identifier: Apache-2.0
// `record`: trains with the embedded engine and writes the trace, or with --no-trace only times the steps; with a
// command after -- it records that program instead (record_command.h).
#include "app/cli/job_launcher.h"
#include "app/cli/noise_report.h"
#include "app/cli/output_file.h"
#include "app/cli/record_arguments.h"
#include "app/cli/record_command.h"
#include "app/cli/record_ranks.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/base/median.h"
#include "model/store/trace_writer.h"
#include "profiler/engine/core/out_of_memory.h"
#include "profiler/engine/job.h"
#include "profiler/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json stepJson(const engine::StepProgress& step)
{
    json line{{"step", step.step + 1}, // how many are done
              {"steps", step.steps},     {"trace_step", step.step},        {"loss", step.loss},
              {"lr", step.learningRate}, {"grad_norm", step.gradientNorm}, {"step_ms", step.duration.milliseconds()}};
    if (step.evaluationLoss) line["evaluation_loss"] = *step.evaluationLoss;
    return line;
}

/// What diverged training makes of its figures has no sign that means anything.
constexpr char kNotANumber[] = "is not a number";

std::string lossText(double loss)
{
    return std::isnan(loss) ? kNotANumber : fmt::format("{:.4f}", loss);
}

std::string normText(double norm)
{
    return std::isnan(norm) ? kNotANumber : fmt::format("{:.3g}", norm);
}

/// The step's number as the trace and all that read it have it, from 0, and how many are done.
std::string stepText(const engine::StepProgress& step)
{
    return fmt::format("step {} ({}/{})  loss {}  lr {:.3g}  gradient norm {}  {}", step.step, step.step + 1,
                       step.steps, lossText(step.loss), step.learningRate, normText(step.gradientNorm),
                       formatTime(step.duration)) +
           (step.evaluationLoss ? "  evaluation loss " + lossText(*step.evaluationLoss) : std::string());
}

/// Of the measured steps, as `metrics` counts it; absent without any.
std::optional<Duration> medianStep(const std::vector<engine::StepProgress>& steps)
{
    std::vector<Duration> times;
    for (const engine::StepProgress& step : steps)
        if (!step.warmup) times.push_back(step.duration);
    if (times.empty()) return std::nullopt;
    return lowerMedian(std::move(times));
}

class RecordVerb : public Verb {
public:
    const char* name() const override { return "record"; }
    const char* summary() const override
    {
        return "train with the embedded engine, or run any CUDA program (after --), and record the steps";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli record -o run.fourwalls --model gpt-tiny --steps 20\n"
               "  fourwalls-cli record -o run.fourwalls --model llama-tiny --data mytext.txt --save-weights weights\n"
               "  fourwalls-cli record -o run.fourwalls --model resnet50 --batch 32 --steps 2 --optimizer sgd\n"
               "  fourwalls-cli record --no-trace --model gpt-small --steps 10 --json\n"
               "  fourwalls-cli record -o run.fourwalls --transport gloo --plan \"dp=2\"\n"
               "  torchrun --nproc_per_node 2 --no_python fourwalls-cli record -o run.fourwalls --transport gloo "
               "--plan \"dp=2\"\n"
               "  fourwalls-cli record -o job.fourwalls --steps 10-13 -- torchrun --nproc_per_node 8 train.py\n"
               "Ctrl-C ends the recording after the running step; the file is finished.";
    }
    Arguments arguments() override { return m_arguments.all(); }

    int run(Console& console) override
    {
        if (!m_arguments.command.empty()) {
            if (const std::string option = m_arguments.engineOption(); !option.empty())
                return console.wrongUsage(
                    {ErrorCode::InvalidArgument, "is for the embedded engine", option,
                     "-o, --steps A-B, --memory, --detail, --host, --every and --spool-limit with a command"});
            return recordCommand(console, {m_arguments.output,
                                           m_arguments.isGiven("--steps") ? m_arguments.steps : std::string(),
                                           m_arguments.memorySnapshot, m_arguments.detail, m_arguments.host,
                                           m_arguments.every, m_arguments.spoolLimit, m_arguments.command});
        }
        for (const char* option : {"--memory", "--detail", "--host", "--every", "--spool-limit"})
            if (m_arguments.isGiven(option))
                return console.wrongUsage(
                    {ErrorCode::InvalidArgument, "is for programs that are recorded", option, "a command after --"});
        if (m_arguments.output.empty() && !m_arguments.noTrace)
            return console.wrongUsage({ErrorCode::InvalidArgument, "is missing", "-o OUT.fourwalls",
                                       "name the trace, or --no-trace to time the steps only"});
        const auto spec = m_arguments.resolveRun();
        if (!spec) return refuse(console, spec.error());
        auto options = m_arguments.runOptions(*spec);
        if (!options) return refuse(console, options.error());
        const Status runnable = engine::checkRunnable(*spec, *options);
        if (!runnable.ok()) return refuse(console, runnable.error());
        if (const Status spares = engine::checkSpares(*spec, *options); !spares.ok())
            return refuse(console, spares.error());

        const StopSignals signals;
        options->stop = signals.token();
        if (m_arguments.noTrace) options->measurePeak = false; // nobody would see it
        if (m_arguments.transport == "gloo") return runProcesses(console, *spec, *options);
        return m_arguments.noTrace ? runUntraced(console, *spec, *options) : runTraced(console, *spec, *options);
    }

private:
    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
    }

    static engine::RunCallbacks callbacks(Console& console)
    {
        engine::RunCallbacks callbacks;
        callbacks.onStep = [&console](const engine::StepProgress& step) {
            if (!console.json()) return console.message(stepText(step));
            json line = stepJson(step);
            line["message"] = stepText(step);
            console.message(line.dump(-1, ' ', false, json::error_handler_t::replace));
        };
        callbacks.onMessage = [&console](const std::string& text) {
            if (!console.json()) return console.message(text);
            console.message(json{{"message", text}}.dump(-1, ' ', false, json::error_handler_t::replace));
        };
        return callbacks;
    }

    /// One process per rank: this one is a rank if a launcher says so, else it starts them.
    int runProcesses(Console& console, const RunSpec& given, const engine::RunOptions& options)
    {
        const auto self = engine::launchedRank([](const char* name) { return std::getenv(name); });
        if (!self) return refuse(console, self.error());
        const std::string output = m_arguments.noTrace ? "" : m_arguments.output;
        const std::chrono::milliseconds timeout(std::llround(m_arguments.rankTimeout.value_or(kRankTimeout) * 1000));
        if (!*self && options.restarts > 0) return launchJob(console, output, given, timeout, options);
        constexpr std::string_view kVariable(kJobVariable, sizeof kJobVariable - 2); // without its '='
        JobOfRank job = jobOfRank(*self ? std::getenv(std::string(kVariable).c_str()) : nullptr);
        if (*self && options.restarts > 0 && !job.notes) {
            auto launched = jobOfLauncher(output, (*self)->rank, (*self)->world, options);
            if (!launched) return refuse(console, launched.error());
            job = std::move(*launched);
        }
        const auto found =
            job.notes ? engine::specOfAttempt(given, options, *job.notes, job.attempt) : Result<RunSpec>(given);
        // Where fewer devices are left than the launcher starts ranks for, no attempt can go on: what was recorded is joined.
        const auto endsHere = [&](int code) {
            if (!job.isOfLauncher || (*self)->rank != 0 || job.attempt == 0) return code;
            job.isLast = true;
            return endOfLauncher(console, job, output, (*self)->world, code, false);
        };
        if (!found) return endsHere(refuse(console, found.error()));
        const RunSpec& spec = *found;
        const auto world = static_cast<int>(engine::describeRun(spec, {}, options.clock).ranks.size());
        if (!*self) return launchRecording(console, output, world, timeout, options.stop).exitCode;
        if ((*self)->world != world)
            return endsHere(console.wrongUsage(
                {ErrorCode::InvalidArgument, fmt::format("has {} ranks, and WORLD_SIZE is {}", world, (*self)->world),
                 "--plan", "as many processes as ranks"}));
        if (options.restarts > 0 && !job.notes)
            return console.wrongUsage({ErrorCode::InvalidArgument,
                                       "is for ranks that this program starts itself, or a launcher that "
                                       "counts its restarts (TORCHELASTIC_RESTART_COUNT, SLURM_RESTART_COUNT)",
                                       "--restarts", "torchrun --max-restarts N, and a trace that is written"});
        RankRecording run;
        run.isAttempt = job.notes != nullptr;
        run.output = run.isAttempt ? attemptFile(output, job.attempt) : output;
        run.timeout = timeout;
        run.spec = spec;
        run.options = options;
        run.options.attempt = job.attempt;
        run.options.notes = job.notes.get();
        run.options.origin = job.origin;
        run.callbacks = callbacks(console);
        run.tell = [this, &console, &spec, &output](const engine::RunReport& report, const std::string&) {
            return tell(console, spec, report, output);
        };
        const int ended = recordRank(console, **self, std::move(run));
        if (!job.isOfLauncher || (*self)->rank != 0) return ended;
        return endOfLauncher(console, job, output, (*self)->world, ended, options.stop.stop_requested());
    }

    int runUntraced(Console& console, const RunSpec& spec, const engine::RunOptions& options)
    {
        const auto report = engine::runTraining(spec, options, callbacks(console));
        if (!report) return console.fail(report.error());
        return tell(console, spec, *report, "");
    }

    int runTraced(Console& console, const RunSpec& spec, engine::RunOptions& options)
    {
        const std::string& path = m_arguments.output;
        options.origin = engine::ClockOrigin::now();
        Progress progress("finishing the trace");
        store::WriterOptions writing;
        writing.finishProgress = [&progress](double fraction) { progress(fraction); };
        KeptFile previous(path); // an older trace of that name, until this one has a step
        auto writer =
            store::TraceWriter::create(path, engine::describeRun(spec, options.origin, options.clock), writing);
        if (!writer) return console.fail(writer.error());
        options.sink = writer->get();

        std::int64_t stepsDone = 0;
        engine::RunCallbacks told = callbacks(console);
        told.onStep = [&stepsDone, &previous, tellStep = told.onStep](const engine::StepProgress& step) {
            if (stepsDone++ == 0) previous.letGo();
            tellStep(step);
        };
        const auto report = engine::runTraining(spec, options, told);
        if (!report && stepsDone == 0 && !engine::isOutOfMemory(report.error())) {
            // Nothing was recorded that anybody would want: leave no file behind. What filled the memory is wanted.
            writer->reset();
            std::error_code ignored;
            for (const char* companion : {"", "-wal", "-shm", "-journal"})
                std::filesystem::remove(path + companion, ignored);
            previous.restore();
            return console.fail(report.error());
        }
        previous.letGo();
        const Status finished = (*writer)->finish(report ? report->closing : TraceClosing{});
        if (!report) return console.fail(report.error()); // what happened before it is in the file
        if (!finished.ok()) return console.fail(finished.error());
        return tell(console, spec, *report, path);
    }

    int tell(Console& console, const RunSpec& spec, const engine::RunReport& report, const std::string& file)
    {
        const std::optional<Duration> median = medianStep(report.steps);
        const double lastLoss = report.steps.empty() ? 0 : report.steps.back().loss;
        if (console.json()) {
            json object{{"file", file.empty() ? json(nullptr) : json(file)},
                        {"stopped", report.stopped},
                        {"steps", report.steps.size()},
                        {"restarts", report.restarts},
                        {"parameters", report.parameters},
                        {"peak_bytes", report.peakBytes}};
            object["step_time_ms"] = median ? json(median->milliseconds()) : json(nullptr);
            object["loss"] = json::array();
            object["step_ms"] = json::array();
            object["evaluations"] = json::array();
            for (const engine::StepProgress& step : report.steps) {
                object["loss"].push_back(step.loss);
                object["step_ms"].push_back(step.duration.milliseconds());
                if (step.evaluationLoss)
                    object["evaluations"].push_back({{"step", step.step + 1}, {"loss", *step.evaluationLoss}});
            }
            object["gradient_noise"] = noiseJson(report.noise, spec, lastLoss);
            return console.answerJson(std::move(object));
        }
        std::string text;
        if (report.restarts > 0)
            text += fmt::format("{} {}, and the job went on\n", report.restarts,
                                report.restarts == 1 ? "failure" : "failures");
        if (report.stopped) text += fmt::format("stopped after {} steps\n", report.steps.size());
        text += fmt::format("{} parameters, peak {}, median step {}", formatCount(report.parameters),
                            formatBytes(static_cast<double>(report.peakBytes)),
                            median ? formatTime(*median) : "\xe2\x80\x93");
        const auto diverged = std::ranges::find_if(
            report.steps, [](const engine::StepProgress& step) { return !std::isfinite(step.loss); });
        if (diverged != report.steps.end())
            text +=
                fmt::format("\ntraining has diverged: the loss of step {} is no number (a lower --lr, more --warmup, "
                            "or --clip 1)",
                            diverged->step);
        if (const std::string noise = noiseText(report.noise, spec, lastLoss); !noise.empty()) text += '\n' + noise;
        if (!file.empty()) text += "\nrecorded in " + file;
        return console.answerText(text);
    }

    RecordArguments m_arguments;
};

} // namespace

std::unique_ptr<Verb> makeRecordVerb()
{
    return std::make_unique<RecordVerb>();
}

} // namespace fourwalls::cli
