// SPDX-License-Identifier: Apache-2.0
// See hop_schedule.h.
#include "model/trace/hop_schedule.h"

#include "model/trace/collective_rows.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace fourwalls {

namespace {

constexpr std::string_view kHopPrefix = "hop from ";
constexpr std::int64_t kMostHopRows = 20'000;

/// The rank in "hop from 3"; absent for other names.
std::optional<RankId> senderOf(const std::string& name)
{
    if (name.compare(0, kHopPrefix.size(), kHopPrefix) != 0) return std::nullopt;
    int rank = 0;
    const char* end = name.data() + name.size();
    const auto [stopped, failure] = std::from_chars(name.data() + kHopPrefix.size(), end, rank);
    return failure == std::errc{} && stopped == end ? std::optional(RankId{rank}) : std::nullopt;
}

struct RecordedHop {
    TimeRange range;
    double bytes = 0;
};
using HopsOfPair = std::map<std::pair<RankId, RankId>, std::vector<RecordedHop>>; ///< (from, to), by end

/// What each member took from whom during the operation.
Result<HopsOfPair> recordedHops(TraceQuery& trace, const JoinedOperation& operation, std::stop_token stop)
{
    HopsOfPair hops;
    for (const CollectiveView& member : operation.members) {
        const TimeRange range{member.record.start, Instant{member.record.end.ns + 1}};
        const auto count = static_cast<std::int64_t>(operation.members.size());
        FOURWALLS_TRY_ASSIGN(const BoundedSlices slices,
                             boundedSlices(trace, {member.record.track}, range, kMostHopRows / count, stop));
        for (const LaneSlices& lane : slices.lanes)
            for (const SliceView& slice : lane.exact) {
                const auto op = slices.ops.find(slice.op);
                if (op == slices.ops.end() || op->second->kind != SliceKind::Hop) continue;
                if (slice.start < range.begin || slice.end() >= range.end + Duration{1}) continue;
                if (const auto from = senderOf(op->second->name))
                    hops[{*from, member.rank}].push_back(
                        {{slice.start, slice.end()}, static_cast<double>(op->second->bytes)});
            }
    }
    for (auto& [pair, list] : hops)
        std::stable_sort(list.begin(), list.end(), [](const RecordedHop& a, const RecordedHop& b) {
            return std::pair(a.range.end, a.range.begin) < std::pair(b.range.end, b.range.begin);
        });
    return hops;
}

/// Gives the hops of the algorithm their recorded times; false unless every pair has equally many of both.
bool match(HopSchedule& schedule, HopsOfPair recorded)
{
    std::map<std::pair<RankId, RankId>, std::size_t> taken;
    std::size_t matched = 0;
    for (ScheduledHop& hop : schedule.hops) {
        const auto pair = std::pair(schedule.members[static_cast<std::size_t>(hop.from)],
                                    schedule.members[static_cast<std::size_t>(hop.to)]);
        const auto& list = recorded[pair];
        std::size_t& next = taken[pair];
        if (next >= list.size()) return false;
        hop.recorded = list[next].range;
        if (list[next].bytes > 0) hop.bytes = list[next].bytes;
        ++next;
        ++matched;
    }
    std::size_t all = 0;
    for (const auto& [pair, list] : recorded) all += list.size();
    return matched == all;
}

} // namespace

std::vector<std::vector<std::uint64_t>> HopSchedule::contributions(int upTo) const
{
    const std::size_t n = members.size();
    std::vector<std::vector<std::uint64_t>> held(n, std::vector<std::uint64_t>(n, 0));
    for (std::size_t member = 0; member < n && n <= kMostHopMembers; ++member)
        for (std::size_t part = 0; part < n; ++part) {
            const std::uint64_t own = std::uint64_t{1} << member;
            if (operation == CollectiveOp::AllGather)
                held[member][part] = part == member ? own : 0;
            else if (operation == CollectiveOp::Broadcast)
                held[member][part] = member == 0 ? own : 0;
            else
                held[member][part] = own;
        }
    if (n > kMostHopMembers) return held;
    // Hops of a round depend only on earlier rounds.
    for (std::size_t i = 0; i < hops.size() && hops[i].round < upTo;) {
        const auto before = held;
        const int round = hops[i].round;
        for (; i < hops.size() && hops[i].round == round; ++i) {
            const ScheduledHop& hop = hops[i];
            for (int part = hop.firstPart; part < hop.firstPart + hop.parts; ++part) {
                const std::uint64_t sent = before[static_cast<std::size_t>(hop.from)][static_cast<std::size_t>(part)];
                std::uint64_t& own = held[static_cast<std::size_t>(hop.to)][static_cast<std::size_t>(part)];
                own = hop.reduce ? own | sent : sent;
            }
        }
    }
    return held;
}

Result<HopSchedule> hopSchedule(TraceQuery& trace, const JoinedOperation& operation, std::stop_token stop)
{
    HopSchedule schedule;
    schedule.operation = operation.operation;
    schedule.payloadBytes = static_cast<double>(operation.payloadBytes.value_or(0));
    const TraceInfo& info = trace.info();
    const auto index = static_cast<std::size_t>(std::max(0, operation.group.value));
    if (index < info.groups.size()) schedule.members = info.groups[index].ranks;
    if (schedule.members.size() < operation.members.size()) {
        schedule.members.clear();
        for (const CollectiveView& view : operation.members) schedule.members.push_back(view.rank);
        std::sort(schedule.members.begin(), schedule.members.end());
    }
    const auto kind = collectiveKind(operation.operation);
    const int n = static_cast<int>(schedule.members.size());
    if (!kind || n < 2 || n > kMostHopMembers) return schedule;

    const auto known = algorithmNamed(operation.members.front().record.algorithm);
    schedule.algorithmKnown = known.has_value();
    CollectiveShape shape{*kind, n, n, 0, 0};
    const int perNode = info.header.spec ? info.header.spec->cluster.devicesPerNode : 0;
    if (perNode > 1 && perNode < n && n % perNode == 0) shape.membersPerNode = perNode;
    const CollectiveAlgorithm algorithm = effectiveAlgorithm(shape, known.value_or(CollectiveAlgorithm::Ring));
    switch (algorithm) {
    case CollectiveAlgorithm::Tree: schedule.algorithm = "tree"; break;
    case CollectiveAlgorithm::Direct: schedule.algorithm = "direct"; break;
    case CollectiveAlgorithm::Hierarchical: schedule.algorithm = "hierarchical"; break;
    default: schedule.algorithm = "ring"; break;
    }
    std::map<std::pair<int, int>, int> sent; // by round and sender
    for (const CollectiveHop& hop : collectiveHops(shape, algorithm)) {
        ScheduledHop each;
        each.round = hop.round;
        each.from = hop.from;
        each.to = hop.to;
        each.turn = sent[{hop.round, hop.from}]++;
        each.firstPart = static_cast<int>(hop.first);
        each.parts = static_cast<int>(hop.count);
        each.reduce = hop.reduce;
        each.bytes = schedule.payloadBytes * static_cast<double>(hop.count) / n;
        schedule.rounds = std::max(schedule.rounds, hop.round + 1);
        schedule.hops.push_back(each);
    }
    FOURWALLS_TRY_ASSIGN(HopsOfPair recorded, recordedHops(trace, operation, stop));
    if (!recorded.empty()) {
        HopSchedule timed = schedule;
        if (match(timed, std::move(recorded))) {
            timed.recorded = true;
            return timed;
        }
    }
    return schedule;
}

} // namespace fourwalls
