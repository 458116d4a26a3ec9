// SPDX-License-Identifier: Apache-2.0
// Checking, sorting, lanes and summaries of an in-memory trace.
#include "model/trace/in_memory_finish.h"

#include "model/trace/lane_assignment.h"
#include "model/trace/memory_curve.h"
#include "model/trace/summary_builder.h"

#include <algorithm>
#include <unordered_map>

namespace fourwalls {

namespace {

bool isValid(Instant at)
{
    return at.ns >= -kLargestTimeNs && at.ns <= kLargestTimeNs;
}
bool isValid(Instant start, Duration duration)
{
    return isValid(start) && duration.ns >= 0 && duration.ns <= kLargestTimeNs && isValid(start + duration);
}

/// Turns collected records into finished data; one object per finish.
class Finisher {
public:
    explicit Finisher(InMemoryTraceData& data) : m_data(data) {}

    std::int64_t invalid() const { return m_invalid; }

    void addSlices(const std::vector<SliceRecord>& records)
    {
        for (const SliceRecord& record : records) {
            if (!isTrack(record.track) || !isOp(record.op) || !isValid(record.start, record.duration)) {
                ++m_invalid;
                continue;
            }
            SliceView slice;
            slice.track = record.track;
            slice.op = record.op;
            slice.start = record.start;
            slice.duration = record.duration;
            slice.microbatch = record.microbatch;
            slice.correlation = record.correlation;
            m_data.slices.push_back(slice);
            cover(slice.start);
            cover(slice.end());
        }
        std::stable_sort(m_data.slices.begin(), m_data.slices.end(), [](const SliceView& a, const SliceView& b) {
            return a.track != b.track ? a.track < b.track : laneOrder(a.start, a.duration, b.start, b.duration);
        });
        m_data.firstSlice.assign(m_data.tracks.size() + 1, m_data.slices.size());
        std::size_t next = 0;
        for (TrackView& track : m_data.tracks) {
            m_data.firstSlice[static_cast<std::size_t>(track.id.value)] = next;
            LaneAssigner lanes;
            for (; next < m_data.slices.size() && m_data.slices[next].track == track.id; ++next) {
                SliceView& slice = m_data.slices[next];
                slice.id = SliceId{static_cast<std::int64_t>(next)};
                slice.lane = lanes.assign(slice.start, slice.duration);
                ++track.slices;
            }
            track.lanes = std::max(1, lanes.count());
        }
    }

    void addAllocations(const std::vector<RankAllocation>& records, const std::vector<RankFree>& frees)
    {
        std::map<RankId, std::unordered_map<AllocationId, std::size_t>> byId;
        for (const auto& [rank, record] : records) {
            std::vector<AllocationView>& list = m_data.allocations[rank];
            const bool isNew = byId[rank].emplace(record.id, list.size()).second;
            if (!isNew || !isValid(record.at) || record.bytes < 0 || (record.op && !isOp(*record.op))) {
                ++m_invalid;
                continue;
            }
            AllocationView view;
            view.id = record.id;
            view.rank = rank;
            view.start = record.at;
            view.bytes = record.bytes;
            view.address = record.address;
            view.category = record.category;
            view.op = record.op;
            view.microbatch = record.microbatch;
            list.push_back(view);
            cover(view.start);
        }
        for (const RankFree& free : frees) {
            const auto found = byId[free.rank].find(free.id);
            if (found == byId[free.rank].end() || found->second >= m_data.allocations[free.rank].size() ||
                !isValid(free.at) || m_data.allocations[free.rank][found->second].id != free.id) {
                ++m_invalid;
                continue;
            }
            AllocationView& view = m_data.allocations[free.rank][found->second];
            view.end = std::max(view.start, free.at);
            cover(free.at);
        }
        for (auto& [rank, list] : m_data.allocations) {
            std::stable_sort(list.begin(), list.end(),
                             [](const AllocationView& a, const AllocationView& b) { return a.start < b.start; });
        }
    }

