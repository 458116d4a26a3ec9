// SPDX-License-Identifier: Apache-2.0
// See job_time_report.h.
#include "app/cli/job_time_report.h"

#include "app/cli/open_input.h"
#include "model/base/format.h"
#include "model/cost/recorded_goodput.h"

#include <fmt/format.h>

#include <string_view>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kLostTimeCount> kLostTimeWords{
    "detection",  "restart",       "loading", "work that was lost", "checkpoints", "slow steps",
    "evaluation", "between steps", "other"};

std::string line(std::string_view label, const std::string& value)
{
    return fmt::format("{:<28}{}\n", label, value);
}

std::string timeAndShare(Duration part, const JobTime& time)
{
    const double all = time.range.length().seconds();
    return fmt::format("{}  {}", formatTime(part), formatPercent(all > 0 ? part.seconds() / all : 0, 2));
}

json predictedJson(const cost::RecordedPrediction& predicted, const JobTime& time)
{
    const cost::GoodputInput& input = predicted.input;
    return {{"goodput", predicted.goodput.mean},
            {"low", predicted.goodput.low},
            {"high", predicted.goodput.high},
            {"difference_points", (predicted.goodput.mean - time.goodput()) * 100},
            {"at_its_failures", predicted.atItsFailures},
            {"job_mtbf_seconds", predicted.model.jobMtbfSeconds},
            {"availability", predicted.model.availability},
            {"checkpoint_seconds", input.checkpointSeconds},
            {"restart_seconds", input.restartSeconds},
            {"interval_seconds", input.checkpointIntervalSeconds},
            {"young_interval_seconds", predicted.model.youngSeconds},
            {"best_interval_seconds", predicted.model.dalySeconds},
            {"wasted",
             {{"checkpoints", predicted.checkpointShare},
              {"recovery", predicted.recoveryShare},
              {"recomputation", predicted.recomputationShare},
              {"slow_steps", predicted.slowShare}}}};
}

std::string predictedText(const cost::RecordedPrediction& predicted, const JobTime& time)
{
    const auto seconds = [](double value) { return formatTime(Duration::fromSeconds(value)); };
    const auto points = [&](double goodput) {
        return fmt::format("{} ({:+.1f} points)", formatPercent(goodput, 2), (goodput - time.goodput()) * 100);
    };
    return line("predicted goodput",
                fmt::format("{}; {} to {} as chance has it", points(predicted.goodput.mean),
                            formatPercent(predicted.goodput.low, 2), formatPercent(predicted.goodput.high, 2))) +
           line("  where its failures came", points(predicted.atItsFailures)) +
           line("  from a failure every", seconds(predicted.model.jobMtbfSeconds)) +
           line("  a recovery of", seconds(predicted.input.restartSeconds)) +
           line("  a checkpoint of", seconds(predicted.input.checkpointSeconds)) +
           line("  and so much work between", seconds(predicted.input.checkpointIntervalSeconds)) +
           line("best interval", fmt::format("{} (Daly; Young {})", seconds(predicted.model.dalySeconds),
                                             seconds(predicted.model.youngSeconds)));
}

} // namespace

json jobTimeJson(const JobTime& time)
{
    json lost = json::object();
    for (int i = 0; i < kLostTimeCount; ++i) {
        const auto part = static_cast<LostTime>(i);
        lost[std::string(fourwalls::name(part))] = time.of(part).seconds();
    }
    return {{"seconds", time.range.length().seconds()},
            {"training_seconds", time.training.seconds()},
            {"wasted_seconds", time.wasted().seconds()},
            {"goodput", time.goodput()},
            {"lost_seconds", std::move(lost)},
            {"failures", time.failures},
            {"checkpoints", time.checkpoints},
            {"steps", time.keptSteps},
            {"lost_steps", time.lostSteps},
            {"steps_between_checkpoints", time.stepsBetweenCheckpoints},
            {"median_step_ms", time.medianStep.milliseconds()}};
}

std::string jobTimeText(const JobTime& time)
{
    std::string text =
        line("goodput", fmt::format("{} of {}", formatPercent(time.goodput(), 2), formatTime(time.range.length())));
    text += line("  steps that stay", timeAndShare(time.training, time));
    for (int i = 0; i < kLostTimeCount; ++i)
        text += line("  " + std::string(kLostTimeWords[static_cast<std::size_t>(i)]),
                     timeAndShare(time.of(static_cast<LostTime>(i)), time));
    text += line("failures", fmt::format("{}, steps taken again {}, checkpoints {}", time.failures, time.lostSteps,
                                         time.checkpoints));
    return text;
}

int tellRecordedGoodput(Console& console, const std::string& file)
{
    const auto trace = openInput(file);
    if (!trace) return console.fail(trace.error());
    const auto found = jobTime(**trace);
    if (!found) return console.fail(found.error());
    if (!*found)
        return console.fail(
            {ErrorCode::Unsupported, "has no recorded steps", file, "a recording, or --model and --plan"});
    const JobTime& time = **found;
    const auto predicted = cost::predictRecorded(time);
    json object{{"file", file}, {"recorded", jobTimeJson(time)}, {"predicted", nullptr}};
    std::string text = jobTimeText(time);
    if (predicted && *predicted) {
        object["predicted"] = predictedJson(**predicted, time);
        text += predictedText(**predicted, time);
    } else {
        const std::string because = predicted ? "nothing failed" : predicted.error().message();
        object["because"] = because;
        text += "no prediction: " + because + "\n";
    }
    if (console.json()) return console.answerJson(std::move(object));
    text.pop_back(); // the console ends the last line
    return console.answerText(text);
}

} // namespace fourwalls::cli
