// SPDX-License-Identifier: Apache-2.0
// See operator_levels.h.
#include "model/learn/operator_levels.h"

#include "model/cost/step_cost.h"
#include "model/trace/interval_union.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

namespace fourwalls::learn {

namespace {

bool isComputation(cost::CostPart part)
{
    return part == cost::CostPart::Gemm || part == cost::CostPart::Attention || part == cost::CostPart::MemoryBound;
}

/// The engine's operator that holds one of the model's. splitsBackward: weight gradients are passes of their own.
OperatorGroup groupOf(std::string_view name, bool splitsBackward)
{
    // Put off, all of them are recorded under one name.
    if (splitsBackward && (name.ends_with(".weight_gradient") || name.ends_with(".bias_gradient")))
        if (!name.starts_with("head.") && !name.starts_with("embedding")) return {"weight gradient", true};
    constexpr std::pair<std::string_view, std::string_view> kHolders[] = {{"attention.out", "attention.projection"},
                                                                          {"norm", "norms"},
                                                                          {"head.", "head and loss"},
                                                                          {"loss", "head and loss"},
                                                                          {"embedding", "embedding"},
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
    for (const std::string_view end : {".input_gradient", ".weight_gradient", ".bias_gradient", ".backward"})
        if (base.ends_with(end)) base.remove_suffix(end.size());
    return {std::string(base), backward};
}

OperatorGroup recordedGroup(const OpInfo& op)
{
    const bool norm = op.name == "norm1" || op.name == "norm2" || op.name == "final norm";
    return {norm ? "norms" : op.name, op.phase == Phase::BackwardInput || op.phase == Phase::BackwardWeight};
}

/// Seconds of a step that operators held back in operations with other ranks while their rank computed nothing: a product
/// whose operator also adds up its result over ranks takes no longer for that.
Result<std::map<OperatorGroup, double>> blockedSeconds(TraceQuery& trace, const replay::Recording& recording)
{
    std::map<OperatorGroup, double> blocked;
    const auto holdsOperators = [](const TrackInfo& track) { return track.kind == TrackKind::Operators; };
    if (recording.steps.empty() || std::ranges::none_of(recording.tracks, holdsOperators)) return blocked;
    struct Work {
        IntervalUnion kernels, all; // all: with operations
    };
    std::map<RankId, Work> work;
    for (const replay::Piece& piece : recording.pieces) {
        const bool isKernel = !piece.isCollective() && recording.op(piece).kind == SliceKind::Kernel;
        if (!isKernel && !piece.isCollective()) continue;
        Work& rank = work[piece.rank];
        rank.all.add({piece.start, piece.end});
        if (isKernel) rank.kernels.add({piece.start, piece.end});
    }
    Status failed;
    std::map<RankId, std::vector<TimeRange>> measured; // by time, as the steps are
    for (const replay::RecordedStep& step : recording.steps)
        for (const auto& [rank, range] : step.ranks) measured[rank].push_back(range);
    const auto isMeasured = [&](RankId rank, Instant at) {
        const std::vector<TimeRange>& ranges = measured[rank];
        const auto after = std::ranges::upper_bound(ranges, at, {}, &TimeRange::begin);
        return after != ranges.begin() && at < std::prev(after)->end;
    };
    const auto add = [&](const SliceView& slice) {
        const TrackInfo& track = recording.tracks[static_cast<std::size_t>(slice.track.value)];
        const auto rank = work.find(track.rank);
        if (!holdsOperators(track) || rank == work.end() || !isMeasured(track.rank, slice.start)) return true;
        const auto op = trace.op(slice.op);
        if (!op) failed = op.error();
        if (!op || !*op || (*op)->kind != SliceKind::Operator) return op.ok();
        const TimeRange range{slice.start, slice.end()};
        const Duration held = rank->second.all.within(range) - rank->second.kernels.within(range);
        blocked[recordedGroup(**op)] += held.seconds() / static_cast<double>(recording.steps.size());
        return true;
    };
    FOURWALLS_TRY(trace.scanSlices(add));
    FOURWALLS_TRY(failed);
    return blocked;
}

} // namespace

Result<StepOperators> predictedOperators(cost::CostModel& model, const RunSpec& spec, GroupsOfNames& names)
{
    StepOperators step;
    const ParallelPlan& plan = spec.plan;
    const double ranks = static_cast<double>(plan.dp) * plan.cp * plan.tp;
    const int positions = pipelineShape(plan).positions();
    const bool splits = pipelineShape(plan).splitsBackward();
    for (int position = 0; position < positions; ++position)
        for (const auto& [pass, again] : {std::pair{PipelinePass::Forward, false},
                                          {PipelinePass::Forward, true},
                                          {PipelinePass::Backward, false}}) {
            if (again && !plan.recomputes()) continue;
            FOURWALLS_TRY_ASSIGN(const auto list, model.operators(plan, position, pass, again, spec.training.batch));
            OperatorGroup before;
            for (const cost::OperatorCost& op : list) {
                if (op.communication || !isComputation(op.part)) continue;
                // A residual sum belongs to the operator whose product it follows.
                const OperatorGroup group = op.name == "residual" ? before : groupOf(op.name, splits);
                before = group;
                names[op.name].insert(group);
                step.groups[group] += ranks * plan.microbatches * op.seconds;
                step.computation += ranks * plan.microbatches * op.seconds;
            }
        }
    FOURWALLS_TRY_ASSIGN(const cost::StepCost cost, model.stepCost(plan, spec.training.batch));
    for (const cost::StageCost& stage : cost.stages) step.optimizer += ranks * stage.optimizerSeconds;
    return step;
}

Result<StepOperators> recordedOperators(TraceQuery& trace, const replay::Recording& recording)
{
    FOURWALLS_TRY_ASSIGN(const auto steps, trace.jobSteps());
    const auto measured = std::count_if(steps.begin(), steps.end(), [](const JobStep& step) {
        return step.state == StepState::Measured && step.complete;
    });
    if (measured == 0)
        return Error{ErrorCode::Unsupported, "the trace has no measured step", "trace", "record more --steps"};
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
        step.groups[recordedGroup(*op)] += seconds;
    }
    FOURWALLS_TRY_ASSIGN(const auto blocked, blockedSeconds(trace, recording));
    for (const auto& [group, seconds] : blocked)
        if (const auto found = step.groups.find(group); found != step.groups.end())
            found->second = std::max(0.0, found->second - seconds);
    return step;
}

std::vector<LearnedLevel> learnLevels(const std::vector<StepOperators>& predicted,
                                      const std::vector<StepOperators>& recorded, const GroupsOfNames& names,
                                      Calibration& calibration)
{
    constexpr double kEnough = 0.5;
    const auto ratio = [](double took, double said) { return std::clamp(took / said, 1e-4, 1e4); };
    struct Sum {
        double said = 0, took = 0, low = std::numeric_limits<double>::infinity(), high = 0;
        void add(double predictedSeconds, double recordedSeconds)
        {
            if (!(predictedSeconds > 0) || !(recordedSeconds > 0)) return;
            said += predictedSeconds;
            took += recordedSeconds;
            low = std::min(low, recordedSeconds / predictedSeconds);
            high = std::max(high, recordedSeconds / predictedSeconds);
        }
    };
    std::map<OperatorGroup, Sum> sums;
    Sum optimizer, computation;
    double whole = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
        for (const auto& [group, seconds] : predicted[i].groups)
            if (const auto found = recorded[i].groups.find(group); found != recorded[i].groups.end())
                sums[group].add(seconds, found->second);
        optimizer.add(predicted[i].optimizer, recorded[i].optimizer);
        computation.add(predicted[i].computation, recorded[i].computation);
        whole += predicted[i].computation;
    }
    std::vector<LearnedLevel> levels;
    Sum known;
    for (const auto& [group, sum] : sums) {
        if (!(sum.said > 0)) continue;
        known.said += sum.said;
        known.took += sum.took;
        levels.push_back({group.first, group.second, ratio(sum.took, sum.said), sum.low, sum.high, sum.took});
    }
    if (!(known.said > kEnough * whole)) {
        levels.clear();
        if (!(computation.said > 0)) return levels;
        calibration.otherFactor = ratio(computation.took, computation.said);
        levels.push_back(
            {"computation", false, calibration.otherFactor, computation.low, computation.high, computation.took});
        return levels;
    }
    calibration.otherFactor = ratio(known.took, known.said);
    for (const auto& [name, groups] : names) {
        double said = 0, took = 0;
        for (const OperatorGroup& group : groups)
            if (const auto found = sums.find(group); found != sums.end()) {
                said += found->second.said;
                took += found->second.took;
            }
        if (said > 0) calibration.operatorFactors[name] = ratio(took, said);
    }
    if (optimizer.said > 0) {
        calibration.operatorFactors["optimizer"] = ratio(optimizer.took, optimizer.said);
        levels.push_back(
            {"optimizer", false, ratio(optimizer.took, optimizer.said), optimizer.low, optimizer.high, optimizer.took});
    }
    return levels;
}

} // namespace fourwalls::learn
