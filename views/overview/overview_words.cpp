// SPDX-License-Identifier: GPL-3.0-or-later
// See overview_words.h.
#include "views/overview/overview_words.h"

#include "views/words/plan_words.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

struct Overview {
    Q_DECLARE_TR_FUNCTIONS(Overview)
};

using compare::PlanChange;
using compare::Wall;
using compare::WallReason;

QString dot()
{
    return QStringLiteral(" · ");
}

/// "rank 3", "ranks 0, 1, 2": those whose memory was not enough.
QString ranksOf(const std::vector<OutOfMemory>& moments)
{
    std::vector<int> ranks;
    for (const OutOfMemory& moment : moments)
        if (moment.rank && std::find(ranks.begin(), ranks.end(), moment.rank->value) == ranks.end())
            ranks.push_back(moment.rank->value);
    std::sort(ranks.begin(), ranks.end());
    QStringList names;
    for (const int rank : ranks) names << QString::number(rank);
    if (names.isEmpty()) return Overview::tr("a rank");
    return names.size() == 1 ? Overview::tr("rank %1").arg(names.front())
                             : Overview::tr("ranks %1").arg(names.join(QStringLiteral(", ")));
}

QString outOfMemoryVerdict(const OverviewFacts& facts, ByteUnit unit)
{
    const OutOfMemory& first = facts.outOfMemory.front();
    QString text = Overview::tr("%1 ran out of memory").arg(ranksOf(facts.outOfMemory));
    const auto bytes = [unit](std::int64_t value) { return formatBytes(static_cast<double>(value), unit); };
    if (first.askedBytes && first.freeBytes)
        text += dot() + Overview::tr("%1 wanted, %2 free").arg(bytes(*first.askedBytes), bytes(*first.freeBytes));
    else if (first.askedBytes)
        text += dot() + Overview::tr("%1 wanted").arg(bytes(*first.askedBytes));
    const std::optional<double> used = first.allocatedBytes ? std::optional(static_cast<double>(*first.allocatedBytes))
                                       : facts.fullest      ? std::optional(facts.fullest->peakBytes)
                                                            : std::nullopt;
    if (!used) return text;
    if (facts.fullest && facts.fullest->capacityBytes)
        return text + dot() +
               Overview::tr("%1 of %2 in use")
                   .arg(formatBytes(*used, unit), formatBytes(*facts.fullest->capacityBytes, unit));
    return text + dot() + Overview::tr("%1 in use").arg(formatBytes(*used, unit));
}

QString memoryVerdict(const OverviewFacts& facts, ByteUnit unit)
{
    if (!facts.outOfMemory.empty()) return outOfMemoryVerdict(facts, unit);
    if (!facts.fullest && facts.allocator) {
        const AllocatorCurve& curve = *facts.allocator;
        const QString rank = QString::number(facts.allocatorRank ? facts.allocatorRank->value : 0);
        if (curve.relative)
            return Overview::tr(
                       "rank %1: at most %2 relative to the start of the profile; what was in use then is unknown")
                .arg(rank, signedBytes(curve.highest, unit));
        return (curve.ofProcessor ? Overview::tr("rank %1: at most %2 of main memory in use, by the profiler's count")
                                  : Overview::tr("rank %1: at most %2 in use, by the profiler's count"))
            .arg(rank, formatBytes(curve.highest, unit));
    }
    if (!facts.fullest) return Overview::tr("no allocations in this trace: its memory is unknown");
    const QString peak = formatBytes(facts.fullest->peakBytes, unit);
    const QString rank = QString::number(facts.fullest->rank.value);
    if (facts.memoryRelative)
        return Overview::tr("rank %1: up to %2 more than at the start of the profile; what was in use then is unknown")
            .arg(rank, peak);
    if (!facts.fullest->capacityBytes)
        return Overview::tr("peaks at %1 on rank %2; the capacity of its device is not known").arg(peak, rank);
    const QString capacity = formatBytes(*facts.fullest->capacityBytes, unit);
    const double share = facts.fullest->peakBytes / *facts.fullest->capacityBytes;
    const QString part = share < 0.01 ? Overview::tr("under 1 %") : formatPercent(share, 0);
    if (share > 1) return Overview::tr("%1 on rank %2, the device has %3: it does not fit").arg(peak, rank, capacity);
    if (facts.memoryStanding && facts.source == TraceSource::Imported)
        return Overview::tr("%1 of %2 on rank %3, hardly changing: a reservation, or data that stays")
            .arg(part, capacity, rank);
    if (share >= compare::kFullMemory)
        return Overview::tr("%1 of %2 on rank %3: nothing larger fits").arg(part, capacity, rank);
    return Overview::tr("%1 of %2 on rank %3: there is room").arg(part, capacity, rank);
}

