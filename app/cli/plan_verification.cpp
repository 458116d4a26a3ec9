// SPDX-License-Identifier: Apache-2.0
// See plan_verification.h.
#include "app/cli/plan_verification.h"

#include "app/cli/suite_run.h"
#include "model/base/format.h"
#include "model/base/median.h"
#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/trace/figures.h"
#include "model/trace/metrics.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/kernel_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

constexpr std::int64_t kSteps = 4;
constexpr int kRounds = 3; ///< that measure kernels
constexpr std::int64_t kFewestOthers = 2;

engine::RunOptions deviceClock(const std::string& kernelTimes, const std::stop_token& stop)
{
    engine::RunOptions options;
    options.clock = ClockKind::Device;
    options.kernelTimesFile = kernelTimes;
    options.stop = stop;
    return options;
}

Result<RunSpec> trainable(const RunSpec& searched, const ParallelPlan& plan)
{
    RunSpec spec = searched;
    spec.plan = plan;
    spec.training.steps = kSteps;
    FOURWALLS_TRY(resolve(spec));
    FOURWALLS_TRY(engine::checkRunnable(spec, deviceClock({}, {})));
    return spec;
}

/// The first `count` of the list that the engine can train, and why it cannot train those before.
class Chooser {
public:
    Chooser(const RunSpec& spec, PlanVerification& into) : m_spec(spec), m_into(into) {}

    bool take(const cost::SearchedPlan& plan, bool isBest)
    {
        const auto has = [&plan](const auto& each) { return formatPlan(each.plan) == formatPlan(plan.plan); };
        if (std::any_of(m_into.plans.begin(), m_into.plans.end(), has)) return false;
        if (std::any_of(m_into.refused.begin(), m_into.refused.end(), has)) return false;
        const auto spec = trainable(m_spec, plan.plan);
        if (!spec) {
            m_into.refused.push_back({plan.plan, spec.error().message()});
            return false;
        }
        m_into.plans.push_back({plan.plan, isBest});
        return true;
    }

private:
    const RunSpec& m_spec;
    PlanVerification& m_into;
};

Status predictPlan(const RunSpec& searched, cost::CostModel& model, VerifiedPlan& plan)
{
    FOURWALLS_TRY_ASSIGN(const RunSpec spec, trainable(searched, plan.plan));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep predicted, cost::predictStep(model, spec));
    plan.predictedSeconds = predicted.seconds;
    plan.predictedBytes = predicted.peakBytes;
    return {};
}

/// Trains `plan` with a table of kernel times, read and written.
Status trainPlan(const RunSpec& searched, const engine::RunOptions& options, VerifiedPlan& plan)
{
    FOURWALLS_TRY_ASSIGN(const RunSpec spec, trainable(searched, plan.plan));
    FOURWALLS_TRY_ASSIGN(const RecordedRun run, recordInMemory(spec, options));
    FOURWALLS_TRY_ASSIGN(const TraceMetrics metrics, computeMetrics(*run.query));
    if (!metrics.stepTime)
        return Error{ErrorCode::Internal, "a recording has no step time", formatPlan(plan.plan), "report this"};
    plan.recordedSeconds = metrics.stepTime->seconds();
    plan.recordedBytes = infoOf(Figure::PeakBytes).of(metrics).value_or(0);
    return {};
}

/// What kernels took in the recordings of several plans, each of which measured its own.
class KernelRounds {
public:
    using Table = engine::KernelMedians::Table;

    /// given: kernels whose times are known.
    explicit KernelRounds(Table given) : m_given(std::move(given)) {}

    /// Trains `plan` once and keeps what its kernels took.
    Status measure(const RunSpec& searched, VerifiedPlan& plan, const std::stop_token& stop)
    {
        FOURWALLS_TRY_ASSIGN(const ScratchFile scratch, ScratchFile::create());
        FOURWALLS_TRY(engine::writeKernelTable(scratch.path(), m_given));
        FOURWALLS_TRY(trainPlan(searched, deviceClock(scratch.path(), stop), plan));
        FOURWALLS_TRY_ASSIGN(const Table measured, engine::readKernelTable(scratch.path()));
        for (const auto& [kernel, time] : measured)
            if (!m_given.contains(kernel)) m_samples[kernel].push_back(time);
        const bool isFirst = plan.highSeconds == 0;
        plan.lowSeconds = isFirst ? plan.recordedSeconds : std::min(plan.lowSeconds, plan.recordedSeconds);
        plan.highSeconds = std::max(plan.highSeconds, plan.recordedSeconds);
        return {};
    }

