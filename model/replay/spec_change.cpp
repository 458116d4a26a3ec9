// SPDX-License-Identifier: Apache-2.0
// See spec_change.h.
#include "model/replay/spec_change.h"

#include "model/base/format.h"
#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

namespace fourwalls::replay {

namespace {

/// The largest errors of answers whose changed plan was recorded as well (docs/replay.md, "Measured"): with one of these words
/// changed, and with any others.
constexpr const char* kMildWords[] = {"overlap", "zero", "recompute", "sp"};
constexpr double kMildError = 0.009, kOtherError = 0.23;
/// A part of a step below this share of it is none.
constexpr double kNoPart = 1e-6;

/// The words that two plans do not share, by key.
std::set<std::string> changedWords(const ParallelPlan& recorded, const ParallelPlan& changed)
{
    const auto wordsOf = [](const ParallelPlan& plan) {
        std::istringstream text(formatPlan(plan));
        std::set<std::string> words;
        for (std::string word; text >> word;) words.insert(word);
        return words;
    };
    const std::set<std::string> before = wordsOf(recorded), after = wordsOf(changed);
    std::set<std::string> keys;
    for (const auto& [words, others] : {std::pair(&before, &after), std::pair(&after, &before)})
        for (const std::string& word : *words)
            if (!others->count(word)) keys.insert(word.substr(0, word.find('=')));
    return keys;
}

/// What such an answer was off by at most; 0: nothing changes.
double measuredError(const RunSpec& recorded, const RunSpec& changed, bool keepsMachines)
{
    const std::set<std::string> words = changedWords(recorded.plan, changed.plan);
    const bool sameBatch = recorded.training.batch == changed.training.batch;
    if (words.empty() && sameBatch && keepsMachines) return 0;
    const bool mild = words.size() == 1 &&
                      std::find(std::begin(kMildWords), std::end(kMildWords), *words.begin()) != std::end(kMildWords);
    return mild && sameBatch && keepsMachines ? kMildError : kOtherError;
}

/// The engine computes on cores whatever machines the device clock takes the links of.
bool ranOnCores(const RunSpec& spec)
{
    return spec.training.device == DeviceKind::Cpu;
}

Error noSpec()
{
    return {ErrorCode::Unsupported, "the trace does not say which network, plan and machines it ran", "--change",
            "record with the engine, or predict the plan itself: fourwalls-cli predict --model … --plan … --cluster …"};
}

/// Whether the changes leave the machines as they were recorded.
bool keepsMachines(std::span<const ReplayChange> changes)
{
    return std::none_of(changes.begin(), changes.end(),
                        [](const ReplayChange& change) { return change.kind == ChangeKind::Cluster; });
}

/// The model of a specification's machines. rates: of them; null: the usual ones.
Result<cost::CostModel> modelOf(RunSpec& spec, const TraceClosing& measured, const MachineRates* rates)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    Calibration calibration;
    if (rates) {
        spec.cluster = rates->cluster;
        calibration = rates->calibration;
    } else if (ranOnCores(spec)) {
        computeOnCores(spec.cluster, spec.training.precision, measured.peakFlopsPerDevice,
                       measured.memoryBytesPerSecond);
        calibration = rateOfACore();
    } else {
        FOURWALLS_TRY_ASSIGN(calibration, loadCalibration("published"));
    }
    // Ranks that share one memory are as many as the plan wants.
    if (spec.cluster.nicsPerNode == 0)
        spec.cluster.devicesPerNode = std::max(spec.cluster.devicesPerNode, spec.plan.worldSize());
    return cost::CostModel::create(spec, framework, calibration);
}

/// A specification's step, and the model that it is from.
struct Modelled {
    cost::CostModel model;
    cost::PredictedStep step;
};

Result<Modelled> modelled(RunSpec spec, const TraceClosing& measured, const MachineRates* rates)
{
    FOURWALLS_TRY_ASSIGN(cost::CostModel model, modelOf(spec, measured, rates));
    FOURWALLS_TRY_ASSIGN(cost::PredictedStep step, cost::predictFigures(model, spec));
    return Modelled{std::move(model), std::move(step)};
}

/// Name, whether backward, the part of the step, FLOPs, bytes in memory and on the wire, picoseconds: products of several
/// widths may have the same FLOPs, but do not take the same time.
using OperatorShape = std::tuple<std::string, bool, cost::CostPart, double, double, double, std::int64_t>;

/// The operators that the passes of a step wait for, and the seconds that a rank spends in each [mean over the stages].
std::map<OperatorShape, double> operatorSeconds(Modelled& of)
{
    const cost::StepCost& cost = of.step.priced->cost;
    const cost::OperatorsOfPass operators = cost::operatorsOf(of.model, of.step);
    const double times = static_cast<double>(cost.shape.microbatches) / cost.shape.stages;
    std::map<OperatorShape, double> seconds;
    for (int position = 0; position < cost.shape.positions(); ++position)
        for (const Phase phase : {Phase::Forward, Phase::Recompute, Phase::BackwardInput, Phase::BackwardWeight}) {
            if (phase == Phase::Recompute && cost.chunk(position).recompute.seconds() <= 0) continue;
            const bool backward = phase == Phase::BackwardInput || phase == Phase::BackwardWeight;
            for (const cost::OperatorCost& each : operators(position, phase))
                if (!each.hidden)
                    seconds[{each.name, backward, each.part, each.flops, each.bytes, each.wireBytes,
                             std::llround(each.seconds * 1e12)}] += each.seconds * times;
        }
    return seconds;
}

/// The share of a step in operators of shapes that another one has, too.
double shareOfSameShapes(Modelled& before, Modelled& after)
{
    const std::map<OperatorShape, double> recorded = operatorSeconds(before);
    double same = 0;
    for (const auto& [shape, seconds] : operatorSeconds(after))
        if (recorded.count(shape)) same += seconds;
    return after.step.seconds > 0 ? std::min(1.0, same / after.step.seconds) : 0;
}

} // namespace

