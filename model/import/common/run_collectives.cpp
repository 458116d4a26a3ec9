// SPDX-License-Identifier: Apache-2.0
// Matching: all members of one operation overlap, from the last arrival to the first end. A sweep by start joins each
// member to the earliest open operation of its kind that it overlaps and that lacks its rank.
#include "model/import/common/run_collectives.h"

#include "model/import/common/kernel_class.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string_view>

namespace fourwalls::importers {

namespace {
constexpr const char* kUnknownGroup = "unknown group";
} // namespace

int RunCollectives::group(const CollectiveDetail& detail, std::string_view kernelName, bool requestOnly)
{
    ProcessGroupInfo info;
    info.name = !detail.groupDescription.empty() && detail.groupDescription != "undefined" ? detail.groupDescription
                                                                                           : detail.groupName;
    if (!info.name.empty() && info.name != detail.groupName && !detail.groupName.empty())
        info.name += " (" + detail.groupName + ")";
    for (const int rank : detail.ranks) info.ranks.push_back(RankId{rank});
    if (info.ranks.empty()) {
        // Not said, or cut short: a group of the run's own size is the world; else only its size is known, or nothing.
        const bool isWorld = m_worldKnown && static_cast<std::size_t>(detail.groupSize) == m_world.size();
        if (isWorld)
            info.ranks = m_world;
        else if (detail.groupSize > 0)
            info.name += (info.name.empty() ? "group of " : " of ") + std::to_string(detail.groupSize);
        if (info.name.empty()) info.name = isWorld ? "world" : kUnknownGroup;
    } else if (info.name.empty()) {
        info.name = info.ranks == m_world && m_worldKnown ? "world" : "group";
    }
    info.transport = requestOnly                                      ? kRequestsOnly
                     : !m_backend.empty() && m_backend != "undefined" ? std::string_view(m_backend)
                     : isNcclName(kernelName)                         ? std::string_view("nccl")
                                                                      : std::string_view();
    std::string key = detail.groupName + '\0' + info.name + '\0' + info.transport;
    for (const RankId rank : info.ranks) key += ' ' + std::to_string(rank.value);
    const auto [found, isNew] = m_byKey.try_emplace(std::move(key), static_cast<int>(m_groups.size()));
    if (isNew) m_groups.push_back(std::move(info));
    if (isNew) m_sizes.push_back(detail.groupSize);
    return found->second;
}

int RunCollectives::group(const ProcessGroupInfo& info)
{
    std::string key = "\1" + info.name + '\0' + info.transport;
    for (const RankId rank : info.ranks) key += ' ' + std::to_string(rank.value);
    const auto [found, isNew] = m_byKey.try_emplace(std::move(key), static_cast<int>(m_groups.size()));
    if (isNew) m_groups.push_back(info);
    if (isNew) m_sizes.push_back(0);
    return found->second;
}

struct RunCollectives::Operation {
    std::vector<CollectiveMember*> members;
    Instant lastArrival, firstEnd;
    std::int64_t number = 0;
};

void RunCollectives::finish(TraceSink& sink)
{
    const std::unique_ptr<TraceProducer> producer = sink.openProducer();
    std::vector<std::vector<CollectiveMember*>> byGroup(m_groups.size());
    for (CollectiveMember& member : m_members) byGroup[static_cast<std::size_t>(member.groupKey)].push_back(&member);
    for (std::size_t i = 0; i < byGroup.size(); ++i) {
        if (byGroup[i].empty()) continue;
        const std::vector<Operation> operations = match(byGroup[i]);
        settleMembers(i, operations);
        const GroupId id = sink.defineGroup(m_groups[i]);
        const int size = static_cast<int>(m_groups[i].ranks.size());
        for (const Operation& operation : operations) {
            if (operation.members.size() > 1) ++m_matched;
            for (const CollectiveMember* member : operation.members) {
                CollectiveRecord record = member->record;
                record.group = id;
                record.sequence = operation.number;
                record.lastArrival = std::clamp(operation.lastArrival, record.start, record.end);
                if (!record.wireBytes && record.payloadBytes)
                    record.wireBytes = wireBytes(record.operation, *record.payloadBytes, size);
                producer->collective(record);
            }
        }
    }
    m_members = {};
}

/// A group whose ranks nobody lists, from who takes part: where every operation has as many members as the group, or as the
/// run has ranks, and they are the same ones.
void RunCollectives::settleMembers(std::size_t index, const std::vector<Operation>& operations)
{
    ProcessGroupInfo& group = m_groups[index];
    const bool unnamed = group.name == kUnknownGroup && m_worldKnown;
    const std::size_t size = m_sizes[index] > 0 ? static_cast<std::size_t>(m_sizes[index])
                             : unnamed          ? m_world.size()
                                                : 0;
    if (!group.ranks.empty() || size < 2) return;
    std::set<RankId> members;
    for (const Operation& operation : operations) {
        const CollectiveOp kind = operation.members.front()->record.operation;
        const bool message = kind == CollectiveOp::Send || kind == CollectiveOp::Receive;
        if (!message && operation.members.size() != size) return;
        for (const CollectiveMember* member : operation.members) members.insert(member->rank);
    }
    if (members.size() != size) return;
    group.ranks.assign(members.begin(), members.end());
    if (unnamed && m_sizes[index] == 0) group.name = "world";
}

std::vector<RunCollectives::Operation> RunCollectives::match(std::vector<CollectiveMember*>& members)
{
    std::stable_sort(members.begin(), members.end(), [](const CollectiveMember* a, const CollectiveMember* b) {
        return a->record.start < b->record.start;
    });
    const auto fits = [](const Operation& operation, const CollectiveMember& member) {
        const CollectiveMember& first = *operation.members.front();
        if (member.record.start >= operation.firstEnd || first.record.operation != member.record.operation)
            return false;
        // Of a message the other member is a receive: two sends are two messages.
        if (member.record.operation == CollectiveOp::Send || member.record.operation == CollectiveOp::Receive)
            return false;
        if (first.hasSequence && member.hasSequence && first.record.sequence != member.record.sequence) return false;
        return std::none_of(operation.members.begin(), operation.members.end(),
                            [&](const CollectiveMember* other) { return other->rank == member.rank; });
    };
    constexpr std::size_t kMostOpen = 4096; ///< so that overlapping without end stays quick
    std::vector<Operation> found;
    std::deque<std::size_t> open;
    for (CollectiveMember* member : members) {
        for (auto it = open.begin(); it != open.end();) {
            const bool over = found[*it].firstEnd <= member->record.start || open.size() > kMostOpen;
            it = over ? open.erase(it) : it + 1;
        }
        const auto joined =
            std::find_if(open.begin(), open.end(), [&](std::size_t i) { return fits(found[i], *member); });
        if (joined != open.end()) {
            Operation& operation = found[*joined];
            operation.members.push_back(member);
            operation.lastArrival = std::max(operation.lastArrival, member->record.start);
            operation.firstEnd = std::min(operation.firstEnd, member->record.end);
            continue;
        }
        Operation operation;
        operation.members = {member};
        operation.lastArrival = member->record.start;
        operation.firstEnd = member->record.end;
        operation.number = static_cast<std::int64_t>(found.size());
        open.push_back(found.size());
        found.push_back(std::move(operation));
    }
    return found;
}

} // namespace fourwalls::importers
