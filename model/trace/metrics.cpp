// SPDX-License-Identifier: Apache-2.0
// The figures of a trace from its stored summaries.
#include "model/trace/metrics.h"

#include "model/trace/collective_rows.h"
#include "model/trace/group_label.h"
#include "model/trace/memory_facts.h"
#include "model/trace/step_window.h"

#include "model/trace/summary_builder.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

/// A training step with what its ranks did.
struct RankedStep {
    JobStep job;
    std::vector<StepSummary> ranks;
};

/// Weighted sums over the ranks of the median step(s), in nanoseconds of one rank each.
struct Shares {
    double total = 0; ///< step time x ranks
    double compute = 0, exposedComm = 0, exposedCopy = 0, bubble = 0, idle = 0;
    double idleDataLoading = 0, idleLaunch = 0, idleSynchronisation = 0; ///< of idle; the rest is other
    double memoryBoundExcess = 0, inefficiencyExcess = 0;
    double modelFlops = 0, recomputeFlops = 0;
};

int multiplicityOf(const TraceHeader& header, RankId rank)
{
    for (const RankInfo& info : header.ranks)
        if (info.rank == rank) return std::max(1, info.multiplicity);
    return 1;
}

Shares sumShares(const std::vector<RankedStep>& steps, const TraceHeader& header)
{
    Shares sums;
    for (const RankedStep& step : steps) {
        for (const StepSummary& summary : step.ranks) {
            const double weight = multiplicityOf(header, summary.rank);
            const auto add = [weight](double& sum, Duration part) { sum += weight * static_cast<double>(part.ns); };
            add(sums.total, step.job.range.length());
            add(sums.compute, summary.compute);
            add(sums.exposedComm, summary.exposedComm);
            add(sums.exposedCopy, summary.exposedCopy);
            add(sums.bubble, summary.bubble);
            // A rank that begins later or ends earlier than the others is idle for the difference.
            add(sums.idle, summary.idle() + step.job.range.length() - summary.range.length());
            add(sums.idleDataLoading, summary.idleDataLoading);
            add(sums.idleLaunch, summary.idleLaunch);
            add(sums.idleSynchronisation, summary.idleSynchronisation);
            add(sums.memoryBoundExcess, summary.memoryBoundExcess);
            add(sums.inefficiencyExcess, summary.inefficiencyExcess);
            sums.modelFlops += weight * summary.modelFlops;
            sums.recomputeFlops += weight * summary.recomputeFlops;
        }
    }
    return sums;
}

/// Shares of the step time. achieved, recompute: FLOPs over what the peak could have done, at most the compute time.
/// unknown: share of the compute time with neither FLOPs nor bytes.
Waterfall waterfall(const Shares& sums, std::optional<double> achieved, double recompute, double unknown)
{
    Waterfall parts;
    const double compute = sums.compute / sums.total;
    if (achieved) {
        // What compute time is left beyond the arithmetic goes to the two kinds in proportion to their excess.
        const double left = compute - *achieved - recompute;
        const double other = std::min(left, unknown * compute);
        const double rest = left - other;
        const double memoryExcess = std::max(0.0, sums.memoryBoundExcess);
        const double excess = memoryExcess + std::max(0.0, sums.inefficiencyExcess);
        const double memoryBound = excess > 0 ? rest * memoryExcess / excess : 0.0;
        parts.set(WaterfallPart::Achieved, *achieved);
        parts.set(WaterfallPart::Recompute, recompute);
        parts.set(WaterfallPart::MemoryBound, memoryBound);
        parts.set(WaterfallPart::Inefficiency, rest - memoryBound);
        if (unknown > 0) parts.set(WaterfallPart::OtherCompute, other);
    } else {
        parts.set(WaterfallPart::Compute, compute);
    }
    parts.set(WaterfallPart::Bubble, sums.bubble / sums.total);
    parts.set(WaterfallPart::ExposedComm, sums.exposedComm / sums.total);
    parts.set(WaterfallPart::ExposedCopy, sums.exposedCopy / sums.total);
    const double idle = sums.idle / sums.total, dataLoading = sums.idleDataLoading / sums.total,
                 launch = sums.idleLaunch / sums.total, synchronisation = sums.idleSynchronisation / sums.total;
    parts.set(WaterfallPart::Idle, idle);
    parts.set(WaterfallPart::IdleDataLoading, dataLoading);
    parts.set(WaterfallPart::IdleLaunch, launch);
    parts.set(WaterfallPart::IdleSynchronisation, synchronisation);
    parts.set(WaterfallPart::IdleOther, idle - dataLoading - launch - synchronisation);
    return parts;
}

