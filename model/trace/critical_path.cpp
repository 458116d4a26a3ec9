// SPDX-License-Identifier: Apache-2.0
// See critical_path.h.
#include "model/trace/critical_path.h"

#include "model/trace/communication_step.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls {

namespace {

/// A stream that goes on within this long after an operator did not wait for anything else.
constexpr Duration kAdjacent{10'000};
constexpr std::size_t kMostSegments = 200'000;

/// Something that ended on a rank at a time, and where the path goes from its start.
struct Event {
    Instant start, end;
    bool isTransfer = false, holdsWaiting = false;
    OpId op;                    ///< of work
    Instant lastArrival;        ///< of a transfer: before it, the rank waited
    std::optional<RankId> from; ///< of a transfer: who arrived last, if it was another rank
    CollectiveOp operation = CollectiveOp::AllReduce;
    GroupId group;
};

struct Lane {
    std::vector<Event> events; ///< by end
    OpDictionary ops;
};

class Walk {
public:
    Walk(std::map<RankId, Lane> lanes, CriticalPath& path) : m_lanes(std::move(lanes)), m_path(path) {}

    void run()
    {
        RankId rank = lastRank();
        Instant at = m_path.window.range.end;
        const Instant begin = m_path.window.range.begin;
        std::size_t still = 0; // jumps since the instant last went back
        Instant jumpedAt = m_path.window.range.end + Duration{1};
        while (at > begin && m_found.size() < kMostSegments) {
            const Lane& lane = m_lanes[rank];
            const Event* event = latestBefore(lane, at);
            if (!event || event->end <= begin) {
                addGap(rank, {begin, at});
                break;
            }
            if (event->end < at) addGap(rank, {event->end, at});
            at = std::min(at, event->end);
            if (event->isTransfer) {
                const Instant from = std::max(begin, std::max(event->start, event->lastArrival));
                if (from < at) addTransfer(rank, {from, at}, *event);
                at = std::min(at, from);
                // Jumps without time going back: at most once round all ranks.
                still = at < jumpedAt ? 0 : still + 1;
                jumpedAt = at;
                if (event->from && still <= m_lanes.size() && m_lanes.count(*event->from)) {
                    rank = *event->from;
                    ++m_path.jumps;
                } else if (event->lastArrival > event->start && event->start < at) {
                    // It waited for somebody whom the trace does not have.
                    addGap(rank, {std::max(begin, event->start), at});
                    at = std::max(begin, event->start);
                }
            } else {
                const Instant from = std::max(begin, event->start);
                addWork(rank, {from, at}, event->op, lane.ops);
                at = from;
            }
        }
        std::reverse(m_found.begin(), m_found.end());
        m_path.segments = std::move(m_found);
    }

private:
    /// The rank that did something last: all ranks' steps end with the job's.
    RankId lastRank() const
    {
        RankId last = m_lanes.empty() ? RankId{} : m_lanes.begin()->first;
        Instant end{-kLargestTimeNs};
        for (const auto& [rank, lane] : m_lanes) {
            const Event* event = latestBefore(lane, m_path.window.range.end);
            if (!event || std::min(event->end, m_path.window.range.end) <= end) continue;
            end = std::min(event->end, m_path.window.range.end);
            last = rank;
        }
        return last;
    }

    static const Event* latestBefore(const Lane& lane, Instant at)
    {
        auto after = std::upper_bound(lane.events.begin(), lane.events.end(), at,
                                      [](Instant t, const Event& event) { return t < event.end; });
        const Event* best = nullptr;
        while (after != lane.events.begin()) {
            const Event& event = *--after;
            if (event.start >= at) continue; // without length
            if (!best) best = &event;
            if (best->end - event.end > kAdjacent) break;
            if (!event.isTransfer) return &event;
        }
        return best;
    }

    void push(PathSegment segment)
    {
        if (segment.range.empty()) return;
        if (!m_found.empty()) {
            PathSegment& later = m_found.back();
            const bool same = later.rank == segment.rank && later.part == segment.part &&
                              later.phase == segment.phase && later.activity == segment.activity &&
                              later.operation == segment.operation && later.group == segment.group &&
                              later.range.begin == segment.range.end && segment.part != PathPart::Transfer;
            if (same) {
                if (segment.range.length() > m_longest) {
                    m_longest = segment.range.length();
                    later.name = segment.name;
                }
                if (later.layer != segment.layer) later.layer.reset();
                later.range.begin = segment.range.begin;
                later.pieces += segment.pieces;
                return;
            }
        }
        m_longest = segment.range.length();
        m_found.push_back(std::move(segment));
    }

    void addGap(RankId rank, TimeRange range)
    {
        PathSegment segment;
        segment.rank = rank;
        segment.range = range;
        push(segment);
    }
    void addTransfer(RankId rank, TimeRange range, const Event& event)
    {
        PathSegment segment;
        segment.rank = rank;
        segment.range = range;
        segment.part = PathPart::Transfer;
        segment.operation = event.operation;
        segment.group = event.group;
        segment.holdsWaiting = event.holdsWaiting;
        push(segment);
    }
    void addWork(RankId rank, TimeRange range, OpId id, const OpDictionary& ops)
    {
        PathSegment segment;
        segment.rank = rank;
        segment.range = range;
        segment.part = PathPart::Work;
        if (const auto op = ops.find(id); op != ops.end()) {
            segment.phase = op->second->phase;
            segment.activity = op->second->activity;
            segment.layer = op->second->layer;
            segment.name = op->second->name;
        }
        push(segment);
    }

    std::map<RankId, Lane> m_lanes;
    CriticalPath& m_path;
    std::vector<PathSegment> m_found; ///< latest first
    Duration m_longest;
};

bool isWork(const OpInfo& op)
{
    return op.activity == Activity::Compute || op.activity == Activity::Copy || op.activity == Activity::DataLoading;
}

Result<Lane> workOf(TraceQuery& trace, RankId rank, TimeRange range, std::int64_t mostRows, Duration& shortest,
                    std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(BoundedSlices slices, boundedSlices(trace, workTracks(trace, rank), range, mostRows, stop));
    shortest = std::max(shortest, slices.shortest);
    Lane lane;
    const auto add = [&](OpId id, Instant start, Instant end) {
        const auto op = slices.ops.find(id);
        if (op == slices.ops.end() || !isWork(*op->second) || end <= start) return;
        Event event;
        event.start = start;
        event.end = end;
        event.op = id;
        lane.events.push_back(event);
    };
    for (const LaneSlices& each : slices.lanes) {
        for (const SliceView& slice : each.exact) add(slice.op, slice.start, slice.end());
        for (const SliceBin& bin : each.bins) add(bin.dominant, bin.start, bin.start + bin.busy);
    }
    lane.ops = std::move(slices.ops);
    return lane;
}

/// What collectives and messages of the step make the ranks depend on.
void addTransfers(const TraceInfo& info, const std::vector<JoinedOperation>& operations, std::map<RankId, Lane>& lanes)
{
    const bool hasReceives = std::any_of(operations.begin(), operations.end(), [](const JoinedOperation& each) {
        return each.operation == CollectiveOp::Receive;
    });
    for (const JoinedOperation& operation : operations)
        for (const CollectiveView& member : operation.members) {
            const CollectiveRecord& record = member.record;
            Event event;
            event.start = record.start;
            event.end = record.end;
            event.lastArrival = record.lastArrival;
            event.isTransfer = true;
            event.holdsWaiting =
                collectiveTiming(info, operation.group, operation.operation) == CollectiveTiming::WaitAndTransfer;
            // Without all members nobody knows who was waited for.
            if (event.holdsWaiting) event.lastArrival = event.start;
            event.operation = operation.operation;
            event.group = operation.group;
            RankId owner = member.rank;
            if (operation.operation == CollectiveOp::Send) {
                // A sender does not wait; where receives are not recorded, its message arrives on the other side.
                if (hasReceives || !record.peer) continue;
                owner = *record.peer;
                event.from = member.rank;
                event.operation = CollectiveOp::Receive;
            } else if (operation.operation == CollectiveOp::Receive) {
                if (record.peer) event.from = *record.peer;
            } else if (!event.holdsWaiting && operation.late() != member.rank && operation.skew().ns > 0) {
                event.from = operation.late();
            }
            const auto lane = lanes.find(owner);
            if (lane != lanes.end() && event.end > event.start) lane->second.events.push_back(event);
        }
}

} // namespace

Duration CriticalPath::time(PathPart part) const
{
    Duration sum;
    for (const PathSegment& segment : segments)
        if (segment.part == part) sum += segment.range.length();
    return sum;
}

std::vector<std::pair<RankId, Duration>> CriticalPath::byRank() const
{
    std::map<RankId, Duration> sums;
    for (const PathSegment& segment : segments) sums[segment.rank] += segment.range.length();
    std::vector<std::pair<RankId, Duration>> sorted(sums.begin(), sums.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

std::vector<PathShare> CriticalPath::shares() const
{
    std::map<std::tuple<int, int, int, int, int, int>, PathShare> sums;
    for (const PathSegment& segment : segments) {
        const bool transfer = segment.part == PathPart::Transfer;
        PathShare& sum =
            sums[{static_cast<int>(segment.part), static_cast<int>(segment.phase), static_cast<int>(segment.activity),
                  transfer ? static_cast<int>(segment.operation) : 0,
                  transfer && segment.group ? segment.group->value : -1, transfer ? -1 : segment.rank.value}];
        if (sum.segments == 0 || segment.range.length() > sum.kind.range.length()) sum.kind = segment;
        sum.anyRank = transfer;
        sum.time += segment.range.length();
        ++sum.segments;
    }
    std::vector<PathShare> sorted;
    const double length = static_cast<double>(std::max<std::int64_t>(1, window.range.length().ns));
    for (auto& [key, sum] : sums) {
        sum.share = static_cast<double>(sum.time.ns) / length;
        sorted.push_back(sum);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
    return sorted;
}

Result<CriticalPath> criticalPath(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    CriticalPath path;
    FOURWALLS_TRY_ASSIGN(path.window, stepWindow(trace, wanted));
    if (path.window.range.empty()) return path;
    const std::size_t ranks = std::min(path.window.ranks.size(), kMostRanksAnalysed);
    path.limited = ranks < path.window.ranks.size();
    const std::int64_t budget = kMostSlicesAnalysed / static_cast<std::int64_t>(std::max<std::size_t>(1, ranks));
    std::map<RankId, Lane> lanes;
    for (const auto& [rank, range] : path.window.ranks) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        if (lanes.size() >= ranks) break;
        FOURWALLS_TRY_ASSIGN(Lane lane, workOf(trace, rank, path.window.range, budget, path.shortest, stop));
        lanes.emplace(rank, std::move(lane));
    }
    FOURWALLS_TRY_ASSIGN(std::vector<CollectiveView> records,
                         trace.collectives(std::nullopt, path.window.range, kMostOperationsAnalysed + 1));
    if (records.size() > kMostOperationsAnalysed) {
        records.resize(kMostOperationsAnalysed);
        path.limited = true;
    }
    addTransfers(trace.info(), joinOperations(records), lanes);
    for (auto& [rank, lane] : lanes)
        std::stable_sort(lane.events.begin(), lane.events.end(),
                         [](const Event& a, const Event& b) { return a.end < b.end; });
    Walk(std::move(lanes), path).run();
    return path;
}

} // namespace fourwalls
