// SPDX-License-Identifier: Apache-2.0
// See overview_facts.h.
#include "model/present/overview_facts.h"

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/spec/framework_preset.h"
#include "model/trace/collective_rows.h"
#include "model/trace/communication_step.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/memory_facts.h"
#include "model/trace/step_window.h"
#include "model/trace/summary_builder.h"

#include <algorithm>

namespace fourwalls {

namespace {

constexpr std::size_t kMostCollectives = 4000, kMostLinkDots = 300;
constexpr std::size_t kMostOperators = 1000;
constexpr std::size_t kMostPlanDots = 900;
constexpr std::size_t kMostRanksCompared = 64;

Status addLinks(OverviewFacts& facts, TraceQuery& trace)
{
    if (!facts.step) return {};
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> all,
                         trace.collectives(std::nullopt, facts.step->range, kMostCollectives));
    const TraceInfo& info = trace.info();
    facts.communicates = !all.empty();
    std::vector<LinkDot> dots;
    const bool repeated = receivesRepeatSends(all, [](const CollectiveView& view) { return view.record.operation; });
    for (const CollectiveView& view : all) {
        const CollectiveRecord& record = view.record;
        if (repeated && record.operation == CollectiveOp::Receive) continue;
        const double seconds = (record.end - record.lastArrival).seconds();
        if (seconds <= 0 || record.payloadBytes.value_or(0) <= 0) continue;
        const auto group = static_cast<std::size_t>(record.group.value);
        const std::size_t members = group < info.groups.size() ? info.groups[group].ranks.size() : 0;
        if (collectiveTiming(info, record.group, record.operation) != CollectiveTiming::Separated) continue;
        const double payload = static_cast<double>(*record.payloadBytes);
        dots.push_back({payload, payload / seconds * busBandwidthFactor(record.operation, members), record.operation});
    }
    const std::size_t stride = dots.size() / kMostLinkDots + 1;
    for (std::size_t i = 0; i < dots.size(); i += stride) facts.links.push_back(dots[i]);
    if (info.header.spec) {
        const ClusterSpec& cluster = info.header.spec->cluster;
        const double link = std::max(cluster.devicesPerNode > 1 ? cluster.nodeLink.bytesPerSecond : 0.0,
                                     cluster.nodes > 1 ? cluster.networkBytesPerSecondPerDevice() : 0.0);
        if (link > 0) facts.linkBytesPerSecond = link;
    } else if (facts.metrics.peak.sheet && facts.metrics.peak.sheet->linkBytesPerSecond > 0) {
        facts.linkBytesPerSecond = facts.metrics.peak.sheet->linkBytesPerSecond;
    }
    return {};
}

Status addRoofline(OverviewFacts& facts, TraceQuery& trace)
{
    // Where kernels are above it, the peak is not theirs: no wall is drawn.
    if (facts.metrics.mfuAbsent != NoMfu::AboveRoof) facts.peakFlops = facts.metrics.peak.peak;
    if (!facts.metrics.hostOnly) facts.bytesPerSecond = deviceBytesPerSecond(trace.info().header, trace.info().closing);
    const bool launchesOnly = hasLaunchesOnly(trace);
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> operators, trace.opSummaries(kMostOperators));
    double total = 0;
    for (const OpSummary& each : operators) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(each.op));
        if (!op || op->activity != Activity::Compute || each.total.ns <= 0) continue;
        total += each.total.seconds();
        // Rates of kernels that compute less than their product says are no measure of the device.
        if (op->flops <= 0 || launchesOnly) continue;
        if (trace.info().header.source == TraceSource::Imported && countsDirectFlops(op->name)) continue;
        RooflineDot dot;
        if (op->bytes > 0) dot.flopsPerByte = op->flops / static_cast<double>(op->bytes);
        dot.flopsPerSecond = op->flops * static_cast<double>(each.count) / each.total.seconds();
        dot.share = each.total.seconds();
        dot.memoryBound = dot.flopsPerByte > 0 && facts.peakFlops && facts.bytesPerSecond &&
                          dot.flopsPerByte * *facts.bytesPerSecond < *facts.peakFlops;
        facts.roofline.push_back(dot);
    }
    // What runs above it proves it wrong, whatever part of the FLOPs is known.
    constexpr double kOfMeasuring = 1.05;
    facts.roofDisproved = facts.peakFlops && std::ranges::any_of(facts.roofline, [&](const RooflineDot& dot) {
                              return dot.flopsPerSecond > kOfMeasuring * *facts.peakFlops;
                          });
    if (facts.roofDisproved) facts.peakFlops.reset();
    for (RooflineDot& dot : facts.roofline) dot.share = total > 0 ? dot.share / total : 0;
    // Those without bytes are only worth a look where no operator has both.
    const auto unknown = [](const RooflineDot& dot) { return dot.flopsPerByte <= 0; };
    if (!std::all_of(facts.roofline.begin(), facts.roofline.end(), unknown)) std::erase_if(facts.roofline, unknown);
    return {};
}

