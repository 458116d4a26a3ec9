// SPDX-License-Identifier: GPL-3.0-or-later
// See overview_figures.h.
#include "views/overview/overview_figures.h"

#include "views/overview/overview_words.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QCoreApplication>

namespace fourwalls::views {

namespace {

struct OverviewFigures {
    Q_DECLARE_TR_FUNCTIONS(OverviewFigures)
};

QString beside(const QString& text, const QString& more)
{
    return text + QStringLiteral(" · ") + more;
}

/// What the model says of a figure, and how far it is from the trace's own.
QString compared(const FigureFacts& shown, double own, double predicted, const QString& text)
{
    const QString change = own > 0 ? QStringLiteral(" (%1)").arg(signedPercent(predicted / own - 1, 1)) : QString();
    if (shown.ghost->replayed) return OverviewFigures::tr("replayed %1").arg(text + change);
    // The caveat first: what does not fit is cut at the end.
    if (!guessedNote(shown.whatIf).isEmpty()) return OverviewFigures::tr("guessed: %1").arg(text + change);
    const bool isWhatIf = shown.whatIf && shown.whatIf->isActive();
    return (isWhatIf ? OverviewFigures::tr("what if: %1") : OverviewFigures::tr("predicted %1")).arg(text + change);
}

PlotFigure stepFigure(const FigureFacts& shown)
{
    const TraceMetrics& metrics = shown.facts.metrics;
    QString note =
        shown.facts.source == TraceSource::Predicted ? words(TraceSource::Predicted) : scopeOfStep(shown.facts);
    if (shown.ghost && shown.ghost->metrics->stepTime && metrics.stepTime)
        note = compared(shown, metrics.stepTime->seconds(), shown.ghost->metrics->stepTime->seconds(),
                        formatDuration(*shown.ghost->metrics->stepTime, 3));
    return {shown.facts.scope.wholeTrace ? OverviewFigures::tr("Time") : titleOf(Figure::StepTime),
            metrics.stepTime ? formatDuration(*metrics.stepTime, 3) : QString(kDash), note, false,
            meaningOf(Figure::StepTime)};
}

/// How much of the step the devices do anything at all: what is known of every trace with kernels.
PlotFigure busyFigure(const OverviewFacts& facts)
{
    const TraceMetrics& metrics = facts.metrics;
    PlotFigure busy{OverviewFigures::tr("Device busy"), QString(kDash), OverviewFigures::tr("no measured step"), false};
    if (facts.threadsOnly || facts.logOnly || facts.orderOnly)
        busy.note = OverviewFigures::tr("no device was recorded");
    if (!metrics.idleFraction) return busy;
    double waiting = *metrics.idleFraction + metrics.waterfall[WaterfallPart::Bubble];
    if (metrics.hostOnly)
        waiting += metrics.waterfall[WaterfallPart::ExposedComm] + metrics.waterfall[WaterfallPart::ExposedCopy];
    busy.value = formatPercent(1 - waiting);
    if (metrics.hostOnly) {
        busy.name = OverviewFigures::tr("In operators");
        busy.note = OverviewFigures::tr("of the processors: no device was recorded");
        return busy;
    }
    const RankScope& ranks = facts.scope.ranks;
    busy.note = ranks.present > 1 ? OverviewFigures::tr("mean of %1").arg(words(ranks))
                : ranks.isPart()  ? OverviewFigures::tr("%1, the only one here").arg(words(ranks))
                                  : OverviewFigures::tr("computing, communicating or copying");
    return busy;
}

PlotFigure throughputFigure(const OverviewFacts& facts)
{
    const TraceMetrics& metrics = facts.metrics;
    const bool tokens = metrics.tokensPerSecond.has_value();
    const std::optional<double> rate = tokens ? metrics.tokensPerSecond : metrics.samplesPerSecond;
    if (!rate && facts.source == TraceSource::Imported) return busyFigure(facts);
    const QString unit = tokens ? OverviewFigures::tr("tok/s") : OverviewFigures::tr("samples/s");
    const std::size_t ranks = facts.scope.ranks.present;
    const QString note =
        !rate       ? OverviewFigures::tr("samples per step unknown")
        : ranks > 0 ? OverviewFigures::tr("%1 per device").arg(formatRate(*rate / static_cast<double>(ranks), unit))
                    : QString();
    return {OverviewFigures::tr("Throughput"), rate ? formatRate(*rate, unit) : QString(kDash), note, false,
            meaningOf(tokens ? Figure::TokensPerSecond : Figure::SamplesPerSecond)};
}

PlotFigure mfuFigure(const FigureFacts& shown)
{
    const TraceMetrics& metrics = shown.facts.metrics;
    QString note = whyNoMfu(metrics);
    if (metrics.mfu && !flopsKnownNote(metrics).isEmpty())
        note = flopsKnownNote(metrics); // the caveat is worth more than a second figure
    else if (metrics.hfu)
        note = OverviewFigures::tr("HFU %1").arg(formatUtilisation(*metrics.hfu));
    if (metrics.mfu && shown.ghost && shown.ghost->metrics->mfu) {
        const QString predicted = compared(shown, 0, 0, formatUtilisation(*shown.ghost->metrics->mfu));
        // The dock leaves less room.
        note = shown.whatIf && shown.whatIf->isActive() ? predicted : beside(note, predicted);
    }
    return {titleOf(Figure::Mfu), metrics.mfu ? formatUtilisation(*metrics.mfu) : QString(kDash), note, false,
            meaningOf(Figure::Mfu)};
}

PlotFigure memoryFigure(const FigureFacts& shown)
{
    const OverviewFacts& facts = shown.facts;
    PlotFigure memory{titleOf(Figure::PeakBytes), QString(kDash), OverviewFigures::tr("no allocations recorded"), false,
                      meaningOf(Figure::PeakBytes)};
    const auto rankOf = [](RankId rank) { return OverviewFigures::tr("rank %1").arg(rank.value); };
    if (!facts.fullest && facts.allocator) {
        const AllocatorCurve& curve = *facts.allocator;
        memory.value = curve.relative ? signedBytes(curve.highest, shown.unit) : formatBytes(curve.highest, shown.unit);
        memory.note = curve.relative      ? OverviewFigures::tr("since the start of the profile")
                      : curve.ofProcessor ? OverviewFigures::tr("main memory, by the profiler's count")
                                          : OverviewFigures::tr("by the profiler's count");
        if (facts.allocatorRank) memory.note = beside(memory.note, rankOf(*facts.allocatorRank));
    }
    if (!facts.fullest) return memory;
    const compare::FullestRank& fullest = *facts.fullest;
    memory.value = formatBytes(fullest.peakBytes, shown.unit);
    memory.note = rankOf(fullest.rank);
    if (fullest.capacityBytes)
        memory.note = beside(OverviewFigures::tr("%1 of %2")
                                 .arg(formatPercent(fullest.peakBytes / *fullest.capacityBytes),
                                      formatBytes(*fullest.capacityBytes, shown.unit)),
                             memory.note);
    if (facts.memoryRelative) {
        memory.value = signedBytes(fullest.peakBytes, shown.unit);
        memory.note = beside(OverviewFigures::tr("since the start of the profile"), rankOf(fullest.rank));
    } else if (shown.ghost) {
        const double predicted = shown.ghost->peakBytes;
        memory.note = compared(shown, fullest.peakBytes, predicted, formatBytes(predicted, shown.unit));
    }
    const bool isFull = fullest.capacityBytes && !facts.memoryStanding &&
                        fullest.peakBytes >= compare::kFullMemory * *fullest.capacityBytes;
    memory.alarm = !facts.outOfMemory.empty() || isFull;
    return memory;
}

PlotFigure wallFigure(const FigureFacts& shown)
{
    const OverviewFacts& facts = shown.facts;
    PlotFigure binds{OverviewFigures::tr("The wall that binds"), QString(kDash),
                     OverviewFigures::tr("nothing is lost to any wall"), false};
    if (facts.metrics.hostOnly && !facts.memoryOnly)
        binds.note = OverviewFigures::tr("no device was recorded");
    else if (facts.metrics.waterfall.empty())
        binds.note = facts.memoryOnly ? OverviewFigures::tr("a snapshot tells of memory only")
                                      : OverviewFigures::tr("no measured step");
    if (!shown.verdict.binding) return binds;
    binds.value = words(*shown.verdict.binding);
    binds.note =
        shown.verdict.next ? OverviewFigures::tr("then %1").arg(words(*shown.verdict.next).toLower()) : QString();
    binds.alarm = true;
    return binds;
}

} // namespace

std::vector<PlotFigure> overviewFigures(const FigureFacts& shown)
{
    return {stepFigure(shown), throughputFigure(shown.facts), mfuFigure(shown), memoryFigure(shown), wallFigure(shown)};
}

} // namespace fourwalls::views
