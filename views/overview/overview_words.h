// SPDX-License-Identifier: GPL-3.0-or-later
// The overview's sentences: verdicts, changes and plans in the user's language.
#pragma once

#include "model/present/overview_facts.h"
#include "views/words/format.h"
#include "views/words/recording_advice.h"

#include <QString>

namespace fourwalls::views {

/// "Memory", "Communication", "Performance", "Tuning": a wall by its short name.
QString words(compare::Wall wall);
/// Why a wall costs what it costs, in a few words: "95 % of 80 GB: nothing larger fits".
QString reasonOf(compare::Wall wall, const OverviewFacts& facts, const compare::WallVerdict& verdict,
                 const PlanOutlook* plans, ByteUnit unit);
/// The verdict under the wall's title.
QString verdictOf(compare::Wall wall, const OverviewFacts& facts, const compare::WallVerdict& verdict,
                  const PlanOutlook* plans, ByteUnit unit);
/// What a suggestion changes: "16 micro-batches instead of 8".
QString changeOf(const compare::PlanSuggestion& suggestion, const ParallelPlan& from);
/// What the step's figures are of: "median of 5 steps · ranks 12.5 ms to 19.9 ms", "all work of the device: no steps are marked".
QString scopeOfStep(const OverviewFacts& facts);
/// "left out: 1 warm-up, 1 cut"; empty where none is.
QString stepsLeftOut(const OverviewScope& scope);
/// Over the waterfall: what its bars take apart.
QString waterfallTitle(const OverviewFacts& facts);
/// Below that: what the bars add up to; empty where the plot says that there is nothing.
QString waterfallFinding(const OverviewFacts& facts);
/// Why there is no waterfall, and what to do.
QString whyNoWaterfall(const OverviewFacts& facts);
/// Why the communication wall has no rates to draw, in a sentence.
QString whyNoRates(const OverviewFacts& facts);
/// What an import does not have and a recording could; none for other traces.
QList<Lack> lacksOf(const OverviewFacts& facts);

} // namespace fourwalls::views