Status addScope(OverviewFacts& facts, TraceQuery& trace, const std::vector<JobStep>& steps)
{
    const TraceInfo& info = trace.info();
    OverviewScope& scope = facts.scope;
    for (const JobStep& step : steps) {
        if (!step.complete) continue;
        switch (step.state) {
        case StepState::Measured: ++scope.measured; break;
        case StepState::Warmup: ++scope.warmup; break;
        case StepState::Cut: ++scope.cut; break;
        case StepState::Odd: ++scope.odd; break;
        case StepState::Lost: break; // none of the job's
        }
    }
    scope.stepsBy = info.closing.stepsBy;
    scope.wholeTrace = scope.stepsBy == kWholeTrace;
    scope.ranks = rankScope(info);
    const std::size_t ranks = info.header.ranks.size();
    if (!facts.step || ranks < 2 || ranks > kMostRanksCompared) return {};
    for (const RankInfo& rank : info.header.ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> own, trace.steps(rank.rank));
        for (const StepView& step : own) {
            if (step.record.step != facts.step->step || step.record.state == StepState::Lost) continue;
            const Duration length = step.record.range.length();
            if (!scope.ownLengths) scope.ownLengths = {length, length};
            scope.ownLengths->first = std::min(scope.ownLengths->first, length);
            scope.ownLengths->second = std::max(scope.ownLengths->second, length);
        }
    }
    return {};
}

/// The fullest rank's curve, or what the profiler's allocator counted where no buffers were recorded.
Status addMemory(OverviewFacts& facts, TraceQuery& trace, int columns)
{
    const TraceInfo& info = trace.info();
    facts.fullest = compare::fullestRank(facts.metrics, info.header);
    facts.memoryOnly = isMemoryOnly(info);
    facts.memoryRelative = isMemoryRelative(info);
    FOURWALLS_TRY_ASSIGN(facts.outOfMemory, outOfMemoryMoments(trace));
    const TimeRange range = facts.step && !facts.memoryOnly ? facts.step->range : info.range;
    if (facts.fullest) {
        FOURWALLS_TRY_ASSIGN(facts.memory, trace.memory(facts.fullest->rank, range, std::max(1, columns)));
        for (const MemorySummary& summary : facts.metrics.memory) {
            if (summary.rank != facts.fullest->rank) continue;
            FOURWALLS_TRY_ASSIGN(const std::int64_t standing, standingMemory(trace, summary.rank, info.range));
            facts.memoryStanding = isStanding(summary, standing);
        }
        return {};
    }
    if (!hasAllocatorCurve(info)) return {};
    for (const RankInfo& rank : info.header.ranks) {
        FOURWALLS_TRY_ASSIGN(facts.allocator, allocatorCurve(trace, rank.rank, range, std::max(1, columns)));
        if (!facts.allocator) continue;
        facts.allocatorRank = rank.rank;
        break;
    }
    return {};
}

} // namespace

Result<OverviewFacts> askOverview(TraceQuery& trace, int columns, std::optional<StepIndex> wanted)
{
    OverviewFacts facts;
    const TraceInfo& info = trace.info();
    facts.source = info.header.source;
    facts.spec = info.header.spec;
    facts.inferred = inferredFields(info.audit);
    FOURWALLS_TRY_ASSIGN(facts.metrics, computeMetrics(trace, wanted));
    facts.recorder = recorderOf(info.header);
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    facts.step = stepOfNumber(steps, wanted);
    if (facts.step && !facts.step->complete) facts.step.reset();
    facts.isChosen = facts.step.has_value();
    if (!facts.step) facts.step = typicalStep(steps);
    StepSpans spans;
    for (const JobStep& step : steps)
        if (step.complete) spans.push_back({step.range, step.step, step.state});
    facts.steps = std::make_shared<const StepSpans>(std::move(spans));
    FOURWALLS_TRY(addScope(facts, trace, steps));
    facts.logOnly = isLogOnly(info);
    facts.orderOnly = hasOrderOnly(info);
    facts.threadsOnly = facts.metrics.hostOnly && facts.metrics.stepTime && facts.metrics.waterfall.empty() &&
                        !facts.logOnly && !facts.orderOnly;
    FOURWALLS_TRY(addMemory(facts, trace, columns));
    FOURWALLS_TRY(addLinks(facts, trace));
    FOURWALLS_TRY(addRoofline(facts, trace));
    return facts;
}