    /// Those given, and the lower medians of the others.
    Table table() const
    {
        Table table = m_given;
        for (const auto& [kernel, times] : m_samples) table.emplace(kernel, lowerMedian(times));
        return table;
    }

private:
    Table m_given;
    std::map<Table::key_type, std::vector<std::int64_t>> m_samples;
};

/// Trains the plans in rounds, then with the kernel times of all rounds. What fails ends it; in the first round those after it
/// have no time then and are dropped.
void trainAll(const RunSpec& searched, const std::string& kernelTimes, PlanVerification& verification,
              const std::function<void(double)>& progress, const std::stop_token& stop)
{
    std::vector<VerifiedPlan>& plans = verification.plans;
    const double all = static_cast<double>(plans.size()) * (kRounds + 1);
    double done = 0;
    std::size_t trained = 0;
    const Status status = [&]() -> Status {
        FOURWALLS_TRY_ASSIGN(KernelRounds::Table given, engine::readKernelTable(kernelTimes));
        FOURWALLS_TRY(engine::writeKernelTable(kernelTimes, given)); // whether it can be, before an hour of training
        KernelRounds rounds(std::move(given));
        for (int round = 0; round < kRounds; ++round)
            for (VerifiedPlan& plan : plans) {
                progress(done++ / all);
                FOURWALLS_TRY(rounds.measure(searched, plan, stop));
                if (round == 0) ++trained;
            }
        FOURWALLS_TRY(engine::writeKernelTable(kernelTimes, rounds.table()));
        for (VerifiedPlan& plan : plans) {
            progress(done++ / all);
            FOURWALLS_TRY(trainPlan(searched, deviceClock(kernelTimes, stop), plan));
        }
        return {};
    }();
    if (!status.ok()) verification.failure = status.error();
    plans.resize(trained);
}

} // namespace

std::optional<double> PlanVerification::regret() const
{
    double least = 0;
    for (const VerifiedPlan& plan : plans)
        if (least == 0 || plan.recordedSeconds < least) least = plan.recordedSeconds;
    if (least <= 0) return std::nullopt;
    return plans.front().recordedSeconds / least - 1;
}

std::optional<double> PlanVerification::apart() const
{
    if (plans.empty()) return std::nullopt;
    std::vector<double> shares;
    for (const VerifiedPlan& plan : plans) shares.push_back(plan.highSeconds / plan.lowSeconds - 1);
    return lowerMedian(std::move(shares));
}

std::optional<double> PlanVerification::pairsInOrder() const
{
    std::size_t pairs = 0, inOrder = 0;
    for (std::size_t i = 0; i < plans.size(); ++i)
        for (std::size_t j = i + 1; j < plans.size(); ++j) {
            ++pairs;
            inOrder += plans[i].recordedSeconds <= plans[j].recordedSeconds;
        }
    if (pairs == 0) return std::nullopt;
    return static_cast<double>(inOrder) / static_cast<double>(pairs);
}

Status predictDeviceClock(PredictionInputs& inputs, int devices)
{
    RunSpec& spec = inputs.spec;
    const bool learned = inputs.like.has_value();
    if (inputs.framework.name != "fourwalls" || (!learned && spec.cluster.device.family != "cpu"))
        return Error{ErrorCode::InvalidArgument,
                     "the engine can only verify plans of its own rates, not those of " + spec.cluster.device.name,
                     "--verify", "--cluster this-machine, a file of calibrate, or --like a recording of the engine"};
    // Ranks of a machine without a network are as many as the search wants; else there are enough nodes.
    if (spec.cluster.nicsPerNode == 0) spec.cluster.devicesPerNode = std::max(spec.cluster.devicesPerNode, devices);
    if (learned) return {}; // its rates are those of the clock that it was recorded on
    inputs.calibration.contention = 0;
    inputs.calibration.deviceSpread = 0;
    return {};
}

