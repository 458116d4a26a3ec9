// SPDX-License-Identifier: Apache-2.0
// The parts are settled (merge_parts.h), then copied one after the other; collectives come last, matched over all of them.
#include "model/import/merge_traces.h"

#include "model/import/common/placed_sink.h"
#include "model/import/common/run_collectives.h"
#include "model/import/merge_parts.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::importers {

namespace {

constexpr TimeRange kEverything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

class Merge final : public TraceMerge {
public:
    explicit Merge(MergeKind kind) : m_kind(kind) {}

    Status prepare(std::vector<MergeInput> inputs, const std::stop_token& stop)
    {
        FOURWALLS_TRY_ASSIGN(m_parts, mergeParts(std::move(inputs)));
        FOURWALLS_TRY(checkOneSpec(m_parts, m_kind));
        FOURWALLS_TRY(settlePartRanks(m_parts, m_kind));
        m_header = mergedHeader(m_parts);
        for (MergePart& part : m_parts) {
            if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", part.name, ""};
            FOURWALLS_TRY_ASSIGN(part.collectives, part.trace->collectives(std::nullopt, kEverything, kNoLimit));
        }
        if (m_kind == MergeKind::Attempts) {
            m_reference = &m_parts.front();
            return checkAttemptClocks(m_parts, m_header);
        }
        m_reference = settlePartClocks(m_parts, m_header);
        return checkPartTimes(m_parts);
    }

    const TraceHeader& header() const override { return m_header; }

    /// Peaks of the first input that has them; recording costs are means over the inputs that know theirs.
    TraceClosing closing() const override
    {
        AllocatorLeftOut left;
        return closing(left);
    }

    Status write(TraceSink& sink, const std::function<void(double)>& progress, std::stop_token stop) override
    {
        double done = 0, total = 1;
        for (const MergePart& part : m_parts) total += static_cast<double>(part.info().counts.slices);
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            FOURWALLS_TRY(copy(m_parts[i], i == 0, sink, stop));
            done += static_cast<double>(m_parts[i].info().counts.slices);
            if (progress) progress(done / total);
        }
        writeCollectives(sink);
        audit(sink);
        return {};
    }

private:
    using Tracks = std::vector<TrackId>;

    bool isOneOfAttempts() const { return m_kind == MergeKind::Attempts && m_parts.size() > 1; }

    TraceClosing closing(AllocatorLeftOut& left) const
    {
        TraceClosing closing;
        const auto mean = [&](std::optional<double> TraceClosing::*field) {
            double sum = 0;
            int count = 0;
            for (const MergePart& part : m_parts)
                if (const auto& value = part.info().closing.*field) sum += *value, ++count;
            return count > 0 ? std::optional(sum / count) : std::nullopt;
        };
        for (const MergePart& part : m_parts) {
            const TraceClosing& own = part.info().closing;
            if (!closing.peakFlopsPerDevice && own.peakFlopsPerDevice) {
                closing.peakFlopsPerDevice = own.peakFlopsPerDevice;
                closing.peakSource = own.peakSource;
            }
            if (closing.stepsBy.empty()) closing.stepsBy = own.stepsBy;
            if (!closing.memoryBytesPerSecond) closing.memoryBytesPerSecond = own.memoryBytesPerSecond;
            if (isOneOfAttempts()) continue; // nobody knows that of the failed ones
            for (TrafficRecord record : own.traffic) {
                record.from = part.placement.rank(record.from);
                record.to = part.placement.rank(record.to);
                closing.traffic.push_back(std::move(record));
            }
            addAllocatorState(closing, own, part.placement, left);
        }
        closing.recorderOverheadFraction = mean(&TraceClosing::recorderOverheadFraction);
        closing.recorderOverheadMeasured = mean(&TraceClosing::recorderOverheadMeasured);
        return closing;
    }

    /// Whether what its ranks have is gone with that part: a later one is of another attempt.
    bool endsWith(const MergePart& part) const
    {
        if (m_kind == MergeKind::Ranks) return false;
        // Parts of one attempt share no rank.
        const auto isShared = [&part](RankId own) { return part.ranks.contains(own); };
        const auto later = m_parts.begin() + (&part - m_parts.data()) + 1;
        return std::any_of(later, m_parts.end(), [&](const MergePart& each) {
            return std::any_of(each.ranks.begin(), each.ranks.end(), isShared);
        });
    }

