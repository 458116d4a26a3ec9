// SPDX-License-Identifier: Apache-2.0
// See host_rules.h.
#include "model/replay/host_rules.h"

#include "model/replay/host_work.h"
#include "model/replay/launch_queue.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

/// A device that does not begin within this long after nothing holds it up any more stands still: twenty times what a launch
/// takes.
constexpr Duration kStall{200'000};
/// A stream with this share of a rank's work is what its program launches on.
constexpr double kMostWork = 0.9;

/// What held a piece of device work up, as recorded: classes of delays.
enum class HeldBy : std::uint8_t { Nothing, Launch, Stream, Event };

class HostRules {
public:
    explicit HostRules(const Recording& recording)
        : m_recording(recording)
        , m_builder(recording.steps.front().range.begin)
        , m_ranks(workOfRanks(recording))
    {}

    Result<GraphBuilder> build(HostFacts& facts)
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
        findShortest();
        for (auto& [rank, work] : m_ranks) addNodes(rank, work);
        FOURWALLS_TRY(meet());
        facts = m_facts;
        for (GraphStep& step : m_steps) m_builder.addStep(std::move(step));
        return std::move(m_builder);
    }

private:
    const Piece& pieceOf(const Call& call) const { return m_recording.pieces[call.piece]; }
    const Piece& pieceOf(const DeviceWork& work) const { return m_recording.pieces[work.piece]; }
    const std::string& nameOf(const Call& call) const { return m_recording.op(pieceOf(call)).name; }

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
        for (const std::uint32_t call : synchronising) waitForDevice(work, call, state);
        for (const auto& [track, stream] : work.streams) {
            waitForQueue(work, stream);
            endSteps(work, stream);
        }
    }

    struct Rank {
        RankId rank;
        std::map<std::uint32_t, NodeIndex> sources;                     ///< by step
        std::map<std::int32_t, std::pair<Instant, NodeIndex>> lastCall; ///< of a thread: when it ended
        std::map<std::int32_t, std::uint32_t> lastWork;                 ///< of a stream
        std::optional<std::uint32_t> step;
        std::vector<std::pair<Instant, NodeIndex>> marks; ///< ends of steps
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
        state.marks.push_back({end, mark});
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
        if (nameHas(name, "Synchronize") || nameHas(name, "Memcpy")) synchronising.push_back(index);
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
        NodeIndex overlapped = kNone;
        if (const auto last = state.lastWork.find(piece.track.value); last != state.lastWork.end()) {
            const DeviceWork& earlier = work.device[last->second];
            const Instant ended = pieceOf(earlier).end;
            if (m_steps[piece.step].chained || pieceOf(earlier).step == piece.step) {
                if (ended <= piece.start + kClockSlack)
                    after(earlier.done, ended, HeldBy::Stream, EdgeOrigin::Stated);
                else if (ended < piece.end && !piece.isCollective())
                    overlapped = earlier.done;
            }
        }
        for (const std::uint32_t each : device.waitsFor)
            if (work.device[each].done != kNone)
                after(work.device[each].done, pieceOf(work.device[each]).end, HeldBy::Event,
                      work.statesWaits ? EdgeOrigin::Stated : EdgeOrigin::Derived);
        if (before.empty()) before.push_back({sourceOf(state, piece.step), EdgeOrigin::Derived});
        if (overlapped != kNone) before.push_back({overlapped, EdgeOrigin::Stated});
        const bool stalls = overlapped == kNone && held != HeldBy::Nothing && piece.start - ready > kStall;
        const NodeTag tag{NodeRole::Work, device.piece, piece.step,
                          1 + static_cast<std::uint64_t>(held) * 2 + (piece.isCollective() ? 1 : 0)};
        NodeIndex begin = kNone;
        if (stalls) {
            begin = m_builder.filler(piece.start, {NodeRole::Stall, device.piece, piece.step, 0});
            ++m_facts.stalls;
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
            m_operations[MeetingKey::of(record)].push_back(
                {&record, device.piece, device.begin, device.done, piece.step});
        } else if (overlapped != kNone) {
            // Begun before the work in front of it was done: it takes what it goes on for afterwards.
            device.begin = device.done = m_builder.moving(piece.end, tag);
        } else {
            device.begin = device.done = m_builder.work(piece.start, piece.end, tag);
        }
        for (const auto& [node, origin] : before) m_builder.edge(node, stalls ? begin : device.begin, origin);
        if (stalls) m_builder.edge(begin, device.begin);
        const auto [last, isFirst] = state.lastWork.try_emplace(piece.track.value, index);
        if (!isFirst && piece.end >= pieceOf(work.device[last->second]).end) last->second = index;
    }

    /// A call that synchronises returns after the work that it waited for: of a copy its own, else what ended last before. A
    /// step that ends within such a call, behind that work, waited for it, too.
    void waitForDevice(RankWork& work, std::uint32_t index, const Rank& state)
    {
        const Call& call = work.calls[index];
        const Piece& piece = pieceOf(call);
        const DeviceWork* waited = nullptr;
        const auto consider = [&](const DeviceWork& each) {
            const Piece& of = pieceOf(each);
            if (of.end <= piece.end + kClockSlack && of.end > piece.start && (!waited || of.end > pieceOf(*waited).end))
                waited = &each;
        };
        if (nameHas(nameOf(call), "Memcpy")) {
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
        if (!waited) return;
        m_builder.edge(waited->done, call.done, EdgeOrigin::Derived);
        for (const auto& [end, mark] : state.marks)
            if (end > piece.start && end < piece.end && pieceOf(*waited).end <= end + kClockSlack)
                m_builder.edge(waited->done, mark, EdgeOrigin::Derived);
    }

    /// A launch returns once its work has a place in the queue.
    void waitForQueue(RankWork& work, const std::vector<std::uint32_t>& stream)
    {
        std::vector<QueuedWork> queued;
        std::vector<std::uint32_t> calls;
        for (const std::uint32_t each : stream) {
            const DeviceWork& device = work.device[each];
            queued.push_back({pieceOf(device).end, {}});
            calls.push_back(kNone);
            if (device.call == kNone || work.calls[device.call].launched.size() != 1) continue;
            const Piece& call = pieceOf(work.calls[device.call]);
            queued.back().call = TimeRange{call.start, call.end};
            calls.back() = device.call;
        }
        for (const std::uint32_t call : launchesBehind(work, stream)) {
            const Piece& piece = pieceOf(work.calls[call]);
            queued.push_back({Instant{std::numeric_limits<std::int64_t>::max()}, TimeRange{piece.start, piece.end}});
            calls.push_back(call);
        }
        const std::optional<LaunchQueue> queue = launchQueue(queued);
        if (!queue) return;
        m_facts.queued += static_cast<std::int64_t>(queue->blocked);
        m_facts.queuedTime += queue->time;
        for (std::size_t i = 0; i < queued.size(); ++i)
            if (const auto earlier = queue->after[i])
                m_builder.edge(work.device[stream[*earlier]].done, work.calls[calls[i]].done, EdgeOrigin::Derived);
    }

    /// Launches of the last step whose work came after it: calls like those that launched the stream's work, behind the
    /// last of those. None where other streams have much work, too, as nothing says which one they were for.
    std::vector<std::uint32_t> launchesBehind(const RankWork& work, const std::vector<std::uint32_t>& stream) const
    {
        std::vector<std::uint32_t> behind;
        if (static_cast<double>(stream.size()) < kMostWork * static_cast<double>(work.device.size())) return behind;
        std::set<OpId> launching;
        std::uint32_t last = 0;
        for (const std::uint32_t each : stream) {
            const std::uint32_t call = work.device[each].call;
            if (call == kNone) continue;
            launching.insert(pieceOf(work.calls[call]).op);
            last = std::max(last, call);
        }
        for (std::uint32_t i = last + 1; i < work.calls.size(); ++i)
            if (work.calls[i].launched.empty() && launching.count(pieceOf(work.calls[i]).op)) behind.push_back(i);
        return behind;
    }

    /// The last work of a stream in each step.
    void endSteps(const RankWork& work, const std::vector<std::uint32_t>& stream)
    {
        if (m_recording.wholeTrace) return;
        for (std::size_t i = 0; i < stream.size(); ++i) {
            const DeviceWork& last = work.device[stream[i]];
            const std::uint32_t step = pieceOf(last).step;
            if (i + 1 == stream.size() || pieceOf(work.device[stream[i + 1]]).step != step)
                m_steps[step].deviceEnds.push_back(last.done);
        }
    }

    Status meet()
    {
        for (const auto& [key, members] : m_operations) {
            const ProcessGroupInfo& group = m_recording.info.groups[static_cast<std::size_t>(key.group.value)];
            const auto coverage = groupCoverage(m_recording.info, key.group);
            const std::size_t expected = m_recording.expectedMembers(key.group);
            const bool complete = coverage.timing != CollectiveTiming::Separated || members.size() >= expected;
            if (!complete && m_recording.membersOf(key) < expected)
                return Error{ErrorCode::Format,
                             m_recording.describe(members.front().piece) + " has " + std::to_string(members.size()) +
                                 " of " + std::to_string(expected) + " members of group " + group.name,
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
    std::map<MeetingKey, std::vector<Member>> m_operations;
    std::map<OperationKind, Duration> m_shortest;
    HostFacts m_facts;
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

Result<GraphBuilder> hostGraph(const Recording& recording, HostFacts& facts)
{
    return HostRules(recording).build(facts);
}

} // namespace fourwalls::replay