    void addCounters(const std::vector<CounterRecord>& records)
    {
        m_data.counters.resize(m_data.info.counters.size());
        for (const CounterRecord& record : records) {
            const auto index = static_cast<std::size_t>(record.counter.value);
            if (record.counter.value < 0 || index >= m_data.counters.size() || !isValid(record.at)) {
                ++m_invalid;
                continue;
            }
            m_data.counters[index].push_back(record);
            cover(record.at);
        }
        for (auto& samples : m_data.counters) {
            std::stable_sort(samples.begin(), samples.end(),
                             [](const CounterRecord& a, const CounterRecord& b) { return a.at < b.at; });
        }
    }

    void addCollectives(const std::vector<CollectiveRecord>& records)
    {
        for (const CollectiveRecord& record : records) {
            const bool sound = isTrack(record.track) && record.group.value >= 0 &&
                               static_cast<std::size_t>(record.group.value) < m_data.info.groups.size() &&
                               isValid(record.start) && isValid(record.end) && record.start <= record.lastArrival &&
                               record.lastArrival <= record.end;
            if (!sound) {
                ++m_invalid;
                continue;
            }
            m_data.collectives.push_back({trackOf(record.track).info.rank, record});
            cover(record.end);
        }
        std::stable_sort(
            m_data.collectives.begin(), m_data.collectives.end(),
            [](const CollectiveView& a, const CollectiveView& b) { return a.record.start < b.record.start; });
    }

    void addFlows(std::vector<FlowRecord> records)
    {
        for (FlowRecord& record : records) {
            if (!isTrack(record.fromTrack) || !isTrack(record.toTrack) || !isValid(record.from) ||
                !isValid(record.to)) {
                ++m_invalid;
                continue;
            }
            m_data.flows.push_back(std::move(record));
        }
        std::stable_sort(m_data.flows.begin(), m_data.flows.end(),
                         [](const FlowRecord& a, const FlowRecord& b) { return a.from < b.from; });
    }

    void addEvents(std::vector<EventRecord> records)
    {
        for (EventRecord& record : records) {
            if (!isValid(record.at)) {
                ++m_invalid;
                continue;
            }
            cover(record.at);
            m_data.events.push_back(std::move(record));
        }
        std::stable_sort(m_data.events.begin(), m_data.events.end(),
                         [](const EventRecord& a, const EventRecord& b) { return a.at < b.at; });
    }

    void addSteps(const std::vector<StepView>& records)
    {
        for (const auto& [rank, record] : records) {
            if (!isValid(record.range.begin) || !isValid(record.range.end) || record.range.end < record.range.begin) {
                ++m_invalid;
                continue;
            }
            m_data.steps[rank].push_back({rank, record});
            cover(record.range.begin);
            cover(record.range.end);
        }
        for (auto& [rank, steps] : m_data.steps) {
            std::stable_sort(steps.begin(), steps.end(), [](const StepView& a, const StepView& b) {
                return a.record.range.begin < b.record.range.begin;
            });
            m_data.info.stepCount = std::max(m_data.info.stepCount, static_cast<int>(steps.size()));
        }
    }

    void summarise()
    {
        std::map<RankId, StepLookup> lookups;
        for (const auto& [rank, steps] : m_data.steps) lookups.emplace(rank, StepLookup(records(rank)));
        summariseSlices(lookups);
        summariseMemory();
        CollectiveSummarizer collectives(m_data.info.groups);
        for (const CollectiveView& view : m_data.collectives)
            if (isMeasured(lookups, view.rank, view.record.start)) collectives.add(view.record);
        m_data.collectiveSummaries = collectives.finish();
    }

private:
    bool isTrack(TrackId id) const
    {
        return id.value >= 0 && static_cast<std::size_t>(id.value) < m_data.tracks.size();
    }
    bool isOp(OpId id) const { return id.value >= 0 && static_cast<std::size_t>(id.value) < m_data.ops.size(); }
    const TrackView& trackOf(TrackId id) const { return m_data.tracks[static_cast<std::size_t>(id.value)]; }

