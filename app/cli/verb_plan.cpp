// SPDX-License-Identifier: Apache-2.0
// `plan`: the search for a parallel plan.
#include "app/cli/learned_report.h"
#include "app/cli/plan_verification.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/cost/plan_search.h"
#include "model/spec/launch_arguments.h"
#include "model/spec/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

cost::SearchObjective objectiveOf(const std::string& word)
{
    if (word == "memory") return cost::SearchObjective::Memory;
    if (word == "energy") return cost::SearchObjective::Energy;
    return word == "cost" ? cost::SearchObjective::Cost : cost::SearchObjective::Time;
}

class PlanVerb : public Verb {
public:
    const char* name() const override { return "plan"; }
    const char* summary() const override { return "searches parallel plans for a model on a number of devices"; }
    const char* examples() const override
    {
        return "  fourwalls-cli plan --model gpt3-175b --cluster dgx-a100 --gpus 1024 --batch 1536\n"
               "  fourwalls-cli plan --model llama3-70b --cluster dgx-h100 --gpus 64 --batch 256 --objective cost "
               "--limit 5\n"
               "  fourwalls-cli plan --model llama3-70b --cluster dgx-h100 --gpus 64 --batch 128 --emit megatron\n"
               "  fourwalls-cli plan --like recorded.fourwalls --gpus 4 --verify 5";
    }
    Arguments arguments() override
    {
        return m_arguments.with(
            {Argument("--gpus", &m_devices, "devices to use").required(),
             Argument("--objective", &m_objective,
                      "shortest step, smallest peak, fewest device-seconds, or least energy (the last two may use "
                      "fewer devices)")
                 .oneOf({"time", "memory", "cost", "energy"}),
             {"--robust", &m_options.robust,
              "puts the plan first that loses least where the machine's rates are not as believed"},
             {"--limit", &m_options.limit, "plans to print"},
             Argument("--emit", &m_emit,
                      "says the best plan in a framework's words: launch arguments or a configuration")
                 .oneOf({"megatron", "torchtitan", "deepspeed"}),
             {"--plan", &m_plan, "what all plans have in common; the search chooses what is not named"},
             m_arguments.likeArgument(),
             {"--verify", &m_verify,
              "trains so many of the best plans and some bad ones with the engine, on the device clock"},
             {"--kernel-times", &m_kernelTimes,
              "file of kernel times that the trained plans share, read and written"}});
    }

    int run(Console& console) override
    {
        if (m_arguments.framework.empty() && !m_emit.empty())
            m_arguments.framework = presetOf(*valueOf(kLaunchWords, m_emit));
        constexpr std::int64_t kMostDevices = 1'000'000;
        if (m_devices < 1 || m_devices > kMostDevices)
            return console.wrongUsage({ErrorCode::InvalidArgument, "cannot be " + std::to_string(m_devices), "--gpus",
                                       "1 to " + std::to_string(kMostDevices) + " devices"});
        auto inputs = m_arguments.load(m_plan, static_cast<int>(m_devices));
        if (!inputs) return refuse(console, inputs.error());
        if (inputs->spec.plan.parameterServer != ParameterServer::None)
            return console.wrongUsage({ErrorCode::InvalidArgument, "the search has no parameter servers", "--plan",
                                       "leave ps and servers out"});
        const FrameworkPreset& framework = inputs->framework;
        const cost::FixedParts fixed = cost::FixedParts::of(m_plan, inputs->spec.plan);
        // What is not named has the least that there is.
        if (const Status can = canRun(framework, fixed.named()); !can.ok())
            return console.wrongUsage({ErrorCode::InvalidArgument, can.error().what, "--plan", can.error().hint});
        if (m_verify && (*m_verify < 1 || *m_verify > kMostVerified))
            return console.wrongUsage({ErrorCode::InvalidArgument, "cannot be " + std::to_string(*m_verify), "--verify",
                                       "1 to " + std::to_string(kMostVerified) + " plans"});
        if (!m_verify && !m_kernelTimes.empty())
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "is of the plans that are trained", "--kernel-times", "with --verify K"});
        if (m_verify)
            if (const Status can = predictDeviceClock(*inputs, static_cast<int>(m_devices)); !can.ok())
                return refuse(console, can.error());
        const StopSignals signals;
        auto found = search(*inputs, fixed, signals);
        if (!found) return refuse(console, found.error());
        std::optional<PlanVerification> verified;
        if (m_verify && !found->best.empty()) {
            Progress progress("training");
            auto trained = verifyPlans(
                *inputs, found->best, found->all, *m_verify, m_kernelTimes,
                [&progress](double share) { progress(share); }, signals.token());
            if (!trained) return console.fail(trained.error());
            verified = std::move(*trained);
        }
        if (found->best.size() > static_cast<std::size_t>(m_options.limit))
            found->best.resize(static_cast<std::size_t>(m_options.limit));
        std::optional<Told> told;
        if (!m_emit.empty() && !found->best.empty()) {
            auto words = firstInWords(*found, *inputs, fixed, signals);
            if (!words) return console.fail(words.error());
            told = std::move(*words);
        }
        const int answered = answer(console, *found, *inputs, verified, told);
        if (answered != kExitDone) return answered;
        if (verified && verified->failure) return console.fail(*verified->failure);
        if (found->best.empty() || !found->best.front().feasible) return console.fail(noneFits(*found, *inputs));
        return kExitDone;
    }

