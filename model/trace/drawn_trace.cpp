// SPDX-License-Identifier: Apache-2.0
// See drawn_trace.h.
#include "model/trace/drawn_trace.h"

#include "model/trace/activity_priority.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/interval_union.h"
#include "model/trace/pass_inference.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace fourwalls {

namespace {

/// Passes hide everything, and then what activityPriority says.
constexpr int kClasses = kActivityPriorities + 1;

bool isPassPhase(Phase phase)
{
    return phase == Phase::Forward || phase == Phase::Recompute || phase == Phase::BackwardInput ||
           phase == Phase::BackwardWeight;
}

DrawnInterval passOf(TimeRange range, Phase phase, std::optional<Microbatch> microbatch)
{
    DrawnInterval pass;
    pass.range = range;
    pass.phase = phase;
    pass.microbatch = microbatch;
    return pass;
}

/// What a slice is drawn as, outside of passes.
DrawnInterval workOf(const OpInfo& op, const SliceView& slice, bool receives)
{
    DrawnInterval work;
    work.range = {slice.start, slice.end()};
    work.microbatch = slice.microbatch;
    work.activity = op.activity;
    switch (op.activity) {
    case Activity::Compute: work.phase = op.phase == Phase::Optimizer ? Phase::Optimizer : Phase::None; break;
    case Activity::Transfer:
        work.kind = SliceKind::Collective;
        work.phase = op.phase;
        break;
    case Activity::PipelineTransfer: work.kind = receives ? SliceKind::Wait : SliceKind::Collective; break;
    case Activity::CollectiveWait:
    case Activity::PipelineWait:
    case Activity::Synchronisation: work.kind = SliceKind::Wait; break;
    default: break;
    }
    return work;
}

/// One rank's step.
class LaneReader {
public:
    LaneReader(const InMemoryTraceData& trace, const RankInfo& rank, TimeRange range, Instant origin)
        : m_trace(trace)
        , m_rank(rank)
        , m_range(range)
        , m_origin(origin)
    {}

    DrawnLane read(Provenance provenance)
    {
        m_lane.stage = m_rank.pipelineStage;
        m_lane.rank = m_rank.rank;
        m_lane.step = fromOrigin(m_range);
        readMessages();
        readSlices();
        drawIntervals(provenance);
        drawMemory();
        return std::move(m_lane);
    }

private:
    TimeRange fromOrigin(TimeRange range) const
    {
        return {Instant{} + (range.begin - m_origin), Instant{} + (range.end - m_origin)};
    }

    void readMessages()
    {
        for (const CollectiveView& each : m_trace.collectives) {
            const CollectiveRecord& record = each.record;
            if (each.rank != m_rank.rank || record.end <= m_range.begin || record.start >= m_range.end) continue;
            const bool sends = record.operation == CollectiveOp::Send,
                       receives = record.operation == CollectiveOp::Receive;
            if (sends || receives) m_messages.push_back(record.start);
            if (receives) m_received.emplace(record.track, record.start);
        }
        std::sort(m_messages.begin(), m_messages.end());
    }

    void readSlices()
    {
        std::vector<DrawnInterval> recorded;
        std::vector<PassPiece> pieces;
        for (std::size_t track = 0; track < m_trace.tracks.size(); ++track) {
            const TrackInfo& info = m_trace.tracks[track].info;
            if (info.rank != m_rank.rank) continue;
            const bool holdsWork = info.kind == TrackKind::Operators || info.kind == TrackKind::ComputeStream ||
                                   info.kind == TrackKind::Other;
            const auto slices =
                std::span(m_trace.slices)
                    .subspan(m_trace.firstSlice[track], m_trace.firstSlice[track + 1] - m_trace.firstSlice[track]);
            for (const SliceView& slice : slices) {
                if (slice.end() <= m_range.begin || slice.start >= m_range.end) continue;
                const OpInfo& op = *m_trace.ops[static_cast<std::size_t>(slice.op.value)];
                const TimeRange range{slice.start, slice.end()};
                if (info.kind == TrackKind::Phases && m_range.contains(slice.start)) takePhase(recorded, slice, op);
                if (holdsWork && op.activity == Activity::Compute) pieces.push_back({range, op.phase});
                const auto priority = activityPriority(op.activity);
                if (!priority || range.empty()) continue;
                const bool receives = m_received.contains({slice.track, slice.start});
                m_work[static_cast<std::size_t>(*priority) + 1].push_back(workOf(op, slice, receives));
            }
        }
        const auto byBegin = [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; };
        std::stable_sort(recorded.begin(), recorded.end(), byBegin);
        std::stable_sort(pieces.begin(), pieces.end(), byBegin);
        const bool known =
            std::any_of(recorded.begin(), recorded.end(), [](const DrawnInterval& each) { return isPass(each); });
        if (!known)
            for (const InferredPass& pass : inferPasses(pieces, m_messages))
                recorded.push_back(passOf(pass.range, pass.phase, pass.microbatch));
        m_work[0] = std::move(recorded);
        for (auto& each : m_work) std::stable_sort(each.begin(), each.end(), byBegin);
    }

    /// The loss is a phase of its own, behind the forward pass that it belongs to.
    static void takePhase(std::vector<DrawnInterval>& recorded, const SliceView& slice, const OpInfo& op)
    {
        if (!isPassPhase(op.phase) && op.phase != Phase::Optimizer) return;
        DrawnInterval* before = recorded.empty() ? nullptr : &recorded.back();
        const bool joins = op.name == "loss" && before && before->phase == op.phase &&
                           before->microbatch == slice.microbatch && before->range.end <= slice.start;
        if (joins)
            before->range.end = slice.end();
        else
            recorded.push_back(passOf({slice.start, slice.end()}, op.phase, slice.microbatch));
    }

