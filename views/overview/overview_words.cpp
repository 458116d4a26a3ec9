// SPDX-License-Identifier: GPL-3.0-or-later
// See overview_words.h.
#include "views/overview/overview_words.h"

#include <QCoreApplication>
#include <QStringList>

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

QString scheduleName(const ParallelPlan& plan)
{
    switch (plan.schedule) {
    case PipelineSchedule::Naive: return Overview::tr("naive");
    case PipelineSchedule::GPipe: return QStringLiteral("GPipe");
    case PipelineSchedule::OneFOneB: return QStringLiteral("1F1B");
    case PipelineSchedule::Interleaved: return Overview::tr("interleaved ×%1").arg(plan.vpp);
    case PipelineSchedule::ZeroBubbleH1: return QStringLiteral("ZB-1p");
    case PipelineSchedule::ZeroBubble2p: return QStringLiteral("ZB-2p");
    case PipelineSchedule::ZeroBubbleV: return QStringLiteral("ZB-V");
    }
    return {};
}

QString recomputeName(Recompute recompute)
{
    switch (recompute) {
    case Recompute::None: return Overview::tr("no recomputation");
    case Recompute::Selective: return Overview::tr("selective recomputation");
    case Recompute::Full: return Overview::tr("full recomputation");
    }
    return {};
}

QString memoryVerdict(const OverviewFacts& facts, ByteUnit unit)
{
    if (!facts.fullest) return Overview::tr("no allocations in this trace: its memory is unknown");
    const QString peak = formatBytes(facts.fullest->peakBytes, unit);
    if (facts.outOfMemory) {
        const QString rank = QString::number(facts.outOfMemory->value);
        if (!facts.fullest->capacityBytes)
            return Overview::tr("rank %1 ran out of memory with %2 in use").arg(rank, peak);
        return Overview::tr("rank %1 ran out of memory with %2 of %3 in use")
            .arg(rank, peak, formatBytes(*facts.fullest->capacityBytes, unit));
    }
    if (!facts.fullest->capacityBytes)
        return Overview::tr("peaks at %1 on rank %2; the capacity of its device is not known")
            .arg(peak)
            .arg(facts.fullest->rank.value);
    const QString capacity = formatBytes(*facts.fullest->capacityBytes, unit);
    const double share = facts.fullest->peakBytes / *facts.fullest->capacityBytes;
    if (share > 1)
        return Overview::tr("%1 on rank %2, the device has %3: it does not fit")
            .arg(peak)
            .arg(facts.fullest->rank.value)
            .arg(capacity);
    if (share >= compare::kFullMemory)
        return Overview::tr("%1 of %2 on rank %3: nothing larger fits")
            .arg(formatPercent(share, 0), capacity)
            .arg(facts.fullest->rank.value);
    return Overview::tr("%1 of %2 on rank %3: there is room")
        .arg(share < 0.01 ? Overview::tr("under 1 %") : formatPercent(share, 0), capacity)
        .arg(facts.fullest->rank.value);
}

QString communicationVerdict(const OverviewFacts& facts)
{
    // Somebody else's job may have more ranks than were traced.
    if (facts.ranks < 2 && !facts.communicates)
        return facts.source == TraceSource::Imported ? Overview::tr("one rank was traced, and no collectives of it")
                                                     : Overview::tr("one rank: there is nobody to talk to");
    if (!facts.metrics.exposedCommFraction) return Overview::tr("no measured step: what is exposed is unknown");
    const QString exposed =
        Overview::tr("%1 of the step exposed").arg(formatPercent(*facts.metrics.exposedCommFraction));
    if (!facts.hiddenCommunication) return exposed;
    return exposed + dot() +
           Overview::tr("%1 of the transfers hidden").arg(formatPercent(*facts.hiddenCommunication));
}

QString performanceVerdict(const OverviewFacts& facts, const compare::WallVerdict& verdict)
{
    const compare::WallFacts walls = compare::wallFacts(facts.metrics);
    QString text;
    switch (verdict.reason[static_cast<std::size_t>(Wall::Performance)]) {
    case WallReason::MemoryBound:
        text = Overview::tr("%1 lost to memory-bound kernels").arg(formatPercent(walls.memoryBound));
        break;
    case WallReason::Inefficiency:
        text = Overview::tr("%1 lost to kernels below peak").arg(formatPercent(walls.inefficiency));
        break;
    case WallReason::Idle: text = Overview::tr("%1 idle").arg(formatPercent(walls.idle)); break;
    default: text = Overview::tr("kernels run near what the device can do"); break;
    }
    if (facts.metrics.mfu) return text + dot() + Overview::tr("MFU %1").arg(formatPercent(*facts.metrics.mfu));
    if (facts.metrics.waterfall.empty()) return Overview::tr("no measured step: where its time goes is unknown");
    return text + dot() + Overview::tr("FLOPs or peak unknown");
}