    void cover(Instant at)
    {
        TimeRange& range = m_data.info.range;
        range = m_covered ? TimeRange{std::min(range.begin, at), std::max(range.end, at)} : TimeRange{at, at};
        m_covered = true;
    }

    std::vector<StepRecord> records(RankId rank) const
    {
        std::vector<StepRecord> list;
        const auto found = m_data.steps.find(rank);
        if (found != m_data.steps.end())
            for (const StepView& step : found->second) list.push_back(step.record);
        return list;
    }

    /// Traces without steps are measured as a whole.
    bool isMeasured(const std::map<RankId, StepLookup>& lookups, RankId rank, Instant at) const
    {
        if (m_data.steps.empty()) return true;
        const auto lookup = lookups.find(rank);
        if (lookup == lookups.end()) return false;
        const StepRecord* step = lookup->second.find(at);
        return step && !step->warmup;
    }

    void summariseSlices(const std::map<RankId, StepLookup>& lookups)
    {
        std::map<RankId, RankStepSummarizer> ranks;
        for (const auto& [rank, steps] : m_data.steps)
            ranks.emplace(rank, RankStepSummarizer(rank, records(rank), m_data.info.header, m_data.info.closing));
        OpSummarizer ops;
        for (const SliceView& slice : m_data.slices) {
            const RankId rank = trackOf(slice.track).info.rank;
            if (isMeasured(lookups, rank, slice.start)) ops.add(slice.op, slice.duration);
            const auto found = ranks.find(rank);
            if (found == ranks.end()) continue;
            found->second.add(*m_data.ops[static_cast<std::size_t>(slice.op.value)], slice.start, slice.duration);
        }
        m_data.opSummaries = ops.finish();
        std::map<int, std::map<StepIndex, TimeRange>> pipelines;
        for (const auto& [rank, summarizer] : ranks)
            mergePipelineWindows(pipelines[pipelineOf(m_data.info.header, rank)], summarizer.pipelineWindows());
        for (auto& [rank, summarizer] : ranks) {
            const auto summaries = summarizer.finish(pipelines[pipelineOf(m_data.info.header, rank)]);
            m_data.stepSummaries.insert(m_data.stepSummaries.end(), summaries.begin(), summaries.end());
        }
    }

    void summariseMemory()
    {
        for (const auto& [rank, list] : m_data.allocations) {
            const std::vector<MemoryEvent> events = memoryEvents(list);
            m_data.memory[rank] = memoryCurve(events);
            MemorySummarizer summarizer(rank, records(rank));
            for (const MemoryEvent& event : events) summarizer.add(event);
            for (std::size_t c = 0; c < m_data.counters.size(); ++c) {
                const CounterInfo& info = m_data.info.counters[c];
                if (info.rank != rank || info.name != "reserved_bytes") continue;
                for (const CounterRecord& sample : m_data.counters[c])
                    summarizer.addReserved(sample.at, static_cast<std::int64_t>(sample.value));
            }
            const auto summaries = summarizer.finish();
            m_data.memorySummaries.insert(m_data.memorySummaries.end(), summaries.begin(), summaries.end());
        }
    }

    InMemoryTraceData& m_data;
    std::int64_t m_invalid = 0;
    bool m_covered = false;
};

} // namespace

std::int64_t finishInMemory(InMemoryTraceData& data, InMemoryRecords records)
{
    Finisher finisher(data);
    finisher.addSlices(records.slices);
    finisher.addSteps(records.steps);
    finisher.addAllocations(records.allocations, records.frees);
    finisher.addCounters(records.counters);
    finisher.addCollectives(records.collectives);
    finisher.addFlows(std::move(records.flows));
    finisher.addEvents(std::move(records.events));
    finisher.summarise();
    return finisher.invalid();
}

} // namespace fourwalls