QString communicationVerdict(const OverviewFacts& facts)
{
    const RankScope& ranks = facts.scope.ranks;
    const QString part = ranks.isPart() ? Overview::tr("the trace has %1").arg(words(ranks)) : QString();
    const auto with = [&part](const QString& text) { return part.isEmpty() ? text : text + dot() + part; };
    if (facts.memoryOnly) return Overview::tr("a memory snapshot records no communication");
    const NoRates why = facts.insight ? facts.insight->rates.why : NoRates::None;
    const bool none = facts.insight ? why == NoRates::NoCollectives : !facts.communicates;
    if (none) {
        if (ranks.present < 2 && !ranks.isPart() && facts.source != TraceSource::Imported)
            return Overview::tr("one rank: there is nobody to talk to");
        return with(facts.threadsOnly ? Overview::tr("nothing was recognised as a collective")
                                      : Overview::tr("no collectives in this trace"));
    }
    if (why == NoRates::NotInStep && facts.insight->rates.inTrace)
        return with(Overview::tr("none in this step, %1 in the trace")
                        .arg(formatCount(static_cast<qint64>(*facts.insight->rates.inTrace))));
    if (why == NoRates::OneRankGroups) return with(Overview::tr("groups of one rank: nothing is sent"));
    if (why == NoRates::RequestsOnly)
        return with((facts.scope.wholeTrace
                         ? Overview::tr("%1 requests; how long the transfers took is not in the trace")
                         : Overview::tr("%1 requests in the step; how long the transfers took is not in the trace"))
                        .arg(formatCount(static_cast<qint64>(facts.insight->rates.inStep))));
    if (!facts.metrics.exposedCommFraction) return with(Overview::tr("no measured step: what is exposed is unknown"));
    const bool whole = facts.scope.wholeTrace;
    QString text = facts.insight && facts.insight->holdsWaiting
                       ? (whole ? Overview::tr("%1 of the trace exposed, waiting and transfer")
                                : Overview::tr("%1 of the step exposed, waiting and transfer"))
                   : whole ? Overview::tr("%1 of the trace exposed")
                           : Overview::tr("%1 of the step exposed");
    text = text.arg(formatPercent(*facts.metrics.exposedCommFraction));
    if (!facts.insight) return with(text);
    if (facts.insight->waitingShare && *facts.insight->waitingShare >= 0.005)
        text += dot() +
                Overview::tr("%1 of its time is waiting for others").arg(formatPercent(*facts.insight->waitingShare));
    if (facts.insight->hiddenShare && facts.insight->holdsWaiting)
        text += dot() + Overview::tr("%1 of its time hidden").arg(formatPercent(*facts.insight->hiddenShare));
    else if (facts.insight->hiddenShare)
        text += dot() + Overview::tr("%1 of the transfers hidden").arg(formatPercent(*facts.insight->hiddenShare));
    return with(text);
}

/// Of the step's time, whatever it is taken apart into.
double computeShare(const TraceMetrics& metrics)
{
    using Part = WaterfallPart;
    double share = 0;
    for (const Part part :
         {Part::Achieved, Part::Recompute, Part::MemoryBound, Part::Inefficiency, Part::OtherCompute, Part::Compute})
        share += metrics.waterfall[part];
    return share;
}

