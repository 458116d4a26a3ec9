// SPDX-License-Identifier: Apache-2.0
// See like_trace.h.
#include "model/compare/like_trace.h"

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/cost/step_cost.h"
#include "model/trace/known_spec.h"
#include "model/trace/metrics.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace fourwalls::compare {

namespace {

/// What the engine records as one operator: its name, and whether it is in the backward pass.
using Group = std::pair<std::string, bool>;
using SecondsOfGroups = std::map<Group, double>;

bool isComputation(cost::CostPart part)
{
    return part == cost::CostPart::Gemm || part == cost::CostPart::Attention || part == cost::CostPart::MemoryBound;
}

/// The engine's operator that holds one of the model's.
Group groupOf(std::string_view name)
{
    constexpr std::pair<std::string_view, std::string_view> kHolders[] = {{"attention.out", "attention.projection"},
                                                                          {"norm", "norms"},
                                                                          {"head.", "head and loss"},
                                                                          {"loss", "head and loss"},
                                                                          {"embedding", "embedding"},
                                                                          {"bias.gradient", "mlp.up"},
                                                                          {"residual", "mlp.down"},
                                                                          {"moe.router", "mixture.router"},
                                                                          {"moe.top_k", "mixture.router"},
                                                                          {"moe.permute", "mixture.dispatch"},
                                                                          {"moe.sort", "mixture.dispatch"},
                                                                          {"moe.unpermute", "mixture.combine"},
                                                                          {"moe.unsort", "mixture.combine"},
                                                                          {"moe.", "mixture.experts"}};
    const bool backward = name.find("gradient") != std::string_view::npos || name.ends_with(".backward");
    for (const auto& [begin, holder] : kHolders)
        if (name.starts_with(begin)) return {std::string(holder), backward && holder != "head and loss"};
    std::string_view base = name;
    for (const std::string_view end : {".input_gradient", ".weight_gradient", ".backward"})
        if (base.ends_with(end)) base.remove_suffix(end.size());
    return {std::string(base), backward};
}

struct StepOperators {
    SecondsOfGroups groups; ///< of the engine's operators
    double computation = 0, optimizer = 0;
};

/// Of one step, over all ranks; names: those of the model's operators in every group.
Result<StepOperators> predictedOperators(cost::CostModel& model, const RunSpec& spec,
                                         std::map<std::string, Group>& names)
{
    StepOperators step;
    const ParallelPlan& plan = spec.plan;
    const double ranks = static_cast<double>(plan.dp) * plan.cp * plan.tp;
    const int positions = pipelineShape(plan).positions();
    for (int position = 0; position < positions; ++position)
        for (const auto& [pass, again] : {std::pair{PipelinePass::Forward, false},
                                          {PipelinePass::Forward, true},
                                          {PipelinePass::Backward, false}}) {
            if (again && plan.recompute == Recompute::None) continue;
            FOURWALLS_TRY_ASSIGN(const auto list, model.operators(plan, position, pass, again, spec.training.batch));
            for (const cost::OperatorCost& op : list) {
                if (op.communication || !isComputation(op.part)) continue;
                const Group& group = names.try_emplace(op.name, groupOf(op.name)).first->second;
                step.groups[group] += ranks * plan.microbatches * op.seconds;
                step.computation += ranks * plan.microbatches * op.seconds;
            }
        }
    FOURWALLS_TRY_ASSIGN(const cost::StepCost cost, model.stepCost(plan, spec.training.batch));
    for (const cost::StageCost& stage : cost.stages) step.optimizer += ranks * stage.optimizerSeconds;
    return step;
}

/// Of one measured step, over all ranks. Operators hold their kernels; computation is that of the kernels.
Result<StepOperators> recordedOperators(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const auto steps, trace.jobSteps());
    const auto measured = std::count_if(steps.begin(), steps.end(), [](const JobStep& step) {
        return step.state == StepState::Measured && step.complete;
    });
    if (measured == 0)
        return Error{ErrorCode::Unsupported, "the trace has no measured step", "--like", "record more --steps"};
    FOURWALLS_TRY_ASSIGN(const auto summaries, trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
    StepOperators step;
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(const auto op, trace.op(summary.op));
        if (!op) continue;
        const double seconds = summary.total.seconds() / static_cast<double>(measured);
        const bool optimizes = op->phase == Phase::Optimizer;
        if (op->activity == Activity::Compute && !optimizes) step.computation += seconds;
        if (op->kind != SliceKind::Operator) continue;
        if (optimizes) {
            step.optimizer += seconds;
            continue;
        }
        const bool norm = op->name == "norm1" || op->name == "norm2" || op->name == "final norm";
        const bool backward = op->phase == Phase::BackwardInput || op->phase == Phase::BackwardWeight;
        step.groups[{norm ? "norms" : op->name, backward}] += seconds;
    }
    return step;
}

