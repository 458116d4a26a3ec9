// SPDX-License-Identifier: Apache-2.0
// See summary_sink.h.
#include "model/cost/summary_sink.h"

#include <algorithm>

namespace fourwalls::cost {

/// Adds up what it is given at once.
class SummarySink::Producer : public TraceProducer {
public:
    explicit Producer(SummarySink& sink) : m_sink(sink) {}

    void slice(const SliceRecord& record) override
    {
        ++m_sink.m_records;
        ++m_sink.m_data->info.counts.slices;
        Rank& rank = m_sink.of(m_sink.m_rankOfTrack[static_cast<std::size_t>(record.track.value)]);
        m_sink.cover(record.start, record.start + record.duration);
        if (isMeasured(rank, record.start)) m_sink.m_opSummaries.add(record.op, record.duration);
        rank.accumulator.add(m_sink.m_ops.items()[static_cast<std::size_t>(record.op.value)], record.start,
                             record.duration);
    }
    void allocated(RankId rank, const AllocationRecord& record) override
    {
        ++m_sink.m_records;
        ++m_sink.m_data->info.counts.allocations;
        m_sink.cover(record.at, record.at);
        m_sink.of(rank).live[record.id] = {record.at, record.bytes, record.category};
    }
    void freed(RankId rank, AllocationId id, Instant at) override
    {
        ++m_sink.m_records;
        Rank& owner = m_sink.of(rank);
        const auto found = owner.live.find(id);
        if (found == owner.live.end()) return;
        const Live& buffer = found->second;
        m_sink.cover(at, at);
        if (buffer.start < at) {
            owner.memory.push_back({buffer.start, buffer.bytes, buffer.category});
            owner.memory.push_back({at, -buffer.bytes, buffer.category});
        }
        owner.live.erase(found);
    }
    void counter(const CounterRecord&) override { ++m_sink.m_records; }
    void collective(const CollectiveRecord& record) override
    {
        ++m_sink.m_records;
        ++m_sink.m_data->info.counts.collectives;
        m_sink.cover(record.start, record.end);
        const Rank& rank = m_sink.of(m_sink.m_rankOfTrack[static_cast<std::size_t>(record.track.value)]);
        if (isMeasured(rank, record.start)) m_sink.m_collectives.add(record);
    }
    void flow(const FlowRecord&) override
    {
        ++m_sink.m_records;
        ++m_sink.m_data->info.counts.flows;
    }
    void step(RankId rank, const StepRecord& record) override
    {
        ++m_sink.m_records;
        const TraceInfo& info = m_sink.m_data->info;
        m_sink.cover(record.range.begin, record.range.end);
        m_sink.m_latest = m_sink.m_ranks.size();
        m_sink.m_ranks.push_back(
            {rank,
             record,
             StepAccumulator(rank, record, devicePeakFlops(info.header, info.closing),
                             deviceBytesPerSecond(info.header, info.closing), isPipelined(info.header)),
             {},
             {}});
        m_sink.m_data->steps[rank].push_back({rank, record});
    }
    void event(const EventRecord& record) override
    {
        ++m_sink.m_records;
        m_sink.cover(record.at, record.at);
        m_sink.m_data->events.push_back(record);
    }

private:
    static bool isMeasured(const Rank& rank, Instant at)
    {
        return rank.step.measured() && rank.step.range.contains(at);
    }

    SummarySink& m_sink;
};

SummarySink::SummarySink(TraceHeader header, TraceClosing closing)
    : m_data(std::make_shared<InMemoryTraceData>())
    , m_collectives({}, header.ranks)
{
    m_data->info.header = std::move(header);
    m_data->info.closing = std::move(closing);
}

TrackId SummarySink::defineTrack(const TrackInfo& info)
{
    const TrackId id = m_tracks.intern(info);
    if (static_cast<std::size_t>(id.value) == m_rankOfTrack.size()) m_rankOfTrack.push_back(info.rank);
    return id;
}

GroupId SummarySink::defineGroup(const ProcessGroupInfo& info)
{
    const GroupId id = m_groups.intern(info);
    if (static_cast<std::size_t>(id.value) == m_data->info.groups.size()) {
        m_data->info.groups.push_back(info);
        m_collectives.addGroup(info);
    }
    return id;
}

std::unique_ptr<TraceProducer> SummarySink::openProducer()
{
    return std::make_unique<Producer>(*this);
}

SummarySink::Rank& SummarySink::of(RankId rank)
{
    if (m_ranks[m_latest].rank != rank) {
        const auto found =
            std::find_if(m_ranks.begin(), m_ranks.end(), [rank](const Rank& known) { return known.rank == rank; });
        m_latest = static_cast<std::size_t>(found - m_ranks.begin());
    }
    return m_ranks[m_latest];
}

void SummarySink::cover(Instant from, Instant to)
{
    TimeRange& range = m_data->info.range; // of a step, which begins at 0
    range.begin = std::min(range.begin, from);
    range.end = std::max(range.end, to);
}

/// The stages of a prediction are one pipeline: its window is the hull over all of them.
void SummarySink::summariseSteps()
{
    std::optional<TimeRange> window;
    std::map<RankId, std::vector<StepRecord>> steps;
    for (const Rank& rank : m_ranks) {
        steps[rank.rank] = {rank.step};
        const auto own = rank.accumulator.pipelineWindow();
        if (!own) continue;
        window = window ? TimeRange{std::min(window->begin, own->begin), std::max(window->end, own->end)} : *own;
    }
    for (Rank& rank : m_ranks) m_data->stepSummaries.push_back(rank.accumulator.finish(window));
    m_data->jobSteps = jobSteps(steps);
    m_data->info.stepCount = m_ranks.empty() ? 0 : 1;
}

void SummarySink::summariseMemory(Rank& rank)
{
    for (const auto& [id, buffer] : rank.live) rank.memory.push_back({buffer.start, buffer.bytes, buffer.category});
    std::sort(rank.memory.begin(), rank.memory.end(), memoryEventOrder);
    if (rank.memory.empty()) return;
    m_data->memory[rank.rank] = memoryCurve(rank.memory);
    MemorySummarizer summarizer(rank.rank, std::span(&rank.step, 1));
    for (const MemoryEvent& event : rank.memory) summarizer.add(event);
    const auto summaries = summarizer.finish();
    m_data->memorySummaries.insert(m_data->memorySummaries.end(), summaries.begin(), summaries.end());
    rank.memory = {};
}

Status SummarySink::finish(const TraceClosing& closing)
{
    m_data->info.closing = closing;
    std::sort(m_ranks.begin(), m_ranks.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
    summariseSteps();
    for (Rank& rank : m_ranks) summariseMemory(rank);
    m_data->opSummaries = m_opSummaries.finish();
    m_data->collectiveSummaries = m_collectives.finish();
    for (const OpInfo& op : m_ops.items()) m_data->ops.push_back(std::make_shared<OpInfo>(op));
    for (const TrackInfo& track : m_tracks.items())
        m_data->tracks.push_back({TrackId{static_cast<std::int32_t>(m_data->tracks.size())}, track, 1, 0});
    m_data->firstSlice.assign(m_data->tracks.size() + 1, 0);
    m_data->info.counters.assign(m_counters.items().begin(), m_counters.items().end());
    m_data->counters.resize(m_data->info.counters.size());
    m_data->info.counts.events = static_cast<std::int64_t>(m_data->events.size());
    m_data->info.counts.ops = static_cast<std::int64_t>(m_data->ops.size());
    return {};
}

} // namespace fourwalls::cost