Result<StepInsight> askInsight(TraceQuery& trace, std::stop_token stop, std::optional<StepIndex> wanted)
{
    StepInsight insight;
    FOURWALLS_TRY_ASSIGN(const CommunicationStep step, communicationStep(trace, wanted, stop));
    insight.rates = transferRates(trace.info(), step);
    insight.hiddenShare = step.hiddenShare();
    insight.holdsWaiting = step.holdsWaiting();
    insight.late = step.late;
    if (!insight.holdsWaiting) {
        Duration waiting, all;
        for (const KindOfStep& kind : step.kinds) {
            waiting += kind.wait;
            all += kind.wait + kind.transfer;
        }
        if (all.ns > 0) insight.waitingShare = waiting.seconds() / all.seconds();
    }
    FOURWALLS_TRY_ASSIGN(insight.findings, diagnose::diagnose(trace, stop, wanted));
    return insight;
}

double PlanOutlook::gain() const
{
    if (!best || suggestions.seconds <= 0) return 0;
    return std::max(0.0, 1 - best->seconds / suggestions.seconds);
}

Result<compare::PlanSuggestions> askSuggestions(const RunSpec& spec, std::shared_ptr<const Calibration> calibration,
                                                std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    if (!calibration) {
        FOURWALLS_TRY_ASSIGN(Calibration published, loadCalibration("published"));
        calibration = std::make_shared<const Calibration>(std::move(published));
    }
    FOURWALLS_TRY_ASSIGN(cost::CostModel model, cost::CostModel::create(spec, framework, *calibration));
    return compare::suggestChanges(model, spec, kSuggestions, stop);
}

PlanOutlook outlookOf(const RunSpec& spec, compare::PlanSuggestions suggestions, const cost::PlanSearchResult& found,
                      const PlanCloud& priced)
{
    PlanOutlook outlook;
    outlook.spec = spec;
    outlook.suggestions = std::move(suggestions);
    outlook.searched = found.counts.evaluated;
    outlook.stopped = found.stopped;
    if (!found.best.empty() && found.best.front().feasible) outlook.best = found.best.front();
    const auto take = [&](std::size_t index) {
        const PlanPoint& point = priced.points()[index];
        outlook.plans.push_back({priced.plan(index), point.seconds, point.bytes, point.feasible});
    };
    for (const std::uint32_t index : priced.front()) take(index);
    const std::size_t stride = priced.points().size() / kMostPlanDots + 1;
    for (std::size_t i = 0; i < priced.points().size(); i += stride) take(i);
    return outlook;
}

std::vector<cost::SearchedPlan> paretoFront(const std::vector<cost::SearchedPlan>& plans)
{
    std::vector<cost::SearchedPlan> front;
    std::vector<const cost::SearchedPlan*> byTime;
    for (const cost::SearchedPlan& plan : plans)
        if (plan.feasible && plan.seconds > 0) byTime.push_back(&plan);
    std::sort(byTime.begin(), byTime.end(), [](const auto* a, const auto* b) {
        return a->seconds != b->seconds ? a->seconds < b->seconds : a->peakBytes < b->peakBytes;
    });
    for (const cost::SearchedPlan* plan : byTime)
        if (front.empty() || plan->peakBytes < front.back().peakBytes) front.push_back(*plan);
    return front;
}

double startUpOf(const OverviewFacts& facts)
{
    if (!facts.insight) return 0;
    for (const diagnose::Finding& finding : facts.insight->findings.findings)
        if (finding.cause == diagnose::Cause::WarmUp) return finding.value(diagnose::EvidenceKind::ShareOfStep);
    return 0;
}

compare::WallFacts wallFactsOf(const OverviewFacts& facts, const PlanOutlook* plans)
{
    compare::WallFacts walls;
    walls.shares = facts.metrics.waterfall;
    if (facts.metrics.hostOnly)
        walls.shares.set(WaterfallPart::Idle, 0); // a program between its operators is no idle device
    if (facts.fullest) {
        walls.peakBytes = facts.fullest->peakBytes;
        walls.capacityBytes = facts.fullest->capacityBytes;
        // What did not fit was never alive: the peak alone would say that there is room.
        if (!facts.outOfMemory.empty()) walls.capacityBytes = walls.peakBytes;
    }
    walls.startUp = startUpOf(facts);
    if (plans) walls.planGain = plans->gain();
    return walls;
}

} // namespace fourwalls
