// SPDX-License-Identifier: Apache-2.0
// The drawable form of a step that is a trace: of a changed replay, which draws beside its recording as a prediction does.
#pragma once

#include "model/base/result.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"

#include <memory>

namespace fourwalls {

/// The step that stepWindow chooses, from its begin, with one lane per rank. Passes are the recorded phases, or those that
/// inferPasses finds; the rest of the time is shared out as the step's summary shares it out, passes first. Time that
/// nothing is recorded of stays empty. trace: finished, not null. provenance: of all times.
/// Errors: those of stepWindow.
Result<DrawnStep> drawnStepOf(const std::shared_ptr<const InMemoryTraceData>& trace, Provenance provenance);

} // namespace fourwalls