/// What is said where nothing of the computing time stands out as lost.
QString computationWords(const OverviewFacts& facts)
{
    const bool whole = facts.scope.wholeTrace;
    if (facts.metrics.mfu && !facts.metrics.hostOnly) return Overview::tr("kernels run near what the device can do");
    const QString text = facts.metrics.hostOnly ? (whole ? Overview::tr("%1 of the trace in operators of the processor")
                                                         : Overview::tr("%1 of the step in operators of the processor"))
                         : whole                ? Overview::tr("%1 of the trace is computation")
                                                : Overview::tr("%1 of the step is computation");
    return text.arg(formatPercent(computeShare(facts.metrics)));
}

QString performanceVerdict(const OverviewFacts& facts, const compare::WallVerdict& verdict)
{
    const Waterfall& shares = facts.metrics.waterfall;
    QString text;
    switch (verdict.reason[static_cast<std::size_t>(Wall::Performance)]) {
    case WallReason::MemoryBound:
        text = Overview::tr("%1 lost to memory-bound kernels").arg(formatPercent(shares[WaterfallPart::MemoryBound]));
        break;
    case WallReason::Inefficiency:
        text = Overview::tr("%1 lost to kernels below peak").arg(formatPercent(shares[WaterfallPart::Inefficiency]));
        break;
    case WallReason::Idle:
        text = facts.metrics.hostOnly
                   ? Overview::tr("%1 between operators").arg(formatPercent(shares[WaterfallPart::Idle]))
                   : Overview::tr("%1 idle").arg(formatPercent(shares[WaterfallPart::Idle]));
        if (const double startUp = startUpOf(facts); startUp > 0)
            text += dot() + Overview::tr("%1 while the program starts up").arg(formatPercent(startUp));
        break;
    default: text = computationWords(facts); break;
    }
    if (facts.memoryOnly) return Overview::tr("a memory snapshot records no kernels");
    if (facts.threadsOnly) return Overview::tr("nothing is known to be work of a device, or of a job without one");
    if (facts.orderOnly) return Overview::tr("operators in their order, without times");
    if (facts.logOnly) return Overview::tr("a job's own log: where the time goes is not in it");
    if (facts.metrics.waterfall.empty()) return Overview::tr("no measured step: where its time goes is unknown");
    if (facts.roofDisproved) text += dot() + Overview::tr("kernels run above the peak: no roof is drawn");
    if (!facts.metrics.mfu) return text + dot() + whyNoMfu(facts.metrics);
    text += dot() + Overview::tr("MFU %1").arg(formatUtilisation(*facts.metrics.mfu));
    const QString known = flopsKnownNote(facts.metrics);
    return known.isEmpty() ? text : text + dot() + known;
}

QString tuningVerdict(const compare::WallVerdict& verdict, const PlanOutlook* plans)
{
    const auto tuning = static_cast<std::size_t>(Wall::Tuning);
    if (!plans) {
        if (verdict.reason[tuning] == WallReason::Bubble)
            return Overview::tr("%1 lost to the pipeline bubble").arg(formatPercent(verdict.loss[tuning]));
        return {};
    }
    if (plans->best && plans->gain() >= compare::kLeastGain) {
        const auto ns = std::llround(plans->best->seconds * 1e9);
        return (plans->stopped ? Overview::tr("best plan so far that fits: %1 predicted (%2): %3")
                               : Overview::tr("best plan that fits: %1 predicted (%2): %3"))
            .arg(formatDuration(Duration{ns}, 3), signedPercent(-plans->gain()), planSummary(plans->best->plan));
    }
    if (!plans->best) return Overview::tr("no plan on this number of devices fits into memory");
    return plans->stopped ? Overview::tr("no plan that fits is predicted to be quicker, among %1")
                                .arg(formatCount(static_cast<qint64>(plans->searched)))
                          : Overview::tr("no plan that fits is predicted to be quicker");
}

} // namespace

QString words(Wall wall)
{
    switch (wall) {
    case Wall::Memory: return Overview::tr("Memory");
    case Wall::Communication: return Overview::tr("Communication");
    case Wall::Performance: return Overview::tr("Performance");
    case Wall::Tuning: return Overview::tr("Tuning");
    }
    return {};
}

