// SPDX-License-Identifier: Apache-2.0
// Copying a part of a trace from a query into a sink.
#include "model/export/trim_trace.h"

#include "model/export/redaction.h"
#include "model/trace/allocator_text.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fourwalls {

namespace {

Error wrong(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

std::set<RankId> ranksOf(const TraceQuery& trace)
{
    std::set<RankId> ranks;
    for (const RankInfo& rank : trace.info().header.ranks) ranks.insert(rank.rank);
    for (const TrackView& track : trace.tracks()) ranks.insert(track.info.rank);
    return ranks;
}

/// One trim: the mapping from the source's ids to the sink's.
class Trimmer {
public:
    Trimmer(TraceQuery& trace, const TrimOptions& options, TimeRange range, TraceSink& sink)
        : m_trace(trace)
        , m_options(options)
        , m_range(range)
        , m_sink(sink)
        , m_redaction(trace.info().header.ranks)
        , m_producer(sink.openProducer())
    {}

    std::vector<AllocatorBlock> takeBlocks() { return std::move(m_blocks); }

    Status copy(const std::function<void(double)>& progress, std::stop_token stop)
    {
        defineTracks();
        for (const ProcessGroupInfo& group : m_trace.info().groups) m_groups.push_back(m_sink.defineGroup(group));
        FOURWALLS_TRY(copySlices(progress, stop));
        FOURWALLS_TRY(copyAllocations(stop));
        FOURWALLS_TRY(copyCounters(stop));
        FOURWALLS_TRY(copyFlows(stop));
        FOURWALLS_TRY(copyCollectives());
        FOURWALLS_TRY(copySteps());
        FOURWALLS_TRY(copyEvents());
        copyAudit();
        m_producer.reset();
        return m_failure;
    }

private:
    std::string text(const std::string& original) const
    {
        return m_options.redact ? m_redaction.text(original) : original;
    }

    bool isKept(RankId rank) const
    {
        return m_options.ranks.empty() ||
               std::find(m_options.ranks.begin(), m_options.ranks.end(), rank) != m_options.ranks.end();
    }

    void defineTracks()
    {
        for (const TrackView& track : m_trace.tracks()) {
            if (!isKept(track.info.rank)) continue;
            TrackInfo info = track.info;
            info.name = text(info.name);
            m_tracks.emplace(track.id, m_sink.defineTrack(info));
        }
    }

    std::optional<TrackId> track(TrackId source) const
    {
        const auto found = m_tracks.find(source);
        return found == m_tracks.end() ? std::nullopt : std::optional(found->second);
    }

    /// Defines an operator when it is met first. A damaged reference is remembered as the failure.
    OpId op(OpId source)
    {
        const auto found = m_ops.find(source);
        if (found != m_ops.end()) return found->second;
        const auto info = m_trace.op(source);
        if (!info) {
            if (m_failure.ok()) m_failure = info.error();
            return {};
        }
        OpInfo copied = **info;
        if (copied.kind == SliceKind::Step) m_stepOps.insert(source);
        copied.name = text(copied.name);
        copied.detail = text(copied.detail);
        return m_ops.emplace(source, m_sink.defineOp(copied)).first->second;
    }

    Status copySlices(const std::function<void(double)>& progress, std::stop_token stop)
    {
        const auto total = static_cast<double>(std::max<std::int64_t>(1, m_trace.info().counts.slices));
        std::int64_t seen = 0;
        const auto visit = [&](const SliceView& slice) {
            if (progress && (++seen & 0xffff) == 0) progress(static_cast<double>(seen) / total);
            const bool inside =
                slice.start < m_range.end && (slice.end() > m_range.begin || slice.start >= m_range.begin);
            const auto target = track(slice.track);
            if (!inside || !target) return true;
            const OpId kept = op(slice.op);
            // The bar of a step of which hardly anything is kept would be most of what is seen.
            const Duration within = std::min(slice.end(), m_range.end) - std::max(slice.start, m_range.begin);
            if (m_stepOps.count(slice.op) > 0 && within.ns < slice.duration.ns / 2) return m_failure.ok();
            m_producer->slice({*target, kept, slice.start, slice.duration, slice.microbatch, slice.correlation});
            return m_failure.ok();
        };
        return m_trace.scanSlices(visit, stop);
    }

    /// The allocator's block of a buffer that is copied.
    void keepBlock(RankId rank, AllocationId buffer)
    {
        const std::vector<AllocatorBlock>& all = m_trace.info().closing.blocks; // by rank and buffer
        const auto found =
            std::lower_bound(all.begin(), all.end(), std::pair(rank, buffer),
                             [](const AllocatorBlock& block, const std::pair<RankId, AllocationId>& key) {
                                 return std::pair(block.rank, block.buffer) < key;
                             });
        if (found == all.end() || found->rank != rank || found->buffer != buffer) return;
        m_blocks.push_back(*found);
        if (auto& letGo = m_blocks.back().letGo) letGo = std::max(*letGo, m_range.begin);
    }

    Status copyAllocations(std::stop_token stop)
    {
        const auto visit = [&](const AllocationView& allocation) {
            const bool inside = allocation.start < m_range.end && (!allocation.end || *allocation.end > m_range.begin);
            if (!inside || !isKept(allocation.rank)) return true;
            AllocationRecord record;
            record.id = allocation.id;
            record.at = std::max(allocation.start, m_range.begin);
            record.bytes = allocation.bytes;
            record.address = allocation.address;
            record.category = allocation.category;
            if (allocation.op) record.op = op(*allocation.op);
            record.microbatch = allocation.microbatch;
            m_producer->allocated(allocation.rank, record);
            keepBlock(allocation.rank, allocation.id);
            if (allocation.end && *allocation.end <= m_range.end)
                m_producer->freed(allocation.rank, allocation.id, *allocation.end);
            return m_failure.ok();
        };
        return m_trace.scanAllocations(visit, stop);
    }

    Status copyCounters(std::stop_token stop)
    {
        const auto& counters = m_trace.info().counters;
        std::map<CounterId, CounterId> defined;
        const auto visit = [&](const CounterRecord& sample) {
            const auto index = static_cast<std::size_t>(sample.counter.value);
            if (!m_range.contains(sample.at) || sample.counter.value < 0 || index >= counters.size()) return true;
            if (counters[index].rank && !isKept(*counters[index].rank)) return true;
            auto found = defined.find(sample.counter);
            if (found == defined.end())
                found = defined.emplace(sample.counter, m_sink.defineCounter(counters[index])).first;
            m_producer->counter({found->second, sample.at, sample.value});
            return true;
        };
        return m_trace.scanCounters(visit, stop);
    }

    Status copyFlows(std::stop_token stop)
    {
        const auto visit = [&](const FlowRecord& flow) {
            const auto from = track(flow.fromTrack);
            const auto to = track(flow.toTrack);
            if (from && to && m_range.contains(flow.from) && m_range.contains(flow.to))
                m_producer->flow({flow.kind, *from, flow.from, *to, flow.to});
            return true;
        };
        return m_trace.scanFlows(visit, stop);
    }

    Status copyCollectives()
    {
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                             m_trace.collectives(std::nullopt, m_range, std::numeric_limits<std::size_t>::max()));
        for (const CollectiveView& view : collectives) {
            const auto target = track(view.record.track);
            const auto group = static_cast<std::size_t>(view.record.group.value);
            if (!target || view.record.group.value < 0 || group >= m_groups.size()) continue;
            CollectiveRecord record = view.record;
            record.track = *target;
            record.group = m_groups[group];
            m_producer->collective(record);
        }
        return {};
    }

    Status copySteps()
    {
        for (const RankId rank : ranksOf(m_trace)) {
            if (!isKept(rank)) continue;
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank));
            for (const StepView& step : steps) {
                if (!step.record.range.overlaps(m_range)) continue;
                const bool whole = step.record.range.begin >= m_range.begin && step.record.range.end <= m_range.end;
                if (whole)
                    m_producer->step(rank, step.record);
                else
                    ++m_cutSteps;
            }
        }
        return {};
    }

    Status copyEvents()
    {
        FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events,
                             m_trace.events(m_range, std::numeric_limits<std::size_t>::max()));
        for (EventRecord event : events) {
            if (event.rank && !isKept(*event.rank)) continue;
            event.text = text(event.text);
            m_producer->event(event);
        }
        return {};
    }

    void copyAudit()
    {
        for (AuditRecord record : m_trace.info().audit) {
            record.detail = text(record.detail);
            m_sink.audit(record);
        }
        m_sink.audit(auditRecord(AuditCounter::Trimmed, 1,
                                 std::to_string(m_range.begin.ns) + " to " + std::to_string(m_range.end.ns) +
                                     " ns of a trace of " + std::to_string(m_trace.info().counts.slices) + " slices"));
        auditCount(m_sink, AuditCounter::StepsCut, m_cutSteps);
        if (m_options.redact) m_sink.audit(auditRecord(AuditCounter::Redacted, 1));
        if (!m_trace.info().complete)
            m_sink.audit(auditRecord(AuditCounter::SourceIncomplete, 1, "trimmed from an interrupted recording"));
    }

    TraceQuery& m_trace;
    const TrimOptions& m_options;
    TimeRange m_range;
    TraceSink& m_sink;
    Redaction m_redaction;
    std::unique_ptr<TraceProducer> m_producer;
    std::map<TrackId, TrackId> m_tracks;
    std::unordered_map<OpId, OpId> m_ops;
    std::vector<AllocatorBlock> m_blocks; ///< of the buffers that are copied
    std::unordered_set<OpId> m_stepOps;   ///< those of the source whose slices are steps
    std::vector<GroupId> m_groups;
    std::int64_t m_cutSteps = 0;
    Status m_failure;
};

} // namespace

