// SPDX-License-Identifier: GPL-3.0-or-later
// What the memory view says: its figures, the sentence in its title, the legend, and what an empty page advises.
#include "views/base/page_actions.h"
#include "views/memory/memory_advice.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_fit_card.h"
#include "views/memory/memory_growth_card.h"
#include "views/memory/memory_map_card.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_view.h"
#include "views/memory/memory_words.h"
#include "views/plot/plot_card.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/words.h"

#include <QComboBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

namespace {

/// Above this share of the capacity the peak is an alarm.
constexpr double kNearWall = 0.9;
/// Smaller shares are not written as none.
constexpr double kLeastShare = 0.01; ///< as the overview's sentence has it
/// Ranks named in a sentence.
constexpr std::size_t kMostRanks = 8;

} // namespace

QString MemoryView::emptyReason() const
{
    if (!m_error.isEmpty()) return tr("The memory of this trace could not be read. %1").arg(m_error);
    if (!session() || !selection()) return tr("Open or record a trace to see its memory.");
    if (!session()->isOpen()) return {};
    if (const QString advice = memoryAdvice(session()->info()); !advice.isEmpty()) return advice;
    if (m_facts && m_facts->summaries.empty() && !m_facts->counted) {
        return tr("Rank %1 has no allocations in this trace.\nChoose another rank on the timeline.")
            .arg(m_facts->rank.rank.value);
    }
    return {};
}

std::vector<PageAction> MemoryView::emptyActions() const
{
    if (!session()) return {};
    if (!session()->isOpen() || memoryAdvice(session()->info()).isEmpty()) return {};
    return takesSnapshot(recorderOf(session()->info().header)) ? std::vector<PageAction>{addSnapshot()}
                                                               : std::vector<PageAction>();
}

void MemoryView::showWhatIsKnown()
{
    const bool counted = m_facts && m_facts->counted.has_value();
    const bool blocks = m_blocksButton->isChecked();
    m_plots->setCurrentWidget(counted  ? static_cast<QWidget*>(m_counted)
                              : blocks ? static_cast<QWidget*>(m_blocks)
                                       : m_area);
    m_tables->setVisible(!counted && !m_fit->isChecked() && !m_growth->isChecked() && !m_map->isChecked());
    m_growthCard->setVisible(!counted && m_growth->isChecked());
    m_mapCard->setVisible(!counted && m_map->isChecked());
    for (QToolButton* button : {m_areas, m_blocksButton, m_fit, m_growth, m_map}) button->setVisible(!counted);
    if (!counted && m_facts && m_growth->isChecked()) askGrowth();
    m_wall->setVisible(!counted && !blocks);
    m_address->setVisible(!counted && blocks);
}

/// Of a rank whose allocator was counted: what the line says.
void MemoryView::showCounted()
{
    const AllocatorCurve& curve = *m_facts->counted;
    const ByteUnit unit = selection()->byteUnit();
    m_counted->setLimits(curve.lowest, curve.highest);
    const QString most = curve.relative ? signedBytes(curve.highest, unit) : formatBytes(curve.highest, unit);
    const QString whose = curve.ofProcessor ? tr("main memory of the process") : tr("of the device");
    if (curve.relative)
        m_finding = tr("relative to the start of the profile: at most %1; what was allocated before is not in the file")
                        .arg(most);
    else
        m_finding = tr("peaks at %1 (%2); single buffers were not recorded").arg(most, whose);
    if (!m_facts->outOfMemory.empty())
        m_finding = tr("%1 · %2").arg(outOfMemoryWords(m_facts->outOfMemory.front(), unit), m_finding);
    m_card->finding().setText(m_finding);
    m_card->finding().setTone(m_facts->outOfMemory.empty() ? ElidedText::Tone::Quiet : ElidedText::Tone::Alarm);
    std::vector<PlotFigure> figures;
    if (curve.relative) {
        figures.push_back({tr("Highest"), most, tr("above the start of the profile"), false});
        figures.push_back(
            {tr("Lowest"), signedBytes(curve.lowest, unit), tr("against the start of the profile"), false});
        figures.push_back({tr("At the end"), signedBytes(curve.samples.back().last, unit),
                           tr("against the start of the profile"), false});
        figures.push_back({tr("Before the start"), QString(kDash), tr("not in the file"), false});
    } else {
        figures.push_back({tr("Peak"), most, whose, false});
        figures.push_back({tr("At the end"), formatBytes(curve.samples.back().last, unit), whose, false});
    }
    m_figures->setFigures(std::move(figures));
    m_legend->setEntries({{PlotLegend::Mark::Line, currentTheme().accent,
                           curve.relative ? tr("allocated since the profile began") : tr("allocated")}});
}

