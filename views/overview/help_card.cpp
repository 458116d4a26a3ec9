// SPDX-License-Identifier: GPL-3.0-or-later
// See help_card.h.
#include "views/overview/help_card.h"

#include "views/base/page_actions.h"
#include "views/overview/overview_words.h"
#include "views/overview/suggestion_list.h"
#include "views/plot/action_row.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/finding_words.h"

#include <QPushButton>
#include <QStringList>

#include <cmath>

#include <algorithm>

namespace fourwalls::views {

bool HelpFacts::showsFindings() const
{
    if (!facts || facts->source == TraceSource::Predicted) return false;
    if (!facts->spec && !plans) return true;
    // What is wrong comes before what could be planned better.
    return facts->insight &&
           std::any_of(facts->insight->findings.findings.begin(), facts->insight->findings.findings.end(),
                       [](const diagnose::Finding& each) { return isFault(each.cause); });
}

HelpCard::HelpCard(QWidget* parent) : PlotCard(parent), m_list(new SuggestionList(this)), m_actions(new ActionRow(this))
{
    addContent(m_list, 1);
    addContent(m_actions);
    connect(m_list, &SuggestionList::chosen, this, &HelpCard::chosen);
    connect(m_actions, &ActionRow::commandRequested, this, &HelpCard::commandRequested);
}

void HelpCard::present(const HelpFacts& help)
{
    if (!help.facts) return;
    if (help.showsFindings())
        presentFindings(help);
    else
        presentPlans(help);
}

namespace {

/// What stands there instead of findings.
QStringList findingNotes(const HelpFacts& help, const std::vector<SuggestionRow>& rows)
{
    const OverviewFacts& facts = *help.facts;
    if (facts.memoryOnly)
        return {HelpCard::tr(
            "This is a memory snapshot: the memory view shows every buffer with the code that asked for it.")};
    if (!facts.insight)
        return {help.insightError.isEmpty() ? HelpCard::tr("Reading the step…")
                                            : HelpCard::tr("The step could not be read. %1").arg(help.insightError)};
    const diagnose::Diagnosis& found = facts.insight->findings;
    if (facts.threadsOnly) return {HelpCard::tr("Nothing in this trace tells what would help.")};
    const Waterfall& shares = facts.metrics.waterfall;
    const double lost = shares[WaterfallPart::Inefficiency] + shares[WaterfallPart::MemoryBound];
    return {rows.empty() ? nothingFound(found, lost >= 0.5) : QString()};
}

/// Commands against what the trace lacks.
std::vector<PageAction> actionsFor(const HelpFacts& help)
{
    std::vector<PageAction> actions;
    const QList<Lack> lacks = lacksOf(*help.facts);
    if (lacks.contains(Lack::Steps) && !help.facts->memoryOnly && !help.facts->orderOnly)
        actions.push_back(chooseSteps());
    if (lacks.contains(Lack::Memory) && takesSnapshot(help.facts->recorder)) actions.push_back(addSnapshot());
    return actions;
}

} // namespace

void HelpCard::presentFindings(const HelpFacts& help)
{
    const OverviewFacts& facts = *help.facts;
    std::vector<SuggestionRow> rows;
    QString scope;
    if (facts.insight && !facts.memoryOnly) {
        const diagnose::Diagnosis& found = facts.insight->findings;
        for (const diagnose::Finding& each : found.findings) {
            if (rows.size() == kSuggestions) break;
            // "Up to" the share that the figures begin with anyway is left out.
            const bool replayed = each.gain && each.gain->source == diagnose::GainSource::Replay;
            const QString figures = findingFigures(each);
            rows.push_back({findingTitle(each),
                            replayed ? findingGain(each) + QStringLiteral(" \u00b7 ") + figures : figures,
                            {},
                            rows.empty() ? findingAdvice(each) : QString()}); // of the first: there is room for one
        }
        scope = found.findings.size() > rows.size()
                    ? tr("%1 of %2 findings").arg(rows.size()).arg(found.findings.size())
                    : tr("from the trace itself");
    }
    QStringList notes = findingNotes(help, rows);
    notes << howToRecord(lacksOf(facts), facts.recorder);
    notes.removeAll(QString());
    title().setText(tr("What stands out"));
    finding().setText(scope);
    m_list->setRows(rows, notes.join(QLatin1Char('\n')), tr("Show"));
    for (QPushButton* button : m_list->buttons()) button->setToolTip(tr("Opens the view that shows it, at that place"));
    m_actions->setActions(actionsFor(help));
}

namespace {

QString planNotes(const PlanOutlook& plans, std::size_t rows)
{
    const compare::PlanSuggestions& found = plans.suggestions;
    QStringList notes;
    if (rows == 0)
        notes << (found.evaluated == 0
                      ? HelpCard::tr("Nothing about this plan can be changed on its number of devices.")
                      : HelpCard::tr("%1 changes were predicted: none that fits would make the step shorter by 1 % or "
                                     "more.")
                            .arg(found.evaluated));
    else if (rows < kSuggestions)
        notes << HelpCard::tr("%1 changes of one decision were predicted: no other makes the step shorter by 1 % or "
                              "more.")
                     .arg(found.evaluated);
    else
        notes << HelpCard::tr("%1 changes of one decision were predicted: these help most.").arg(found.evaluated);
    if (found.tooLarge > 0)
        notes << HelpCard::tr("%1 quicker changes were left out: they do not fit into memory.").arg(found.tooLarge);
    if (plans.best && plans.gain() >= compare::kLeastGain)
        notes << (plans.stopped
                      ? HelpCard::tr("Several decisions together: the tuning wall's search has seen %1 plans so "
                                     "far; the tuning view searches all.")
                      : HelpCard::tr("Several decisions together: the tuning wall's search has %1 plans."))
                     .arg(formatCount(static_cast<qint64>(plans.searched)));
    return notes.join(QLatin1Char('\n'));
}

} // namespace

void HelpCard::presentPlans(const HelpFacts& help)
{
    std::vector<SuggestionRow> rows;
    std::vector<PageAction> actions;
    QString note, against;
    if (help.plans) {
        const compare::PlanSuggestions& found = help.plans->suggestions;
        const auto duration = [](double seconds) { return formatDuration(Duration{std::llround(seconds * 1e9)}, 3); };
        for (const compare::PlanSuggestion& each : found.best)
            rows.push_back({changeOf(each, help.plans->spec.plan),
                            tr("%1 (%2)").arg(duration(each.seconds), signedPercent(each.timeChange)),
                            tr("memory %1").arg(signedBytes(each.memoryChange, help.unit)),
                            {}});
        against = tr("predicted against %1").arg(duration(found.seconds)) + guessedNote(help.whatIf);
        note = planNotes(*help.plans, rows.size());
    } else if (help.plansPending) {
        note = tr("Predicting other plans…");
    } else if (!help.planError.isEmpty()) {
        note = tr("Other plans could not be predicted. %1").arg(help.planError);
    } else {
        note = whyNothingIsPredicted(help.whatIf, help.facts->inferred) + QLatin1Char('\n') +
               tr("Fill in what is missing among the sliders.");
        actions.push_back(openWhatIf());
    }
    title().setText(tr("What would help most"));
    finding().setText(against);
    m_list->setRows(rows, note, tr("Try it"));
    for (QPushButton* button : m_list->buttons()) {
        button->setEnabled(help.whatIf != nullptr);
        button->setToolTip(tr("Loads this plan into the sliders and shows its prediction over the trace"));
    }
    m_actions->setActions(actions);
}

} // namespace fourwalls::views