QString tuningVerdict(const OverviewFacts& facts, const compare::WallVerdict& verdict, const PlanOutlook* plans)
{
    const auto tuning = static_cast<std::size_t>(Wall::Tuning);
    if (!plans) {
        if (verdict.reason[tuning] == WallReason::Bubble)
            return Overview::tr("%1 lost to the pipeline bubble").arg(formatPercent(verdict.loss[tuning]));
        return facts.spec ? QString() : missingForModel(facts);
    }
    if (plans->best && plans->gain() >= compare::kLeastGain) {
        const auto ns = std::llround(plans->best->seconds * 1e9);
        return Overview::tr("best plan that fits: %1 predicted (%2): %3")
            .arg(formatDuration(Duration{ns}, 3), signedPercent(-plans->gain()), shortPlan(plans->best->plan));
    }
    if (!plans->best) return Overview::tr("no plan on this number of devices fits into memory");
    return Overview::tr("no plan that fits is predicted to be quicker");
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
    case WallReason::MemoryPrice: return Overview::tr("%1 of the step is recomputation and copies").arg(loss);
    case WallReason::ExposedComm: return Overview::tr("%1 of the step is exposed communication").arg(loss);
    case WallReason::MemoryBound: return Overview::tr("%1 avoidable, most in memory-bound kernels").arg(loss);
    case WallReason::Inefficiency: return Overview::tr("%1 avoidable, most in kernels below peak").arg(loss);
    case WallReason::Idle: return Overview::tr("%1 avoidable, most of it idle").arg(loss);
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
    case Wall::Tuning: return tuningVerdict(facts, verdict, plans);
    }
    return {};
}

QString signedPercent(double fraction, int decimals)
{
    const QString text = formatPercent(fraction, decimals);
    return fraction > 0 && text != formatPercent(0, decimals) ? QLatin1Char('+') + text : text;
}

QString signedBytes(double bytes, ByteUnit unit)
{
    if (std::abs(bytes) < 1) return QStringLiteral("±0");
    return (bytes > 0 ? QStringLiteral("+") : QString()) + formatBytes(bytes, unit);
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
        return Overview::tr("%1 instead of %2").arg(recomputeName(to.recompute), recomputeName(from.recompute));
    case PlanChange::Sharding: return Overview::tr("ZeRO stage %1 instead of %2").arg(to.zero).arg(from.zero);
    case PlanChange::TensorAndData: return exchange("tp", from.tp, to.tp, "dp", from.dp, to.dp);
    case PlanChange::PipelineAndData: return exchange("pp", from.pp, to.pp, "dp", from.dp, to.dp);
    case PlanChange::TensorAndPipeline: return exchange("tp", from.tp, to.tp, "pp", from.pp, to.pp);
    case PlanChange::ContextAndData: return exchange("cp", from.cp, to.cp, "dp", from.dp, to.dp);
    case PlanChange::SequenceParallel:
        return to.sequenceParallel ? Overview::tr("with sequence parallelism")
                                   : Overview::tr("without sequence parallelism");
    case PlanChange::Schedule:
        return Overview::tr("schedule %1 instead of %2").arg(scheduleName(to), scheduleName(from));
    case PlanChange::Overlap: return Overview::tr("communication beside computation");
    case PlanChange::Fusion: return Overview::tr("fused operators");
    case PlanChange::FusedAttention: return Overview::tr("fused attention");
    case PlanChange::Offload: return Overview::tr("without offloading to the host");
    }
    return {};
}

QString shortPlan(const ParallelPlan& plan)
{
    QStringList parts;
    const auto degree = [&](const char* name, int value) {
        if (value > 1) parts << QLatin1String(name) + QLatin1Char(' ') + QString::number(value);
    };
    degree("dp", plan.dp);
    degree("tp", plan.tp);
    degree("pp", plan.pp);
    degree("cp", plan.cp);
    degree("ep", plan.ep);
    if (plan.pp > 1) parts << scheduleName(plan);
    if (plan.microbatches > 1) parts << QStringLiteral("m ") + QString::number(plan.microbatches);
    if (plan.zero > 0) parts << QStringLiteral("ZeRO ") + QString::number(plan.zero);
    if (plan.recompute != Recompute::None) parts << recomputeName(plan.recompute);
    return parts.isEmpty() ? Overview::tr("one device") : parts.join(dot());
}

QString missingForModel(const OverviewFacts& facts)
{
    // What the importer could tell is said too: it is what a person would otherwise have to look up.
    QStringList known;
    for (const InferredField& field : facts.inferred) {
        if (known.size() == 4) break;
        known << QString::fromStdString(field.field) + QStringLiteral(" = ") + QString::fromStdString(field.value);
    }
    const QString missing =
        Overview::tr("this trace does not say which network, plan and devices it ran: nothing can be predicted");
    return known.isEmpty() ? missing
                           : missing + dot() + Overview::tr("inferred: %1").arg(known.join(QStringLiteral(", ")));
}

} // namespace fourwalls::views