bool MemoryView::isAtWall(const MemorySummary& peak) const
{
    const double capacity = static_cast<double>(m_facts->rank.memoryBytes);
    return capacity > 0 && !m_facts->standing && static_cast<double>(peak.peakBytes) > kNearWall * capacity;
}

/// alarm: whether it speaks of the wall.
QString MemoryView::finding(const MemorySummary* peak, bool known, bool& alarm) const
{
    const ByteUnit unit = selection()->byteUnit();
    QStringList parts;
    if (!m_facts->outOfMemory.empty()) {
        parts << outOfMemoryWords(m_facts->outOfMemory.front(), unit);
        if (m_facts->outOfMemory.size() > 1)
            parts << tr("%1 times").arg(formatCount(static_cast<std::int64_t>(m_facts->outOfMemory.size())));
        alarm = true;
    }
    if (!m_facts->othersOutOfMemory.empty()) {
        QStringList ranks;
        for (std::size_t i = 0; i < std::min(kMostRanks, m_facts->othersOutOfMemory.size()); ++i)
            ranks << QString::number(m_facts->othersOutOfMemory[i].value);
        if (m_facts->othersOutOfMemory.size() > kMostRanks) ranks << QStringLiteral("…");
        const QString list = ranks.join(QStringLiteral(", "));
        parts << (m_facts->outOfMemory.empty() ? tr("memory ran out on other ranks: %1").arg(list)
                                               : tr("other ranks, too: %1").arg(list));
    }
    if (peak && known) {
        alarm = alarm || isAtWall(*peak);
        const QString bytes = formatBytes(static_cast<double>(peak->peakBytes), unit);
        if (m_facts->relative)
            parts
                << tr("at most %1 above the start of the profile; what was there before is not in the file").arg(bytes);
        else
            parts << peakSentence(bytes, peak->atPeak, m_peakPlace);
        if (m_facts->standing) parts << tr("taken throughout and hardly changing: reserved in advance or resident");
        if (m_facts->fromSnapshot && m_facts->atBegin > 0)
            parts
                << tr("the history begins with %1 alive").arg(formatBytes(static_cast<double>(m_facts->atBegin), unit));
    }
    return parts.join(QStringLiteral(" · "));
}

void MemoryView::showSummary()
{
    if (!m_facts) return;
    const ByteUnit unit = selection()->byteUnit();
    m_gb->setChecked(unit == ByteUnit::GB);
    m_gib->setChecked(unit == ByteUnit::GiB);
    m_area->setByteUnit(unit);
    m_blocks->setByteUnit(unit);
    m_alivePanel->setByteUnit(unit);
    m_bufferPanel->setByteUnit(unit);
    m_fitCard->setByteUnit(unit);
    m_growthCard->setByteUnit(unit);
    m_mapCard->setByteUnit(unit);
    m_counted->setByteUnit(unit);
    m_area->setMoments(m_facts->outOfMemory);
    m_blocks->setMoments(m_facts->outOfMemory);
    m_counted->setMoments(m_facts->outOfMemory);
    if (m_facts->counted) return showCounted();

    const MemorySummary* peak = summary();
    const bool known = peak && m_peakKnown == peak->peakAt;
    m_area->setCapacity(m_facts->rank.memoryBytes, QString::fromStdString(m_facts->rank.device));
    m_area->setPeak(peak ? std::optional(*peak) : std::nullopt, known ? m_peakLabel : QString(), m_facts->highestPeak);
    m_area->setMarked(m_marked);
    m_blocks->setMarked(m_marked);
    bool alarm = false;
    m_finding = finding(peak, known, alarm);
    m_card->finding().setText(m_finding);
    m_card->finding().setTone(alarm ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);

    const std::optional<Instant> at = instant();
    if (m_alive && at && m_alive->at == *at) {
        const QString title = m_marked ? tr("Alive at %1").arg(formatDuration(*at - selection()->whole().begin))
                                       : tr("Alive at the peak");
        m_alivePanel->setAlive(std::shared_ptr<const AllocationList>(m_alive, &m_alive->list), title, !m_marked);
    }
    showFigures();
    showLegend();
    showComparison();
}

