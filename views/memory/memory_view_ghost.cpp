// SPDX-License-Identifier: GPL-3.0-or-later
// What the sliders add to the memory view: the predicted curve over the recorded one, and both by category.
#include "views/memory/memory_answers.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_compare_panel.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_view.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"

#include <QSplitter>

#include <algorithm>

namespace fourwalls::views {

void MemoryView::predictionChanged()
{
    if (!m_content || !facts()) return;
    showGhost();
    showComparison();
    m_cards->followPrediction();
}

void MemoryView::predictedStepChanged()
{
    if (m_content && facts()) showGhost();
}

void MemoryView::refreshGhost(TimeRange inSight)
{
    if (!m_ghost.isOutOfSight(*facts()->steps, shownPlot().camera().range(), inSight)) return;
    m_ghost.forget();
    showGhost();
}

void MemoryView::showGhost()
{
    // From the drawable form: its trace comes some milliseconds later, and has the same samples.
    const auto prediction = whatIf() && whatIf()->isActive() ? whatIf()->drawn() : nullptr;
    const RankInfo& rank = facts()->rank;
    auto ghost = m_ghost.over(*facts()->steps, prediction, rank.rank, rank.pipelineStage, shownPlot().camera().range(),
                              selection()->whole());
    if (ghost && (!ghost->empty() || m_area->hasGhost())) setGhost(std::move(*ghost));
}

void MemoryView::showComparison()
{
    const bool active = whatIf() && whatIf()->isActive() && facts();
    if (m_comparePanel->isHidden() == active) {
        m_comparePanel->setVisible(active);
        // Where there is no room for three tables, what is compared matters more than every buffer.
        constexpr int kThreeTables = 1200, kCompareWidth = 430;
        m_bufferPanel->setVisible(!active || width() >= kThreeTables);
        if (active) m_cards->tables().setSizes({kCompareWidth, 400, std::max(300, width() - kCompareWidth - 400)});
    }
    if (!active) return;
    const MemorySummary* recorded = summary();
    const int stage = facts()->rank.pipelineStage;
    const auto peakOf = [rank = facts()->rank.rank, stage](const std::shared_ptr<const Ghost>& ghost) {
        return ghost ? predictedPeak(*ghost->trace, rank, stage) : std::nullopt;
    };
    const bool hasGhost = whatIf()->showsReplay() || !whatIf()->isAsRecorded();
    m_comparePanel->setPeaks(recorded ? std::optional(*recorded) : std::nullopt,
                             peakOf(Ghost::of(whatIf()->baseline())),
                             hasGhost ? peakOf(whatIf()->ghost()) : std::nullopt, whatIf()->showsReplay(),
                             selection()->byteUnit(), session()->info().header.source);
    const QString error = m_comparePanel->finding().text();
    if (!error.isEmpty()) m_comparePanel->finding().setText(error + guessedNote(whatIf()));
}

void MemoryView::setGhost(std::vector<MemorySample> ghost)
{
    m_area->setGhost(std::move(ghost));
    showLegend();
}

} // namespace fourwalls::views