Result<RunSpec> changedSpec(const RunSpec& recorded, std::span<const ReplayChange> changes)
{
    RunSpec changed = recorded;
    for (const ReplayChange& change : changes) {
        if (change.kind == ChangeKind::Plan) {
            FOURWALLS_TRY_ASSIGN(changed.plan, parsePlan(change.pattern));
        }
        if (change.kind == ChangeKind::Cluster) {
            FOURWALLS_TRY_ASSIGN(changed.cluster, loadCluster(change.pattern));
        }
        if (change.kind == ChangeKind::Batch) {
            std::int64_t batch = 0;
            std::from_chars(change.pattern.data(), change.pattern.data() + change.pattern.size(), batch);
            changed.training.batch = batch;
        }
    }
    return changed;
}

Result<SpecRatio> ratioOfSpecs(const Recording& recording, std::span<const ReplayChange> changes,
                               const MachineRates* rates)
{
    if (!recording.info.header.spec) return noSpec();
    const RunSpec& recorded = *recording.info.header.spec;
    FOURWALLS_TRY_ASSIGN(const RunSpec changed, changedSpec(recorded, changes));
    // Rates that hold for the recorded machines say nothing of others: both steps then take what is usual.
    if (!keepsMachines(changes)) rates = nullptr;
    const bool keeps = keepsMachines(changes);
    if (!keeps && recorded.plan.worldSize() > 1 && recorded.cluster.devicesPerNode > 1 &&
        recorded.cluster.nodeLink.bytesPerSecond <= 0)
        return Error{
            ErrorCode::Unsupported,
            "the trace does not say how fast its ranks are connected (" + recorded.cluster.name +
                "), so nothing can be said of other links",
            "--change cluster=",
            "record with --clock device --cluster NAME, or with the file of `fourwalls-cli calibrate` as --cluster"};
    const TraceClosing& measured = recording.info.closing;
    FOURWALLS_TRY_ASSIGN(Modelled recordedModel, modelled(recorded, measured, rates));
    FOURWALLS_TRY_ASSIGN(Modelled changedModel, modelled(changed, measured, rates));
    const cost::PredictedStep &before = recordedModel.step, &after = changedModel.step;
    SpecRatio ratio;
    if (before.seconds <= 0 || before.peakBytes <= 0)
        return Error{ErrorCode::Unsupported, "the cost model has no time for the recorded plan", "--change",
                     "calibrate the machines: fourwalls-cli calibrate"};
    ratio.time = after.seconds / before.seconds;
    // What the model errs by on both is not counted twice.
    const double error = measuredError(recorded, changed, keeps);
    ratio.low = ratio.time * std::min(after.lowSeconds / after.seconds, 1 - error);
    ratio.high = ratio.time * std::max(after.highSeconds / after.seconds, 1 + error);
    ratio.bytes = after.peakBytes / before.peakBytes;
    for (std::size_t part = 0; part < cost::kCostParts; ++part)
        if (before.parts.seconds[part] <= kNoPart * before.seconds)
            ratio.modelled += std::min(1.0, after.parts.seconds[part] / after.seconds);
    ratio.modelled = std::min(1.0, ratio.modelled);
    if (rates && rates->fromRecording)
        ratio.measured = std::min(1 - ratio.modelled, shareOfSameShapes(recordedModel, changedModel));
    ratio.assumed.push_back(
        {FOURWALLS_WORDS("ReplaySentences", "all work changes by what the cost model says of the whole step: times %1"),
         {std::to_string(ratio.time)}});
    if (ratio.measured > 0)
        ratio.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences", "%1 of it is operators of recorded shapes, at the times that they took "
                                                "there; other shapes take the rates of the recorded ones near them"),
             {formatPercent(ratio.measured)}});
    if (error > 0)
        ratio.assumed.push_back(
            {FOURWALLS_WORDS(
                 "ReplaySentences",
                 "the band is at least the largest error of such answers whose plan was recorded as well: %1"),
             {formatPercent(error)}});
    if (!keeps && ranOnCores(recorded))
        ratio.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences",
                             "the ranks stay on cores as recorded: of the cluster only its links and hosts count"),
             {}});
    if (!keeps)
        ratio.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences", "no answer for another cluster was held against a recording yet"), {}});
    if (!after.feasible)
        ratio.assumed.push_back({FOURWALLS_WORDS("ReplaySentences", "it does not fit: %1"), {after.why}});
    return ratio;
}

