// SPDX-License-Identifier: Apache-2.0
// Checking, sorting, lanes and summaries of an in-memory trace.
#include "model/trace/in_memory_finish.h"

#include "model/trace/collective_timing.h"
#include "model/trace/lane_assignment.h"
#include "model/trace/memory_curve.h"
#include "model/trace/summary_builder.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

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

/// Sorts what mostly comes sorted.
template <class T, class Less>
void sortIfNeeded(std::vector<T>& items, Less less)
{
    if (!std::is_sorted(items.begin(), items.end(), less)) std::stable_sort(items.begin(), items.end(), less);
}

/// The places of the sound ones of large records by time, equal times in the order given: each record then moves once.
template <class T, class IsSound, class TimeOf>
std::vector<std::pair<std::int64_t, std::size_t>> orderByTime(const std::vector<T>& records, IsSound isSound,
                                                              TimeOf timeOf)
{
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    order.reserve(records.size());
    for (std::size_t i = 0; i < records.size(); ++i)
        if (isSound(records[i])) order.emplace_back(timeOf(records[i]).ns, i);
    if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
    return order;
}

/// Where a rank's allocations are, by id. Producers number them up, so most ids need no table.
class AllocationPlaces {
public:
    /// Remembers the place of an id; false if it is known.
    bool add(AllocationId id, std::size_t place)
    {
        if (m_others.empty() && place == m_count && (m_count == 0 || distance(id) == m_count)) {
            if (m_count == 0) m_first = id.value;
            ++m_count;
            return true;
        }
        return !find(id) && m_others.emplace(id, place).second;
    }
    std::optional<std::size_t> find(AllocationId id) const
    {
        if (distance(id) < m_count) return static_cast<std::size_t>(distance(id));
        const auto found = m_others.find(id);
        return found == m_others.end() ? std::nullopt : std::optional(found->second);
    }

private:
    /// From the first id on; ids below it are far away.
    std::uint64_t distance(AllocationId id) const
    {
        return static_cast<std::uint64_t>(id.value) - static_cast<std::uint64_t>(m_first);
    }

    std::int64_t m_first = 0;
    std::size_t m_count = 0; ///< ids m_first, m_first + 1, … are at places 0, 1, …
    std::unordered_map<AllocationId, std::size_t> m_others;
};

/// Turns collected records into finished data; one object per finish.
class Finisher {
public:
    explicit Finisher(InMemoryTraceData& data) : m_data(data) {}

    std::int64_t invalid() const { return m_invalid; }

