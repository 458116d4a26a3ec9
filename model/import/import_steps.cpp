// SPDX-License-Identifier: Apache-2.0
// Hulls per step number, then disjoint ranges.
#include "model/import/import_steps.h"

#include <algorithm>
#include <map>

namespace fourwalls::importers {

std::vector<StepRecord> stepsFromMarks(const std::vector<StepMark>& marks, std::int64_t shiftNs)
{
    const bool projected = std::any_of(marks.begin(), marks.end(), [](const StepMark& m) { return m.projected; });
    std::map<int, StepMark> hulls;
    for (const StepMark& mark : marks) {
        if (mark.projected != projected) continue;
        const auto [found, isNew] = hulls.try_emplace(mark.number, mark);
        if (isNew) continue;
        found->second.begin = std::min(found->second.begin, mark.begin);
        found->second.end = std::max(found->second.end, mark.end);
    }
    std::vector<StepRecord> steps;
    for (const auto& [number, hull] : hulls) {
        StepRecord step;
        step.step = StepIndex{number};
        step.range = {Instant{hull.begin + shiftNs}, Instant{hull.end + shiftNs}};
        steps.push_back(step);
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const StepRecord& a, const StepRecord& b) { return a.range.begin < b.range.begin; });
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        const Instant next = steps[i + 1].range.begin;
        steps[i].range.end = projected ? next : std::min(steps[i].range.end, next);
    }
    if (steps.size() >= 3) steps.front().warmup = true;
    return steps;
}

} // namespace fourwalls::importers
