// SPDX-License-Identifier: Apache-2.0
// Matching: all members of one operation overlap, from the last arrival to the first end. A sweep by start joins each
// member to the earliest open operation of its kind that it overlaps and that lacks its rank.
#include "model/import/run_collectives.h"

#include "model/import/chrome_facts.h"

#include <algorithm>
#include <deque>
#include <memory>

namespace fourwalls::importers {

int RunCollectives::group(const CollectiveDetail& detail, std::string_view kernelName)
{
    ProcessGroupInfo info;
    info.name = !detail.groupDescription.empty() && detail.groupDescription != "undefined" ? detail.groupDescription
                                                                                           : detail.groupName;
    if (info.name.empty()) info.name = "world";
    else if (info.name != detail.groupName && !detail.groupName.empty()) info.name += " (" + detail.groupName + ")";
    for (const int rank : detail.ranks) info.ranks.push_back(RankId{rank});
    if (info.ranks.empty()) {
        // Not said, or cut short: a group of the run's own size is the world; else only its size is known.
        if (detail.groupSize == 0 || static_cast<std::size_t>(detail.groupSize) == m_world.size()) info.ranks = m_world;
        else info.name += " of " + std::to_string(detail.groupSize);
    }
    info.transport = !m_backend.empty() && m_backend != "undefined" ? m_backend : isNcclName(kernelName) ? "nccl" : "";
    std::string key = detail.groupName + '\0' + info.name;
    for (const RankId rank : info.ranks) key += ' ' + std::to_string(rank.value);
    const auto [found, isNew] = m_byKey.try_emplace(std::move(key), static_cast<int>(m_groups.size()));
    if (isNew) m_groups.push_back(std::move(info));
    return found->second;
}

int RunCollectives::group(const ProcessGroupInfo& info)
{
    std::string key = "\1" + info.name + '\0' + info.transport;
    for (const RankId rank : info.ranks) key += ' ' + std::to_string(rank.value);
    const auto [found, isNew] = m_byKey.try_emplace(std::move(key), static_cast<int>(m_groups.size()));
    if (isNew) m_groups.push_back(info);
    return found->second;
}

void RunCollectives::finish(TraceSink& sink)
{
    const std::unique_ptr<TraceProducer> producer = sink.openProducer();
    std::vector<std::vector<CollectiveMember*>> byGroup(m_groups.size());
    for (CollectiveMember& member : m_members) byGroup[static_cast<std::size_t>(member.groupKey)].push_back(&member);
    for (std::size_t i = 0; i < byGroup.size(); ++i)
        if (!byGroup[i].empty()) finishGroup(sink.defineGroup(m_groups[i]), byGroup[i], *producer);
    m_members = {};
}

void RunCollectives::finishGroup(GroupId id, std::vector<CollectiveMember*>& members, TraceProducer& producer)
{
    std::stable_sort(members.begin(), members.end(), [](const CollectiveMember* a, const CollectiveMember* b) {
        return a->record.start < b->record.start;
    });
    struct Operation {
        std::vector<CollectiveMember*> members;
        Instant lastArrival, firstEnd;
        std::int64_t number = 0;
    };
    const auto fits = [](const Operation& operation, const CollectiveMember& member) {
        const CollectiveMember& first = *operation.members.front();
        if (member.record.start >= operation.firstEnd || first.record.operation != member.record.operation) return false;
        if (first.hasSequence && member.hasSequence && first.record.sequence != member.record.sequence) return false;
        return std::none_of(operation.members.begin(), operation.members.end(),
                            [&](const CollectiveMember* other) { return other->rank == member.rank; });
    };
    const auto emit = [&](const Operation& operation) {
        if (operation.members.size() > 1) ++m_matched;
        for (CollectiveMember* member : operation.members) {
            CollectiveRecord record = member->record;
            record.group = id;
            record.sequence = operation.number;
            record.lastArrival = std::clamp(operation.lastArrival, record.start, record.end);
            producer.collective(record);
        }
    };
    constexpr std::size_t kMostOpen = 4096; ///< so that overlapping without end stays quick
    std::deque<Operation> open;
    std::int64_t number = 0;
    for (CollectiveMember* member : members) {
        for (auto it = open.begin(); it != open.end();) {
            const bool over = it->firstEnd <= member->record.start || open.size() > kMostOpen;
            if (over) emit(*it);
            it = over ? open.erase(it) : it + 1;
        }
        const auto joined = std::find_if(open.begin(), open.end(), [&](const Operation& o) { return fits(o, *member); });
        if (joined != open.end()) {
            joined->members.push_back(member);
            joined->lastArrival = std::max(joined->lastArrival, member->record.start);
            joined->firstEnd = std::min(joined->firstEnd, member->record.end);
            continue;
        }
        Operation operation;
        operation.members = {member};
        operation.lastArrival = member->record.start;
        operation.firstEnd = member->record.end;
        operation.number = number++;
        open.push_back(std::move(operation));
    }
    for (const Operation& operation : open) emit(operation);
}

} // namespace fourwalls::importers
