// SPDX-License-Identifier: Apache-2.0
// The queries over an in-memory trace.
#include "model/trace/in_memory_query.h"

#include "model/trace/activity_priority.h"
#include "model/trace/interval_union.h"
#include "model/trace/memory_curve.h"
#include "model/trace/name_matcher.h"
#include "model/trace/slice_reduction.h"
#include "model/trace/summary_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls {

namespace {

Error cancelled()
{
    return {ErrorCode::Cancelled, "cancelled", "", ""};
}

Status checkScreen(TimeRange range, int pixels)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "query", ""};
    if (pixels < 1) return Error{ErrorCode::InvalidArgument, "less than one pixel", "query", ""};
    return {};
}

bool isAlive(const AllocationView& allocation, Instant at)
{
    return allocation.start <= at && (!allocation.end || at < *allocation.end);
}

} // namespace

Result<std::unique_ptr<TraceQuery>> InMemoryTraceQuery::reopen() const
{
    return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(m_data));
}

void InMemoryTraceQuery::addOp(OpDictionary& ops, OpId id) const
{
    ops.emplace(id, m_data->ops[static_cast<std::size_t>(id.value)]);
}

Result<SliceWindow> InMemoryTraceQuery::slices(const SliceQuery& query, std::stop_token stop)
{
    FOURWALLS_TRY(checkScreen(query.range, query.pixels));
    SliceWindow window;
    window.range = query.range;
    window.pixels = query.pixels;
    const PixelColumns columns{query.range, query.pixels};
    for (const TrackId track : query.tracks) {
        if (stop.stop_requested()) return cancelled();
        const auto index = static_cast<std::size_t>(track.value);
        if (track.value < 0 || index >= m_data->tracks.size())
            return Error{ErrorCode::NotFound, fmt::format("no track {}", track.value), "slices", ""};
        std::vector<std::vector<SliceView>> lanes(static_cast<std::size_t>(m_data->tracks[index].lanes));
        for (std::size_t i = m_data->firstSlice[index]; i < m_data->firstSlice[index + 1]; ++i) {
            const SliceView& slice = m_data->slices[i];
            if (slice.start >= query.range.end) break;
            if (isVisible(slice, query.range)) lanes[static_cast<std::size_t>(slice.lane)].push_back(slice);
        }
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            LaneSlices reduced = reduceLane(track, static_cast<int>(lane), lanes[lane], columns);
            if (reduced.exact.empty() && reduced.bins.empty()) continue;
            for (const SliceView& slice : reduced.exact) addOp(window.ops, slice.op);
            for (const SliceBin& bin : reduced.bins) addOp(window.ops, bin.dominant);
            window.lanes.push_back(std::move(reduced));
        }
    }
    return window;
}

Result<std::vector<RankActivity>> InMemoryTraceQuery::rankActivity(std::span<const RankId> ranks, TimeRange range,
                                                                   int pixels)
{
    FOURWALLS_TRY(checkScreen(range, pixels));
    const PixelColumns columns{range, pixels};
    std::vector<RankActivity> result;
    for (const RankId rank : ranks) {
        std::array<IntervalUnion, kActivityPriorities> unions;
        for (const TrackView& track : m_data->tracks) {
            if (track.info.rank != rank) continue;
            const auto index = static_cast<std::size_t>(track.id.value);
            for (std::size_t i = m_data->firstSlice[index]; i < m_data->firstSlice[index + 1]; ++i) {
                const SliceView& slice = m_data->slices[i];
                if (const auto shown =
                        activityPriority(m_data->ops[static_cast<std::size_t>(slice.op.value)]->activity))
                    unions[static_cast<std::size_t>(*shown)].add({slice.start, slice.end()});
            }
        }
        RankActivity activity;
        activity.rank = rank;
        activity.columns.resize(static_cast<std::size_t>(pixels));
        partitionByPriority(std::span(unions), range, [&](const TimeRange& part, int priority) {
            if (priority < 0) return;
            for (int c = columns.of(part.begin); c < pixels && columns.begin(c) < part.end; ++c) {
                const TimeRange cell{columns.begin(c), columns.begin(c + 1)};
                const TimeRange inside = part.intersected(cell);
                if (inside.empty()) continue;
                const auto share =
                    static_cast<float>(static_cast<double>(inside.length().ns) / static_cast<double>(cell.length().ns));
                RankActivity::Column& column = activity.columns[static_cast<std::size_t>(c)];
                switch (classOfPriority(priority)) {
                case ActivityClass::Compute: column.compute += share; break;
                case ActivityClass::Communication: column.communication += share; break;
                case ActivityClass::Other: column.other += share; break;
                case ActivityClass::Waiting: column.waiting += share; break;
                }
            }
        });
        result.push_back(std::move(activity));
    }
    return result;
}

