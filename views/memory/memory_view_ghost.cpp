// SPDX-License-Identifier: GPL-3.0-or-later
// What the sliders add to the memory view: the predicted curve over the recorded one, and both by category.
#include "model/present/memory_ghost.h"
#include "views/memory/memory_compare_panel.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_view.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"

#include <QSplitter>
#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

namespace {

/// More steps at once are a few pixels each.
constexpr std::size_t kMostGhostSteps = 400;

} // namespace

void MemoryView::predictionChanged()
{
    if (!m_content || !m_facts) return;
    showGhost();
    showComparison();
    if (m_fit->isChecked()) askFit();
}

void MemoryView::predictedStepChanged()
{
    if (m_content && m_facts) showGhost();
}

std::span<const StepSpan> MemoryView::ghostSteps() const
{
    const StepSpans& steps = *m_facts->steps;
    std::size_t first = 0, last = steps.size();
    if (steps.size() > kMostGhostSteps) {
        // With as much again on either side: a pan has curves at once.
        const TimeRange shown = shownPlot().camera().range();
        const TimeRange wide{shown.begin - shown.length(), shown.end + shown.length()};
        while (first < last && steps[first].range.end < wide.begin) ++first;
        while (last > first && steps[last - 1].range.begin > wide.end) --last;
    }
    return std::span(steps).subspan(first, last - first);
}

void MemoryView::refreshGhost(TimeRange inSight)
{
    // Other steps are in sight, or few enough of them for their curves.
    const bool isLevel = m_ghostRange.empty();
    if (!m_ghostOf || (isLevel ? ghostSteps().size() > kMostGhostSteps : inSight == inSight.intersected(m_ghostRange)))
        return;
    m_ghostOf.reset();
    showGhost();
}

void MemoryView::showGhost()
{
    constexpr std::size_t kMostSamples = 12'000; // what a picture holds
    std::vector<MemorySample> ghost;
    // From the drawable form: its trace comes some milliseconds later, and has the same samples.
    const auto prediction = whatIf() && whatIf()->isActive() ? whatIf()->drawn() : nullptr;
    if (prediction && prediction == m_ghostOf) return;
    m_ghostOf = prediction;
    m_ghostRange = {};
    if (prediction && m_facts && !m_facts->steps->empty()) {
        const auto chosen = ghostSteps();
        const TimeRange whole = selection()->whole();
        const int stage = m_facts->rank.pipelineStage;
        const RankId rank = m_facts->rank.rank;
        if (chosen.size() > kMostGhostSteps) {
            // Each is a few pixels wide: what can be seen is how high they reach.
            ghost = ghostOf(*prediction, rank, stage, chosen.first(1), kMostSamples);
            const auto highest = std::max_element(ghost.begin(), ghost.end(),
                                                  [](const auto& a, const auto& b) { return a.total() < b.total(); });
            if (highest != ghost.end()) {
                const MemorySample level = *highest;
                ghost.assign(2, level);
                ghost.front().at = whole.begin;
                ghost.back().at = whole.end;
            }
        } else if (!chosen.empty()) {
            ghost = ghostOf(*prediction, rank, stage, chosen, kMostSamples);
            const StepSpans& steps = *m_facts->steps;
            m_ghostRange = {chosen.data() == steps.data() ? whole.begin : chosen.front().range.begin,
                            &chosen.back() == &steps.back() ? whole.end : chosen.back().range.end};
        }
    }
    if (ghost.empty() && !m_area->hasGhost()) return;
    setGhost(std::move(ghost));
}

void MemoryView::showComparison()
{
    const bool active = whatIf() && whatIf()->isActive() && m_facts;
    if (m_comparePanel->isHidden() == active) {
        m_comparePanel->setVisible(active);
        // Where there is no room for three tables, what is compared matters more than every buffer.
        constexpr int kThreeTables = 1200, kCompareWidth = 430;
        m_bufferPanel->setVisible(!active || width() >= kThreeTables);
        if (active) m_tables->setSizes({kCompareWidth, 400, std::max(300, width() - kCompareWidth - 400)});
    }
    if (!active) return;
    const MemorySummary* recorded = summary();
    const int stage = m_facts->rank.pipelineStage;
    const auto peakOf = [rank = m_facts->rank.rank, stage](const std::shared_ptr<const Ghost>& ghost) {
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
