// SPDX-License-Identifier: Apache-2.0
// Where in the training one is looking: the steps and phases of a rank, as strips under plots show them.
#pragma once

#include "model/base/time.h"
#include "model/trace/trace_query.h"
#include "model/trace/vocabulary.h"

#include "model/base/ids.h" // after the others: the moc of Qt 6.4 cannot read <compare> as the first header

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

struct StepSpan {
    TimeRange range;
    StepIndex step;
    StepState state = StepState::Measured;
};

/// All steps of a rank by time. A long training has thousands: shared, never copied per answer.
using StepSpans = std::vector<StepSpan>;

/// Without lost steps, whose numbers later ones have. Never null.
std::shared_ptr<const StepSpans> stepSpansOf(std::span<const StepView> steps);
/// The step that runs at an instant, or the one with that number; null if there is none.
const StepSpan* stepAt(std::span<const StepSpan> steps, Instant at);
const StepSpan* stepNumbered(std::span<const StepSpan> steps, StepIndex number);

/// One recorded phase of a step.
struct PhaseSpan {
    TimeRange range;
    Phase phase = Phase::None;
    std::optional<Microbatch> microbatch;
};

} // namespace fourwalls
