// SPDX-License-Identifier: Apache-2.0
// See reordered_trace.h.
#include "model/replay/reordered_trace.h"

#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace fourwalls::replay {

namespace {

/// Copies of buffers get numbers of their own, far from those that were recorded.
constexpr std::int64_t kCopies = std::int64_t{1} << 40;

class ReorderedWriter {
public:
    ReorderedWriter(TraceQuery& trace, const Recording& recording, const PassOrder& order,
                    const PassPlacement& placement, TraceSink& sink, std::stop_token stop)
        : m_trace(trace)
        , m_recording(recording)
        , m_order(order)
        , m_placement(placement)
        , m_sink(sink)
        , m_stop(stop)
        , m_producer(sink.openProducer())
        , m_range(recording.steps.front().range)
    {
        for (std::uint32_t i = 0; i < recording.steps.size(); ++i) {
            const RecordedStep& step = recording.steps[i];
            m_range = {std::min(m_range.begin, step.range.begin), std::max(m_range.end, step.range.end)};
            for (const auto& [rank, range] : step.ranks) m_steps[rank].push_back({range, i});
        }
        for (const RankInfo& rank : recording.info.header.ranks) {
            auto& steps = m_steps[rank.rank];
            std::sort(steps.begin(), steps.end(),
                      [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
        }
        for (const CollectiveView& each : recording.collectives)
            m_records.emplace(std::pair(each.record.track.value, each.record.start.ns), &each.record);
    }

    Status write()
    {
        for (const TrackView& track : m_trace.tracks()) m_tracks.push_back(m_sink.defineTrack(track.info));
        for (const ProcessGroupInfo& group : m_recording.info.groups) m_groups.push_back(m_sink.defineGroup(group));
        for (const CounterInfo& counter : m_recording.info.counters)
            m_counters.push_back(m_sink.defineCounter(counter));
        FOURWALLS_TRY(writeSlices());
        writeMessages();
        FOURWALLS_TRY(writeSteps());
        FOURWALLS_TRY(writeMemory());
        FOURWALLS_TRY(writeCounters());
        auditCount(m_sink, AuditCounter::ReplayBetweenPasses, m_between);
        auditCount(m_sink, AuditCounter::ReplayMessagesLeftOut, m_unsent);
        m_producer.reset();
        TraceClosing closing = m_recording.info.closing;
        closing.traffic.clear();  // it counts the whole recording
        closing.segments.clear(); // their times are the recording's
        closing.blocks.clear();
        return m_sink.finish(closing);
    }

private:
    std::optional<std::uint32_t> stepOf(RankId rank, Instant at) const
    {
        const auto found = m_steps.find(rank);
        if (found == m_steps.end()) return std::nullopt;
        for (const auto& [range, step] : found->second)
            if (at >= range.begin && at <= range.end) return step;
        return std::nullopt;
    }
    RankId rankOf(TrackId track) const { return m_recording.tracks[static_cast<std::size_t>(track.value)].rank; }

    /// The pass that has most of a stretch; null: none has any of it.
    static const RecordedPass* passOf(const PlacedRank& rank, TimeRange range)
    {
        const RecordedPass* best = nullptr;
        Duration most;
        auto pass = std::lower_bound(rank.passes.begin(), rank.passes.end(), range.begin,
                                     [](const RecordedPass& each, Instant t) { return each.range.end < t; });
        for (; pass != rank.passes.end() && pass->range.begin <= range.end; ++pass) {
            const Duration common = std::min(pass->range.end, range.end) - std::max(pass->range.begin, range.begin);
            if (!best || common > most) {
                best = &*pass;
                most = common;
            }
        }
        return best;
    }

    /// A stretch where it lies now.
    struct Place {
        TimeRange range;
        std::int32_t microbatch = -1; ///< -1: as recorded
        std::optional<PipelinePass> pass;
    };

    /// Once, several times or nowhere.
    std::vector<Place> placesOf(const PlacedRank& rank, std::uint32_t step, TimeRange range)
    {
        const bool before = range.begin<rank.firstStart, behind = range.end> rank.lastEnd;
        const RecordedPass* pass = passOf(rank, range);
        // What holds passes of several kinds holds them wherever they are.
        const bool holdsAll = before && behind;
        if (holdsAll || (!pass && (range.end <= rank.firstStart || range.begin >= rank.lastEnd)))
            return {
                {{m_placement.outside(rank, step, range.begin), m_placement.outside(rank, step, range.end)}, -1, {}}};
        if (!pass) {
            ++m_between;
            return {};
        }
        std::vector<Place> places;
        const double from = pass->shareAt(range.begin), to = pass->shareAt(range.end);
        for (const Placement& each : pass->placements) {
            if (to < each.from || from > each.to || (to == each.from && from < to) || (from == each.to && from < to))
                continue;
            places.push_back({{RecordedPass::at(each, from), RecordedPass::at(each, to)}, each.microbatch, each.pass});
        }
        return places;
    }

    /// pass: that it is a part of now. A backward pass that is taken apart is two phases.
    Result<OpId> opOf(OpId recorded, std::optional<PipelinePass> pass = {})
    {
        const bool isPart = pass == PipelinePass::BackwardInput || pass == PipelinePass::BackwardWeight;
        if (!isPart || m_order.recordedShape.splitsBackward()) pass.reset();
        const auto found = m_ops.find({recorded, pass});
        if (found != m_ops.end()) return found->second;
        FOURWALLS_TRY_ASSIGN(const auto info, m_trace.op(recorded));
        OpInfo named = *info;
        if (pass && named.kind == SliceKind::Phase && named.phase == Phase::BackwardInput) {
            const bool isWeight = pass == PipelinePass::BackwardWeight;
            named.name = isWeight ? "backward weight" : "backward input"; // as the engine calls them
            if (isWeight) named.phase = Phase::BackwardWeight;
        }
        return m_ops.emplace(std::pair(recorded, pass), m_sink.defineOp(named)).first->second;
    }

    /// The operation that a slice is of (its hops begin with it, too), and the message that it is or is a hop of.
    std::pair<const CollectiveRecord*, const CollectiveRecord*> recordsAt(const SliceView& slice) const
    {
        const CollectiveRecord *own = nullptr, *message = nullptr;
        const auto [first, last] = m_records.equal_range({slice.track.value, slice.start.ns});
        for (auto each = first; each != last; ++each) {
            const CollectiveRecord& record = *each->second;
            if (slice.end() > record.end) continue;
            if (isMessage(record)) message = &record;
            if (slice.end() == record.end && !m_written.contains(&record)) own = &record;
        }
        if (own && !isMessage(*own)) message = nullptr;
        return {own, message};
    }

    static bool isMessage(const CollectiveRecord& record)
    {
        return record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
    }

    Status writeSlices()
    {
        Status failed;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                const RankId rank = rankOf(slice.track);
                const auto step = stepOf(rank, slice.start);
                if (!step) return true;
                const PlacedRank* passes = m_placement.rank(rank, *step);
                const TrackId track = m_tracks[static_cast<std::size_t>(slice.track.value)];
                const auto [of, message] = recordsAt(slice);
                if (message) {
                    if (message == of) keepMessage(rank, slice, *of);
                    return true; // they are written anew
                }
                const TimeRange range{slice.start, slice.end()};
                const bool ofStep = isOfStep(slice.op);
                const auto places = !passes  ? recordedPlace(*step, range)
                                    : ofStep ? std::vector{Place{withTheLastPass(*passes, *step, range), -1, {}}}
                                             : placesOf(*passes, *step, range);
                std::int64_t copy = 0;
                for (const Place& place : places) {
                    const auto op = opOf(slice.op, place.pass);
                    if (!op.ok()) {
                        failed = op.error();
                        return false;
                    }
                    auto label = slice.microbatch;
                    if (label && place.microbatch >= 0) label = Microbatch{place.microbatch};
                    m_producer->slice({track, *op, place.range.begin, place.range.length(), label, slice.correlation});
                    if (of) writeRecord(*of, range, place.range, copy++);
                }
                if (of) m_written.insert(of);
                return true;
            },
            m_stop));
        return failed;
    }

