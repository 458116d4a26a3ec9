// SPDX-License-Identifier: Apache-2.0
// See step_spans.h.
#include "model/present/step_spans.h"

#include <algorithm>

namespace fourwalls {

std::shared_ptr<const StepSpans> stepSpansOf(std::span<const StepView> steps)
{
    auto spans = std::make_shared<StepSpans>();
    spans->reserve(steps.size());
    for (const StepView& step : steps)
        if (step.record.state != StepState::Lost)
            spans->push_back({step.record.range, step.record.step, step.record.state});
    return spans;
}

const StepSpan* stepAt(std::span<const StepSpan> steps, Instant at)
{
    const auto after =
        std::partition_point(steps.begin(), steps.end(), [at](const StepSpan& step) { return step.range.begin <= at; });
    if (after == steps.begin() || !std::prev(after)->range.contains(at)) return nullptr;
    return &*std::prev(after);
}

const StepSpan* stepNumbered(std::span<const StepSpan> steps, StepIndex number)
{
    const auto found =
        std::find_if(steps.begin(), steps.end(), [number](const StepSpan& step) { return step.step == number; });
    return found == steps.end() ? nullptr : &*found;
}

} // namespace fourwalls
