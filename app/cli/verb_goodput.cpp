// SPDX-License-Identifier: Apache-2.0
// `goodput`: what failures and checkpoints take from a long training, on top of a predicted step.
#include "app/cli/job_time_report.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/cost/cost_model.h"
#include "model/cost/goodput.h"
#include "model/cost/goodput_simulation.h"
#include "model/cost/predicted_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

/// Bytes of a checkpoint per parameter: bf16 weights, fp32 master weights and two moments.
constexpr double kCheckpointBytesPerParameter = 14;
/// What a node writes to storage, where no time for a checkpoint is given [bytes/s]: 2.3 TB in 40 s from 48 nodes
/// (BLOOM, arXiv:2211.05100).
constexpr double kStorageBytesPerNode = 1.2e9;

std::string days(double seconds)
{
    return seconds >= 86'400 ? fmt::format("{} days", formatFigure(seconds / 86'400, 4))
                             : formatTime(Duration::fromSeconds(seconds));
}

class GoodputVerb : public Verb {
public:
    const char* name() const override { return "goodput"; }
    const char* summary() const override
    {
        return "availability, best checkpoint interval, wasted time, time to train; of a recorded job, where its time "
               "went";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli goodput --model llama3-405b --cluster dgx-h100 --plan \"tp=8 pp=16 dp=128 "
               "microbatches=16 sp=1 recompute=full\" --batch 2048 --tokens 15.6e12\n"
               "  fourwalls-cli goodput --model gpt3-175b --cluster dgx-a100 --plan \"tp=8 pp=8 dp=16 "
               "microbatches=96\" "
               "--batch 1536 --mtbf-hours 20000 --checkpoint-seconds 60 --restart-seconds 600\n"
               "  fourwalls-cli goodput --model llama3-405b --cluster dgx-h100 --plan \"tp=8 pp=16 dp=128 "
               "microbatches=16 sp=1 recompute=full\" --batch 2048 --simulate 1000 --days 54\n"
               "  fourwalls-cli goodput job.fourwalls";
    }
    Arguments arguments() override
    {
        return m_arguments.with(
            {{"FILE", &m_file, "a recorded job: where its time went, beside what the model says of it"},
             {"--plan", &m_plan, "how the step is cut over ranks: space-separated key=value"},
             {"--mtbf-hours", &m_input.deviceMtbfHours,
              "mean time between failures of one device; the job's is that divided by the devices"},
             {"--job-mtbf-hours", &m_jobMtbfHours, "of the whole job, instead of --mtbf-hours"},
             {"--checkpoint-seconds", &m_checkpointSeconds,
              "training stands still while one is written (default: 14 bytes per parameter at 1.2 GB/s per node)"},
             {"--restart-seconds", &m_input.restartSeconds, "from a failure until training goes on"},
             {"--interval-seconds", &m_intervalSeconds, "work between two checkpoints (default: the best)"},
             {"--tokens", &m_tokens, "tokens (or images) to train on"},
             {"--simulate", &m_jobs, "so many jobs with failures at chance, in place of the mean of all: bands"},
             {"--days", &m_days, "with --simulate: of so many days instead of until all tokens are trained on"},
             {"--failure-shape", &m_shape,
              "with --simulate: Weibull shape of the time from a restart to the next failure (default: 1, a constant "
              "rate; below 1, what has just been started fails more often)"},
             {"--seed", &m_seed, "with --simulate: equal seeds give equal answers"},
             {"--price", &m_input.pricePerDeviceHour, "of one device for an hour, for the cost"}});
    }

