// SPDX-License-Identifier: Apache-2.0
// The changed step as views draw it: the trace that would be saved, and its drawable form.
#pragma once

#include "model/replay/replay.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_query.h"

#include <memory>
#include <span>
#include <stop_token>

namespace fourwalls::replay {

struct DrawnReplay {
    ReplayOutcome outcome;
    std::shared_ptr<const InMemoryTraceData> trace; ///< what ChangedTrace writes
    DrawnStep drawn;                                ///< of its step of median length; as long as the outcome says
};

/// trace: the one that the replay was made of. rates: see ratioOfSpecs. Errors: those of ChangedTrace; Cancelled.
Result<DrawnReplay> drawnReplay(TraceQuery& trace, const Replay& replay, DelayRule rule,
                                std::span<const ReplayChange> changes, const MachineRates* rates = nullptr,
                                std::stop_token stop = {});

} // namespace fourwalls::replay