    void addSlices(const std::vector<SliceRecord>& records)
    {
        // Track by track, each in the order of its records: a producer's slices of one track mostly come by time.
        std::vector<std::size_t> begin(m_data.tracks.size() + 1, 0);
        const auto sound = [this](const SliceRecord& record) {
            return isTrack(record.track) && isOp(record.op) && isValid(record.start, record.duration);
        };
        for (const SliceRecord& record : records) {
            if (sound(record))
                ++begin[static_cast<std::size_t>(record.track.value) + 1];
            else
                ++m_invalid;
        }
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        m_data.slices.resize(begin.back());
        std::vector<std::size_t> next = begin;
        for (const SliceRecord& record : records) {
            if (!sound(record)) continue;
            SliceView& slice = m_data.slices[next[static_cast<std::size_t>(record.track.value)]++];
            slice.track = record.track;
            slice.op = record.op;
            slice.start = record.start;
            slice.duration = record.duration;
            slice.microbatch = record.microbatch;
            slice.correlation = record.correlation;
        }
        // What waited for all of its time contains its wait.
        const auto isWait = [this](const SliceView& slice) {
            return m_data.ops[static_cast<std::size_t>(slice.op.value)]->kind == SliceKind::Wait;
        };
        const auto less = [&](const SliceView& a, const SliceView& b) {
            if (a.start == b.start && a.duration == b.duration) return isWait(b) && !isWait(a);
            return laneOrder(a.start, a.duration, b.start, b.duration);
        };
        for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
            const auto from = m_data.slices.begin() + static_cast<std::ptrdiff_t>(begin[i]);
            const auto to = m_data.slices.begin() + static_cast<std::ptrdiff_t>(begin[i + 1]);
            if (!std::is_sorted(from, to, less)) std::stable_sort(from, to, less);
        }
        assignLanes();
    }

    void assignLanes()
    {
        m_data.firstSlice.assign(m_data.tracks.size() + 1, m_data.slices.size());
        std::size_t next = 0, kept = 0;
        for (TrackView& track : m_data.tracks) {
            m_data.firstSlice[static_cast<std::size_t>(track.id.value)] = kept;
            LaneAssigner lanes;
            for (; next < m_data.slices.size() && m_data.slices[next].track == track.id; ++next) {
                SliceView slice = m_data.slices[next];
                slice.lane = lanes.assign(slice.start, slice.duration);
                if (slice.lane < 0) {
                    ++m_invalid;
                    continue;
                }
                cover(slice.start);
                cover(slice.end());
                slice.id = SliceId{static_cast<std::int64_t>(kept)};
                m_data.slices[kept++] = slice;
                ++track.slices;
            }
            track.lanes = std::max(1, lanes.count());
        }
        m_data.slices.resize(kept);
        m_data.firstSlice.back() = kept;
    }

    void addAllocations(const std::vector<RankAllocation>& records, const std::vector<RankFree>& frees)
    {
        std::map<RankId, AllocationPlaces> byId;
        std::vector<AllocationView>* own = nullptr; // of the record before: records of a rank come together
        AllocationPlaces* places = nullptr;
        RankId last;
        for (const auto& [rank, record] : records) {
            if (!own || rank != last) {
                own = &m_data.allocations[rank];
                places = &byId[rank];
                last = rank;
            }
            const bool isFine =
                isValid(record.at) && record.bytes >= 0 && (!record.op || isOp(*record.op)) && !places->find(record.id);
            if (!isFine) {
                // An id that was refused stays refused.
                if (!places->find(record.id)) places->add(record.id, kNowhere);
                ++m_invalid;
                continue;
            }
            places->add(record.id, own->size());
            AllocationView view;
            view.id = record.id;
            view.rank = rank;
            view.start = record.at;
            view.bytes = record.bytes;
            view.address = record.address;
            view.category = record.category;
            view.op = record.op;
            view.microbatch = record.microbatch;
            own->push_back(view);
            cover(view.start);
        }
        own = nullptr;
        for (const RankFree& free : frees) {
            if (!own || free.rank != last) {
                const auto rank = m_data.allocations.find(free.rank);
                if (rank == m_data.allocations.end()) {
                    ++m_invalid;
                    continue;
                }
                own = &rank->second;
                places = &byId[free.rank];
                last = free.rank;
            }
            const auto place = places->find(free.id);
            if (!place || *place == kNowhere || !isValid(free.at)) {
                ++m_invalid;
                continue;
            }
            AllocationView& view = (*own)[*place];
            view.end = std::max(view.start, free.at);
            cover(free.at);
        }
        for (auto& [rank, list] : m_data.allocations) {
            sortIfNeeded(list, [](const AllocationView& a, const AllocationView& b) { return a.start < b.start; });
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

    void addCollectives(std::vector<CollectiveRecord> records)
    {
        const auto isSound = [this](const CollectiveRecord& record) {
            return isTrack(record.track) && record.group.value >= 0 &&
                   static_cast<std::size_t>(record.group.value) < m_data.info.groups.size() && isValid(record.start) &&
                   isValid(record.end) && record.start <= record.lastArrival && record.lastArrival <= record.end;
        };
        const auto order = orderByTime(records, isSound, [](const CollectiveRecord& record) { return record.start; });
        m_invalid += static_cast<std::int64_t>(records.size() - order.size());
        m_data.collectives.reserve(order.size());
        for (const auto& [at, index] : order) {
            CollectiveRecord& record = records[index];
            cover(record.end);
            m_data.collectives.push_back({trackOf(record.track).info.rank, std::move(record)});
        }
    }

    void addFlows(std::vector<FlowRecord> records)
    {
        const auto isSound = [this](const FlowRecord& record) {
            return isTrack(record.fromTrack) && isTrack(record.toTrack) && isValid(record.from) && isValid(record.to);
        };
        const auto order = orderByTime(records, isSound, [](const FlowRecord& record) { return record.from; });
        m_invalid += static_cast<std::int64_t>(records.size() - order.size());
        m_data.flows.reserve(order.size());
        for (const auto& [at, index] : order) m_data.flows.push_back(std::move(records[index]));
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
            std::vector<StepRecord> own = this->records(rank);
            markLost(own);
            for (std::size_t i = 0; i < own.size(); ++i) steps[i].record = own[i];
            const std::size_t kept = keptSteps(own).size();
            m_data.info.stepCount = std::max(m_data.info.stepCount, static_cast<int>(kept));
            m_data.info.lostSteps = std::max(m_data.info.lostSteps, static_cast<int>(own.size() - kept));
        }
    }

    void summarise()
    {
        std::map<RankId, StepLookup> lookups;
        for (const auto& [rank, steps] : m_data.steps) lookups.emplace(rank, StepLookup(records(rank)));
        summariseSlices(lookups);
        summariseMemory();
        // A prediction's ranks are all in its header; those that they stand for never come.
        const bool predicted = m_data.info.header.source == TraceSource::Predicted;
        CollectiveSummarizer collectives(m_data.info.groups, predicted
                                                                 ? std::span<const RankInfo>(m_data.info.header.ranks)
                                                                 : std::span<const RankInfo>{});
        const std::map<RankId, StepLookup> marked = markedSteps();
        for (const CollectiveView& view : m_data.collectives) {
            const auto group = static_cast<std::size_t>(view.record.group.value);
            const bool isRequest = m_data.info.groups[group].transport == kRequestsOnly;
            const StepLookup* marks = isRequest ? lookupOf(marked, view.rank) : nullptr;
            if (isMeasured(marks ? marks : lookupOf(lookups, view.rank), view.record.start))
                collectives.add(view.record);
        }
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

    /// Traces without steps are measured as a whole. lookup: of the rank; null: it has no steps.
    bool isMeasured(const StepLookup* lookup, Instant at) const
    {
        if (m_data.steps.empty()) return true;
        return lookup && isMeasuredAt(*lookup, at);
    }
    /// Each rank's steps as its program marks them, where it does.
    std::map<RankId, StepLookup> markedSteps() const
    {
        std::map<RankId, StepMarks> marks;
        for (const SliceView& slice : m_data.slices)
            if (m_data.ops[static_cast<std::size_t>(slice.op.value)]->kind == SliceKind::Step &&
                trackOf(slice.track).info.kind == TrackKind::CpuThread)
                marks[trackOf(slice.track).info.rank].add(slice.op, slice.start, slice.duration);
        std::map<RankId, StepLookup> marked;
        for (const auto& [rank, own] : marks)
            if (const std::vector<StepRecord> steps = own.marked(records(rank)); !steps.empty())
                marked.emplace(rank, StepLookup(steps));
        return marked;
    }
    static const StepLookup* lookupOf(const std::map<RankId, StepLookup>& lookups, RankId rank)
    {
        const auto found = lookups.find(rank);
        return found == lookups.end() ? nullptr : &found->second;
    }

    void summariseSlices(const std::map<RankId, StepLookup>& lookups)
    {
        std::map<RankId, std::vector<StepRecord>> steps;
        for (const auto& [rank, views] : m_data.steps) steps.emplace(rank, records(rank));
        const JobStepRule rule = isPipelined(m_data.info.header) ? JobStepRule::Hull : JobStepRule::Ends;
        m_data.jobSteps = jobSteps(steps, rule);
        std::map<RankId, RankStepSummarizer> ranks;
        for (const auto& [rank, own] : steps)
            ranks.emplace(
                rank,
                RankStepSummarizer(rank, rule == JobStepRule::Ends ? sharedSteps(own, m_data.jobSteps) : keptSteps(own),
                                   m_data.info.header, m_data.info.closing));
        OpSummarizer ops;
        for (const TrackView& track : m_data.tracks) {
            const auto found = ranks.find(track.info.rank);
            const StepLookup* lookup = lookupOf(lookups, track.info.rank);
            const auto at = static_cast<std::size_t>(track.id.value);
            ops.nextTrack();
            for (std::size_t i = m_data.firstSlice[at]; i < m_data.firstSlice[at + 1]; ++i) {
                const SliceView& slice = m_data.slices[i];
                const OpInfo& op = *m_data.ops[static_cast<std::size_t>(slice.op.value)];
                if (isMeasured(lookup, slice.start)) ops.addInTrack(slice.op, op.activity, slice.start, slice.duration);
                if (found == ranks.end()) continue;
                found->second.add(op, slice.start, slice.duration);
            }
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
            MemorySummarizer summarizer(rank, keptSteps(records(rank)));
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

    static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

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
    finisher.addCollectives(std::move(records.collectives));
    finisher.addFlows(std::move(records.flows));
    finisher.addEvents(std::move(records.events));
    finisher.summarise();
    return finisher.invalid();
}

} // namespace fourwalls
