// SPDX-License-Identifier: Apache-2.0
// See drawn_replay.h.
#include "model/replay/drawn_replay.h"

#include "model/replay/replayed_trace.h"
#include "model/trace/drawn_trace.h"

#include <utility>

namespace fourwalls::replay {

Result<DrawnReplay> drawnReplay(TraceQuery& trace, const Replay& replay, DelayRule rule,
                                std::span<const ReplayChange> changes, const MachineRates* rates, std::stop_token stop)
{
    DrawnReplay result;
    FOURWALLS_TRY_ASSIGN(result.outcome, replay.run(rule, changes, rates));
    FOURWALLS_TRY_ASSIGN(const ChangedTrace changed, ChangedTrace::of(trace.info(), replay, rule, changes, rates));
    InMemoryTrace sink(changed.header());
    FOURWALLS_TRY(changed.write(trace, sink, stop));
    result.trace = sink.data();
    const Provenance weakest = result.outcome.modelled > 0 ? Provenance::Modelled
                               : result.outcome.scaled > 0 ? Provenance::Scaled
                                                           : Provenance::Measured;
    FOURWALLS_TRY_ASSIGN(result.drawn, drawnStepOf(result.trace, weakest));
    result.drawn.length = result.outcome.changed; // one figure, whoever tells it
    return result;
}

} // namespace fourwalls::replay