Result<TimeRange> trimRange(TraceQuery& trace, const TrimOptions& options)
{
    const std::set<RankId> known = ranksOf(trace);
    for (const RankId rank : options.ranks)
        if (!known.contains(rank))
            return wrong("ranks", "there is no rank " + std::to_string(rank.value),
                         "0 to " + std::to_string(known.empty() ? 0 : known.rbegin()->value));
    if (options.steps && options.range) return wrong("steps", "steps and range exclude each other", "one of them");
    if (options.range) {
        if (options.range->empty()) return wrong("range", "is empty", "an end after the begin");
        if (!options.range->overlaps(trace.info().range))
            return wrong("range", "lies outside of the trace",
                         std::to_string(trace.info().range.begin.ns) + " to " +
                             std::to_string(trace.info().range.end.ns) + " ns");
        return *options.range;
    }
    if (!options.steps) {
        // Everything, with room for what ends at the very end.
        return TimeRange{trace.info().range.begin, Instant{trace.info().range.end.ns + 1}};
    }
    std::optional<TimeRange> hull;
    std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = std::numeric_limits<std::int32_t>::min();
    for (const RankId rank : known) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
        for (const StepView& step : steps) {
            first = std::min(first, step.record.step.value);
            last = std::max(last, step.record.step.value);
            if (step.record.step < options.steps->first || step.record.step > options.steps->second) continue;
            const TimeRange& range = step.record.range;
            hull = hull ? TimeRange{std::min(hull->begin, range.begin), std::max(hull->end, range.end)} : range;
        }
    }
    if (hull && !hull->empty()) return *hull;
    return wrong("steps", "the trace has no such steps",
                 first > last ? "--range, the trace has no steps" : std::to_string(first) + "-" + std::to_string(last));
}

