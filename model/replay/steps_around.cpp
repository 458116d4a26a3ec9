// SPDX-License-Identifier: Apache-2.0
// See steps_around.h.
#include "model/replay/steps_around.h"

#include <algorithm>

namespace fourwalls::replay {

namespace {

/// Slices that are taken apart: about a second's work.
constexpr double kMostSlices = 1.5e6;

} // namespace

std::optional<StepChoiceRange> stepsAround(const TraceInfo& info, const std::vector<JobStep>& steps, StepIndex chosen)
{
    const auto place =
        std::find_if(steps.begin(), steps.end(), [&](const JobStep& each) { return each.step == chosen; });
    if (place == steps.end()) return std::nullopt;
    const double each = static_cast<double>(info.counts.slices) / static_cast<double>(steps.size());
    if (each > kMostSlices) return std::nullopt;
    const auto most = static_cast<std::ptrdiff_t>(each > 0 ? kMostSlices / each : 1);
    const auto counts = [](const JobStep& step) { return step.complete && step.state == StepState::Measured; };
    auto first = place, last = place;
    while (last - first + 1 < most) {
        const bool before = first != steps.begin() && counts(*(first - 1));
        const bool after = last + 1 != steps.end() && counts(*(last + 1));
        if (!before && !after) break;
        if (after) ++last;
        if (before && last - first + 1 < most) --first;
    }
    return StepChoiceRange{first->step, last->step};
}

} // namespace fourwalls::replay