    int run(Console& console) override
    {
        if (!m_file.empty()) {
            for (const std::string& option : m_arguments.given)
                if (option != "FILE")
                    return console.wrongUsage({ErrorCode::InvalidArgument, "is of a prediction", option,
                                               "a recorded job says it itself; one of both"});
            return tellRecordedGoodput(console, m_file);
        }
        const auto inputs = m_arguments.load(m_plan);
        if (!inputs) return refuse(console, inputs.error());
        auto model = cost::CostModel::create(inputs->spec, inputs->framework, inputs->calibration);
        if (!model) return refuse(console, model.error());
        const auto prediction = cost::predictStep(*model, inputs->spec);
        if (!prediction) return refuse(console, prediction.error());
        if (!(m_tokens > 0) || !std::isfinite(m_tokens))
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be above 0", "--tokens", "--tokens 300e9"});

        cost::GoodputInput input = m_input;
        input.devices = prediction->devices;
        if (m_jobMtbfHours) input.deviceMtbfHours = *m_jobMtbfHours * input.devices;
        const double nodes = std::ceil(input.devices / prediction->spec.cluster.devicesPerNode);
        input.checkpointSeconds = m_checkpointSeconds.value_or(
            kCheckpointBytesPerParameter * static_cast<double>(parameterCount(prediction->spec.model)) /
            (kStorageBytesPerNode * nodes));
        if (m_intervalSeconds && !(*m_intervalSeconds > 0))
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be above 0", "--interval-seconds", "leave it out for the best one"});
        input.checkpointIntervalSeconds = m_intervalSeconds.value_or(input.checkpointIntervalSeconds);
        const double steps = std::ceil(m_tokens / prediction->tokensPerStep);
        input.trainingSeconds = steps * prediction->seconds;
        const auto goodput = cost::computeGoodput(input);
        if (!goodput) return refuseField(console, goodput.error());
        if (m_jobs) return tellSimulated(console, *prediction, input, *goodput);
        for (const char* option : {"--days", "--failure-shape", "--seed"})
            if (isGiven(option))
                return console.wrongUsage(
                    {ErrorCode::InvalidArgument, "is of simulated jobs", option, "--simulate 1000"});
        return tell(console, *prediction, input, *goodput, steps, inputs->note);
    }

private:
    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
    }

    bool isGiven(std::string_view name) const
    {
        return std::find(m_arguments.given.begin(), m_arguments.given.end(), name) != m_arguments.given.end();
    }

    static json bandJson(const cost::Band& band, double unit = 1)
    {
        return {{"low", band.low / unit},
                {"middle", band.middle / unit},
                {"high", band.high / unit},
                {"mean", band.mean / unit}};
    }

    /// mean: what the formulas say of the same job.
    int tellSimulated(Console& console, const cost::PredictedStep& prediction, const cost::GoodputInput& input,
                      const cost::Goodput& mean) const
    {
        cost::GoodputSimulation simulation{input};
        simulation.jobs = static_cast<int>(std::clamp<std::int64_t>(*m_jobs, 0, std::numeric_limits<int>::max()));
        simulation.periodSeconds = m_days * 86'400;
        simulation.failureShape = m_shape;
        simulation.seed = m_seed;
        const auto simulated = cost::simulateGoodput(simulation);
        if (!simulated) return refuseField(console, simulated.error());
        // A tenth of the interval is coarse enough for fewer jobs.
        constexpr int kMostJobsOfInterval = 100;
        simulation.jobs = std::min(simulation.jobs, kMostJobsOfInterval);
        const auto best = cost::simulatedBestInterval(simulation);
        if (!best) return refuseField(console, best.error());
        if (console.json())
            return console.answerJson({{"jobs", *m_jobs},
                                       {"devices", input.devices},
                                       {"job_mtbf_hours", mean.jobMtbfSeconds / 3600},
                                       {"failure_shape", m_shape},
                                       {"checkpoint_seconds", input.checkpointSeconds},
                                       {"restart_seconds", input.restartSeconds},
                                       {"interval_seconds", simulated->intervalSeconds},
                                       {"goodput", bandJson(simulated->goodput)},
                                       {"interruptions", bandJson(simulated->interruptions)},
                                       {"days", bandJson(simulated->seconds, 86'400)},
                                       {"wasted",
                                        {{"checkpoints", simulated->checkpointShare},
                                         {"recovery", simulated->recoveryShare},
                                         {"recomputation", simulated->recomputationShare}}},
                                       {"formula",
                                        {{"goodput", mean.goodput},
                                         {"young_interval_seconds", mean.youngSeconds},
                                         {"best_interval_seconds", mean.dalySeconds}}},
                                       {"best_interval_seconds", *best},
                                       {"feasible", prediction.feasible},
                                       {"why", prediction.why}});
        const auto percents = [](const cost::Band& band) {
            return fmt::format("{} ({} to {})", formatPercent(band.mean, 2), formatPercent(band.low, 2),
                               formatPercent(band.high, 2));
        };
        const auto figures = [](const cost::Band& band, double unit) {
            return fmt::format("{} ({} to {})", formatFigure(band.mean / unit, 4), formatFigure(band.low / unit, 4),
                               formatFigure(band.high / unit, 4));
        };
        std::string text = fmt::format("{} jobs; in brackets, what nine of ten came to\n", *m_jobs);
        const auto line = [&text](std::string_view label, const std::string& value) {
            text += fmt::format("{:<28}{}\n", label, value);
        };
        line("memory", prediction.why);
        line("time between failures", days(mean.jobMtbfSeconds));
        line("a checkpoint every", days(simulated->intervalSeconds));
        line("goodput", percents(simulated->goodput) + ", by the formula " + formatPercent(mean.goodput, 2));
        line("  writing checkpoints", formatPercent(simulated->checkpointShare, 2));
        line("  recovery", formatPercent(simulated->recoveryShare, 2));
        line("  recomputation", formatPercent(simulated->recomputationShare, 2));
        line("interruptions", figures(simulated->interruptions, 1));
        line("days", figures(simulated->seconds, 86'400));
        line("best interval",
             fmt::format("{} (Daly {}; Young {})", days(*best), days(mean.dalySeconds), days(mean.youngSeconds)));
        text.pop_back(); // the console ends the last line
        return console.answerText(text);
    }

    static int refuseField(Console& console, Error error)
    {
        error.where = "--" + error.where; // the fields are named as their options
        return refuse(console, error);
    }

    static int tell(Console& console, const cost::PredictedStep& prediction, const cost::GoodputInput& input,
                    const cost::Goodput& goodput, double steps, const std::string& note)
    {
        const double wasted = goodput.secondsToTrain - input.trainingSeconds;
        if (console.json())
            return console.answerJson({{"step_time_ms", prediction.seconds * 1e3},
                                       {"steps", steps},
                                       {"devices", input.devices},
                                       {"device_mtbf_hours", input.deviceMtbfHours},
                                       {"job_mtbf_hours", goodput.jobMtbfSeconds / 3600},
                                       {"availability", goodput.availability},
                                       {"checkpoint_seconds", input.checkpointSeconds},
                                       {"restart_seconds", input.restartSeconds},
                                       {"young_interval_seconds", goodput.youngSeconds},
                                       {"best_interval_seconds", goodput.dalySeconds},
                                       {"interval_seconds", goodput.intervalSeconds},
                                       {"interruptions", goodput.interruptions},
                                       {"goodput", goodput.goodput},
                                       {"wasted_fraction", goodput.wasted},
                                       {"wasted_seconds", wasted},
                                       {"wasted",
                                        {{"checkpoints", goodput.checkpointShare},
                                         {"recovery", goodput.recoveryShare},
                                         {"recomputation", goodput.recomputationShare}}},
                                       {"training_seconds", input.trainingSeconds},
                                       {"time_to_train_seconds", goodput.secondsToTrain},
                                       {"time_to_train_days", goodput.secondsToTrain / 86'400},
                                       {"cost", input.pricePerDeviceHour > 0 ? json(goodput.cost) : json(nullptr)},
                                       {"feasible", prediction.feasible},
                                       {"why", prediction.why},
                                       {"note", note.empty() ? json(nullptr) : json(note)}});
        std::string text;
        const auto line = [&text](std::string_view label, const std::string& value) {
            text += fmt::format("{:<28}{}\n", label, value);
        };
        line("step", formatTime(Duration::fromSeconds(prediction.seconds)) + " on " +
                         formatCount(static_cast<std::int64_t>(input.devices)) + " devices");
        line("memory", prediction.why);
        line("time between failures", days(goodput.jobMtbfSeconds));
        line("availability", formatPercent(goodput.availability, 3));
        line("a checkpoint takes", formatTime(Duration::fromSeconds(input.checkpointSeconds)));
        line("best interval",
             fmt::format("{} (Daly; Young {})", days(goodput.dalySeconds), days(goodput.youngSeconds)));
        line("goodput", formatPercent(goodput.goodput, 2));
        line("  writing checkpoints", formatPercent(goodput.checkpointShare, 2));
        line("  recovery", formatPercent(goodput.recoveryShare, 2));
        line("  recomputation", formatPercent(goodput.recomputationShare, 2));
        line("interruptions", formatFigure(goodput.interruptions, 4));
        line("time to train", fmt::format("{}, of it {} wasted", days(goodput.secondsToTrain), days(wasted)));
        if (input.pricePerDeviceHour > 0) line("cost", formatFigure(goodput.cost, 4));
        if (!note.empty()) line("machine", note);
        text.pop_back(); // the console ends the last line
        return console.answerText(text);
    }

    PredictArguments m_arguments;
    std::string m_file, m_plan;
    cost::GoodputInput m_input;
    std::optional<double> m_checkpointSeconds, m_jobMtbfHours, m_intervalSeconds;
    std::optional<std::int64_t> m_jobs;
    double m_tokens = 300e9, m_days = 0, m_shape = 1;
    std::uint64_t m_seed = 1;
};

} // namespace

std::unique_ptr<Verb> makeGoodputVerb()
{
    return std::make_unique<GoodputVerb>();
}

} // namespace fourwalls::cli
