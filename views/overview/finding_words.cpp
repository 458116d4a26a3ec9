// SPDX-License-Identifier: GPL-3.0-or-later
// See finding_words.h.
#include "views/overview/finding_words.h"

#include "views/words/format.h"

#include <QCoreApplication>
#include <QStringList>

namespace fourwalls::views {

namespace {

struct FindingWords {
    Q_DECLARE_TR_FUNCTIONS(FindingWords)
};

/// "step 6", or "the whole trace".
QString scopeOf(const TraceFinding& finding)
{
    return finding.step ? FindingWords::tr("step %1").arg(finding.step->value) : FindingWords::tr("the whole trace");
}

/// "82 % of step 6 (48.2 ms)", with the number of ranks that it is the mean of.
QString costOf(const TraceFinding& finding)
{
    const QString cost = FindingWords::tr("%1 of %2 (%3)")
                             .arg(formatPercent(finding.share), scopeOf(finding), formatDuration(finding.time, 3));
    const auto ranks = static_cast<qint64>(finding.ranks.size());
    return ranks > 1 ? FindingWords::tr("%1, mean of %2 ranks").arg(cost, formatCount(ranks)) : cost;
}

/// A count with what it is of: "204 kernels per step and rank", "16 kernels per step", "17 032 kernels".
QString perStep(const TraceFinding& finding, const QString& what)
{
    if (!finding.step) return finding.ranks.size() > 1 ? FindingWords::tr("%1 per rank").arg(what) : what;
    return finding.ranks.size() > 1 ? FindingWords::tr("%1 per step and rank").arg(what)
                                    : FindingWords::tr("%1 per step").arg(what);
}

QString nameOf(const TraceFinding& finding)
{
    constexpr int kMostLetters = 60;
    const QString name = QString::fromStdString(finding.what);
    return name.size() > kMostLetters ? name.left(kMostLetters - 1) + QChar(0x2026) : name;
}

/// "1410 MHz".
QString formatClock(double hertz)
{
    return FindingWords::tr("%1 MHz").arg(formatCount(qRound64(hertz * 1e-6)));
}

} // namespace

QString findingTitle(const TraceFinding& finding)
{
    switch (finding.kind) {
    case FindingKind::WaitsForRank:
        return finding.ranks.size() == 1
                   ? FindingWords::tr("Rank %1 waits for rank %2")
                         .arg(finding.ranks.front().value)
                         .arg(finding.cause ? finding.cause->value : 0)
                   : FindingWords::tr("The other ranks wait for rank %1").arg(finding.cause ? finding.cause->value : 0);
    case FindingKind::WaitsForEachOther: return FindingWords::tr("Ranks wait for one another in collectives");
    case FindingKind::ExposedCommunication:
        return finding.includesWaiting ? FindingWords::tr("Communication (waiting and transfer) that nothing hides")
                                       : FindingWords::tr("Transfers that no computation hides");
    case FindingKind::HostBound: return FindingWords::tr("The device waits for work from the program");
    case FindingKind::Synchronising:
        return FindingWords::tr("The program waits in synchronising calls while no device work is recorded");
    case FindingKind::DataLoading: return FindingWords::tr("The device waits for data");
    case FindingKind::Copies: return FindingWords::tr("Copies that no computation hides");
    case FindingKind::SmallKernels:
        return FindingWords::tr("Many kernels below %1").arg(formatDuration(kSmallKernel, 3));
    case FindingKind::PipelineBubble: return FindingWords::tr("Pipeline stages wait for one another");
    case FindingKind::Throttling: return FindingWords::tr("Power or temperature lowers the clock");
    case FindingKind::MemoryFull: return FindingWords::tr("Memory is nearly full");
    case FindingKind::OutOfMemory: return FindingWords::tr("Memory ran out");
    }
    return {};
}

QString findingFigures(const TraceFinding& finding)
{
    QStringList parts;
    const auto count = [&finding] { return formatCount(finding.count); };
    switch (finding.kind) {
    case FindingKind::WaitsForRank:
        parts << costOf(finding)
              << FindingWords::tr("it comes last in %1 of %2 operations").arg(formatCount(finding.last), count());
        break;
    case FindingKind::WaitsForEachOther:
        parts << costOf(finding)
              << FindingWords::tr("in %1 operations, no rank is late more often than by chance").arg(count());
        break;
    case FindingKind::ExposedCommunication:
        parts << costOf(finding);
        if (finding.includesWaiting) parts << FindingWords::tr("waiting cannot be told apart");
        break;
    case FindingKind::HostBound:
        parts << costOf(finding);
        if (finding.launchShare >= kLeastFinding)
            parts << FindingWords::tr("launches cover %1").arg(formatPercent(finding.launchShare));
        if (finding.count > 0)
            parts << perStep(finding, (finding.count == 1 ? FindingWords::tr("1 kernel")
                                                          : FindingWords::tr("%1 kernels").arg(count())));
        break;
    case FindingKind::Synchronising:
    case FindingKind::DataLoading:
    case FindingKind::Copies:
        parts << costOf(finding);
        if (!finding.what.empty()) parts << FindingWords::tr("mostly %1").arg(nameOf(finding));
        if (finding.count > 0 && finding.kind != FindingKind::DataLoading) parts << perStep(finding, count());
        break;
    case FindingKind::SmallKernels: parts << costOf(finding) << perStep(finding, count()); break;
    case FindingKind::PipelineBubble: parts << costOf(finding); break;
    case FindingKind::Throttling:
        parts << FindingWords::tr("%1 instead of %2 in %3 of the sampled time")
                     .arg(formatClock(finding.clock), formatClock(finding.fullClock), formatPercent(finding.share));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("on %1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        parts << nameOf(finding);
        break;
    case FindingKind::MemoryFull:
        parts << FindingWords::tr("peak %1 of %2 (%3)")
                     .arg(formatBytes(static_cast<double>(finding.bytes), ByteUnit::GB),
                          formatBytes(static_cast<double>(finding.ofBytes), ByteUnit::GB),
                          formatPercent(finding.share));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("%1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        break;
    case FindingKind::OutOfMemory:
        parts << (finding.count == 1 ? FindingWords::tr("once") : FindingWords::tr("%1 times").arg(count()));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("on %1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        if (!finding.what.empty()) parts << nameOf(finding);
        break;
    }
    return parts.join(QStringLiteral(" \u00b7 "));
}

QString findingAdvice(const TraceFinding& finding)
{
    switch (finding.kind) {
    case FindingKind::WaitsForRank:
        return FindingWords::tr("Look at what rank %1 does before it arrives.")
            .arg(finding.cause ? finding.cause->value : 0);
    case FindingKind::HostBound:
        return FindingWords::tr("CUDA graphs, torch.compile or larger batches give the device more to do per call.");
    case FindingKind::Synchronising:
        // Waiting that long with an empty device: the device's work is more likely not in the file.
        if (finding.share > 0.5) return FindingWords::tr("What the device did then may not be in the file.");
        return FindingWords::tr("Avoid .item(), .cpu() and copies that wait, or do them once per several steps.");
    case FindingKind::DataLoading:
        return FindingWords::tr("More loader workers and prefetching fetch the next batch during the step.");
    case FindingKind::Copies:
        return FindingWords::tr("Pinned memory and non_blocking=True let copies run beside computation.");
    case FindingKind::SmallKernels:
        return FindingWords::tr("Fusing them (torch.compile) saves launches and memory traffic.");
    case FindingKind::Throttling:
        return FindingWords::tr("A higher power limit or better cooling raises it; compare devices at equal clocks.");
    case FindingKind::MemoryFull:
        return FindingWords::tr("Recomputation, sharding or a smaller micro-batch make room.");
    case FindingKind::WaitsForEachOther:
    case FindingKind::ExposedCommunication:
    case FindingKind::PipelineBubble:
    case FindingKind::OutOfMemory: break;
    }
    return {};
}

QString findingSentence(const TraceFinding& finding)
{
    const QString fact = FindingWords::tr("%1: %2.").arg(findingTitle(finding), findingFigures(finding));
    const QString advice = findingAdvice(finding);
    return advice.isEmpty() ? fact : fact + QLatin1Char(' ') + advice;
}

QString nothingFound(const TraceFindings& findings, bool lostInKernels)
{
    if (!findings.compute) return FindingWords::tr("Nothing in this trace tells what would help.");
    const QString share = formatPercent(*findings.compute);
    const QString scope = findings.wholeTrace || !findings.step ? FindingWords::tr("the whole trace")
                                                                : FindingWords::tr("step %1").arg(findings.step->value);
    if (findings.unexplainedIdle)
        return FindingWords::tr("Computation takes %1 of %2. For %3 the device is idle; why, the trace does not tell: "
                                "record what the processor does, too.")
            .arg(share, scope, formatPercent(*findings.unexplainedIdle));
    return (lostInKernels ? FindingWords::tr("Nothing stands out but the kernels, which run far below the peak: "
                                             "computation takes %1 of %2, and nothing else costs %3 or more.")
                          : FindingWords::tr(
                                "Nothing stands out: computation takes %1 of %2, and nothing else costs %3 or more."))
        .arg(share, scope, formatPercent(kLeastFinding, 0));
}

QString findingView(const TraceFinding& finding)
{
    switch (finding.show.view) {
    case FindingView::Timeline: return QStringLiteral("timeline");
    case FindingView::Communication: return QStringLiteral("communication");
    case FindingView::Memory: return QStringLiteral("memory");
    case FindingView::Performance: return QStringLiteral("performance");
    }
    return {};
}

} // namespace fourwalls::views
