// SPDX-License-Identifier: Apache-2.0
// Where traces go. Recorders, importers and the cost model write through this interface and know nothing of files.
#pragma once

#include "model/base/result.h"
#include "model/trace/records.h"

#include <memory>
#include <string>

namespace fourwalls {

/// What the recording itself cost so far, summed over the producers.
struct SinkStatistics {
    std::int64_t events = 0; ///< records accepted
    Duration waiting;        ///< producers waiting for queue space
    Duration writerCpu;      ///< processor time of the writer thread
};

/// The writing end of one thread. Calls cost tens of nanoseconds; none of them touches a file.
/// Not thread-safe: one producer per thread. Slices may be handed over in any order.
class TraceProducer {
public:
    virtual ~TraceProducer() = default;
    virtual void slice(const SliceRecord& record) = 0;
    virtual void allocated(RankId rank, const AllocationRecord& record) = 0;
    virtual void freed(RankId rank, AllocationId id, Instant at) = 0;
    virtual void counter(const CounterRecord& record) = 0;
    virtual void collective(const CollectiveRecord& record) = 0;
    virtual void flow(const FlowRecord& record) = 0;
    virtual void step(RankId rank, const StepRecord& record) = 0;
    virtual void event(const EventRecord& record) = 0;
};

/// The writing end of a trace. Definitions are thread-safe and intern: equal values get equal ids.
class TraceSink {
public:
    virtual ~TraceSink() = default;

    virtual OpId defineOp(const OpInfo& info) = 0;
    virtual TrackId defineTrack(const TrackInfo& info) = 0;
    virtual GroupId defineGroup(const ProcessGroupInfo& info) = 0;
    virtual CounterId defineCounter(const CounterInfo& info) = 0;

    /// A producer for the calling thread. Destroy it (or let it go out of scope) before finish.
    virtual std::unique_ptr<TraceProducer> openProducer() = 0;

    /// Adds to the audit counter of that name and severity.
    virtual void audit(const AuditRecord& record) = 0;

    virtual SinkStatistics statistics() const = 0;

    /// Returns when what was handed over until now stays, even if this process is killed.
    virtual void settle() {}

    /// Completes the trace. After it only destruction is allowed. Errors: what the writer met, first one.
    virtual Status finish(const TraceClosing& closing) = 0;
};

} // namespace fourwalls