TraceHeader trimmedHeader(const TraceInfo& info, const TrimOptions& options)
{
    TraceHeader header = info.header;
    if (!options.ranks.empty())
        std::erase_if(header.ranks, [&](const RankInfo& rank) {
            return std::find(options.ranks.begin(), options.ranks.end(), rank.rank) == options.ranks.end();
        });
    return options.redact ? Redaction(info.header.ranks).header(std::move(header)) : header;
}

namespace {

/// What the allocator had within the range, of the ranks that are kept; `blocks` of the buffers that are.
TraceClosing closingOf(TraceClosing closing, const TrimOptions& options, TimeRange range,
                       std::vector<AllocatorBlock> blocks)
{
    const auto isLeftOut = [&](RankId rank) {
        return !options.ranks.empty() &&
               std::find(options.ranks.begin(), options.ranks.end(), rank) == options.ranks.end();
    };
    std::erase_if(closing.segments, [&](const AllocatorSegment& each) {
        return isLeftOut(each.rank) || each.start >= range.end || (each.end && *each.end <= range.begin);
    });
    for (AllocatorSegment& each : closing.segments) {
        each.start = std::max(each.start, range.begin);
        if (each.end && *each.end > range.end) each.end.reset();
    }
    closing.blocks = std::move(blocks);
    sortAllocatorState(closing);
    return closing;
}

} // namespace

Status trimTrace(TraceQuery& trace, const TrimOptions& options, TraceSink& sink,
                 const std::function<void(double)>& progress, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const TimeRange range, trimRange(trace, options));
    Trimmer trimmer(trace, options, range, sink);
    FOURWALLS_TRY(trimmer.copy(progress, stop));
    return sink.finish(closingOf(trace.info().closing, options, range, trimmer.takeBlocks()));
}

} // namespace fourwalls
