// SPDX-License-Identifier: GPL-3.0-or-later
// Where in the training one is looking: the steps and phases of a rank, as strips under plots show them.
#pragma once

#include "model/base/time.h"
#include "model/trace/vocabulary.h"

#include "model/base/ids.h" // after the others: the moc of Qt 6.4 cannot read <compare> as the first header

#include <optional>

namespace fourwalls::views {

struct StepSpan {
    TimeRange range;
    StepIndex step;
    bool warmup = false;
};

/// One recorded phase of a step.
struct PhaseSpan {
    TimeRange range;
    Phase phase = Phase::None;
    std::optional<Microbatch> microbatch;
};

} // namespace fourwalls::views