void addBubble(TraceMetrics& metrics, const std::vector<RankedStep>& steps, const TraceHeader& header)
{
    struct Stage {
        double window = 0, busy = 0;
    };
    std::map<int, Stage> stages;
    for (const RankedStep& step : steps) {
        for (const StepSummary& summary : step.ranks) {
            int stage = 0;
            for (const RankInfo& info : header.ranks)
                if (info.rank == summary.rank) stage = info.pipelineStage;
            const double weight = multiplicityOf(header, summary.rank);
            stages[stage].window += weight * static_cast<double>(summary.pipelineWindow.ns);
            stages[stage].busy += weight * static_cast<double>(summary.pipelineBusy.ns);
        }
    }
    double sum = 0;
    for (const auto& [stage, times] : stages) {
        if (times.window <= 0) return; // a stage without forward or backward phases: nothing can be said
        metrics.bubbleByStage.push_back((times.window - times.busy) / times.window);
        sum += metrics.bubbleByStage.back();
    }
    if (!stages.empty()) metrics.bubbleFraction = sum / static_cast<double>(stages.size());
}

/// The loss of every step, and what the median or wanted step took: its time and rates.
void addSteps(TraceMetrics& metrics, const std::vector<JobStep>& steps, const std::vector<RankedStep>& median)
{
    for (const JobStep& step : steps) metrics.loss.push_back(step.loss);
    if (median.empty()) return;
    double tokens = 0, samples = 0, length = 0;
    for (const RankedStep& step : median) {
        tokens += static_cast<double>(step.job.tokens);
        samples += static_cast<double>(step.job.samples);
        length += static_cast<double>(step.job.range.length().ns);
    }
    metrics.stepTime = median.front().job.range.length();
    if (length > 0 && tokens > 0) metrics.tokensPerSecond = tokens / (length * 1e-9);
    if (length > 0 && samples > 0) metrics.samplesPerSecond = samples / (length * 1e-9);
}

/// Model FLOPs of the median step(s). Of the architecture where the trace has all ranks of a known run, so that an
/// implementation that computes more than it must (whole attention matrices) does not look better for it; else
/// what the slices recorded.
double modelFlops(const TraceHeader& header, const std::vector<RankedStep>& steps, const Shares& sums)
{
    if (!header.spec) return sums.modelFlops;
    int ranks = 0;
    for (const RankInfo& rank : header.ranks) ranks += std::max(1, rank.multiplicity);
    if (ranks != header.spec->plan.worldSize()) return sums.modelFlops;
    return static_cast<double>(steps.size()) * trainingFlops(*header.spec);
}

/// More than this share of the compute time cannot be achieved; what is above it by less is rounding of a measured peak.
constexpr double kAchievedTolerance = 1.02;

/// mfu, hfu and the waterfall of the median step(s). peak: what FLOPs may be compared with.
void addFlops(TraceMetrics& metrics, const TraceInfo& info, const PeakFacts& peak, const Shares& sums,
              const std::vector<RankedStep>& steps)
{
    const TraceHeader& header = info.header;
    const double flops = modelFlops(header, steps, sums);
    std::optional<double> achieved;
    double recompute = 0;
    metrics.mfuAbsent = peak.absent;
    if (flops > 0)
        metrics.flopsPerSecond = flops / (sums.total * 1e-9);
    else if (peak.absent != NoMfu::NotLinked)
        metrics.mfuAbsent = NoMfu::NoFlops;
    if (metrics.mfuAbsent == NoMfu::None && peak.peak && *peak.peak > 0) {
        const double possible = *peak.peak * sums.total * 1e-9;
        achieved = flops / possible;
        recompute = sums.recomputeFlops / possible;
        const double compute = sums.compute / sums.total;
        if (*achieved + recompute > kAchievedTolerance * compute) {
            // Faster than the peak for as long as anything computed: it is another peak.
            metrics.mfuAbsent = NoMfu::AboveRoof;
            achieved.reset();
        }
    }
    if (achieved) {
        metrics.mfu = std::min(1.0, *achieved);
        metrics.hfu = std::min(1.0, *achieved + recompute);
        if (header.spec) {
            const double half = trainingFlops(*header.spec), whole = trainingFlops(*header.spec, true);
            if (half > 0) metrics.mfuFullAttention = *achieved * whole / half;
        }
        // Shares are never negative.
        const double compute = sums.compute / sums.total;
        const double scale = std::min(1.0, compute / (*achieved + recompute));
        achieved = *achieved * scale;
        recompute *= scale;
    }
    const double unknown = header.source == TraceSource::Imported ? peak.nothingKnown : 0;
    metrics.waterfall = waterfall(sums, achieved, recompute, unknown);
}