    void drawIntervals(Provenance provenance)
    {
        std::array<IntervalUnion, kClasses> unions;
        for (std::size_t i = 0; i < m_work.size(); ++i)
            for (const DrawnInterval& each : m_work[i]) unions[i].add(each.range);
        std::array<std::size_t, kClasses> next{};
        const DrawnInterval* last = nullptr;
        partitionByPriority(unions, m_range, [&](TimeRange segment, int priority) {
            if (priority < 0) return;
            const auto index = static_cast<std::size_t>(priority);
            for (Instant at = segment.begin; at < segment.end;) {
                while (m_work[index][next[index]].range.end <= at) ++next[index];
                const DrawnInterval& work = m_work[index][next[index]];
                const Instant end = std::min(work.range.end, segment.end);
                if (last != &work || m_lane.intervals.back().range.end != fromOrigin({at, end}).begin) {
                    m_lane.intervals.push_back(work);
                    m_lane.intervals.back().range = fromOrigin({at, end});
                    m_lane.intervals.back().provenance = provenance;
                } else {
                    m_lane.intervals.back().range.end = fromOrigin({at, end}).end;
                }
                last = &work;
                at = end;
            }
        });
        std::optional<Instant> first;
        for (const DrawnInterval& each : m_lane.intervals) {
            if (!isPass(each)) continue;
            if (!first) first = each.range.begin;
            m_lane.passesRange = {*first, std::max(m_lane.passesRange.end, each.range.end)};
        }
    }

    void drawMemory()
    {
        const auto found = m_trace.memory.find(m_rank.rank);
        if (found == m_trace.memory.end()) return;
        CategoryBytes live{};
        for (const MemorySample& sample : found->second) {
            if (sample.at >= m_range.end) break;
            const Instant at = fromOrigin({std::max(sample.at, m_range.begin), m_range.end}).begin;
            if (sample.at <= m_range.begin) m_lane.memory.clear(); // only what holds at the begin counts
            for (std::size_t i = 0; i < live.size(); ++i)
                if (sample.bytes[i] != live[i] || (sample.at <= m_range.begin && sample.bytes[i] != 0))
                    m_lane.memory.push_back({at, static_cast<MemoryCategory>(i), sample.bytes[i]});
            live = sample.bytes;
            if (m_lane.peakBytes != 0 && sample.at > m_range.begin && sample.total() <= m_lane.peakBytes) continue;
            m_lane.peakBytes = sample.total();
            m_lane.peakAt = at;
        }
    }

    const InMemoryTraceData& m_trace;
    const RankInfo& m_rank;
    TimeRange m_range;
    Instant m_origin;
    std::vector<Instant> m_messages;
    std::set<std::pair<TrackId, Instant>> m_received;
    std::array<std::vector<DrawnInterval>, kClasses> m_work; ///< by class; each by begin
    DrawnLane m_lane;
};

} // namespace

namespace {

/// The messages of the step, on the lanes that sent them.
void drawTransfers(DrawnStep& drawn, const InMemoryTraceData& trace, TimeRange range, Provenance provenance)
{
    const auto laneOf = [&](RankId rank) {
        return std::find_if(drawn.lanes.begin(), drawn.lanes.end(),
                            [rank](const DrawnLane& each) { return each.rank == rank; });
    };
    for (const CollectiveView& each : trace.collectives) {
        const CollectiveRecord& record = each.record;
        if (record.operation != CollectiveOp::Send || !record.peer || !range.contains(record.start)) continue;
        const auto from = laneOf(each.rank), to = laneOf(*record.peer);
        if (from == drawn.lanes.end() || to == drawn.lanes.end()) continue;
        DrawnTransfer& transfer = from->sent.emplace_back();
        transfer.range = {Instant{} + (record.start - range.begin), Instant{} + (record.end - range.begin)};
        transfer.phase = to->stage < from->stage ? Phase::BackwardInput : Phase::Forward;
        transfer.provenance = provenance;
        transfer.toLane = static_cast<std::int32_t>(to - drawn.lanes.begin());
        transfer.bytes = record.payloadBytes.value_or(0);
    }
}

} // namespace

Result<DrawnStep> drawnStepOf(const std::shared_ptr<const InMemoryTraceData>& trace, Provenance provenance)
{
    InMemoryTraceQuery query(trace);
    FOURWALLS_TRY_ASSIGN(const StepWindow window, stepWindow(query));
    DrawnStep drawn;
    drawn.length = window.range.length();
    drawn.byRank = true;
    std::vector<RankInfo> ranks = trace->info.header.ranks;
    std::sort(ranks.begin(), ranks.end(), [](const RankInfo& a, const RankInfo& b) { return a.rank < b.rank; });
    for (const RankInfo& rank : ranks) {
        const auto own = window.ranks.find(rank.rank);
        if (own == window.ranks.end()) continue;
        drawn.lanes.push_back(LaneReader(*trace, rank, own->second, window.range.begin).read(provenance));
        DrawnLane& lane = drawn.lanes.back();
        for (const StepSummary& summary : trace->stepSummaries)
            if (summary.rank == rank.rank && (!window.step || summary.step == *window.step))
                lane.busy = summary.pipelineBusy;
        for (const DrawnInterval& each : lane.intervals)
            drawn.splitsBackward = drawn.splitsBackward || each.phase == Phase::BackwardWeight;
    }
    for (DrawnLane& lane : drawn.lanes) foldPasses(lane, drawn.splitsBackward);
    drawTransfers(drawn, *trace, window.range, provenance);
    return drawn;
}

} // namespace fourwalls
