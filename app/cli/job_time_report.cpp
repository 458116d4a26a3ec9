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
    "detection", "restart", "loading", "work that was lost", "checkpoints", "slow steps", "other"};

std::string line(std::string_view label, const std::string& value)
{
    return fmt::format("{:<28}{}\n", label, value);
}

std::string timeAndShare(Duration part, const JobTime& time)
{
    const double all = time.range.length().seconds();
    return fmt::format("{}  {}", formatTime(part), formatPercent(all > 0 ? part.seconds() / all : 0, 2));
}

json predictedJson(const cost::GoodputInput& input, const JobTime& time, const cost::Goodput& model, double goodput)
{
    return {{"goodput", goodput},
            {"difference_points", (goodput - time.goodput()) * 100},
            {"job_mtbf_seconds", model.jobMtbfSeconds},
            {"availability", model.availability},
            {"checkpoint_seconds", input.checkpointSeconds},
            {"restart_seconds", input.restartSeconds},
            {"interval_seconds", input.checkpointIntervalSeconds},
            {"young_interval_seconds", model.youngSeconds},
            {"best_interval_seconds", model.dalySeconds},
            {"wasted",
             {{"checkpoints", model.checkpointShare},
              {"recovery", model.recoveryShare},
              {"recomputation", model.recomputationShare}}}};
}

std::string predictedText(const cost::GoodputInput& input, const JobTime& time, const cost::Goodput& model,
                          double goodput)
{
    const auto seconds = [](double value) { return formatTime(Duration::fromSeconds(value)); };
    return line("predicted goodput",
                fmt::format("{} ({:+.1f} points)", formatPercent(goodput, 2), (goodput - time.goodput()) * 100)) +
           line("  from a failure every", seconds(model.jobMtbfSeconds)) +
           line("  a recovery of", seconds(input.restartSeconds)) +
           line("  a checkpoint of", seconds(input.checkpointSeconds)) +
           line("  and so much work between", seconds(input.checkpointIntervalSeconds)) +
           line("best interval",
                fmt::format("{} (Daly; Young {})", seconds(model.dalySeconds), seconds(model.youngSeconds)));
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
    const auto input = cost::goodputInputOf(time);
    json object{{"file", file}, {"recorded", jobTimeJson(time)}, {"predicted", nullptr}};
    std::string text = jobTimeText(time);
    if (input) {
        const auto model = cost::computeGoodput(*input);
        const auto goodput = cost::predictedGoodput(*input, time);
        if (model && goodput) {
            object["predicted"] = predictedJson(*input, time, *model, *goodput);
            text += predictedText(*input, time, *model, *goodput);
        } else {
            object["because"] = goodput.error().message();
            text += "no prediction: " + goodput.error().message() + "\n";
        }
    } else {
        object["because"] = "nothing failed";
        text += "nothing failed, so there is no failure rate to predict from\n";
    }
    if (console.json()) return console.answerJson(std::move(object));
    text.pop_back(); // the console ends the last line
    return console.answerText(text);
}

} // namespace fourwalls::cli