    /// Once per step, whatever the micro-batches: the reduction of gradients.
    bool isOfStep(OpId op) const
    {
        const auto index = static_cast<std::size_t>(op.value);
        return index < m_recording.ops.size() && m_recording.ops[index] &&
               m_recording.ops[index]->phase == Phase::GradientSync;
    }
    /// As far before the end of the last pass, or behind it, as it was.
    TimeRange withTheLastPass(const PlacedRank& rank, std::uint32_t step, TimeRange range) const
    {
        const auto at = [&](Instant t) {
            return t < rank.lastEnd ? rank.newEnd - (rank.lastEnd - t) : m_placement.outside(rank, step, t);
        };
        return {at(range.begin), at(range.end)};
    }

    std::vector<Place> recordedPlace(std::uint32_t step, TimeRange range) const
    {
        const Duration shift = m_placement.shiftOf(step);
        return {{{range.begin + shift, range.end + shift}, -1, {}}};
    }

    /// An operation keeps its waiting and its moving, stretched as its slice is.
    void writeRecord(const CollectiveRecord& of, TimeRange recorded, TimeRange place, std::int64_t copy)
    {
        CollectiveRecord record = of;
        record.track = m_tracks[static_cast<std::size_t>(of.track.value)];
        record.group = m_groups[static_cast<std::size_t>(of.group.value)];
        record.sequence += copy * kCopies; // members have as many copies each
        record.start = place.begin;
        record.end = place.end;
        const auto length = static_cast<double>(std::max<std::int64_t>(1, recorded.length().ns));
        const double waiting = static_cast<double>((of.lastArrival - recorded.begin).ns) / length;
        record.lastArrival =
            place.begin +
            Duration{std::llround(std::clamp(waiting, 0.0, 1.0) * static_cast<double>(place.length().ns))};
        m_producer->collective(record);
    }