/// Where the time of the median step(s) went, where anything in the trace is known to be work.
void addShares(TraceMetrics& metrics, const TraceInfo& info, const Shares& sums, const std::vector<RankedStep>& steps)
{
    addFlops(metrics, info, metrics.peak, sums, steps);
    // Somebody's own trace of threads, or of a device that is not known: what of it is work nobody can tell.
    constexpr double kNothing = 0.9999;
    const double idle = sums.idle / sums.total;
    if (metrics.hostOnly && idle > kNothing) {
        metrics.waterfall = {};
        return;
    }
    metrics.exposedCommFraction = sums.exposedComm / sums.total;
    metrics.exposedCopyFraction = sums.exposedCopy / sums.total;
    metrics.idleFraction = idle;
}

/// The peaks of one step, of the ranks that have any.
Status takeMemoryOf(StepIndex step, TraceMetrics& metrics, TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> all, trace.memorySummaries());
    for (MemorySummary& memory : metrics.memory)
        for (const MemorySummary& each : all)
            if (each.rank == memory.rank && each.step == step) memory = each;
    return {};
}

} // namespace

double busBandwidthFactor(CollectiveOp operation, std::size_t ranks)
{
    if (ranks < 2) return 1;
    const double n = static_cast<double>(ranks);
    switch (operation) {
    case CollectiveOp::AllReduce: return 2 * (n - 1) / n;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter: return (n - 1) / n;
    default: return 1;
    }
}

double pipelineBubble(PipelineSchedule schedule, int stages, int microbatches, int chunks)
{
    const double idle = stages - 1;
    if (schedule == PipelineSchedule::Naive) return idle / stages;
    const double busy = schedule == PipelineSchedule::Interleaved ? double(chunks) * microbatches : microbatches;
    return idle / (busy + idle);
}

double zeroBubbleBubble(int stages, int microbatches, double forward, double backwardInput, double backwardWeight)
{
    // A weight gradient fills the wait for one forward pass or one input gradient. What it takes beyond the shorter of
    // them delays the next stage as well, and fills nothing.
    const double filled = std::min({forward, backwardInput, backwardWeight});
    const double idle = (stages - 1) * (forward + backwardInput - filled);
    return idle / (microbatches * (forward + backwardInput + backwardWeight) + idle);
}

Result<std::vector<StepUtilisation>> stepUtilisation(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, trace.stepSummaries());
    std::map<StepIndex, std::vector<StepSummary>> ranks;
    for (const StepSummary& summary : summaries) ranks[summary.step].push_back(summary);
    FOURWALLS_TRY_ASSIGN(const PeakFacts peak, peakFacts(trace));
    std::vector<StepUtilisation> utilisation;
    for (const JobStep& step : steps) {
        if (!step.complete) continue;
        const std::vector<RankedStep> ranked{{step, std::move(ranks[step.step])}};
        TraceMetrics figures;
        const Shares sums = sumShares(ranked, trace.info().header);
        if (sums.total > 0) addFlops(figures, trace.info(), peak, sums, ranked);
        utilisation.push_back({step.step, step.state, step.range, figures.mfu, figures.hfu});
    }
    return utilisation;
}

