// SPDX-License-Identifier: GPL-3.0-or-later
// What the memory view says: its summary, the legend, and what an empty page advises.
#include "views/base/page_actions.h"
#include "views/memory/memory_advice.h"
#include "views/memory/memory_answers.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_figures.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_view.h"
#include "views/memory/memory_words.h"
#include "views/plot/plot_card.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/words.h"

#include <QStackedWidget>
#include <QToolButton>

namespace fourwalls::views {

QString MemoryView::emptyReason() const
{
    if (!m_error.isEmpty()) return tr("The memory of this trace could not be read. %1").arg(m_error);
    if (!session() || !selection()) return tr("Open or record a trace to see its memory.");
    if (!session()->isOpen()) return {};
    if (const QString advice = memoryAdvice(session()->info()); !advice.isEmpty()) return advice;
    if (facts() && facts()->summaries.empty() && !facts()->counted) {
        return tr("Rank %1 has no allocations in this trace.\nChoose another rank on the timeline.")
            .arg(facts()->rank.rank.value);
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

QString MemoryView::finding() const
{
    return m_card->finding().text();
}

void MemoryView::showWhatIsKnown()
{
    const bool counted = facts()->counted.has_value();
    const bool blocks = m_blocksButton->isChecked();
    m_plots->setCurrentWidget(counted  ? static_cast<QWidget*>(m_counted)
                              : blocks ? static_cast<QWidget*>(m_blocks)
                                       : m_area);
    for (QToolButton* button : {m_areas, m_blocksButton}) button->setVisible(!counted);
    m_wall->setVisible(!counted && !blocks);
    m_address->setVisible(!counted && blocks);
    m_cards->setFacts(facts());
}

/// Of a rank whose allocator was counted: what the line says.
void MemoryView::showCounted()
{
    const AllocatorCurve& curve = *facts()->counted;
    const ByteUnit unit = selection()->byteUnit();
    const bool ranOut = !facts()->outOfMemory.empty();
    m_counted->setLimits(curve.lowest, curve.highest);
    m_card->finding().setText(countedFinding(*facts(), unit));
    m_card->finding().setTone(ranOut ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
    m_figures->setFigures(countedFigures(curve, unit));
    m_legend->setEntries({{PlotLegend::Mark::Line, currentTheme().accent,
                           curve.relative ? tr("allocated since the profile began") : tr("allocated")}});
}

void MemoryView::showSummary()
{
    if (!facts()) return;
    const ByteUnit unit = selection()->byteUnit();
    m_gb->setChecked(unit == ByteUnit::GB);
    m_gib->setChecked(unit == ByteUnit::GiB);
    m_area->setByteUnit(unit);
    m_blocks->setByteUnit(unit);
    m_alivePanel->setByteUnit(unit);
    m_bufferPanel->setByteUnit(unit);
    m_cards->setByteUnit(unit);
    m_counted->setByteUnit(unit);
    m_area->setMoments(facts()->outOfMemory);
    m_blocks->setMoments(facts()->outOfMemory);
    m_counted->setMoments(facts()->outOfMemory);
    if (facts()->counted) return showCounted();

    const MemorySummary* peak = summary();
    const bool known = peak && m_peakMaker.at == peak->peakAt;
    m_area->setCapacity(facts()->rank.memoryBytes, QString::fromStdString(facts()->rank.device));
    m_area->setPeak(peak ? std::optional(*peak) : std::nullopt, known ? m_peakMaker.text : QString(),
                    facts()->highestPeak);
    m_area->setMarked(m_marked);
    m_blocks->setMarked(m_marked);
    const MemoryFinding said = memoryFinding(*facts(), known ? peak : nullptr, m_peakMaker.place, unit);
    m_card->finding().setText(said.text);
    m_card->finding().setTone(said.alarm ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);

    const std::optional<Instant> at = instant();
    const std::shared_ptr<const AliveAnswer>& alive = m_answers->alive();
    if (alive && at && alive->at == *at) {
        const QString title = m_marked ? tr("Alive at %1").arg(formatDuration(*at - selection()->whole().begin))
                                       : tr("Alive at the peak");
        m_alivePanel->setAlive(std::shared_ptr<const AllocationList>(alive, &alive->list), title, !m_marked);
    }
    m_figures->setFigures(peak ? peakFigures(*facts(), *peak, session()->info().header.source, unit)
                               : std::vector<PlotFigure>());
    showLegend();
    showComparison();
}

void MemoryView::showLegend()
{
    const Theme& t = currentTheme();
    std::vector<PlotLegend::Entry> entries;
    if (!showsBlocks() && m_area->hasGhost())
        entries.push_back({PlotLegend::Mark::Dashed, t.prediction, ghostName(whatIf()) + ghostNote(whatIf())});
    CategoryBytes most = facts() ? facts()->categoryPeaks : CategoryBytes{};
    // What comes and goes in no time has no peak, but its colour in the table and among the blocks.
    if (m_answers->buffers())
        for (const AllocationView& buffer : m_answers->buffers()->list->items)
            if (std::int64_t& bytes = most[static_cast<std::size_t>(buffer.category)]; bytes == 0) bytes = buffer.bytes;
    if (showsBlocks() && m_answers->buffers()) {
        for (const BlockColour& each : blockColours(*m_answers->buffers()->list))
            entries.push_back(
                {each.colour.isValid() ? PlotLegend::Mark::Area : PlotLegend::Mark::Note, each.colour, each.name});
        return m_legend->setEntries(std::move(entries));
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        if (most[i] > 0) entries.push_back({PlotLegend::Mark::Area, colourOf(t, category), words(category)});
    }
    if (!showsBlocks()) {
        QColor line = t.text;
        line.setAlpha(150);
        entries.push_back({PlotLegend::Mark::Line, line, tr("static below")});
        if (facts() && facts()->reserved) entries.push_back({PlotLegend::Mark::Line, t.secondaryText, tr("reserved")});
    }
    m_legend->setEntries(std::move(entries));
}

} // namespace fourwalls::views