    /// What a message of a rank to a stage looks like, and what receiving one does.
    struct Message {
        CollectiveRecord record;
        OpId op;
        TrackId track;
    };
    void keepMessage(RankId rank, const SliceView& slice, const CollectiveRecord& record)
    {
        if (!record.peer) return;
        const int other = m_recording.stageOf(*record.peer);
        m_messages.try_emplace({rank.value, other, record.operation == CollectiveOp::Send},
                               Message{record, slice.op, slice.track});
    }

    void writeMessages()
    {
        std::map<std::int32_t, std::int64_t> sequences;
        for (const auto& [rank, steps] : m_steps)
            for (const auto& [range, step] : steps)
                if (const PlacedRank* passes = m_placement.rank(rank, step)) sendFrom(rank, *passes, sequences);
    }

    void sendFrom(RankId rank, const PlacedRank& passes, std::map<std::int32_t, std::int64_t>& sequences)
    {
        const int stage = m_recording.stageOf(rank);
        // Passes of the order and of the rank begin together.
        Instant origin = passes.newEnd;
        std::int64_t last = 0;
        for (const PlacedPass& pass : m_order.passes)
            if (pass.stage == stage) last = std::max(last, pass.end);
        origin = origin - Duration{last};
        for (const PlacedPass& pass : m_order.passes) {
            if (pass.stage != stage) continue;
            const auto gives = m_order.changedShape.gives(stage, pass.action);
            if (!gives || gives->isLocal()) continue;
            const auto send = m_messages.find({rank.value, gives->toStage, true});
            if (send == m_messages.end()) {
                ++m_unsent;
                continue;
            }
            CollectiveRecord record = send->second.record;
            const RankId peer = *record.peer;
            const std::int64_t sequence = sequences[record.group.value]++;
            const Instant at = origin + Duration{pass.end};
            writeMessage(send->second, sequence, at, at + m_order.hop, pass.action.microbatch);
            const auto receive = m_messages.find({peer.value, stage, false});
            if (receive != m_messages.end())
                writeMessage(receive->second, sequence, at, at + m_order.hop, pass.action.microbatch);
        }
    }

    void writeMessage(const Message& like, std::int64_t sequence, Instant from, Instant to, std::int32_t microbatch)
    {
        const auto op = opOf(like.op);
        if (!op.ok()) return;
        CollectiveRecord record = like.record;
        record.track = m_tracks[static_cast<std::size_t>(like.track.value)];
        record.group = m_groups[static_cast<std::size_t>(record.group.value)];
        record.sequence = sequence;
        record.start = record.lastArrival = from;
        record.end = to;
        m_producer->slice({record.track, *op, from, to - from, Microbatch{microbatch}, {}});
        m_producer->collective(record);
    }