QString reasonOf(Wall wall, const OverviewFacts& facts, const compare::WallVerdict& verdict, const PlanOutlook* plans,
                 ByteUnit unit)
{
    const auto index = static_cast<std::size_t>(wall);
    const QString loss = formatPercent(verdict.loss[index]);
    switch (verdict.reason[index]) {
    case WallReason::MemoryFull: return memoryVerdict(facts, unit);
    case WallReason::MemoryPrice:
        return (facts.scope.wholeTrace ? Overview::tr("%1 of the trace is recomputation and copies")
                                       : Overview::tr("%1 of the step is recomputation and copies"))
            .arg(loss);
    case WallReason::ExposedComm:
        return (facts.scope.wholeTrace ? Overview::tr("%1 of the trace is exposed communication")
                                       : Overview::tr("%1 of the step is exposed communication"))
            .arg(loss);
    case WallReason::MemoryBound: return Overview::tr("%1 avoidable, most in memory-bound kernels").arg(loss);
    case WallReason::Inefficiency: return Overview::tr("%1 avoidable, most in kernels below peak").arg(loss);
    case WallReason::Idle:
        if (facts.insight && facts.insight->findings.unexplainedIdle)
            return Overview::tr("%1 lost, most of it idle: the trace does not tell why").arg(loss);
        return Overview::tr("%1 avoidable, most of it idle").arg(loss);
    case WallReason::Bubble: return Overview::tr("%1 of the step is pipeline bubble").arg(loss);
    case WallReason::BetterPlan:
        return plans ? Overview::tr("another plan would save %1 of the step").arg(loss) : QString();
    case WallReason::Nothing: break;
    }
    return Overview::tr("costs nothing worth naming");
}

QString verdictOf(Wall wall, const OverviewFacts& facts, const compare::WallVerdict& verdict, const PlanOutlook* plans,
                  ByteUnit unit)
{
    switch (wall) {
    case Wall::Memory: return memoryVerdict(facts, unit);
    case Wall::Communication: return communicationVerdict(facts);
    case Wall::Performance: return performanceVerdict(facts, verdict);
    case Wall::Tuning: return tuningVerdict(verdict, plans);
    }
    return {};
}

QString changeOf(const compare::PlanSuggestion& suggestion, const ParallelPlan& from)
{
    const ParallelPlan& to = suggestion.plan;
    const auto exchange = [&](const char* a, int fromA, int toA, const char* b, int fromB, int toB) {
        return Overview::tr("%1 %2, %3 %4 instead of %5, %6")
            .arg(QLatin1String(a))
            .arg(toA)
            .arg(QLatin1String(b))
            .arg(toB)
            .arg(fromA)
            .arg(fromB);
    };
    switch (suggestion.change) {
    case PlanChange::Microbatches:
        return Overview::tr("%1 micro-batches instead of %2").arg(to.microbatches).arg(from.microbatches);
    case PlanChange::Recomputation:
        return Overview::tr("recomputation %1 instead of %2").arg(recomputeWords(to), recomputeWords(from));
    case PlanChange::Sharding: return Overview::tr("ZeRO stage %1 instead of %2").arg(to.zero).arg(from.zero);
    case PlanChange::TensorAndData: return exchange("tp", from.tp, to.tp, "dp", from.dp, to.dp);
    case PlanChange::PipelineAndData: return exchange("pp", from.pp, to.pp, "dp", from.dp, to.dp);
    case PlanChange::TensorAndPipeline: return exchange("tp", from.tp, to.tp, "pp", from.pp, to.pp);
    case PlanChange::ContextAndData: return exchange("cp", from.cp, to.cp, "dp", from.dp, to.dp);
    case PlanChange::SequenceParallel:
        return to.sequenceParallel ? Overview::tr("with sequence parallelism")
                                   : Overview::tr("without sequence parallelism");
    case PlanChange::Schedule:
        return Overview::tr("schedule %1 instead of %2")
            .arg(words(to.schedule, to.vpp), words(from.schedule, from.vpp));
    case PlanChange::Overlap: return Overview::tr("communication beside computation");
    case PlanChange::Fusion: return Overview::tr("fused operators");
    case PlanChange::FusedAttention: return Overview::tr("fused attention");
    case PlanChange::Offload: return Overview::tr("without offloading to the host");
    }
    return {};
}

