// SPDX-License-Identifier: Apache-2.0
// See host_rules.h.
#include "model/replay/host_rules.h"

#include "model/trace/collective_timing.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

/// A device that does not begin within this long after nothing holds it up any more stands still: twenty times what a launch
/// takes.
constexpr Duration kStall{200'000};
/// Times nearer than this are one instant of two clocks.
constexpr Duration kClockSlack{1'000};
/// Share of event queries among a thread's calls from which on it only watches.
constexpr double kWatching = 0.9;

bool contains(const std::string& name, std::string_view word)
{
    return name.find(word) != std::string::npos;
}

/// What held a piece of device work up, as recorded: classes of delays.
enum class HeldBy : std::uint8_t { Nothing, Launch, Stream, Event };

struct Call {
    std::uint32_t piece = kNone;
    NodeIndex issue = kNone, done = kNone;
    std::vector<std::uint32_t> launched; ///< in the rank's device work
};

struct DeviceWork {
    std::uint32_t piece = kNone;
    std::uint32_t call = kNone; ///< in the rank's calls
    NodeIndex begin = kNone, done = kNone;
    std::vector<std::uint32_t> waitsFor; ///< events: in the rank's device work
};

struct RankWork {
    std::vector<Call> calls;                                    ///< by start
    std::vector<DeviceWork> device;                             ///< by start
    std::map<std::int32_t, std::vector<std::uint32_t>> streams; ///< device work by track, by start
    std::map<std::int32_t, std::vector<std::uint32_t>>
        operators; ///< pieces of host threads that are no calls, by start
};

class HostRules {
public:
    explicit HostRules(const Recording& recording)
        : m_recording(recording)
        , m_builder(recording.steps.front().range.begin)
    {}

    Result<GraphBuilder> build(std::int64_t& stalls)
    {
        const Instant origin = m_recording.steps.front().range.begin;
        for (std::size_t i = 0; i < m_recording.steps.size(); ++i) {
            const RecordedStep& step = m_recording.steps[i];
            GraphStep of;
            of.step = step.step;
            of.first = (step.range.begin - origin).ns;
            of.last = (step.range.end - origin).ns;
            of.chained = i > 0 && step.range.begin <= m_recording.steps[i - 1].range.end;
            m_steps.push_back(std::move(of));
        }
        collect();
        findShortest();
        for (auto& [rank, work] : m_ranks) {
            linkLaunches(work);
            findEventWaits(work);
            addNodes(rank, work);
        }
        FOURWALLS_TRY(meet());
        stalls = m_stalls;
        for (GraphStep& step : m_steps) m_builder.addStep(std::move(step));
        return std::move(m_builder);
    }

private:
    const Piece& pieceOf(const Call& call) const { return m_recording.pieces[call.piece]; }
    const Piece& pieceOf(const DeviceWork& work) const { return m_recording.pieces[work.piece]; }
    const std::string& nameOf(const Call& call) const { return m_recording.op(pieceOf(call)).name; }

    void collect()
    {
        std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> queries; // of a thread: event queries, calls
        for (const Piece& piece : m_recording.pieces) {
            const OpInfo& op = m_recording.op(piece);
            if (op.kind != SliceKind::HostCall) continue;
            auto& [query, all] = queries[piece.track.value];
            query += contains(op.name, "EventQuery") ? 1 : 0;
            ++all;
        }
        for (std::uint32_t i = 0; i < m_recording.pieces.size(); ++i) {
            const Piece& piece = m_recording.pieces[i];
            const OpInfo& op = m_recording.op(piece);
            const TrackKind kind = m_recording.track(piece).kind;
            RankWork& work = m_ranks[piece.rank];
            if (op.kind == SliceKind::HostCall) {
                const auto& [query, all] = queries[piece.track.value];
                if (static_cast<double>(query) < kWatching * static_cast<double>(all))
                    work.calls.push_back({i, kNone, kNone, {}});
            } else if (kind == TrackKind::ComputeStream || kind == TrackKind::CommStream ||
                       kind == TrackKind::CopyStream) {
                if (op.kind == SliceKind::Collective && !piece.isCollective()) continue;
                work.device.push_back({i, kNone, kNone, kNone, {}});
            } else if (kind == TrackKind::CpuThread) {
                work.operators[piece.track.value].push_back(i);
            }
        }
        for (auto& [rank, work] : m_ranks) {
            std::stable_sort(work.calls.begin(), work.calls.end(),
                             [this](const Call& a, const Call& b) { return pieceOf(a).start < pieceOf(b).start; });
            std::stable_sort(work.device.begin(), work.device.end(), [this](const DeviceWork& a, const DeviceWork& b) {
                return pieceOf(a).start < pieceOf(b).start;
            });
            for (std::uint32_t i = 0; i < work.device.size(); ++i)
                work.streams[pieceOf(work.device[i]).track.value].push_back(i);
        }
    }

    /// Of calls inside calls the outer one counts; both know what they launched.
    void linkLaunches(RankWork& work)
    {
        std::unordered_map<std::int64_t, std::uint32_t> byCorrelation;
        std::map<std::int32_t, std::uint32_t> open; // of a thread: its last call
        std::vector<Call> outer;
        for (const Call& call : work.calls) {
            const Piece& piece = pieceOf(call);
            const auto last = open.find(piece.track.value);
            std::uint32_t index = static_cast<std::uint32_t>(outer.size());
            if (last != open.end() && pieceOf(outer[last->second]).end > piece.start)
                index = last->second;
            else
                outer.push_back(call);
            open[piece.track.value] = index;
            if (piece.correlation >= 0) byCorrelation.try_emplace(piece.correlation, index);
        }
        work.calls = std::move(outer);
        for (std::uint32_t i = 0; i < work.device.size(); ++i) {
            const std::int64_t correlation = pieceOf(work.device[i]).correlation;
            const auto found = correlation < 0 ? byCorrelation.end() : byCorrelation.find(correlation);
            if (found == byCorrelation.end()) continue;
            if (pieceOf(work.calls[found->second]).start > pieceOf(work.device[i]).start + kClockSlack) continue;
            work.device[i].call = found->second;
            work.calls[found->second].launched.push_back(i);
        }
    }

    /// The stream that is launched on next waits for the last work of the others. Where times contradict that, the wait was
    /// for a later launch on the stream.
    void findEventWaits(RankWork& work)
    {
        // The last launch on each stream before a call, and the first one behind it.
        std::map<std::int32_t, std::uint32_t> last;
        std::vector<std::map<std::int32_t, std::uint32_t>> before;
        std::vector<std::uint32_t> waiting; // calls
        for (std::uint32_t i = 0; i < work.calls.size(); ++i) {
            const Call& call = work.calls[i];
            if (contains(nameOf(call), "StreamWaitEvent")) {
                waiting.push_back(i);
                before.push_back(last);
            }
            for (const std::uint32_t device : call.launched) last[pieceOf(work.device[device]).track.value] = device;
        }
        for (std::size_t w = 0; w < waiting.size(); ++w) {
            std::uint32_t next = waiting[w] + 1;
            while (next < work.calls.size() && work.calls[next].launched.empty()) ++next;
            if (next >= work.calls.size()) continue;
            const std::uint32_t first = work.calls[next].launched.front();
            const std::vector<std::uint32_t>& stream = work.streams[pieceOf(work.device[first]).track.value];
            for (const auto& [track, ended] : before[w]) {
                if (track == pieceOf(work.device[first]).track.value) continue;
                const Instant end = pieceOf(work.device[ended]).end;
                auto at = std::lower_bound(stream.begin(), stream.end(), first);
                while (at != stream.end() && pieceOf(work.device[*at]).start + kClockSlack < end) ++at;
                if (at != stream.end()) work.device[*at].waitsFor.push_back(ended);
            }
        }
    }

    using OperationKind = std::tuple<int, std::int32_t, std::int64_t>; // operation, group, payload
    static OperationKind kindOf(const CollectiveRecord& record)
    {
        return {static_cast<int>(record.operation), record.group.value, record.payloadBytes.value_or(-1)};
    }

    /// Of operations whose members are not all in the trace, the shortest of each kind.
    void findShortest()
    {
        std::map<std::int32_t, bool> separated;
        for (const Piece& piece : m_recording.pieces) {
            if (!piece.isCollective()) continue;
            const CollectiveRecord& record = m_recording.collectives[piece.collective].record;
            const auto [known, isNew] = separated.try_emplace(record.group.value, false);
            if (isNew)
                known->second = groupCoverage(m_recording.info, record.group).timing == CollectiveTiming::Separated;
            if (known->second) continue;
            const auto [found, first] = m_shortest.try_emplace(kindOf(record), piece.length());
            found->second = std::min(found->second, piece.length());
        }
    }

    Instant beginOf(RankId rank, std::uint32_t step) const
    {
        const auto found = m_recording.steps[step].ranks.find(rank);
        return found == m_recording.steps[step].ranks.end() ? m_recording.steps[step].range.begin : found->second.begin;
    }

    void addNodes(RankId rank, RankWork& work)
    {
        // Calls, device work and ends of steps in the order in which they begin, so that what they wait for is there.
        struct Begin {
            Instant at;
            int kind; // 0 end of a step, 1 call, 2 device work
            std::uint32_t index;
        };
        std::vector<Begin> begins;
        if (!m_recording.wholeTrace)
            for (std::uint32_t i = 0; i < m_recording.steps.size(); ++i) {
                const auto range = m_recording.steps[i].ranks.find(rank);
                if (range != m_recording.steps[i].ranks.end()) begins.push_back({range->second.end, 0, i});
            }
        for (std::uint32_t i = 0; i < work.calls.size(); ++i) begins.push_back({pieceOf(work.calls[i]).start, 1, i});
        for (std::uint32_t i = 0; i < work.device.size(); ++i) begins.push_back({pieceOf(work.device[i]).start, 2, i});
        std::stable_sort(begins.begin(), begins.end(),
                         [](const Begin& a, const Begin& b) { return a.at != b.at ? a.at < b.at : a.kind < b.kind; });
        Rank state;
        state.rank = rank;
        std::vector<std::uint32_t> synchronising;
        for (const Begin& each : begins)
            if (each.kind == 0)
                addMark(state, each.index);
            else if (each.kind == 1)
                addCall(state, work, each.index, synchronising);
            else
                addDevice(state, work, each.index);
        for (const std::uint32_t call : synchronising) waitForDevice(work, call);
    }

    struct Rank {
        RankId rank;
        std::map<std::uint32_t, NodeIndex> sources;                     ///< by step
        std::map<std::int32_t, std::pair<Instant, NodeIndex>> lastCall; ///< of a thread: when it ended
        std::map<std::int32_t, std::uint32_t> lastWork;                 ///< of a stream
        std::optional<std::uint32_t> step;
    };

    NodeIndex sourceOf(Rank& state, std::uint32_t step)
    {
        const auto [found, isNew] = state.sources.try_emplace(step, kNone);
        if (isNew) found->second = m_builder.source(beginOf(state.rank, step), step);
        return found->second;
    }

    /// What the program did last before an instant; where the graph begins there, its source.
    NodeIndex hostBefore(Rank& state, Instant at, std::uint32_t step)
    {
        if (state.step && step != *state.step && !m_steps[step].chained) state.lastCall.clear();
        state.step = step;
        NodeIndex node = kNone;
        Instant latest{};
        for (const auto& [thread, last] : state.lastCall)
            if (last.first <= at && (node == kNone || last.first > latest)) {
                node = last.second;
                latest = last.first;
            }
        return node == kNone ? sourceOf(state, step) : node;
    }

    void addMark(Rank& state, std::uint32_t step)
    {
        Instant end = m_recording.steps[step].ranks.at(state.rank).end;
        const NodeIndex mark = m_builder.filler(end, {NodeRole::Host, kNone, step, 0});
        m_builder.edge(hostBefore(state, end, step), mark);
        m_steps[step].ends.push_back(mark);
    }

    void addCall(Rank& state, RankWork& work, std::uint32_t index, std::vector<std::uint32_t>& synchronising)
    {
        Call& call = work.calls[index];
        const Piece& piece = pieceOf(call);
        call.issue = m_builder.filler(piece.start, {NodeRole::Host, operatorAt(work, piece), piece.step, 0});
        m_builder.edge(hostBefore(state, piece.start, piece.step), call.issue);
        call.done = m_builder.filler(piece.end, {NodeRole::Host, call.piece, piece.step, 0});
        m_builder.edge(call.issue, call.done);
        state.lastCall[piece.track.value] = {piece.end, call.done};
        const std::string& name = nameOf(call);
        if (contains(name, "Synchronize") || contains(name, "Memcpy")) synchronising.push_back(index);
    }

    /// The operator of the program that a call was made in; kNone: none is recorded.
    std::uint32_t operatorAt(RankWork& work, const Piece& call) const
    {
        const std::vector<std::uint32_t>& operators = work.operators[call.track.value];
        auto behind =
            std::upper_bound(operators.begin(), operators.end(), call.start,
                             [this](Instant at, std::uint32_t each) { return at < m_recording.pieces[each].start; });
        for (int looked = 0; behind != operators.begin() && looked < 64; ++looked)
            if (m_recording.pieces[*--behind].end >= call.end) return *behind;
        return kNone;
    }

    void addDevice(Rank& state, RankWork& work, std::uint32_t index)
    {
        DeviceWork& device = work.device[index];
        const Piece& piece = pieceOf(device);
        std::vector<std::pair<NodeIndex, EdgeOrigin>> before;
        Instant ready = beginOf(state.rank, piece.step);
        HeldBy held = HeldBy::Nothing;
        const auto after = [&](NodeIndex node, Instant end, HeldBy by, EdgeOrigin origin) {
            before.push_back({node, origin});
            if (held != HeldBy::Nothing && end <= ready) return;
            ready = std::max(ready, end);
            held = by;
        };
        if (device.call != kNone && work.calls[device.call].issue != kNone)
            after(work.calls[device.call].issue, pieceOf(work.calls[device.call]).start, HeldBy::Launch,
                  EdgeOrigin::Stated);
        if (const auto last = state.lastWork.find(piece.track.value); last != state.lastWork.end()) {
            const DeviceWork& earlier = work.device[last->second];
            if (pieceOf(earlier).end <= piece.start + kClockSlack &&
                m_steps[piece.step].chained + (pieceOf(earlier).step == piece.step))
                after(earlier.done, pieceOf(earlier).end, HeldBy::Stream, EdgeOrigin::Stated);
        }
        for (const std::uint32_t each : device.waitsFor)
            if (work.device[each].done != kNone)
                after(work.device[each].done, pieceOf(work.device[each]).end, HeldBy::Event, EdgeOrigin::Derived);
        if (before.empty()) before.push_back({sourceOf(state, piece.step), EdgeOrigin::Derived});
        const bool stalls = held != HeldBy::Nothing && piece.start - ready > kStall;
        const NodeTag tag{NodeRole::Work, device.piece, piece.step,
                          1 + static_cast<std::uint64_t>(held) * 2 + (piece.isCollective() ? 1 : 0)};
        NodeIndex begin = kNone;
        if (stalls) {
            begin = m_builder.filler(piece.start, {NodeRole::Stall, device.piece, piece.step, 0});
            ++m_stalls;
        }
        if (piece.isCollective()) {
            NodeTag arrival = tag;
            arrival.role = NodeRole::Arrival;
            device.begin = m_builder.work(piece.start, piece.start, arrival);
            NodeTag moving = tag;
            moving.role = NodeRole::Moving;
            device.done = m_builder.moving(piece.end, moving);
            const CollectiveRecord& record = m_recording.collectives[piece.collective].record;
            if (const auto shortest = m_shortest.find(kindOf(record)); shortest != m_shortest.end()) {
                // Whom it waited for is not in the trace: what is beyond the shortest of its kind counts as waiting.
                const NodeIndex waited =
                    m_builder.filler(piece.end - shortest->second, {NodeRole::Stall, device.piece, piece.step, 0});
                m_builder.edge(device.begin, waited);
                m_builder.edge(waited, device.done);
            } else {
                m_builder.edge(device.begin, device.done);
            }
            m_operations[{record.group.value, record.sequence}].push_back(
                {&record, device.piece, device.begin, device.done, piece.step});
        } else {
            device.begin = device.done = m_builder.work(piece.start, piece.end, tag);
        }
        for (const auto& [node, origin] : before) m_builder.edge(node, stalls ? begin : device.begin, origin);
        if (stalls) m_builder.edge(begin, device.begin);
        state.lastWork[piece.track.value] = index;
    }

    /// A call that synchronises returns after the work that it waited for: of a copy its own, else what ended last before.
    void waitForDevice(RankWork& work, std::uint32_t index)
    {
        const Call& call = work.calls[index];
        const Piece& piece = pieceOf(call);
        const DeviceWork* waited = nullptr;
        const auto consider = [&](const DeviceWork& each) {
            const Piece& of = pieceOf(each);
            if (of.end <= piece.end + kClockSlack && of.end > piece.start && (!waited || of.end > pieceOf(*waited).end))
                waited = &each;
        };
        if (contains(nameOf(call), "Memcpy")) {
            for (const std::uint32_t each : call.launched) consider(work.device[each]);
        } else {
            for (const auto& [track, stream] : work.streams) {
                auto behind =
                    std::upper_bound(stream.begin(), stream.end(), piece.end, [&](Instant at, std::uint32_t each) {
                        return at < pieceOf(work.device[each]).start;
                    });
                for (int looked = 0; behind != stream.begin() && looked < 4; ++looked) consider(work.device[*--behind]);
            }
        }
        if (waited) m_builder.edge(waited->done, call.done, EdgeOrigin::Derived);
    }

    Status meet()
    {
        for (const auto& [key, members] : m_operations) {
            const ProcessGroupInfo& group = m_recording.info.groups[static_cast<std::size_t>(key.first)];
            const auto coverage = groupCoverage(m_recording.info, GroupId{key.first});
            const bool complete =
                coverage.timing != CollectiveTiming::Separated || members.size() >= group.ranks.size();
            if (!complete && m_recording.membersOf(GroupId{key.first}, key.second) < group.ranks.size())
                return Error{ErrorCode::Format,
                             m_recording.describe(members.front().piece) + " has " + std::to_string(members.size()) +
                                 " of " + std::to_string(group.ranks.size()) + " members of group " + group.name,
                             "replay",
                             "record every rank of the job, or choose steps that are complete with --steps A-B"};
            if (members.size() < 2 && complete) continue;
            const NodeIndex met = m_builder.meeting(members.front().step);
            // Members out of the chosen steps came when they came.
            if (!complete)
                m_builder.edge(m_builder.source(members.front().record->lastArrival, members.front().step), met);
            for (const Member& member : members) {
                m_builder.edge(member.begin, met);
                m_builder.edge(met, member.done);
            }
        }
        return {};
    }

    struct Member {
        const CollectiveRecord* record;
        std::uint32_t piece;
        NodeIndex begin, done;
        std::uint32_t step;
    };
    const Recording& m_recording;
    GraphBuilder m_builder;
    std::vector<GraphStep> m_steps;
    std::map<RankId, RankWork> m_ranks;
    std::map<std::pair<std::int32_t, std::int64_t>, std::vector<Member>> m_operations;
    std::map<OperationKind, Duration> m_shortest;
    std::int64_t m_stalls = 0;
};

} // namespace

bool hasHostCalls(const Recording& recording)
{
    bool calls = false, launched = false;
    for (const Piece& piece : recording.pieces) {
        const bool call = recording.op(piece).kind == SliceKind::HostCall;
        calls = calls || call;
        launched = launched || (!call && piece.correlation >= 0);
        if (calls && launched) return true;
    }
    return false;
}

Result<GraphBuilder> hostGraph(const Recording& recording, std::int64_t& stalls)
{
    return HostRules(recording).build(stalls);
}

} // namespace fourwalls::replay
