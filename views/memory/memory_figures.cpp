// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_figures.h.
#include "views/memory/memory_figures.h"

#include "views/memory/memory_columns.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_words.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <algorithm>

namespace fourwalls::views {

namespace {

struct MemoryFigures {
    Q_DECLARE_TR_FUNCTIONS(MemoryFigures)
};

/// Above this share of the capacity the peak is an alarm.
constexpr double kNearWall = 0.9;
/// Smaller shares are not written as none.
constexpr double kLeastShare = 0.01; ///< as the overview's sentence has it
/// Ranks named in a sentence.
constexpr std::size_t kMostRanks = 8;

QString whoseMemory(const AllocatorCurve& curve)
{
    return curve.ofProcessor ? MemoryFigures::tr("main memory of the process") : MemoryFigures::tr("of the device");
}

QString mostCounted(const AllocatorCurve& curve, ByteUnit unit)
{
    return curve.relative ? signedBytes(curve.highest, unit) : formatBytes(curve.highest, unit);
}

bool isAtWall(const MemoryFacts& facts, const MemorySummary& peak)
{
    const double capacity = static_cast<double>(facts.rank.memoryBytes);
    return capacity > 0 && !facts.standing && static_cast<double>(peak.peakBytes) > kNearWall * capacity;
}

} // namespace

QString countedFinding(const MemoryFacts& facts, ByteUnit unit)
{
    const AllocatorCurve& curve = *facts.counted;
    const QString most = mostCounted(curve, unit);
    const QString said =
        curve.relative
            ? MemoryFigures::tr(
                  "relative to the start of the profile: at most %1; what was allocated before is not in the file")
                  .arg(most)
            : MemoryFigures::tr("peaks at %1 (%2); single buffers were not recorded").arg(most, whoseMemory(curve));
    if (facts.outOfMemory.empty()) return said;
    return MemoryFigures::tr("%1 · %2").arg(outOfMemoryWords(facts.outOfMemory.front(), unit), said);
}

std::vector<PlotFigure> countedFigures(const AllocatorCurve& curve, ByteUnit unit)
{
    const QString most = mostCounted(curve, unit), whose = whoseMemory(curve);
    std::vector<PlotFigure> figures;
    if (curve.relative) {
        figures.push_back(
            {MemoryFigures::tr("Highest"), most, MemoryFigures::tr("above the start of the profile"), false});
        figures.push_back({MemoryFigures::tr("Lowest"), signedBytes(curve.lowest, unit),
                           MemoryFigures::tr("against the start of the profile"), false});
        figures.push_back({MemoryFigures::tr("At the end"), signedBytes(curve.samples.back().last, unit),
                           MemoryFigures::tr("against the start of the profile"), false});
        figures.push_back(
            {MemoryFigures::tr("Before the start"), QString(kDash), MemoryFigures::tr("not in the file"), false});
    } else {
        figures.push_back({MemoryFigures::tr("Peak"), most, whose, false});
        figures.push_back(
            {MemoryFigures::tr("At the end"), formatBytes(curve.samples.back().last, unit), whose, false});
    }
    return figures;
}

MemoryFinding memoryFinding(const MemoryFacts& facts, const MemorySummary* peak, const InstantPhase& place,
                            ByteUnit unit)
{
    MemoryFinding said;
    QStringList parts;
    if (!facts.outOfMemory.empty()) {
        parts << outOfMemoryWords(facts.outOfMemory.front(), unit);
        if (facts.outOfMemory.size() > 1)
            parts
                << MemoryFigures::tr("%1 times").arg(formatCount(static_cast<std::int64_t>(facts.outOfMemory.size())));
        said.alarm = true;
    }
    if (!facts.othersOutOfMemory.empty()) {
        QStringList ranks;
        for (std::size_t i = 0; i < std::min(kMostRanks, facts.othersOutOfMemory.size()); ++i)
            ranks << QString::number(facts.othersOutOfMemory[i].value);
        if (facts.othersOutOfMemory.size() > kMostRanks) ranks << QStringLiteral("…");
        const QString list = ranks.join(QStringLiteral(", "));
        parts << (facts.outOfMemory.empty() ? MemoryFigures::tr("memory ran out on other ranks: %1").arg(list)
                                            : MemoryFigures::tr("other ranks, too: %1").arg(list));
    }
    if (peak) {
        said.alarm = said.alarm || isAtWall(facts, *peak);
        const QString bytes = formatBytes(static_cast<double>(peak->peakBytes), unit);
        if (facts.relative)
            parts << MemoryFigures::tr(
                         "at most %1 above the start of the profile; what was there before is not in the file")
                         .arg(bytes);
        else
            parts << peakSentence(bytes, peak->atPeak, place);
        if (facts.standing)
            parts << MemoryFigures::tr("taken throughout and hardly changing: reserved in advance or resident");
        if (facts.fromSnapshot && facts.atBegin > 0)
            parts << MemoryFigures::tr("the history begins with %1 alive")
                         .arg(formatBytes(static_cast<double>(facts.atBegin), unit));
    }
    said.text = parts.join(QStringLiteral(" · "));
    return said;
}

std::vector<PlotFigure> peakFigures(const MemoryFacts& facts, const MemorySummary& peak, TraceSource source,
                                    ByteUnit unit)
{
    const auto text = [unit](std::int64_t bytes) { return formatBytes(static_cast<double>(bytes), unit); };
    const auto share = [](std::int64_t part, std::int64_t whole) {
        const double fraction = static_cast<double>(part) / static_cast<double>(whole);
        if (part > 0 && fraction < kLeastShare) return MemoryFigures::tr("under %1").arg(formatPercent(kLeastShare));
        return formatPercent(fraction, fraction < 0.1 ? 1 : 0);
    };
    const std::int64_t capacity = facts.rank.memoryBytes;
    const std::int64_t still = staticBytes(peak.atPeak);
    std::vector<PlotFigure> figures;
    QString scope = facts.relative ? MemoryFigures::tr("above the start of the profile")
                                   : MemoryFigures::tr("capacity of the device unknown");
    if (facts.fromSnapshot) scope = MemoryFigures::tr("as asked for; capacity unknown");
    if (capacity > 0) scope = MemoryFigures::tr("%1 of %2").arg(share(peak.peakBytes, capacity), text(capacity));
    if (facts.standing) scope = MemoryFigures::tr("%1, taken throughout").arg(scope);
    figures.push_back({MemoryFigures::tr("Peak"), text(peak.peakBytes), scope, isAtWall(facts, peak)});
    if (facts.fromSnapshot && facts.atBegin > 0)
        figures.push_back({MemoryFigures::tr("At the history's begin"), text(facts.atBegin),
                           MemoryFigures::tr("a peak before it is unknown"), false});
    // Without stacks a snapshot knows bytes, not what they are for.
    const std::int64_t other = peak.atPeak[static_cast<std::size_t>(MemoryCategory::Other)];
    const bool isSorted = other < peak.peakBytes;
    const QString unsorted = MemoryFigures::tr("the trace does not say what for");
    // Of an import, what nobody could sort is neither.
    const bool partly = isSorted && other > 0 && source == TraceSource::Imported;
    const bool knowsStatic = isSorted && (still > 0 || !partly);
    figures.push_back({MemoryFigures::tr("Static at the peak"), knowsStatic ? text(still) : QString(kDash),
                       knowsStatic ? MemoryFigures::tr("weights, gradients, optimizer state") : unsorted, false});
    const std::int64_t dynamic = peak.peakBytes - still - (partly ? other : 0);
    QString dynamicNote = unsorted;
    if (isSorted && peak.peakBytes > 0)
        dynamicNote = MemoryFigures::tr("%1 of the peak").arg(share(dynamic, peak.peakBytes));
    if (partly) dynamicNote = MemoryFigures::tr("%1 more: unknown what for").arg(text(other));
    figures.push_back(
        {MemoryFigures::tr("Dynamic at the peak"), isSorted ? text(dynamic) : QString(kDash), dynamicNote, false});
    QString after = MemoryFigures::tr("stays at the end");
    if (peak.step)
        after = MemoryFigures::tr("stays after step %1").arg(peak.step->value);
    else if (!facts.steps->empty())
        after = MemoryFigures::tr("stays after step %1").arg(facts.steps->back().step.value);
    if (facts.roundedAtEnd && *facts.roundedAtEnd > 0)
        after = MemoryFigures::tr("at the end; %1 as rounded up").arg(text(*facts.roundedAtEnd));
    figures.push_back({MemoryFigures::tr("Resident"), text(peak.residentBytes), after, false});
    if (peak.peakReservedBytes) {
        figures.push_back({MemoryFigures::tr("Reserved"), text(*peak.peakReservedBytes),
                           MemoryFigures::tr("most that the allocator held"), false});
    }
    return figures;
}

} // namespace fourwalls::views