Result<ScaledStep> scaledStep(const Recording& recording, std::span<const ReplayChange> changes, Duration length,
                              const MachineRates* rates)
{
    if (!recording.info.header.spec) return noSpec();
    FOURWALLS_TRY_ASSIGN(RunSpec spec, changedSpec(*recording.info.header.spec, changes));
    if (!keepsMachines(changes)) rates = nullptr;
    FOURWALLS_TRY_ASSIGN(cost::CostModel made, modelOf(spec, recording.info.closing, rates));
    const auto model = std::make_shared<cost::CostModel>(std::move(made));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep plain, cost::predictStep(*model, spec));
    const double factor = plain.seconds > 0 ? length.seconds() / plain.seconds : 1;
    FOURWALLS_TRY_ASSIGN(cost::PredictedStep step, cost::predictStep(*model, spec, factor));
    const auto scaled = std::make_shared<const cost::PredictedStep>(std::move(step));
    const auto write = [model, scaled](TraceSink& sink) {
        const cost::StepCost& cost = scaled->priced->cost;
        const auto operators =
            cost::hasFewOperators(cost) ? cost::operatorsOf(*model, *scaled) : cost::OperatorsOfPass{};
        return cost::writePredictedTrace(scaled->spec, cost, scaled->drawn, sink, operators);
    };
    return ScaledStep{cost::predictedHeader(scaled->spec, scaled->drawn), write};
}

} // namespace fourwalls::replay