QString scopeOfStep(const OverviewFacts& facts)
{
    const OverviewScope& scope = facts.scope;
    if (facts.orderOnly) return Overview::tr("operators in their order, without times");
    if (!facts.metrics.stepTime) return Overview::tr("no measured step");
    if (scope.wholeTrace)
        return facts.metrics.hostOnly ? Overview::tr("all that was recorded: no steps were recognised")
                                      : Overview::tr("all work of the device: no steps were recognised");
    QStringList parts;
    const int all = scope.measured + scope.warmup + scope.cut + scope.odd;
    const bool apart = scope.ownLengths && scope.ownLengths->first != scope.ownLengths->second;
    if (facts.isChosen) {
        parts << Overview::tr("step %1").arg(facts.step->step.value) + stepStateNote(facts.step->state);
    } else if (scope.measured == 1 && all == 1) {
        if (!apart) parts << Overview::tr("the only step"); // the ranks' lengths need the room
    } else if (scope.measured == 1) {
        parts << Overview::tr("the only measured step of %1").arg(all);
    } else {
        parts << Overview::tr("median of %1 steps").arg(scope.measured);
    }
    if (apart)
        parts << Overview::tr("ranks %1 to %2")
                     .arg(formatDuration(scope.ownLengths->first, 3), formatDuration(scope.ownLengths->second, 3));
    else if (const QString left = stepsLeftOut(scope); !left.isEmpty() && !facts.isChosen)
        parts << left;
    return parts.join(dot());
}

QString stepsLeftOut(const OverviewScope& scope)
{
    QStringList parts;
    if (scope.warmup > 0) parts << Overview::tr("%1 warm-up").arg(scope.warmup);
    if (scope.cut > 0) parts << Overview::tr("%1 cut").arg(scope.cut);
    if (scope.odd > 0) parts << Overview::tr("%1 odd").arg(scope.odd);
    return parts.isEmpty() ? QString() : Overview::tr("left out: %1").arg(parts.join(QStringLiteral(", ")));
}

QString waterfallTitle(const OverviewFacts& facts)
{
    if (facts.metrics.mfu) return Overview::tr("Where the peak FLOP/s go");
    return facts.scope.wholeTrace || !facts.metrics.stepTime ? Overview::tr("Where the time goes")
                                                             : Overview::tr("Where the step's time goes");
}

QString waterfallFinding(const OverviewFacts& facts)
{
    const TraceMetrics& metrics = facts.metrics;
    if (metrics.peak.peak && metrics.mfu && metrics.stepTime)
        return (facts.scope.wholeTrace
                    ? Overview::tr("peak %1 per device, achieved %2 · adds up to the %3 of the trace")
                    : Overview::tr("peak %1 per device, achieved %2 · adds up to the %3 step"))
            .arg(peakNote(metrics.peak), formatRate(*metrics.peak.peak * *metrics.mfu, QStringLiteral("FLOP/s")),
                 formatDuration(*metrics.stepTime, 3));
    if (metrics.stepTime && !facts.threadsOnly && !facts.logOnly)
        return (facts.scope.wholeTrace ? Overview::tr("adds up to the %1 of the trace")
                                       : Overview::tr("adds up to the %1 step"))
                   .arg(formatDuration(*metrics.stepTime, 3)) +
               (facts.scope.ranks.present > 1 ? dot() + Overview::tr("mean of %1").arg(words(facts.scope.ranks))
                                              : QString());
    if (facts.memoryOnly || facts.threadsOnly || facts.logOnly || facts.orderOnly) return {};
    return Overview::tr("this trace has no measured step that all ranks took");
}