Result<TraceMetrics> computeMetrics(TraceQuery& trace, std::optional<StepIndex> wanted)
{
    const TraceInfo& info = trace.info();
    TraceMetrics metrics;
    metrics.source = info.header.source;
    metrics.clock = info.header.clock;
    metrics.recorderOverheadFraction = info.closing.recorderOverheadFraction;
    metrics.recorderOverheadMeasured = info.closing.recorderOverheadMeasured;
    for (const AuditRecord& record : info.audit)
        if (record.severity == AuditSeverity::Dropped) metrics.dropped += record.count;

    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> all, trace.jobSteps());
    std::vector<RankedStep> steps;
    std::optional<JobStep> chosen = stepOfNumber(all, wanted);
    if (chosen && !chosen->complete) chosen.reset();
    if (const std::optional<JobStep> step = chosen ? chosen : medianStep(all)) {
        FOURWALLS_TRY_ASSIGN(std::vector<StepSummary> ranks, trace.stepSummaries(step->step));
        steps.push_back({*step, std::move(ranks)});
    }
    addSteps(metrics, all, steps);

    FOURWALLS_TRY_ASSIGN(metrics.peak, peakFacts(trace));
    metrics.hostOnly = isHostOnly(trace);
    metrics.mfuAbsent = NoMfu::NoStep;
    const Shares sums = sumShares(steps, info.header);
    if (isLogOnly(info)) metrics.mfuAbsent = NoMfu::NoFlops;
    if (hasOrderOnly(info)) {
        metrics.stepTime.reset();
        metrics.tokensPerSecond.reset();
        metrics.samplesPerSecond.reset();
    } else if (sums.total > 0 && !isLogOnly(info)) {
        addShares(metrics, info, sums, steps);
        if (isPipelined(info.header)) {
            addBubble(metrics, steps, info.header);
        } else if (info.header.spec) {
            metrics.bubbleFraction = 0; // one stage is never short of work from another one
            metrics.bubbleByStage = {0};
        }
    }

    for (const RankInfo& rank : info.header.ranks) { // the first of each: over all measured steps
        FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, trace.memorySummaries(rank.rank, 1));
        if (!memory.empty() && !memory.front().step) metrics.memory.push_back(memory.front());
    }
    if (chosen) FOURWALLS_TRY(takeMemoryOf(chosen->step, metrics, trace));

    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveSummary> collectives, trace.collectiveSummaries());
    const bool repeated = receivesRepeatSends(collectives, &CollectiveSummary::operation);
    for (const CollectiveSummary& summary : collectives) {
        CollectiveMetrics entry;
        entry.summary = summary;
        const GroupCoverage coverage = groupCoverage(info, summary.group);
        entry.group = groupLabel(info, summary.group);
        entry.timing = collectiveTiming(info, summary.group, summary.operation);
        if (entry.timing != CollectiveTiming::RequestsOnly) entry.transfer = summary.time;
        if (entry.timing == CollectiveTiming::Separated) entry.wait = summary.wait;
        const bool isRepeat = repeated && summary.operation == CollectiveOp::Receive;
        entry.alone = coverage.members == std::size_t{1};
        if (summary.time.ns > 0 && summary.payloadBytes && entry.wait && !isRepeat && !entry.alone) {
            entry.algorithmBytesPerSecond = static_cast<double>(*summary.payloadBytes) / summary.time.seconds();
            entry.busBytesPerSecond =
                *entry.algorithmBytesPerSecond * busBandwidthFactor(summary.operation, coverage.members.value_or(0));
        }
        metrics.collectives.push_back(entry);
    }
    // Collectives that only the requests tell of took an unknown time.
    const bool asked = std::any_of(metrics.collectives.begin(), metrics.collectives.end(),
                                   [](const CollectiveMetrics& each) { return !each.alone; });
    const bool timed =
        std::any_of(metrics.collectives.begin(), metrics.collectives.end(), [](const CollectiveMetrics& each) {
            return !each.alone && each.timing != CollectiveTiming::RequestsOnly;
        });
    if (asked && !timed) {
        metrics.exposedCommFraction.reset();
        metrics.waterfall.reset(WaterfallPart::ExposedComm);
    }
    return metrics;
}

} // namespace fourwalls