/// Puts the level of the recorded operators into the calibration. Returns how many groups were known by name.
std::size_t learn(const StepOperators& predicted, const StepOperators& recorded,
                  const std::map<std::string, Group>& names, Calibration& calibration)
{
    constexpr double kEnough = 0.5;
    const auto ratio = [](double took, double said) { return std::clamp(took / said, 1e-4, 1e4); };
    std::map<Group, double> factors;
    double known = 0, tookThem = 0;
    for (const auto& [group, seconds] : predicted.groups) {
        const auto found = recorded.groups.find(group);
        if (found == recorded.groups.end() || !(seconds > 0) || !(found->second > 0)) continue;
        factors[group] = ratio(found->second, seconds);
        known += seconds;
        tookThem += found->second;
    }
    const bool byName = known > kEnough * predicted.computation;
    if (byName)
        calibration.otherFactor = ratio(tookThem, known);
    else if (predicted.computation > 0 && recorded.computation > 0) // kernels of another library, under its names
        calibration.otherFactor = ratio(recorded.computation, predicted.computation);
    if (byName)
        for (const auto& [name, group] : names)
            if (const auto found = factors.find(group); found != factors.end())
                calibration.operatorFactors[name] = found->second;
    if (byName && predicted.optimizer > 0 && recorded.optimizer > 0)
        calibration.operatorFactors["optimizer"] = ratio(recorded.optimizer, predicted.optimizer);
    return byName ? factors.size() : 0;
}

} // namespace

Result<LikeTrace> likeTrace(TraceQuery& trace)
{
    const TraceInfo& info = trace.info();
    KnownSpec known = knownSpec(info);
    if (!known.spec)
        return Error{ErrorCode::Unsupported, "the trace does not say which network it ran", "--like",
                     "--model, --cluster and --plan without --like"};
    LikeTrace like;
    like.spec = std::move(*known.spec);
    like.assumed = std::move(known.assumed);
    ClusterSpec& cluster = like.spec.cluster;
    if (like.spec.training.device == DeviceKind::Cpu) {
        cluster.device.family = "cpu";
        cluster.device.multiprocessors = 0; // no waves of tiles
        if (info.closing.peakFlopsPerDevice)
            cluster.device.peakFlops[like.spec.training.precision] = *info.closing.peakFlopsPerDevice;
        if (info.closing.memoryBytesPerSecond) cluster.device.memoryBytesPerSecond = *info.closing.memoryBytesPerSecond;
        like.calibration = rateOfACore();
    } else {
        FOURWALLS_TRY_ASSIGN(like.calibration, loadCalibration("published"));
    }
    like.calibration.contention = like.calibration.deviceSpread = 0;
    like.calibration.busySlowdown = 1;
    like.calibration.band = {};

    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(like.spec.framework));
    FOURWALLS_TRY_ASSIGN(cost::CostModel before, cost::CostModel::create(like.spec, framework, like.calibration));
    std::map<std::string, Group> names;
    FOURWALLS_TRY_ASSIGN(const StepOperators predicted, predictedOperators(before, like.spec, names));
    FOURWALLS_TRY_ASSIGN(const StepOperators recorded, recordedOperators(trace));
    like.operators = learn(predicted, recorded, names, like.calibration);

    FOURWALLS_TRY_ASSIGN(cost::CostModel model, cost::CostModel::create(like.spec, framework, like.calibration));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep own, cost::predictStep(model, like.spec));
    like.predictedSeconds = own.seconds;
    FOURWALLS_TRY_ASSIGN(const TraceMetrics metrics, computeMetrics(trace));
    if (metrics.stepTime) like.recordedSeconds = metrics.stepTime->seconds();
    return like;
}

} // namespace fourwalls::compare