void MemoryView::showFigures()
{
    const MemorySummary* peak = summary();
    if (!peak) return m_figures->setFigures({});
    const ByteUnit unit = selection()->byteUnit();
    const auto text = [unit](std::int64_t bytes) { return formatBytes(static_cast<double>(bytes), unit); };
    const auto share = [](std::int64_t part, std::int64_t whole) {
        const double fraction = static_cast<double>(part) / static_cast<double>(whole);
        if (part > 0 && fraction < kLeastShare) return tr("under %1").arg(formatPercent(kLeastShare));
        return formatPercent(fraction, fraction < 0.1 ? 1 : 0);
    };
    const std::int64_t capacity = m_facts->rank.memoryBytes;
    const std::int64_t still = staticBytes(peak->atPeak);
    std::vector<PlotFigure> figures;
    QString scope = m_facts->relative ? tr("above the start of the profile") : tr("capacity of the device unknown");
    if (m_facts->fromSnapshot) scope = tr("as asked for; capacity unknown");
    if (capacity > 0) scope = tr("%1 of %2").arg(share(peak->peakBytes, capacity), text(capacity));
    if (m_facts->standing) scope = tr("%1, taken throughout").arg(scope);
    figures.push_back({tr("Peak"), text(peak->peakBytes), scope, isAtWall(*peak)});
    if (m_facts->fromSnapshot && m_facts->atBegin > 0)
        figures.push_back(
            {tr("At the history's begin"), text(m_facts->atBegin), tr("a peak before it is unknown"), false});
    // Without stacks a snapshot knows bytes, not what they are for.
    const std::int64_t other = peak->atPeak[static_cast<std::size_t>(MemoryCategory::Other)];
    const bool isSorted = other < peak->peakBytes;
    const QString unsorted = tr("the trace does not say what for");
    // Of an import, what nobody could sort is neither.
    const bool partly = isSorted && other > 0 && session()->info().header.source == TraceSource::Imported;
    const bool knowsStatic = isSorted && (still > 0 || !partly);
    figures.push_back({tr("Static at the peak"), knowsStatic ? text(still) : QString(kDash),
                       knowsStatic ? tr("weights, gradients, optimizer state") : unsorted, false});
    const std::int64_t dynamic = peak->peakBytes - still - (partly ? other : 0);
    QString dynamicNote = unsorted;
    if (isSorted && peak->peakBytes > 0) dynamicNote = tr("%1 of the peak").arg(share(dynamic, peak->peakBytes));
    if (partly) dynamicNote = tr("%1 more: unknown what for").arg(text(other));
    figures.push_back({tr("Dynamic at the peak"), isSorted ? text(dynamic) : QString(kDash), dynamicNote, false});
    QString after = tr("stays at the end");
    if (peak->step)
        after = tr("stays after step %1").arg(peak->step->value);
    else if (!m_facts->steps->empty())
        after = tr("stays after step %1").arg(m_facts->steps->back().step.value);
    if (m_facts->roundedAtEnd && *m_facts->roundedAtEnd > 0)
        after = tr("at the end; %1 as rounded up").arg(text(*m_facts->roundedAtEnd));
    figures.push_back({tr("Resident"), text(peak->residentBytes), after, false});
    if (peak->peakReservedBytes) {
        figures.push_back({tr("Reserved"), text(*peak->peakReservedBytes), tr("most that the allocator held"), false});
    }
    m_figures->setFigures(std::move(figures));
}

void MemoryView::showLegend()
{
    const Theme& t = currentTheme();
    std::vector<PlotLegend::Entry> entries;
    if (!showsBlocks() && m_area->hasGhost())
        entries.push_back({PlotLegend::Mark::Dashed, t.prediction, ghostName(whatIf()) + ghostNote(whatIf())});
    CategoryBytes most = m_facts ? m_facts->categoryPeaks : CategoryBytes{};
    // What comes and goes in no time has no peak, but its colour in the table and among the blocks.
    if (m_buffers)
        for (const AllocationView& buffer : m_buffers->list->items)
            if (std::int64_t& bytes = most[static_cast<std::size_t>(buffer.category)]; bytes == 0) bytes = buffer.bytes;
    for (std::size_t i = 0; i < most.size(); ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        if (most[i] > 0) entries.push_back({PlotLegend::Mark::Area, colourOf(t, category), words(category)});
    }
    if (!showsBlocks()) {
        QColor line = t.text;
        line.setAlpha(150);
        entries.push_back({PlotLegend::Mark::Line, line, tr("static below")});
        if (m_facts && m_facts->reserved) entries.push_back({PlotLegend::Mark::Line, t.secondaryText, tr("reserved")});
    }
    m_legend->setEntries(std::move(entries));
}

} // namespace fourwalls::views
