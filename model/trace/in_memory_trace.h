// SPDX-License-Identifier: Apache-2.0
// A trace that lives in memory: predictions, and the exact reference that the file store is tested against.
#pragma once

#include "model/trace/interner.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fourwalls {

/// A finished trace, never changed again: shared by its queries over any number of threads.
struct InMemoryTraceData {
    TraceInfo info;
    std::vector<TrackView> tracks;                             ///< by TrackId
    std::vector<std::shared_ptr<const OpInfo>> ops;            ///< by OpId
    std::vector<SliceView> slices;                             ///< by (track, start, longer first); SliceId = index
    std::vector<std::size_t> firstSlice;                       ///< per track, and one past the last
    std::map<RankId, std::vector<AllocationView>> allocations; ///< by start
    std::map<RankId, std::vector<MemorySample>> memory;
    std::vector<std::vector<CounterRecord>> counters; ///< by CounterId; by time
    std::vector<FlowRecord> flows;                    ///< by from
    std::vector<CollectiveView> collectives;          ///< by start
    std::vector<EventRecord> events;                  ///< by time
    std::map<RankId, std::vector<StepView>> steps;    ///< by begin
    std::vector<JobStep> jobSteps;
    std::vector<StepSummary> stepSummaries; ///< by rank, each by time
    std::vector<MemorySummary> memorySummaries;
    std::vector<CollectiveSummary> collectiveSummaries;
    std::vector<OpSummary> opSummaries;
};

/// The sink. Thread-safe as TraceSink asks; producers keep their records until they are destroyed.
class InMemoryTrace : public TraceSink {
public:
    explicit InMemoryTrace(TraceHeader header);

    OpId defineOp(const OpInfo& info) override;
    TrackId defineTrack(const TrackInfo& info) override;
    GroupId defineGroup(const ProcessGroupInfo& info) override;
    CounterId defineCounter(const CounterInfo& info) override;
    std::unique_ptr<TraceProducer> openProducer() override;
    void audit(const AuditRecord& record) override;
    SinkStatistics statistics() const override;

    /// Records that name undefined tracks, operators or counters, or times out of range, are left out and counted
    /// in the audit ("invalid_records").
    Status finish(const TraceClosing& closing) override;

    /// The finished trace; null before finish.
    std::shared_ptr<const InMemoryTraceData> data() const { return m_data; }

private:
    class Producer;
    struct Shared;

    TraceHeader m_header;
    mutable std::mutex m_mutex;
    Interner<OpInfo, OpId> m_ops;
    Interner<TrackInfo, TrackId> m_tracks;
    Interner<ProcessGroupInfo, GroupId> m_groups;
    Interner<CounterInfo, CounterId> m_counters;
    std::vector<AuditRecord> m_audit;
    std::shared_ptr<Shared> m_shared; ///< with the producers, so that a late one is harmless
    std::shared_ptr<const InMemoryTraceData> m_data;
};

} // namespace fourwalls