    Status copyCounters(MergePart& part, bool first, PlacedSink& sink, TraceProducer& producer,
                        const std::stop_token& stop)
    {
        std::map<CounterId, CounterId> counters;
        FOURWALLS_TRY(part.trace->scanCounters(
            [&](const CounterRecord& sample) {
                const auto index = static_cast<std::size_t>(sample.counter.value);
                if (sample.counter.value < 0 || index >= part.info().counters.size()) return true;
                const CounterInfo& info = part.info().counters[index];
                // Every rank's file repeats what belongs to the whole job.
                if (!info.rank && !first && m_kind == MergeKind::Ranks && m_jobCounters.contains(info.name))
                    return true;
                auto found = counters.find(sample.counter);
                if (found == counters.end()) found = counters.emplace(sample.counter, sink.defineCounter(info)).first;
                producer.counter({found->second, sample.at, sample.value});
                return true;
            },
            stop));
        for (const CounterInfo& info : part.info().counters)
            if (!info.rank) m_jobCounters.insert(info.name);
        return {};
    }

    Status copy(MergePart& part, bool first, TraceSink& target, const std::stop_token& stop)
    {
        PlacedSink sink(target, part.placement);
        const auto producer = sink.openProducer();
        TraceQuery& trace = *part.trace;
        Tracks tracks;
        for (const TrackView& track : trace.tracks()) tracks.push_back(sink.defineTrack(track.info));
        const auto track = [&](TrackId id) {
            const auto index = static_cast<std::size_t>(id.value);
            return id.value >= 0 && index < tracks.size() ? std::optional(tracks[index]) : std::nullopt;
        };
        std::map<OpId, OpId> ops;
        Status failure;
        const auto op = [&](OpId id) {
            const auto found = ops.find(id);
            if (found != ops.end()) return found->second;
            const auto info = trace.op(id);
            if (!info.ok() && failure.ok()) failure = info.error();
            return ops.emplace(id, info.ok() ? sink.defineOp(**info) : OpId{}).first->second;
        };
        FOURWALLS_TRY(trace.scanSlices(
            [&](const SliceView& slice) {
                if (const auto at = track(slice.track))
                    producer->slice(
                        {*at, op(slice.op), slice.start, slice.duration, slice.microbatch, slice.correlation});
                return failure.ok();
            },
            stop));
        FOURWALLS_TRY(trace.scanAllocations(
            [&](const AllocationView& view) {
                AllocationRecord record{view.id,       view.start,   view.bytes,     view.address,
                                        view.category, std::nullopt, view.microbatch};
                if (view.op) record.op = op(*view.op);
                producer->allocated(view.rank, record);
                if (view.end)
                    producer->freed(view.rank, view.id, *view.end);
                else if (endsWith(part))
                    producer->freed(view.rank, view.id, part.info().range.end);
                return failure.ok();
            },
            stop));
        FOURWALLS_TRY(failure);
        FOURWALLS_TRY(copyCounters(part, first, sink, *producer, stop));
        FOURWALLS_TRY(trace.scanFlows(
            [&](const FlowRecord& flow) {
                const auto from = track(flow.fromTrack), to = track(flow.toTrack);
                if (from && to) producer->flow({flow.kind, *from, flow.from, *to, flow.to});
                return true;
            },
            stop));
        for (const RankId rank : part.ranks) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
            for (const StepView& step : steps) producer->step(rank, step.record);
        }
        FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events, trace.events(kEverything, kNoLimit));
        for (const EventRecord& event : events) producer->event(event);
        for (const AuditRecord& record : part.info().audit) {
            // What every part infers of the same network would add up.
            if (!isCounter(record, AuditCounter::Inferred) || &part == m_reference) sink.audit(record);
        }
        if (!part.info().complete)
            sink.audit(auditRecord(AuditCounter::SourceIncomplete, 1, "merged from an interrupted recording"));
        m_tracks.push_back(std::move(tracks));
        return {};
    }

    /// The group with the run's numbers. A file of one rank knows its world as that rank alone.
    ProcessGroupInfo placedGroup(const MergePart& part, const ProcessGroupInfo& own) const
    {
        ProcessGroupInfo group = own;
        for (RankId& rank : group.ranks) rank = part.placement.rank(rank);
        const bool wholeFile = !part.numbered() && own.name == "world" && group.ranks.size() == part.ranks.size();
        if (!wholeFile) return group;
        group.ranks.clear();
        for (const RankInfo& rank : m_header.ranks) group.ranks.push_back(rank.rank);
        return group;
    }

    /// Recordings number operations for the whole job; members of imports are found by time.
    void writeCollectives(TraceSink& sink)
    {
        std::vector<RankId> world;
        for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
        RunCollectives byTime("", world);
        using Key = std::tuple<GroupId, CollectiveOp, std::int64_t>;
        struct Operation {
            Instant lastArrival{std::numeric_limits<std::int64_t>::min()};
            std::set<RankId> ranks;
        };
        std::map<Key, Operation> operations;
        std::vector<CollectiveMember> members;
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            MergePart& part = m_parts[i];
            std::vector<ProcessGroupInfo> groups;
            std::vector<GroupId> ids;
            for (const ProcessGroupInfo& own : part.info().groups) {
                groups.push_back(placedGroup(part, own));
                if (part.numbered()) ids.push_back(sink.defineGroup(groups.back()));
            }
            for (const CollectiveView& view : part.collectives) {
                const auto group = static_cast<std::size_t>(view.record.group.value);
                const auto track = static_cast<std::size_t>(view.record.track.value);
                if (view.record.group.value < 0 || group >= groups.size() || view.record.track.value < 0 ||
                    track >= m_tracks[i].size())
                    continue;
                CollectiveMember member;
                member.rank = part.placement.rank(view.rank);
                member.record = view.record;
                member.record.track = m_tracks[i][track];
                member.record.start = view.record.start + part.placement.shift;
                member.record.lastArrival = view.record.lastArrival + part.placement.shift;
                member.record.end = view.record.end + part.placement.shift;
                if (view.record.peer) member.record.peer = part.placement.rank(*view.record.peer);
                if (!part.numbered()) {
                    member.groupKey = byTime.group(groups[group]);
                    byTime.add(std::move(member));
                    continue;
                }
                member.record.group = ids[group];
                const bool message =
                    view.record.operation == CollectiveOp::Send || view.record.operation == CollectiveOp::Receive;
                if (!message) {
                    Operation& operation = operations[{ids[group], view.record.operation, view.record.sequence}];
                    operation.lastArrival = std::max(operation.lastArrival, member.record.start);
                    operation.ranks.insert(member.rank);
                }
                members.push_back(std::move(member));
            }
            part.collectives = {};
        }
        const auto producer = sink.openProducer();
        for (CollectiveMember& member : members) {
            const auto found = operations.find({member.record.group, member.record.operation, member.record.sequence});
            if (found != operations.end() && found->second.ranks.size() > 1)
                member.record.lastArrival = std::clamp(std::max(found->second.lastArrival, member.record.lastArrival),
                                                       member.record.start, member.record.end);
            producer->collective(member.record);
        }
        m_matched = std::count_if(operations.begin(), operations.end(),
                                  [](const auto& entry) { return entry.second.ranks.size() > 1; });
        byTime.finish(sink);
        m_matched += byTime.matchedOperations();
    }

    void audit(TraceSink& sink) const
    {
        sink.audit(auditRecord(AuditCounter::Merged, static_cast<std::int64_t>(m_parts.size()),
                               m_kind == MergeKind::Attempts ? "attempts at one job" : "traces of one run"));
        sink.audit(auditRecord(AuditCounter::CollectivesMatched, m_matched));
        AllocatorLeftOut left;
        (void)closing(left);
        if (isOneOfAttempts())
            for (const MergePart& part : m_parts) {
                left.segments += static_cast<std::int64_t>(part.info().closing.segments.size());
                left.blocks += static_cast<std::int64_t>(part.info().closing.blocks.size());
            }
        auditLeftOut(left, sink);
        for (const MergePart& part : m_parts) {
            if (part.renumbered) sink.audit(auditRecord(AuditCounter::RankAssumed, 1));
            const bool joined = (part.memoryOnly() && part.sameWallClock) || m_kind == MergeKind::Attempts;
            if (!part.clock && &part != m_reference && !joined)
                sink.audit(auditRecord(AuditCounter::ClockNotAligned, 1));
            if (!part.clock) continue;
            for (const RankId own : part.ranks) auditClock(sink, part.placement.rank(own), *part.clock);
        }
    }

    MergeKind m_kind;
    std::vector<MergePart> m_parts;
    const MergePart* m_reference = nullptr; ///< whose clock is the run's
    TraceHeader m_header;
    std::vector<Tracks> m_tracks; ///< of the run, by part and its own TrackId
    std::set<std::string> m_jobCounters;
    std::int64_t m_matched = 0;
};

} // namespace

Result<std::unique_ptr<TraceMerge>> TraceMerge::create(std::vector<MergeInput> inputs, std::stop_token stop,
                                                       MergeKind kind)
{
    auto merge = std::make_unique<Merge>(kind);
    FOURWALLS_TRY(merge->prepare(std::move(inputs), stop));
    return std::unique_ptr<TraceMerge>(std::move(merge));
}

} // namespace fourwalls::importers
