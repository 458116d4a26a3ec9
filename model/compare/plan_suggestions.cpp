// SPDX-License-Identifier: Apache-2.0
// See plan_suggestions.h.
#include "model/compare/plan_suggestions.h"

#include "model/cost/predicted_step.h"
#include "model/spec/pipeline_schedule.h"

#include <algorithm>

namespace fourwalls::compare {

namespace {

using Neighbours = std::vector<std::pair<PlanChange, ParallelPlan>>;

/// Moves a factor of two from one degree to another, both ways.
void addExchange(Neighbours& found, PlanChange change, const ParallelPlan& plan, int ParallelPlan::*a,
                 int ParallelPlan::*b)
{
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        if (plan.*from % 2 != 0) continue;
        ParallelPlan next = plan;
        next.*from /= 2;
        next.*to *= 2;
        // Micro-batches keep their size where the replicas become more or fewer.
        if (from == &ParallelPlan::dp) next.microbatches *= 2;
        if (to == &ParallelPlan::dp && next.microbatches % 2 == 0) next.microbatches /= 2;
        if (next.tp == 1) next.sequenceParallel = false;
        dropMisfittingStages(next);
        if (next.pp == 1) {
            next.schedule = PipelineSchedule::OneFOneB;
            next.vpp = 1;
        }
        found.emplace_back(change, next);
    }
}

void addSchedules(Neighbours& found, const ParallelPlan& plan)
{
    if (plan.pp < 2) return;
    const auto add = [&](PipelineSchedule schedule, int chunks) {
        if (schedule == plan.schedule && chunks == plan.vpp) return;
        ParallelPlan next = plan;
        next.schedule = schedule;
        next.vpp = chunks;
        dropMisfittingStages(next);
        found.emplace_back(PlanChange::Schedule, next);
    };
    add(PipelineSchedule::OneFOneB, 1);
    add(PipelineSchedule::Interleaved, 2);
    if (plan.schedule == PipelineSchedule::Interleaved) add(PipelineSchedule::Interleaved, 2 * plan.vpp);
    add(PipelineSchedule::ZeroBubbleH1, 1);
    add(PipelineSchedule::ZeroBubble2p, 1);
    add(PipelineSchedule::ZeroBubbleV, 2);
}

} // namespace

std::vector<std::pair<PlanChange, ParallelPlan>> neighbours(const RunSpec& spec)
{
    const ParallelPlan& plan = spec.plan;
    const bool isTransformer = spec.model.transformer() != nullptr;
    Neighbours found;
    const auto add = [&](PlanChange change, auto modify) {
        ParallelPlan next = plan;
        modify(next);
        if (!(next == plan)) found.emplace_back(change, next);
    };
    for (const int factor : {2, 4}) {
        add(PlanChange::Microbatches, [&](ParallelPlan& p) { p.microbatches *= factor; });
        if (plan.microbatches % factor == 0)
            add(PlanChange::Microbatches, [&](ParallelPlan& p) { p.microbatches /= factor; });
    }
    if (isTransformer) {
        for (const Recompute mode : {Recompute::None, Recompute::Selective, Recompute::Full})
            add(PlanChange::Recomputation, [&](ParallelPlan& p) { p.setRecompute(mode); });
        add(PlanChange::FusedAttention, [](ParallelPlan& p) { p.fusedAttention = true; });
    }
    if (plan.dp * plan.cp > 1) {
        for (int stage = 0; stage <= 3; ++stage) add(PlanChange::Sharding, [&](ParallelPlan& p) { p.zero = stage; });
    }
    addExchange(found, PlanChange::TensorAndData, plan, &ParallelPlan::tp, &ParallelPlan::dp);
    addExchange(found, PlanChange::PipelineAndData, plan, &ParallelPlan::pp, &ParallelPlan::dp);
    addExchange(found, PlanChange::TensorAndPipeline, plan, &ParallelPlan::tp, &ParallelPlan::pp);
    addExchange(found, PlanChange::ContextAndData, plan, &ParallelPlan::cp, &ParallelPlan::dp);
    if (isTransformer && plan.tp > 1)
        add(PlanChange::SequenceParallel, [](ParallelPlan& p) { p.sequenceParallel = !p.sequenceParallel; });
    addSchedules(found, plan);
    add(PlanChange::Overlap, [](ParallelPlan& p) { p.overlap = true; });
    add(PlanChange::Fusion, [](ParallelPlan& p) { p.fuse = true; });
    add(PlanChange::Offload,
        [](ParallelPlan& p) { p.offloadOptimizer = p.offloadActivations = p.offloadParameters = false; });
    return found;
}

Result<PlanSuggestions> suggestChanges(cost::CostModel& model, const RunSpec& spec, std::size_t limit,
                                       std::stop_token stop)
{
    PlanSuggestions result;
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep present, cost::predictStep(model, spec));
    result.seconds = present.seconds;
    result.peakBytes = present.peakBytes;
    result.feasible = present.feasible;
    result.usableBytes = present.usableMemoryBytes;
    std::vector<PlanSuggestion> fitting;
    for (const auto& [change, plan] : neighbours(spec)) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "suggestions", {}};
        RunSpec next = spec;
        next.plan = plan;
        if (!resolve(next).ok()) continue; // does not divide the network or the batch
        const auto predicted = cost::predictStep(model, next);
        if (!predicted.ok()) continue;
        ++result.evaluated;
        PlanSuggestion suggestion{change, plan, predicted->seconds, predicted->peakBytes, 0, 0};
        suggestion.timeChange = result.seconds > 0 ? suggestion.seconds / result.seconds - 1 : 0;
        suggestion.memoryChange = suggestion.peakBytes - result.peakBytes;
        const bool quicker = suggestion.timeChange <= -kLeastGain;
        if (!predicted->feasible) {
            result.tooLarge += quicker;
            continue;
        }
        if (quicker || !result.feasible) fitting.push_back(suggestion);
    }
    // Quickest first; of equally quick ones the smaller.
    std::stable_sort(fitting.begin(), fitting.end(), [](const PlanSuggestion& a, const PlanSuggestion& b) {
        return a.seconds != b.seconds ? a.seconds < b.seconds : a.peakBytes < b.peakBytes;
    });
    for (const PlanSuggestion& each : fitting) {
        if (result.best.size() == limit) break;
        const bool known = std::any_of(result.best.begin(), result.best.end(),
                                       [&](const PlanSuggestion& other) { return other.change == each.change; });
        if (!known) result.best.push_back(each);
    }
    return result;
}

} // namespace fourwalls::compare
