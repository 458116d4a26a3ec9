// SPDX-License-Identifier: Apache-2.0
// See replayed_trace.h.
#include "model/replay/replayed_trace.h"

#include "model/replay/moved_times.h"
#include "model/replay/reordered_trace.h"
#include "model/replay/spec_change.h"
#include "model/spec/pipeline_schedule.h"
#include "model/trace/audit_counter.h"
#include "model/trace/in_memory_query.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::replay {

namespace {

class ReplayedWriter {
public:
    ReplayedWriter(TraceQuery& trace, const Recording& recording, const MovedTimes& moved, TraceSink& sink,
                   std::stop_token stop)
        : m_trace(trace)
        , m_recording(recording)
        , m_moved(moved)
        , m_sink(sink)
        , m_stop(stop)
        , m_producer(sink.openProducer())
        , m_range(recording.steps.front().range)
    {
        for (const RecordedStep& step : recording.steps)
            m_range = {std::min(m_range.begin, step.range.begin), std::max(m_range.end, step.range.end)};
        for (std::uint32_t i = 0; i < recording.pieces.size(); ++i) {
            const Piece& piece = recording.pieces[i];
            m_pieces.emplace(keyOf(piece.track, piece.start, piece.end), i);
            if (piece.isCollective()) m_collectives[piece.collective] = i;
        }
    }

    Status write()
    {
        for (const TrackView& track : m_trace.tracks()) m_tracks.push_back(m_sink.defineTrack(track.info));
        for (const ProcessGroupInfo& group : m_recording.info.groups) m_groups.push_back(m_sink.defineGroup(group));
        for (const CounterInfo& counter : m_recording.info.counters)
            m_counters.push_back(m_sink.defineCounter(counter));
        FOURWALLS_TRY(writeSlices());
        writeCollectives();
        FOURWALLS_TRY(writeSteps());
        FOURWALLS_TRY(writeMemory());
        FOURWALLS_TRY(writeCounters());
        m_producer.reset();
        TraceClosing closing = m_recording.info.closing;
        closing.traffic.clear();  // it counts the whole recording
        closing.segments.clear(); // their times are the recording's
        closing.blocks.clear();
        return m_sink.finish(closing);
    }

private:
    static std::uint64_t keyOf(TrackId track, Instant start, Instant end)
    {
        std::uint64_t key = static_cast<std::uint64_t>(track.value);
        for (const Instant at : {start, end}) key = (key ^ static_cast<std::uint64_t>(at.ns)) * 0x9e3779b97f4a7c15ull;
        return key;
    }

    const MovedPiece* movedOf(const SliceView& slice) const
    {
        const auto [first, last] = m_pieces.equal_range(keyOf(slice.track, slice.start, slice.end()));
        for (auto each = first; each != last; ++each) {
            const Piece& piece = m_recording.pieces[each->second];
            if (piece.track == slice.track && piece.start == slice.start && piece.op == slice.op &&
                m_moved.piece(each->second).known)
                return &m_moved.piece(each->second);
        }
        return nullptr;
    }

    /// What lies within an operation (its waiting, its hops) keeps its place before or behind the last arrival.
    std::optional<TimeRange> withinOperation(const SliceView& slice) const
    {
        const auto& pieces = m_recording.pieces;
        auto behind =
            std::upper_bound(pieces.begin(), pieces.end(), slice, [this](const SliceView& s, const Piece& piece) {
                const RankId rank = m_recording.tracks[static_cast<std::size_t>(s.track.value)].rank;
                return std::tie(rank, s.track, s.start) < std::tie(piece.rank, piece.track, piece.start);
            });
        for (int looked = 0; behind != pieces.begin() && looked < 8; ++looked) {
            --behind;
            if (behind->track != slice.track) break;
            if (!behind->isCollective() || behind->end < slice.end()) continue;
            const MovedPiece& moved = m_moved.piece(static_cast<std::uint32_t>(behind - pieces.begin()));
            if (!moved.known) continue;
            const Instant arrival = m_recording.collectives[behind->collective].record.lastArrival;
            const auto at = [&](Instant t) {
                const bool waiting = t <= arrival;
                const Instant a = waiting ? behind->start : arrival, b = waiting ? arrival : behind->end;
                const Instant to = waiting ? moved.start : moved.lastArrival,
                              until = waiting ? moved.lastArrival : moved.end;
                if (b <= a) return to;
                const double share = static_cast<double>((t - a).ns) / static_cast<double>((b - a).ns);
                return to + Duration{static_cast<std::int64_t>(share * static_cast<double>((until - to).ns))};
            };
            return TimeRange{at(slice.start), at(slice.end())};
        }
        return std::nullopt;
    }

