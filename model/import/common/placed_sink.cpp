// SPDX-License-Identifier: Apache-2.0
// Shifting and renumbering, record by record.
#include "model/import/common/placed_sink.h"

#include "model/trace/audit_counter.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

class PlacedProducer final : public TraceProducer {
public:
    PlacedProducer(std::unique_ptr<TraceProducer> target, const SourcePlacement& placement)
        : m_target(std::move(target))
        , m_placement(placement)
    {}

    void slice(const SliceRecord& record) override
    {
        SliceRecord moved = record;
        moved.start = moved.start + m_placement.shift;
        m_target->slice(moved);
    }
    void allocated(RankId rank, const AllocationRecord& record) override
    {
        const RankId placed = m_placement.rank(rank);
        if (!m_placement.knowsBuffers(placed)) return;
        AllocationRecord moved = record;
        moved.at = moved.at + m_placement.shift;
        m_target->allocated(placed, moved);
    }
    void freed(RankId rank, AllocationId id, Instant at) override
    {
        const RankId placed = m_placement.rank(rank);
        if (m_placement.knowsBuffers(placed)) m_target->freed(placed, id, at + m_placement.shift);
    }
    void counter(const CounterRecord& record) override
    {
        if (record.counter.value < 0) return; // one that another source knows better
        m_target->counter({record.counter, record.at + m_placement.shift, record.value});
    }
    void collective(const CollectiveRecord& record) override
    {
        CollectiveRecord moved = record;
        moved.start = moved.start + m_placement.shift;
        moved.lastArrival = moved.lastArrival + m_placement.shift;
        moved.end = moved.end + m_placement.shift;
        if (moved.peer) moved.peer = m_placement.rank(*moved.peer);
        m_target->collective(moved);
    }
    void flow(const FlowRecord& record) override
    {
        FlowRecord moved = record;
        moved.from = moved.from + m_placement.shift;
        moved.to = moved.to + m_placement.shift;
        m_target->flow(moved);
    }
    void step(RankId rank, const StepRecord& record) override
    {
        StepRecord moved = record;
        moved.range = {moved.range.begin + m_placement.shift, moved.range.end + m_placement.shift};
        m_target->step(m_placement.rank(rank), moved);
    }
    void event(const EventRecord& record) override
    {
        EventRecord moved = record;
        moved.at = moved.at + m_placement.shift;
        if (moved.rank) moved.rank = m_placement.rank(*moved.rank);
        m_target->event(moved);
    }

private:
    std::unique_ptr<TraceProducer> m_target;
    const SourcePlacement& m_placement;
};

} // namespace

bool SourcePlacement::knowsBuffers(RankId ofRun) const
{
    return std::find(buffersElsewhere.begin(), buffersElsewhere.end(), ofRun) == buffersElsewhere.end();
}

TrackId PlacedSink::defineTrack(const TrackInfo& info)
{
    TrackInfo placed = info;
    placed.rank = m_placement.rank(info.rank);
    return m_target.defineTrack(placed);
}

GroupId PlacedSink::defineGroup(const ProcessGroupInfo& info)
{
    ProcessGroupInfo placed = info;
    for (RankId& rank : placed.ranks) rank = m_placement.rank(rank);
    return m_target.defineGroup(placed);
}

CounterId PlacedSink::defineCounter(const CounterInfo& info)
{
    CounterInfo placed = info;
    if (placed.rank) placed.rank = m_placement.rank(*info.rank);
    const bool allocators = info.name == "reserved_bytes" || info.name == "allocated_bytes_since_start";
    if (placed.rank && allocators && !m_placement.knowsBuffers(*placed.rank)) return CounterId{-1};
    return m_target.defineCounter(placed);
}

void PlacedSink::audit(const AuditRecord& record)
{
    if (!isCounter(record, AuditCounter::ImportFacts)) m_target.audit(record);
}

std::unique_ptr<TraceProducer> PlacedSink::openProducer()
{
    return std::make_unique<PlacedProducer>(m_target.openProducer(), m_placement);
}

void addAllocatorState(TraceClosing& run, const TraceClosing& own, const SourcePlacement& placement,
                       AllocatorLeftOut& left)
{
    for (AllocatorSegment segment : own.segments) {
        segment.rank = placement.rank(segment.rank);
        if (!placement.knowsBuffers(segment.rank)) continue;
        segment.start = segment.start + placement.shift;
        if (segment.end) segment.end = *segment.end + placement.shift;
        run.segments.push_back(segment);
    }
    for (AllocatorBlock block : own.blocks) {
        block.rank = placement.rank(block.rank);
        if (!placement.knowsBuffers(block.rank)) continue;
        if (block.letGo) block.letGo = *block.letGo + placement.shift;
        run.blocks.push_back(block);
    }
    const AllocatorLeftOut now = limitAllocatorState(run);
    left.segments += now.segments;
    left.blocks += now.blocks;
}

void auditLeftOut(const AllocatorLeftOut& left, TraceSink& sink)
{
    auditCount(sink, AuditCounter::SegmentsLeftOut, left.segments);
    auditCount(sink, AuditCounter::AllocatorBlocksLeftOut, left.blocks);
}

} // namespace fourwalls::importers