    Status writeSteps()
    {
        for (const auto& [rank, chosen] : m_steps) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank));
            for (const StepView& step : steps)
                for (const auto& [range, index] : chosen) {
                    if (m_recording.steps[index].step != step.record.step || step.record.state == StepState::Lost)
                        continue;
                    StepRecord record = step.record;
                    const Duration shift = m_placement.shiftOf(index);
                    record.range = {record.range.begin + shift, record.range.end + shift + m_placement.change()};
                    const double factor = static_cast<double>(m_order.changedShape.microbatches) /
                                          std::max(1, m_order.recordedShape.microbatches);
                    record.samples = std::llround(static_cast<double>(record.samples) * factor);
                    record.tokens = std::llround(static_cast<double>(record.tokens) * factor);
                    m_producer->step(rank, record);
                }
        }
        return {};
    }

    /// Where an instant of a rank's buffers lies: in the pass that it was recorded in, or outside of them all.
    std::vector<std::pair<Instant, std::int32_t>> instantsOf(RankId rank, Instant at)
    {
        const auto step = stepOf(rank, at);
        if (!step) {
            // Before the first of the chosen steps, behind the last one, or between two.
            Duration shift;
            for (const auto& [range, index] : m_steps[rank])
                if (at > range.end) shift = m_placement.shiftOf(index) + m_placement.change();
            return {{at + shift, -1}};
        }
        const PlacedRank* passes = m_placement.rank(rank, *step);
        if (!passes) return {{at + m_placement.shiftOf(*step), -1}};
        if (at < passes->firstStart || at > passes->lastEnd) return {{m_placement.outside(*passes, *step, at), -1}};
        // Between two passes: with the end of the earlier one.
        auto pass = std::upper_bound(passes->passes.begin(), passes->passes.end(), at,
                                     [](Instant t, const RecordedPass& each) { return t < each.range.begin; });
        if (pass == passes->passes.begin()) return {{m_placement.outside(*passes, *step, at), -1}};
        --pass;
        const double share = pass->shareAt(at);
        std::vector<std::pair<Instant, std::int32_t>> instants;
        for (const Placement& each : pass->placements)
            if (share >= each.from && (share < each.to || each.to == 1))
                instants.push_back({RecordedPass::at(each, share), each.microbatch});
        return instants;
    }

    Status writeMemory()
    {
        std::int64_t copies = kCopies;
        return m_trace.scanAllocations(
            [&](const AllocationView& buffer) {
                if (buffer.start > m_range.end || (buffer.end && *buffer.end < m_range.begin)) return true;
                const auto begins = instantsOf(buffer.rank, buffer.start);
                const bool isFreed = buffer.end && *buffer.end <= m_range.end;
                const auto ends =
                    isFreed ? instantsOf(buffer.rank, *buffer.end) : std::vector<std::pair<Instant, std::int32_t>>{};
                for (std::size_t i = 0; i < begins.size(); ++i) {
                    const auto& [begin, microbatch] = begins[i];
                    AllocationRecord record;
                    record.id = i == 0 ? buffer.id : AllocationId{copies++};
                    record.at = begin;
                    record.bytes = buffer.bytes;
                    record.address = buffer.address;
                    record.category = buffer.category;
                    record.microbatch = buffer.microbatch;
                    if (record.microbatch && microbatch >= 0) record.microbatch = Microbatch{microbatch};
                    if (buffer.op)
                        if (const auto op = opOf(*buffer.op); op.ok()) record.op = *op;
                    m_producer->allocated(buffer.rank, record);
                    if (ends.empty()) continue;
                    // Of the same micro-batch, if it was freed in a pass of it.
                    auto end = std::find_if(ends.begin(), ends.end(),
                                            [&, of = microbatch](const auto& each) { return each.second == of; });
                    if (end == ends.end()) end = ends.begin();
                    m_producer->freed(buffer.rank, record.id, std::max(begin, end->first));
                }
                return true;
            },
            m_stop);
    }

    Status writeCounters()
    {
        return m_trace.scanCounters(
            [&](const CounterRecord& sample) {
                if (sample.at < m_range.begin || sample.at > m_range.end) return true;
                const auto index = static_cast<std::size_t>(sample.counter.value);
                const auto& ranks = m_recording.info.header.ranks;
                const RankId rank =
                    m_recording.info.counters[index].rank.value_or(ranks.empty() ? RankId{} : ranks.front().rank);
                for (const auto& [at, microbatch] : instantsOf(rank, sample.at))
                    m_producer->counter({m_counters[index], at, sample.value});
                return true;
            },
            m_stop);
    }

    TraceQuery& m_trace;
    const Recording& m_recording;
    const PassOrder& m_order;
    const PassPlacement& m_placement;
    TraceSink& m_sink;
    std::stop_token m_stop;
    std::unique_ptr<TraceProducer> m_producer;
    TimeRange m_range;
    std::map<RankId, std::vector<std::pair<TimeRange, std::uint32_t>>> m_steps;
    std::multimap<std::pair<std::int32_t, std::int64_t>, const CollectiveRecord*> m_records; ///< by track and start
    std::set<const CollectiveRecord*> m_written;
    std::map<std::tuple<std::int32_t, int, bool>, Message> m_messages; ///< by rank, stage of the other, sent
    std::map<std::pair<OpId, std::optional<PipelinePass>>, OpId> m_ops;
    std::vector<TrackId> m_tracks;
    std::vector<GroupId> m_groups;
    std::vector<CounterId> m_counters;
    std::int64_t m_between = 0, m_unsent = 0;
};

} // namespace

Status writeReorderedTrace(TraceQuery& trace, const Recording& recording, const PassOrder& order,
                           const PassPlacement& placement, TraceSink& sink, std::stop_token stop)
{
    return ReorderedWriter(trace, recording, order, placement, sink, stop).write();
}

} // namespace fourwalls::replay