private:
    /// The best plan that a framework can be told, and the best of those that it cannot.
    struct Told {
        cost::SearchedPlan plan;
        LaunchArguments launch;
        std::optional<cost::SearchedPlan> passedOver;
        Error because;
    };

    int answer(Console& console, const cost::PlanSearchResult& found, const PredictionInputs& inputs,
               const std::optional<PlanVerification>& verified, const std::optional<Told>& told) const
    {
        if (!console.json())
            return console.answerText(textOf(found, inputs) + reasonsText(found.reasons) + robustText(found.robust) +
                                      (inputs.like ? '\n' + likeText(m_arguments.like, *inputs.like) : "") +
                                      (verified ? "\n\n" + verificationText(*verified) : "") +
                                      (told ? emitText(*told) : ""));
        json object = jsonOf(found, inputs);
        object["reasons"] = reasonsJson(found.reasons);
        object["robust"] = robustJson(found.robust);
        if (inputs.like) object["like"] = likeJson(m_arguments.like, *inputs.like);
        if (verified) object["verified"] = verificationJson(*verified);
        if (told) object["emit"] = emitJson(*told);
        return console.answerJson(std::move(object));
    }

    static constexpr std::int64_t kMostVerified = 100;

    Result<cost::PlanSearchResult> search(const PredictionInputs& inputs, const cost::FixedParts& fixed,
                                          const StopSignals& signals,
                                          std::optional<LaunchTarget> launch = std::nullopt) const
    {
        Progress progress("searching");
        cost::SearchOptions options = m_options;
        options.devices = static_cast<int>(m_devices);
        options.fixed = fixed;
        options.launch = launch;
        options.objective = objectiveOf(m_objective);
        options.stop = signals.token();
        options.progress = [&progress](const cost::SearchCounts&) { progress(0.5); };
        options.explains = true;
        options.keepAll = m_verify.has_value();
        // The engine may have to leave some out.
        if (m_verify && options.limit > 0)
            options.limit = static_cast<int>(std::max<std::int64_t>(options.limit, 4 * *m_verify));
        return cost::searchPlans(inputs.spec, inputs.framework, inputs.calibration, options);
    }

    static json reasonsJson(const std::vector<cost::PlanReason>& reasons)
    {
        json list = json::array();
        for (const cost::PlanReason& reason : reasons)
            list.push_back({{"key", reason.key},
                            {"chosen", reason.chosen},
                            {"instead", reason.instead},
                            {"plan", formatPlan(reason.plan)},
                            {"step_time_ms", reason.seconds * 1e3},
                            {"peak_bytes", reason.peakBytes},
                            {"feasible", reason.feasible},
                            {"change_pct", 100 * reason.change},
                            {"sentence", reason.sentence}});
        return list;
    }

    static std::string reasonsText(const std::vector<cost::PlanReason>& reasons)
    {
        if (reasons.empty()) return "";
        // One plan may be the answer for several values.
        std::vector<std::pair<std::string, std::string>> lines;
        for (const cost::PlanReason& reason : reasons) {
            const std::string value = reason.key + '=' + reason.instead;
            const auto same = std::find_if(lines.begin(), lines.end(),
                                           [&reason](const auto& line) { return line.second == reason.sentence; });
            if (same != lines.end())
                same->first += ", " + value;
            else
                lines.emplace_back(value, reason.sentence);
        }
        std::string text = "\n\nwhy not";
        for (const auto& [values, sentence] : lines) text += "\n  " + values + ": " + sentence;
        return text;
    }

    static json robustJson(const std::optional<cost::RobustChoice>& robust)
    {
        if (!robust) return nullptr;
        return {{"plan", formatPlan(robust->plan.plan)},
                {"step_time_ms", robust->plan.seconds * 1e3},
                {"is_best", robust->isBest},
                {"change_pct", 100 * robust->change},
                {"expected_regret_pct", 100 * robust->regret},
                {"expected_regret_of_best_pct", 100 * robust->regretOfBest},
                {"sentence", robust->sentence}};
    }

    static std::string robustText(const std::optional<cost::RobustChoice>& robust)
    {
        return robust ? "\n\nrobust: " + robust->sentence : "";
    }

    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
    }

    /// Why a search found nothing that can be run.
    Error noneFits(const cost::PlanSearchResult& found, const PredictionInputs& inputs) const
    {
        const auto error = [](std::string what, std::string hint) {
            return Error{ErrorCode::NotFound, std::move(what), "plan", std::move(hint)};
        };
        const std::string memory =
            formatBytes(static_cast<double>(inputs.spec.cluster.smallestMemoryBytes(static_cast<int>(m_devices))));
        if (!found.best.empty())
            return error(fmt::format("no plan fits: the smallest needs {} on a rank, a device has {}",
                                     formatBytes(found.best.front().peakBytes), memory),
                         "more devices, a smaller --batch or --seq");
        if (found.stopped) return error("stopped before a plan was found", "");
        if (found.counts.tooLarge > 0)
            return error(fmt::format("no plan fits: {} divide this model and batch, and with each the weights, "
                                     "gradients and optimizer states alone need more memory than a device's {}",
                                     formatCount(found.counts.tooLarge), memory),
                         "more devices");
        if (found.refusal) return *found.refusal;
        return error("no plan divides this model and batch over so many devices", "other --gpus, --batch or --plan");
    }

    /// Where the framework was searched that is emitted, this is the first plan found. Others run plans that cannot be
    /// said: they are searched again for one that can. Errors: why not, where there is none.
    Result<Told> firstInWords(const cost::PlanSearchResult& found, const PredictionInputs& inputs,
                              const cost::FixedParts& fixed, const StopSignals& signals) const
    {
        const LaunchTarget target = *valueOf(kLaunchWords, m_emit);
        RunSpec spec = inputs.spec;
        spec.plan = found.best.front().plan;
        Told told{found.best.front(), {}, {}, {}};
        auto words = launchArguments(target, spec, inputs.framework);
        if (!words) {
            told.passedOver = told.plan;
            told.because = words.error();
            FOURWALLS_TRY_ASSIGN(const cost::PlanSearchResult sayable, search(inputs, fixed, signals, target));
            if (sayable.best.empty()) return told.because;
            told.plan = sayable.best.front();
            spec.plan = told.plan.plan;
            words = launchArguments(target, spec, inputs.framework);
        }
        if (!words) return words.error();
        told.launch = std::move(*words);
        return told;
    }

    json emitJson(const Told& told) const
    {
        json passedOver = json(nullptr);
        if (told.passedOver)
            passedOver = {{"plan", formatPlan(told.passedOver->plan)},
                          {"step_time_ms", told.passedOver->seconds * 1e3},
                          {"peak_bytes", told.passedOver->peakBytes},
                          {"because", told.because.what}};
        const std::string& configuration = told.launch.configuration;
        return {{"framework", m_emit},
                {"plan", formatPlan(told.plan.plan)},
                {"step_time_ms", told.plan.seconds * 1e3},
                {"peak_bytes", told.plan.peakBytes},
                {"feasible", told.plan.feasible},
                {"passed_over", std::move(passedOver)},
                {"arguments", told.launch.arguments},
                {"configuration", configuration.empty() ? json(nullptr) : json::parse(configuration)},
                {"notes", told.launch.notes}};
    }

    static std::string planLine(const cost::SearchedPlan& plan)
    {
        return fmt::format("{}, {}, {}{}", formatPlan(plan.plan), formatTime(Duration::fromSeconds(plan.seconds)),
                           formatBytes(plan.peakBytes), plan.feasible ? "" : ", does not fit");
    }

    std::string emitText(const Told& told) const
    {
        std::string text = fmt::format("\n\nfor {}: {}\n", m_emit, planLine(told.plan));
        if (told.passedOver)
            text += fmt::format("passed over: {}: {}\n", planLine(*told.passedOver), told.because.what);
        for (const std::string& word : told.launch.arguments) {
            const bool isName = word.starts_with("--");
            text += (isName && text.back() != '\n' ? " \\\n" : isName ? "" : " ") + word;
        }
        text += told.launch.configuration;
        for (const std::string& note : told.launch.notes) text += '\n' + note;
        return text;
    }

    json jsonOf(const cost::PlanSearchResult& found, const PredictionInputs& inputs) const
    {
        const std::string& note = inputs.note;
        json object{{"plans", json::array()},
                    {"considered", found.counts.considered},
                    {"refused", found.counts.refused},
                    {"too_large", found.counts.tooLarge},
                    {"evaluated", found.counts.evaluated},
                    {"feasible", found.counts.feasible},
                    {"seconds", found.elapsedSeconds},
                    {"stopped", found.stopped},
                    {"assumed", inputs.assumed},
                    {"note", note.empty() ? json(nullptr) : json(note)},
                    {"why", found.best.empty() ? json(noneFits(found, inputs).what) : json(nullptr)}};
        for (const cost::SearchedPlan& plan : found.best)
            object["plans"].push_back({{"plan", formatPlan(plan.plan)},
                                       {"devices", plan.plan.worldSize()},
                                       {"step_time_ms", plan.seconds * 1e3},
                                       {"peak_bytes", plan.peakBytes},
                                       {"device_seconds", plan.seconds * plan.plan.worldSize()},
                                       {"energy_joules", plan.joules > 0 ? json(plan.joules) : json(nullptr)},
                                       {"feasible", plan.feasible}});
        return object;
    }

    /// What the plans are for, with what was not said of it: "llama3-70b on dgx-h100 in megatron-core, bf16, batch 8 …".
    static std::string askedText(const PredictionInputs& inputs)
    {
        const RunSpec& spec = inputs.spec;
        std::string text =
            fmt::format("{} on {} in {}, {}, batch {}", spec.model.name, spec.cluster.name, inputs.framework.name,
                        fourwalls::name(spec.training.precision), formatCount(spec.training.batch));
        if (spec.training.sequence > 0)
            text += fmt::format(", sequences of {} tokens", formatCount(spec.training.sequence));
        text += '\n';
        std::string assumed;
        for (const std::string& each : inputs.assumed) assumed += (assumed.empty() ? "" : ", ") + each;
        return assumed.empty() ? text : text + "assumed, as nothing else was said: " + assumed + '\n';
    }

    static std::string textOf(const cost::PlanSearchResult& found, const PredictionInputs& inputs)
    {
        const std::string& note = inputs.note;
        std::string text = askedText(inputs);
        if (!found.best.empty()) text += fmt::format("\n{:>12}  {:>9}  {:>9}  {}\n", "step", "peak", "energy*", "plan");
        for (const cost::SearchedPlan& plan : found.best)
            text += fmt::format("{:>12}  {:>9}  {:>9}  {}{}\n", formatTime(Duration::fromSeconds(plan.seconds)),
                                formatBytes(plan.peakBytes), plan.joules > 0 ? formatRate(plan.joules, "J") : "-",
                                formatPlan(plan.plan), plan.feasible ? "" : "  (does not fit)");
        if (!found.best.empty())
            text += "* of all devices in a step, modelled from their power limit: docs/cost-model.md\n";
        text += fmt::format("{} considered, {} evaluated, {} feasible in {}", formatCount(found.counts.considered),
                            formatCount(found.counts.evaluated), formatCount(found.counts.feasible),
                            formatTime(Duration::fromSeconds(found.elapsedSeconds)));
        if (!note.empty()) text += '\n' + note;
        return text;
    }

    PredictArguments m_arguments;
    std::string m_plan, m_emit, m_kernelTimes, m_objective = "time";
    std::optional<std::int64_t> m_verify;
    std::int64_t m_devices = 0;
    cost::SearchOptions m_options;
};

} // namespace

std::unique_ptr<Verb> makePlanVerb()
{
    return std::make_unique<PlanVerb>();
}

} // namespace fourwalls::cli
