// SPDX-License-Identifier: GPL-3.0-or-later
// See ghost.h.
#include "views/whatif/ghost.h"

#include "views/whatif/prediction.h"
#include "views/whatif/replayer.h"

#include <algorithm>

namespace fourwalls::views {

std::shared_ptr<const Ghost> Ghost::of(const std::shared_ptr<const Prediction>& prediction)
{
    if (!prediction) return nullptr;
    return std::make_shared<const Ghost>(Ghost{{prediction, &prediction->step.drawn},
                                               prediction->trace,
                                               {prediction, &prediction->metrics},
                                               prediction->step.peakBytes,
                                               false});
}

std::shared_ptr<const Ghost> Ghost::of(const std::shared_ptr<const ReplayedStep>& step)
{
    if (!step) return nullptr;
    double peak = 0;
    for (const MemorySummary& each : step->changed.trace->memorySummaries)
        peak = std::max(peak, static_cast<double>(each.peakBytes));
    return std::make_shared<const Ghost>(
        Ghost{{step, &step->changed.drawn}, step->changed.trace, {step, &step->metrics}, peak, true});
}

} // namespace fourwalls::views