Result<SliceView> InMemoryTraceQuery::slice(SliceId id)
{
    if (id.value < 0 || static_cast<std::size_t>(id.value) >= m_data->slices.size())
        return Error{ErrorCode::NotFound, fmt::format("no slice {}", id.value), "slice", ""};
    return m_data->slices[static_cast<std::size_t>(id.value)];
}

Result<std::shared_ptr<const OpInfo>> InMemoryTraceQuery::op(OpId id)
{
    if (id.value < 0 || static_cast<std::size_t>(id.value) >= m_data->ops.size())
        return Error{ErrorCode::NotFound, fmt::format("no operator {}", id.value), "op", ""};
    return m_data->ops[static_cast<std::size_t>(id.value)];
}

Result<std::vector<FlowRecord>> InMemoryTraceQuery::flows(TrackId track, TimeRange range, std::size_t limit)
{
    std::vector<FlowRecord> found;
    for (const FlowRecord& flow : m_data->flows) {
        const bool touches = (flow.fromTrack == track && range.contains(flow.from)) ||
                             (flow.toTrack == track && range.contains(flow.to));
        if (!touches) continue;
        if (found.size() >= limit) break;
        found.push_back(flow);
    }
    return found;
}

Result<SearchResult> InMemoryTraceQuery::search(const SearchQuery& query, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const NameMatcher matcher, NameMatcher::create(query.text, query.regularExpression));
    SearchResult result;
    std::vector<bool> matching(m_data->ops.size());
    for (std::size_t i = 0; i < m_data->ops.size(); ++i) {
        matching[i] = matcher.matches(m_data->ops[i]->name);
        if (matching[i]) result.matchingOps.push_back(OpId{static_cast<std::int32_t>(i)});
    }
    for (const SliceView& slice : m_data->slices) {
        if ((slice.id.value & 0xfff) == 0 && stop.stop_requested()) return cancelled();
        if (!matching[static_cast<std::size_t>(slice.op.value)] || !isVisible(slice, query.range)) continue;
        if (!query.tracks.empty() &&
            std::find(query.tracks.begin(), query.tracks.end(), slice.track) == query.tracks.end())
            continue;
        result.slices.push_back(slice);
    }
    std::stable_sort(result.slices.begin(), result.slices.end(),
                     [](const SliceView& a, const SliceView& b) { return a.start < b.start; });
    result.limited = result.slices.size() > query.limit;
    if (result.limited) result.slices.resize(query.limit);
    for (const SliceView& slice : result.slices) addOp(result.ops, slice.op);
    return result;
}

Result<MemoryWindow> InMemoryTraceQuery::memory(RankId rank, TimeRange range, int pixels)
{
    FOURWALLS_TRY(checkScreen(range, pixels));
    MemoryWindow window;
    window.rank = rank;
    window.range = range;
    const auto curve = m_data->memory.find(rank);
    if (curve != m_data->memory.end()) window.samples = reduceMemory(curve->second, range, pixels);
    return window;
}

AllocationList InMemoryTraceQuery::list(std::vector<AllocationView> items, std::size_t limit) const
{
    AllocationList result;
    result.totalCount = static_cast<std::int64_t>(items.size());
    for (const AllocationView& item : items) result.totalBytes += item.bytes;
    std::stable_sort(items.begin(), items.end(),
                     [](const AllocationView& a, const AllocationView& b) { return a.bytes > b.bytes; });
    if (items.size() > limit) items.resize(limit);
    for (const AllocationView& item : items)
        if (item.op) addOp(result.ops, *item.op);
    result.items = std::move(items);
    return result;
}

Result<AllocationList> InMemoryTraceQuery::aliveAt(RankId rank, Instant at, std::size_t limit)
{
    std::vector<AllocationView> items;
    const auto found = m_data->allocations.find(rank);
    if (found != m_data->allocations.end())
        std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(items),
                     [at](const AllocationView& item) { return isAlive(item, at); });
    return list(std::move(items), limit);
}

Result<AllocationList> InMemoryTraceQuery::allocations(RankId rank, TimeRange range, std::size_t limit,
                                                       std::int64_t /*mostRows*/)
{
    std::vector<AllocationView> items;
    const auto found = m_data->allocations.find(rank);
    if (found != m_data->allocations.end())
        std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(items),
                     [range](const AllocationView& item) {
                         return item.start < range.end && (!item.end || *item.end > range.begin);
                     });
    return list(std::move(items), limit);
}

