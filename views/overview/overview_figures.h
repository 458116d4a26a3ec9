// SPDX-License-Identifier: GPL-3.0-or-later
// The five figures on top of the overview, each with its scope.
#pragma once

#include "model/present/overview_facts.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <vector>

namespace fourwalls::views {

class WhatIf;
struct Ghost;

struct FigureFacts {
    const OverviewFacts& facts;
    const compare::WallVerdict& verdict;
    const Ghost* ghost = nullptr; ///< to compare with; null: none
    const WhatIf* whatIf = nullptr;
    ByteUnit unit = ByteUnit::GB;
};

/// Time of the step, throughput or busy share, MFU, peak memory, the wall that binds.
std::vector<PlotFigure> overviewFigures(const FigureFacts& shown);

} // namespace fourwalls::views