    Status writeSlices()
    {
        std::unordered_map<OpId, std::pair<OpId, SliceKind>> ops;
        Status failed;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                if (slice.start < m_range.begin || slice.start > m_range.end || slice.end() > m_range.end + Duration{1})
                    return true;
                auto op = ops.find(slice.op);
                if (op == ops.end()) {
                    const auto info = m_trace.op(slice.op);
                    if (!info.ok()) {
                        failed = info.error();
                        return false;
                    }
                    op = ops.emplace(slice.op, std::pair(m_sink.defineOp(**info), (*info)->kind)).first;
                }
                const RankId rank = m_recording.tracks[static_cast<std::size_t>(slice.track.value)].rank;
                TimeRange range;
                if (const MovedPiece* moved = movedOf(slice))
                    range = {moved->start, moved->end};
                else if (const auto inside = withinOperation(slice))
                    range = *inside;
                else
                    range = m_moved.range(rank, {slice.start, slice.end()});
                m_producer->slice({m_tracks[static_cast<std::size_t>(slice.track.value)], op->second.first, range.begin,
                                   range.length(), slice.microbatch, slice.correlation});
                return true;
            },
            m_stop));
        return failed;
    }

    void writeCollectives()
    {
        for (const auto& [index, piece] : m_collectives) {
            const MovedPiece& moved = m_moved.piece(piece);
            if (!moved.known) continue;
            CollectiveRecord record = m_recording.collectives[index].record;
            record.track = m_tracks[static_cast<std::size_t>(record.track.value)];
            record.group = m_groups[static_cast<std::size_t>(record.group.value)];
            record.start = moved.start;
            record.lastArrival = moved.lastArrival;
            record.end = moved.end;
            m_producer->collective(record);
        }
    }

    Status writeSteps()
    {
        for (const RankInfo& rank : m_recording.info.header.ranks) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank.rank));
            for (const StepView& step : steps) {
                const bool chosen =
                    std::any_of(m_recording.steps.begin(), m_recording.steps.end(), [&](const RecordedStep& each) {
                        return each.step == step.record.step && each.ranks.count(rank.rank);
                    });
                if (!chosen || step.record.state == StepState::Lost) continue;
                StepRecord record = step.record;
                record.range = m_moved.range(rank.rank, record.range);
                m_producer->step(rank.rank, record);
            }
        }
        return {};
    }

    /// Buffers that are alive in the steps.
    Status writeMemory()
    {
        return m_trace.scanAllocations(
            [&](const AllocationView& buffer) {
                if (buffer.start > m_range.end || (buffer.end && *buffer.end < m_range.begin)) return true;
                AllocationRecord record;
                record.id = buffer.id;
                record.at = m_moved.at(buffer.rank, buffer.start);
                record.bytes = buffer.bytes;
                record.address = buffer.address;
                record.category = buffer.category;
                if (buffer.op) {
                    const auto info = m_trace.op(*buffer.op);
                    if (info.ok()) record.op = m_sink.defineOp(**info);
                }
                record.microbatch = buffer.microbatch;
                m_producer->allocated(buffer.rank, record);
                if (buffer.end && *buffer.end <= m_range.end)
                    m_producer->freed(buffer.rank, buffer.id, m_moved.at(buffer.rank, *buffer.end));
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
                const RankId rank = m_recording.info.counters[index].rank.value_or(
                    m_recording.info.header.ranks.empty() ? RankId{} : m_recording.info.header.ranks.front().rank);
                m_producer->counter({m_counters[index], m_moved.at(rank, sample.at), sample.value});
                return true;
            },
            m_stop);
    }

    TraceQuery& m_trace;
    const Recording& m_recording;
    const MovedTimes& m_moved;
    TraceSink& m_sink;
    std::stop_token m_stop;
    std::unique_ptr<TraceProducer> m_producer;
    TimeRange m_range;
    std::unordered_multimap<std::uint64_t, std::uint32_t> m_pieces;
    std::map<std::uint32_t, std::uint32_t> m_collectives; ///< record to piece
    std::vector<TrackId> m_tracks;
    std::vector<GroupId> m_groups;
    std::vector<CounterId> m_counters;
};

} // namespace

struct ChangedTrace::State {
    TraceHeader header;
    std::vector<AuditRecord> audit;
    DelayRule rule = DelayRule::Class;
    std::optional<Replay> replay;    ///< with the graph that the changes ask for; absent: `scaled`
    std::optional<NodeTimes> times;  ///< absent: as recorded
    std::vector<ReplayChange> order; ///< of the passes; empty: as recorded
    std::optional<ScaledStep> scaled;

    Status writeTimes(TraceQuery& trace, TraceSink& sink, std::stop_token stop) const;
    static Status writeOrder(TraceQuery& trace, const Replay& replay, DelayRule rule,
                             std::span<const ReplayChange> changes, TraceSink& sink, std::stop_token stop);
};

namespace {

/// What is written says what its passes are ordered by.
void nameOrder(TraceHeader& header, const PassOrder& order)
{
    if (!header.spec) return;
    RunSpec& spec = *header.spec;
    const double factor =
        static_cast<double>(order.changedShape.microbatches) / std::max(1, order.recordedShape.microbatches);
    spec.plan.microbatches = order.changedShape.microbatches;
    spec.plan.schedule = order.changedShape.schedule;
    spec.plan.vpp = spec.plan.schedule == PipelineSchedule::ZeroBubbleV ? 1 : order.changedShape.chunks;
    dropMisfittingStages(spec.plan);
    spec.training.batch = std::llround(static_cast<double>(spec.training.batch) * factor);
}

} // namespace