QString whyNoWaterfall(const OverviewFacts& facts)
{
    if (facts.threadsOnly)
        return Overview::tr("Nothing in this trace is known to be work of a device, or of a job without one.\n"
                            "The timeline shows what its threads did.");
    if (facts.orderOnly)
        return Overview::tr("An execution trace has operators in their order, and no times.\nOpen the profile of "
                            "the same steps to "
                            "see where their time goes.");
    if (facts.logOnly)
        return Overview::tr("The job's own log says how long its steps took, and not where their time went.") +
               QLatin1Char('\n') + howToMarkSteps(facts.recorder);
    if (facts.memoryOnly)
        return Overview::tr("A memory snapshot has no steps and no kernels.\nOpen the run's profile beside it to see "
                            "where its time goes.");
    return Overview::tr("Without training steps there is no time to take apart.") + QLatin1Char('\n') +
           howToMarkSteps(facts.recorder);
}

QString whyNoRates(const OverviewFacts& facts)
{
    if (facts.memoryOnly)
        return Overview::tr("A memory snapshot records no communication. Open the run's profile beside it.");
    if (!facts.insight) return Overview::tr("Reading the step…");
    const TransferRates& rates = facts.insight->rates;
    const QString count = formatCount(static_cast<qint64>(rates.inStep));
    switch (rates.why) {
    case NoRates::NoCollectives:
        if (facts.threadsOnly) return Overview::tr("Nothing in this trace was recognised as a collective.");
        if (facts.scope.ranks.present > 1 || facts.scope.ranks.isPart() || facts.source == TraceSource::Imported)
            return Overview::tr("No collectives are in this trace.");
        return Overview::tr("One rank: nothing is sent.");
    case NoRates::NotInStep: return Overview::tr("This step has no collectives; others of the trace have.");
    case NoRates::OneRankGroups:
        return Overview::tr("All %1 collectives are of groups of one rank: nothing is sent.").arg(count);
    case NoRates::RequestsOnly:
        return Overview::tr("Only the requests of %1 collectives were recorded, not the transfers. Record the device's "
                            "activity, too.")
            .arg(count);
    case NoRates::SomeRanks:
        if (!rates.members && !facts.scope.ranks.isPart())
            return Overview::tr("%1 collectives, but the file does not say which ranks take part: waiting and transfer "
                                "cannot be told apart, so there is no rate.")
                .arg(count);
        if (rates.members && rates.present == *rates.members)
            return Overview::tr("%1 collectives, but the ranks' clocks could not be aligned: waiting and transfer "
                                "cannot be told apart, so there is no rate.")
                .arg(count);
        return Overview::tr("%1 collectives, but not all of their ranks are in the trace: waiting and transfer cannot "
                            "be told apart, so there "
                            "is no rate. Open the files of all ranks together.")
            .arg(count);
    case NoRates::UnknownBytes:
        return Overview::tr("%1 collectives, but the file does not say how many bytes they move: there is no rate.")
            .arg(count);
    case NoRates::NoTime: return Overview::tr("The transfers of this step took no time on the trace's clock.");
    case NoRates::None: break;
    }
    return Overview::tr("The rates of %1 collectives cannot be drawn.").arg(count);
}

QList<Lack> lacksOf(const OverviewFacts& facts)
{
    if (facts.source != TraceSource::Imported) return {};
    QList<Lack> lacks;
    if ((facts.metrics.hostOnly || facts.threadsOnly) && !facts.memoryOnly) lacks << Lack::Device;
    if (facts.scope.wholeTrace || !facts.metrics.stepTime) lacks << Lack::Steps;
    // Where FLOPs are there and no kernel is theirs, more of them do not help.
    const bool unlinked = facts.metrics.mfuAbsent == NoMfu::NotLinked || facts.metrics.mfuAbsent == NoMfu::NoDevice;
    if (facts.roofline.empty() && !facts.memoryOnly && !unlinked) lacks << Lack::Flops;
    if (!facts.fullest && !facts.allocator) lacks << Lack::Memory;
    return lacks;
}

} // namespace fourwalls::views
