// SPDX-License-Identifier: Apache-2.0
// See hop_services.h.
#include "model/diagnose/hop_services.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fourwalls::diagnose {

namespace {

/// When a member has what it needs for a round: what it received, and, sends: what it sent before has arrived.
class Readiness {
public:
    Readiness(const JoinedOperation& operation, const HopSchedule& schedule, bool sends)
    {
        std::map<RankId, Instant> arrivals;
        for (const CollectiveView& member : operation.members) arrivals[member.rank] = member.record.start;
        for (const RankId rank : schedule.members) m_arrivals.push_back(arrivals[rank]);
        for (const ScheduledHop& hop : schedule.hops)
            for (const int member : {hop.from, hop.to}) {
                if (member == hop.from && !sends) continue;
                const auto [at, isFirst] = m_ready.try_emplace({hop.round + 1, member}, hop.recorded->end);
                if (!isFirst) at->second = std::max(at->second, hop.recorded->end);
            }
    }

    Instant at(int round, int member) const
    {
        for (int before = round; before > 0; --before)
            if (const auto found = m_ready.find({before, member}); found != m_ready.end()) return found->second;
        return m_arrivals[static_cast<std::size_t>(member)];
    }

private:
    std::vector<Instant> m_arrivals;                ///< by member
    std::map<std::pair<int, int>, Instant> m_ready; ///< by round and member
};

} // namespace

std::vector<HopService> hopServices(const JoinedOperation& operation, const HopSchedule& schedule, HopWaits waits,
                                    const std::function<double(const ScheduledHop&)>& hold)
{
    const Readiness ready(operation, schedule, waits == HopWaits::Both);
    std::vector<const ScheduledHop*> byEnd;
    for (const ScheduledHop& hop : schedule.hops) byEnd.push_back(&hop);
    std::stable_sort(byEnd.begin(), byEnd.end(),
                     [](const auto* a, const auto* b) { return a->recorded->end < b->recorded->end; });
    std::map<int, Instant> sent, received; // the port's last hop
    std::vector<HopService> services;
    for (const ScheduledHop* hop : byEnd) {
        Instant begin = ready.at(hop->round, hop->from);
        if (waits == HopWaits::Both) begin = std::max(begin, ready.at(hop->round, hop->to));
        if (waits == HopWaits::Turns) {
            for (const auto& [port, member] : {std::pair(&sent, hop->from), std::pair(&received, hop->to)})
                if (const auto before = port->find(member); before != port->end())
                    begin = std::max(begin, before->second);
            sent[hop->from] = received[hop->to] = hop->recorded->end;
        }
        // A receiver that came late found the message there: when it arrived, nobody saw. Nor of one that waited its turn.
        constexpr double kRounding = 2; // [ns]
        bool seen = hop->recorded->begin < hop->recorded->end;
        if (hold) {
            const auto before = received.find(hop->to);
            seen = seen && (before == received.end() ||
                            static_cast<double>((hop->recorded->end - before->second).ns) > hold(*hop) + kRounding);
            received[hop->to] = hop->recorded->end;
        }
        const auto took = static_cast<double>((hop->recorded->end - begin).ns);
        if (took > 0 && seen)
            services.push_back({schedule.members[static_cast<std::size_t>(hop->from)],
                                schedule.members[static_cast<std::size_t>(hop->to)], hop->bytes, took, hop->turn});
    }
    return services;
}

double collectiveLength(const HopSchedule& schedule, const std::function<HopTime(const ScheduledHop&)>& timeOf)
{
    std::vector<double> before(schedule.members.size()), now, sends(before), receives(before);
    now = before;
    int round = 0;
    for (const ScheduledHop& hop : schedule.hops) { // by round
        if (hop.round != round) before = now;
        round = hop.round;
        const auto from = static_cast<std::size_t>(hop.from), to = static_cast<std::size_t>(hop.to);
        const HopTime time = timeOf(hop);
        const double sent = std::max(before[from], sends[from]) + time.hold;
        const double arrived = std::max(sent + time.late, receives[to] + time.hold);
        sends[from] = sent;
        receives[to] = arrived;
        now[from] = std::max(now[from], sent);
        now[to] = std::max(now[to], arrived);
    }
    return now.empty() ? 0 : *std::max_element(now.begin(), now.end());
}

} // namespace fourwalls::diagnose
