// SPDX-License-Identifier: GPL-3.0-or-later
// What the comparison says in figures and colours: the cards on top, what the traces differ in, which operators took longer.
#include "views/compare/compare_view.h"
#include "views/compare/operator_changes.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/timeline_source.h"
#include "views/words/figure_words.h"
#include "views/words/words.h"

#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

void CompareView::colourByChange(bool on)
{
    m_byChange->setChecked(on);
}

void CompareView::showChanges()
{
    const bool has = m_comparison && !m_comparison->operators.empty() && m_hasTimelines;
    m_byChange->setEnabled(has);
    const bool on = has && m_byChange->isChecked();
    const auto changes = on ? std::make_shared<const OperatorChanges>(m_comparison->operators) : nullptr;
    for (const Side& side : m_sides) {
        if (changes)
            side.source->setColouring([changes](const OpInfo& op) { return changes->colourOf(op); });
        else
            side.source->setColouring({});
    }
    m_changeLegend->setVisible(on);
    const Theme& theme = currentTheme();
    const auto entry = [&](TimeChange change, const QString& text) {
        return PlotLegend::Entry{PlotLegend::Mark::Area, changeColour(theme, change), text, {}};
    };
    m_changeLegend->setEntries({entry(TimeChange::MuchShorter, tr("shorter in B by a fifth or more")),
                                entry(TimeChange::Shorter, tr("shorter")), entry(TimeChange::Same, tr("as long")),
                                entry(TimeChange::Longer, tr("longer")),
                                entry(TimeChange::MuchLonger, tr("longer by a fifth or more")),
                                entry(TimeChange::Alone, tr("only in one"))});
}

void CompareView::showFigures()
{
    const bool isKnown = m_comparison && hasBoth();
    const compare::TraceContrast contrast =
        isKnown ? compare::contrastOf(session()->info(), m_partner->info()) : compare::TraceContrast();
    m_contrast->setText(
        contrast.any()
            ? tr("Different from A to B: %1").arg(contrastText(contrast, session()->info(), m_partner->info()))
            : QString());
    m_contrast->setVisible(contrast.any());
    m_figures->setJudged(contrast.isOfOneThing());
    const ByteUnit unit = selection() ? selection()->byteUnit() : ByteUnit::GB;
    std::vector<PlotFigure> figures;
    if (m_comparison) {
        for (const Figure shown : {Figure::StepTime, Figure::TokensPerSecond, Figure::Mfu, Figure::PeakBytes,
                                   Figure::Bubble, Figure::ExposedComm}) {
            const FigureInfo& info = infoOf(shown);
            const auto& all = m_comparison->figures;
            const auto found =
                std::find_if(all.begin(), all.end(), [&](const auto& figure) { return figure.info == &info; });
            if (found == all.end() || (!found->a && !found->b) || figures.size() == 5) continue;
            const double worse = worseBy(*found).value_or(0);
            figures.push_back({.name = words(shown),
                               .value = figureText(info, found->a, unit, 3) + QStringLiteral(" → ") +
                                        figureText(info, found->b, unit, 3),
                               .note = tr("%1 from A to B").arg(changeText(*found)),
                               .alarm = contrast.isOfOneThing() && worse >= kLeastChange,
                               .tip = meaningOf(shown),
                               .good = contrast.isOfOneThing() && worse <= -kLeastChange});
        }
        const compare::ComparedFigure* worst = m_comparison->worst();
        const bool isWorse = worst && worseBy(*worst).value_or(0) >= kLeastChange;
        m_figureCard->finding().setText(!contrast.isOfOneThing()
                                            ? tr("of different things: better and worse say little")
                                        : isWorse ? tr("worse most: %1, %2").arg(figureName(*worst), changeText(*worst))
                                                  : tr("step time, throughput and peak memory did not get worse"));
    }
    m_strip->setFigures(std::move(figures));
}

} // namespace fourwalls::views