Result<std::vector<CounterSample>> InMemoryTraceQuery::counter(CounterId counter, TimeRange range, int pixels)
{
    FOURWALLS_TRY(checkScreen(range, pixels));
    const auto index = static_cast<std::size_t>(counter.value);
    if (counter.value < 0 || index >= m_data->counters.size())
        return Error{ErrorCode::NotFound, fmt::format("no counter {}", counter.value), "counter", ""};
    const PixelColumns columns{range, pixels};
    std::vector<CounterSample> samples;
    int column = -1;
    for (const CounterRecord& record : m_data->counters[index]) {
        if (record.at >= range.end) break;
        if (record.at < range.begin) {
            // The last sample before the range holds into it.
            samples.assign(1, {record.at, record.value, record.value, record.value});
            continue;
        }
        if (columns.of(record.at) != column) {
            column = columns.of(record.at);
            samples.push_back({record.at, record.value, record.value, record.value});
            continue;
        }
        CounterSample& sample = samples.back();
        sample.min = std::min(sample.min, record.value);
        sample.max = std::max(sample.max, record.value);
        sample.last = record.value;
    }
    return samples;
}

Result<std::vector<StepView>> InMemoryTraceQuery::steps(RankId rank)
{
    const auto found = m_data->steps.find(rank);
    return found == m_data->steps.end() ? std::vector<StepView>{} : found->second;
}

Result<std::vector<StepSummary>> InMemoryTraceQuery::stepSummaries(StepIndex step)
{
    std::vector<StepSummary> found;
    std::copy_if(m_data->stepSummaries.begin(), m_data->stepSummaries.end(), std::back_inserter(found),
                 [step](const StepSummary& summary) { return summary.step == step; });
    return found;
}

Result<std::vector<CollectiveView>> InMemoryTraceQuery::collectives(std::optional<RankId> rank, TimeRange range,
                                                                    std::size_t limit)
{
    std::vector<CollectiveView> found;
    for (const CollectiveView& view : m_data->collectives) {
        if (rank && view.rank != *rank) continue;
        if (view.record.start >= range.end || view.record.end <= range.begin) continue;
        if (found.size() >= limit) break;
        found.push_back(view);
    }
    return found;
}

Result<std::vector<EventRecord>> InMemoryTraceQuery::events(TimeRange range, std::size_t limit,
                                                            std::optional<EventKind> kind)
{
    std::vector<EventRecord> found;
    for (const EventRecord& event : m_data->events)
        if (range.contains(event.at) && (!kind || event.kind == *kind) && found.size() < limit) found.push_back(event);
    return found;
}

Result<std::vector<OpSummary>> InMemoryTraceQuery::opSummaries(std::size_t limit)
{
    std::vector<OpSummary> summaries = m_data->opSummaries;
    if (summaries.size() > limit) summaries.resize(limit);
    return summaries;
}

Status InMemoryTraceQuery::scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop)
{
    for (const SliceView& slice : m_data->slices) {
        if ((slice.id.value & 0xfff) == 0 && stop.stop_requested()) return cancelled();
        if (!visit(slice)) break;
    }
    return {};
}

Status InMemoryTraceQuery::scanAllocations(const std::function<bool(const AllocationView&)>& visit,
                                           std::stop_token stop)
{
    for (const auto& [rank, list] : m_data->allocations) {
        if (stop.stop_requested()) return cancelled();
        for (const AllocationView& allocation : list)
            if (!visit(allocation)) return {};
    }
    return {};
}

Status InMemoryTraceQuery::scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop)
{
    for (const auto& samples : m_data->counters) {
        if (stop.stop_requested()) return cancelled();
        for (const CounterRecord& sample : samples)
            if (!visit(sample)) return {};
    }
    return {};
}

Status InMemoryTraceQuery::scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop)
{
    if (stop.stop_requested()) return cancelled();
    for (const FlowRecord& flow : m_data->flows)
        if (!visit(flow)) break;
    return {};
}

Result<std::vector<MemorySummary>> InMemoryTraceQuery::memorySummaries(RankId rank, std::size_t limit)
{
    std::vector<MemorySummary> summaries;
    for (const MemorySummary& summary : m_data->memorySummaries)
        if (summary.rank == rank && summaries.size() < limit) summaries.push_back(summary);
    return summaries;
}

} // namespace fourwalls
