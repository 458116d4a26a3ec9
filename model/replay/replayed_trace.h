// SPDX-License-Identifier: Apache-2.0
// The changed steps as a trace, which every view, comparison and export reads.
#pragma once

#include "model/replay/replay.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <memory>
#include <span>
#include <stop_token>

namespace fourwalls::replay {

/// The steps of a replay after changes, ready to be written.
///
/// Changes of times: work, operations and steps come from the replay; what stands around them (phases, layers, operators,
/// buffers, counters) is moved with the work that it was recorded beside. A step that grows moves the later ones on.
/// Another order of passes: see writeReorderedTrace, which orders what the changes of times make of the steps.
/// Another plan, batch or machines: the cost model's step of the changed specification, all of whose times are scaled to what
/// the replay says. Its header says "scaled", theirs "replayed".
class ChangedTrace {
public:
    /// rates: see ratioOfSpecs. Errors: those of Replay::run and PassPlacement::of.
    static Result<ChangedTrace> of(const TraceInfo& recorded, const Replay& replay, DelayRule rule,
                                   std::span<const ReplayChange> changes, const MachineRates* rates = nullptr);
    ChangedTrace(ChangedTrace&&) noexcept;
    ChangedTrace& operator=(ChangedTrace&&) noexcept;
    ~ChangedTrace();

    /// Of the sink that it is written to.
    const TraceHeader& header() const;
    /// Finishes the sink. trace: the one that the replay was made of. Errors: those of the queries and the sink; Cancelled.
    Status write(TraceQuery& trace, TraceSink& sink, std::stop_token stop = {}) const;

private:
    struct State;
    explicit ChangedTrace(std::unique_ptr<const State> state);
    std::unique_ptr<const State> m_state;
};

} // namespace fourwalls::replay
