// SPDX-License-Identifier: GPL-3.0-or-later
// "What would help most": the changes of the plan that the cost model predicts, or, where no model describes the trace,
// what the trace itself tells, and what to record and to do where it tells too little.
#pragma once

#include "model/present/overview_facts.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

namespace fourwalls::views {

class ActionRow;
class SuggestionList;
class WhatIf;

/// What the card speaks of. Pointers may be null: not known yet, or none.
struct HelpFacts {
    const OverviewFacts* facts = nullptr;
    const PlanOutlook* plans = nullptr;
    const WhatIf* whatIf = nullptr;
    bool plansPending = false;
    QString planError, insightError;
    ByteUnit unit = ByteUnit::GB;

    /// Whether the trace itself speaks: something is wrong with the run, or no model describes it.
    bool showsFindings() const;
};

class HelpCard : public PlotCard {
    Q_OBJECT
public:
    explicit HelpCard(QWidget* parent = nullptr);
    void present(const HelpFacts& help);
    SuggestionList& suggestions() { return *m_list; }
    /// What can be done about what is missing.
    ActionRow& actionRow() { return *m_actions; }

signals:
    void chosen(int row);
    void commandRequested(const QString& command);

private:
    void presentFindings(const HelpFacts& help);
    void presentPlans(const HelpFacts& help);

    SuggestionList* m_list;
    ActionRow* m_actions;
};

} // namespace fourwalls::views
