// SPDX-License-Identifier: Apache-2.0
// Reads an in-memory trace: every answer is computed from all records, exactly.
#pragma once

#include "model/trace/in_memory_trace.h"

namespace fourwalls {

class InMemoryTraceQuery : public TraceQuery {
public:
    /// data: of a finished InMemoryTrace, not null.
    explicit InMemoryTraceQuery(std::shared_ptr<const InMemoryTraceData> data) : m_data(std::move(data)) {}

    /// All records, for those who want to compare.
    const InMemoryTraceData& data() const { return *m_data; }

    const TraceInfo& info() const override { return m_data->info; }
    const std::vector<TrackView>& tracks() const override { return m_data->tracks; }
    Result<std::unique_ptr<TraceQuery>> reopen() const override;

    Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop = {}) override;
    Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels) override;
    Result<SliceView> slice(SliceId id) override;
    Result<std::shared_ptr<const OpInfo>> op(OpId id) override;
    Result<std::vector<FlowRecord>> flows(TrackId track, TimeRange range, std::size_t limit) override;
    Result<SearchResult> search(const SearchQuery& query, std::stop_token stop = {}) override;

    Result<MemoryWindow> memory(RankId rank, TimeRange range, int pixels) override;
    Result<AllocationList> aliveAt(RankId rank, Instant at, std::size_t limit) override;
    Result<AllocationList> allocations(RankId rank, TimeRange range, std::size_t limit,
                                       std::int64_t mostRows = std::numeric_limits<std::int64_t>::max()) override;

    Result<std::vector<CounterSample>> counter(CounterId counter, TimeRange range, int pixels) override;
    Result<std::vector<StepView>> steps(RankId rank) override;
    Result<std::vector<CollectiveView>> collectives(std::optional<RankId> rank, TimeRange range,
                                                    std::size_t limit) override;
    Result<std::vector<EventRecord>> events(TimeRange range, std::size_t limit, std::optional<EventKind> kind) override;

    Result<std::vector<JobStep>> jobSteps() override { return m_data->jobSteps; }
    Result<std::vector<StepSummary>> stepSummaries() override { return m_data->stepSummaries; }
    Result<std::vector<StepSummary>> stepSummaries(StepIndex step) override;
    Result<std::vector<MemorySummary>> memorySummaries() override { return m_data->memorySummaries; }
    Result<std::vector<MemorySummary>> memorySummaries(RankId rank, std::size_t limit) override;
    Result<std::vector<CollectiveSummary>> collectiveSummaries() override { return m_data->collectiveSummaries; }
    Result<std::vector<OpSummary>> opSummaries(std::size_t limit) override;

    Status scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop = {}) override;
    Status scanAllocations(const std::function<bool(const AllocationView&)>& visit, std::stop_token stop = {}) override;
    Status scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop = {}) override;
    Status scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop = {}) override;

private:
    void addOp(OpDictionary& ops, OpId id) const;
    AllocationList list(std::vector<AllocationView> items, std::size_t limit) const;

    std::shared_ptr<const InMemoryTraceData> m_data;
};

} // namespace fourwalls
