// SPDX-License-Identifier: Apache-2.0
// `goodput`: what failures and checkpoints take from a long training, on top of a predicted step.
#include "app/cli/job_time_report.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/cost/cost_model.h"
#include "model/cost/goodput.h"
#include "model/cost/predicted_step.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

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
        if (!goodput) {
            Error error = goodput.error();
            error.where = "--" + error.where; // the fields are named as their options
            return refuse(console, error);
        }
        return tell(console, *prediction, input, *goodput, steps, inputs->note);
    }

private:
    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
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
    double m_tokens = 300e9;
};

} // namespace

std::unique_ptr<Verb> makeGoodputVerb()
{
    return std::make_unique<GoodputVerb>();
}

} // namespace fourwalls::cli
