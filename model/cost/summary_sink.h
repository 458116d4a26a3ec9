// SPDX-License-Identifier: Apache-2.0
// Takes a predicted step and keeps only what finished traces store as summaries: nobody looks at the slices of what a
// slider passes by.
#pragma once

#include "model/trace/in_memory_trace.h"
#include "model/trace/interner.h"
#include "model/trace/memory_curve.h"
#include "model/trace/step_summary.h"
#include "model/trace/summary_builder.h"
#include "model/trace/trace_sink.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace fourwalls::cost {

/// The sink of one predicted step; for one thread. Its result is an InMemoryTrace's without slices, collectives, flows
/// and allocations. Precondition: records are sound, every rank has one step, and that comes before all else of it.
class SummarySink : public TraceSink {
public:
    /// closing: as it will be given to finish; shares of the peak are needed from the start.
    SummarySink(TraceHeader header, TraceClosing closing);

    OpId defineOp(const OpInfo& info) override { return m_ops.intern(info); }
    TrackId defineTrack(const TrackInfo& info) override;
    GroupId defineGroup(const ProcessGroupInfo& info) override;
    CounterId defineCounter(const CounterInfo& info) override { return m_counters.intern(info); }
    std::unique_ptr<TraceProducer> openProducer() override;
    void audit(const AuditRecord& record) override { m_data->info.audit.push_back(record); }
    SinkStatistics statistics() const override { return {m_records, {}, {}}; }
    Status finish(const TraceClosing& closing) override;

    /// After finish.
    std::shared_ptr<const InMemoryTraceData> data() const { return m_data; }

private:
    class Producer;
    struct Live {
        Instant start;
        std::int64_t bytes = 0;
        MemoryCategory category = MemoryCategory::Other;
    };
    struct Rank {
        RankId rank;
        StepRecord step;
        StepAccumulator accumulator;
        std::unordered_map<AllocationId, Live> live; ///< not freed so far
        std::vector<MemoryEvent> memory;
    };

    Rank& of(RankId rank);
    void cover(Instant from, Instant to);
    void summariseSteps();
    void summariseMemory(Rank& rank);

    std::shared_ptr<InMemoryTraceData> m_data;
    Interner<OpInfo, OpId> m_ops;
    Interner<TrackInfo, TrackId> m_tracks;
    Interner<ProcessGroupInfo, GroupId> m_groups;
    Interner<CounterInfo, CounterId> m_counters;
    std::vector<RankId> m_rankOfTrack;
    std::vector<Rank> m_ranks; ///< in the order of their steps
    std::size_t m_latest = 0;  ///< of m_ranks: records of a rank come together
    OpSummarizer m_opSummaries;
    CollectiveSummarizer m_collectives;
    std::int64_t m_records = 0;
};

} // namespace fourwalls::cost