Result<PlanVerification> verifyPlans(const PredictionInputs& inputs, std::span<const cost::SearchedPlan> best,
                                     std::span<const cost::SearchedPlan> all, std::int64_t count,
                                     const std::string& kernelTimes, const std::function<void(double)>& progress,
                                     const std::stop_token& stop)
{
    PlanVerification verification;
    Chooser chooser(inputs.spec, verification);
    for (const cost::SearchedPlan& plan : best) {
        if (static_cast<std::int64_t>(verification.plans.size()) >= count) break;
        if (plan.feasible) chooser.take(plan, true);
    }
    if (verification.plans.empty())
        return Error{ErrorCode::Unsupported,
                     "the engine can train none of the plans that were found" +
                         (verification.refused.empty() ? std::string() : ": " + verification.refused.front().why),
                     "--verify", "another model, batch or number of devices"};
    std::vector<cost::SearchedPlan> others;
    std::copy_if(all.begin(), all.end(), std::back_inserter(others),
                 [](const cost::SearchedPlan& plan) { return plan.feasible; });
    std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    const std::int64_t wanted = std::max(kFewestOthers, count / 2);
    for (std::int64_t i = 1; i <= wanted; ++i) { // from the middle to the last
        const auto place = [&](double share) {
            return static_cast<std::size_t>(share * static_cast<double>(others.size() - 1));
        };
        if (others.empty()) break;
        for (std::size_t at = place(0.5 + 0.5 * static_cast<double>(i) / static_cast<double>(wanted)) + 1; at-- > 0;)
            if (chooser.take(others[at], false)) break;
    }

    FOURWALLS_TRY_ASSIGN(const ScratchFile scratch, ScratchFile::create());
    const std::string& table = kernelTimes.empty() ? scratch.path() : kernelTimes;
    FOURWALLS_TRY_ASSIGN(cost::CostModel model,
                         cost::CostModel::create(inputs.spec, inputs.framework, inputs.calibration));
    for (VerifiedPlan& plan : verification.plans) FOURWALLS_TRY(predictPlan(inputs.spec, model, plan));
    trainAll(inputs.spec, table, verification, progress, stop);
    std::sort(verification.plans.begin(), verification.plans.end(),
              [](const auto& a, const auto& b) { return a.predictedSeconds < b.predictedSeconds; });
    progress(1);
    return verification;
}

json verificationJson(const PlanVerification& verification)
{
    json plans = json::array(), refused = json::array();
    for (const VerifiedPlan& plan : verification.plans)
        plans.push_back({{"plan", formatPlan(plan.plan)},
                         {"best", plan.isBest},
                         {"predicted_ms", plan.predictedSeconds * 1e3},
                         {"recorded_ms", plan.recordedSeconds * 1e3},
                         {"low_ms", plan.lowSeconds * 1e3},
                         {"high_ms", plan.highSeconds * 1e3},
                         {"error_pct", 100 * (plan.predictedSeconds / plan.recordedSeconds - 1)},
                         {"predicted_peak_bytes", plan.predictedBytes},
                         {"recorded_peak_bytes", plan.recordedBytes}});
    for (const PlanVerification::Refused& each : verification.refused)
        refused.push_back({{"plan", formatPlan(each.plan)}, {"why", each.why}});
    const auto inOrder = verification.pairsInOrder(), regret = verification.regret();
    const auto share = [](const std::optional<double>& of) { return of ? json(100 * *of) : json(nullptr); };
    return {{"clock", "device"},
            {"plans", std::move(plans)},
            {"refused", std::move(refused)},
            {"regret_pct", share(regret)},
            {"rounds_apart_pct", share(verification.apart())},
            {"pairs_in_order_pct", share(inOrder)},
            {"complete", !verification.failure}};
}

std::string verificationText(const PlanVerification& verification)
{
    std::string text = "no plan was trained";
    if (const auto regret = verification.regret()) {
        text = fmt::format("{:>12}  {:>12}  {:>8}  trained on the device clock", "predicted", "recorded", "error");
        for (const VerifiedPlan& plan : verification.plans)
            text += fmt::format("\n{:>12}  {:>12}  {:>+6.1f} %  {}",
                                formatTime(Duration::fromSeconds(plan.predictedSeconds)),
                                formatTime(Duration::fromSeconds(plan.recordedSeconds)),
                                100 * (plan.predictedSeconds / plan.recordedSeconds - 1), formatPlan(plan.plan));
        text += fmt::format("\nthe plan predicted quickest takes {:.1f} % longer than the quickest of these",
                            100 * *regret);
    }
    if (const auto inOrder = verification.pairsInOrder())
        text += fmt::format("; {:.0f} % of the pairs are in the predicted order", 100 * *inOrder);
    if (const auto apart = verification.apart())
        text += fmt::format("\nsingle rounds of a plan are {:.1f} % apart", 100 * *apart);
    for (const PlanVerification::Refused& each : verification.refused)
        text += fmt::format("\nnot trained: {}: {}", formatPlan(each.plan), each.why);
    return text;
}

} // namespace fourwalls::cli