ChangedTrace::ChangedTrace(std::unique_ptr<const State> state) : m_state(std::move(state)) {}
ChangedTrace::ChangedTrace(ChangedTrace&&) noexcept = default;
ChangedTrace& ChangedTrace::operator=(ChangedTrace&&) noexcept = default;
ChangedTrace::~ChangedTrace() = default;

const TraceHeader& ChangedTrace::header() const
{
    return m_state->header;
}

Result<ChangedTrace> ChangedTrace::of(const TraceInfo& recorded, const Replay& replay, DelayRule rule,
                                      std::span<const ReplayChange> changes, const MachineRates* rates)
{
    auto state = std::make_unique<State>();
    const auto asks = [&](ChangeKind first, ChangeKind last) {
        return std::any_of(changes.begin(), changes.end(),
                           [&](const ReplayChange& each) { return each.kind >= first && each.kind <= last; });
    };
    const bool ofTimes = asks(ChangeKind::Stragglers, ChangeKind::Hide);
    const bool ofSpec = asks(ChangeKind::Plan, ChangeKind::Cluster);
    state->rule = rule;
    state->header = recorded.header;
    state->header.source = TraceSource::Predicted; // of measured work: the labels say so
    state->header.computeLabel = state->header.communicationLabel = "replayed";
    for (const ReplayChange& change : changes)
        state->audit.push_back(auditRecord(AuditCounter::ReplayedChange, 1, change.text));
    FOURWALLS_TRY_ASSIGN(const ReplayOutcome outcome, replay.run(rule, changes, rates));
    for (const Sentence& assumed : outcome.assumed)
        state->audit.push_back(auditRecord(AuditCounter::ReplayAssumed, 1, assumed.inWords()));
    if (ofSpec) {
        FOURWALLS_TRY_ASSIGN(state->scaled, scaledStep(replay.recording(), changes, outcome.changed, rates));
        state->header = state->scaled->header;
        state->header.computeLabel = state->header.communicationLabel = "scaled";
        return ChangedTrace(std::move(state));
    }
    FOURWALLS_TRY_ASSIGN(state->replay, replay.restructured(changes));
    FOURWALLS_TRY_ASSIGN(ChangedTimes changed, state->replay->timesAfter(rule, changes));
    for (const ReplayChange& change : changes)
        if (change.kind >= ChangeKind::Microbatches && change.kind <= ChangeKind::Vpp) state->order.push_back(change);
    if (!state->order.empty()) {
        const Replay& other = *state->replay;
        FOURWALLS_TRY_ASSIGN(const PassOrder order,
                             orderPasses(other.recording(), other.graph(rule), changed.times, state->order));
        FOURWALLS_TRY(PassPlacement::of(other.recording(), order));
        nameOrder(state->header, order);
    }
    if (ofTimes || state->order.empty()) state->times = std::move(changed.times);
    return ChangedTrace(std::move(state));
}

Status ChangedTrace::State::writeTimes(TraceQuery& trace, TraceSink& sink, std::stop_token stop) const
{
    const ReplayGraph& graph = replay->graph(rule);
    std::vector<std::int64_t> end;
    simulate(graph, *times, end);
    const MovedTimes moved(replay->recording(), graph, times->duration, end);
    return ReplayedWriter(trace, replay->recording(), moved, sink, stop).write();
}

Status ChangedTrace::State::writeOrder(TraceQuery& trace, const Replay& replay, DelayRule rule,
                                       std::span<const ReplayChange> changes, TraceSink& sink, std::stop_token stop)
{
    const ReplayGraph& graph = replay.graph(rule);
    FOURWALLS_TRY_ASSIGN(const PassOrder order, orderPasses(replay.recording(), graph, timesOf(graph, rule), changes));
    FOURWALLS_TRY_ASSIGN(const PassPlacement placement, PassPlacement::of(replay.recording(), order));
    return writeReorderedTrace(trace, replay.recording(), order, placement, sink, stop);
}

Status ChangedTrace::write(TraceQuery& trace, TraceSink& sink, std::stop_token stop) const
{
    const State& state = *m_state;
    for (const AuditRecord& record : state.audit) sink.audit(record);
    if (state.scaled) return state.scaled->write(sink);
    if (state.order.empty()) return state.writeTimes(trace, sink, stop);
    if (!state.times) return State::writeOrder(trace, *state.replay, state.rule, state.order, sink, stop);
    // What the other changes make of the steps is a trace, whose passes are then ordered.
    InMemoryTrace between(trace.info().header);
    FOURWALLS_TRY(state.writeTimes(trace, between, stop));
    InMemoryTraceQuery changed(between.data());
    const std::vector<RecordedStep>& steps = state.replay->recording().steps;
    std::optional<StepChoiceRange> chosen;
    if (!state.replay->recording().wholeTrace) chosen = {steps.front().step, steps.back().step};
    FOURWALLS_TRY_ASSIGN(const Replay again, Replay::of(changed, chosen, stop));
    return State::writeOrder(changed, again, state.rule, state.order, sink, stop);
}

} // namespace fourwalls::replay
