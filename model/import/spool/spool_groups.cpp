// SPDX-License-Identifier: Apache-2.0
// Communicators by NCCL's id, operations by group, kind and sequence.
#include "model/import/spool/spool_groups.h"

#include "model/import/common/collective_detail.h"
#include "model/import/common/kernel_class.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace fourwalls::importers {

namespace {

std::string shortId(std::uint64_t id)
{
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[(id >> shift) & 15];
    return text;
}

} // namespace

void SpoolGroups::add(const SpoolTables& tables, RankId rank)
{
    for (const auto& [local, info] : tables.communicators) {
        if (info.commId == 0) continue;
        Known& known = m_known[info.commId];
        if (known.name.empty()) known.name = info.name;
        known.size = std::max(known.size, info.ranks);
        if (known.time == 0 || (info.time > 0 && info.time < known.time)) known.time = info.time;
        if (info.ranks > 0) known.members.emplace(info.rank, rank);
    }
}

void SpoolGroups::settle(const std::vector<RankId>& world, int worldSize)
{
    std::vector<std::pair<std::int64_t, std::uint64_t>> order;
    for (const auto& [id, known] : m_known) order.emplace_back(known.time, id);
    std::sort(order.begin(), order.end());
    std::set<std::string> used;
    for (const auto& [time, id] : order) {
        const Known& known = m_known[id];
        ProcessGroupInfo group;
        group.transport = "nccl";
        const int whole = std::max(worldSize, static_cast<int>(world.size()));
        if (static_cast<int>(known.members.size()) == known.size) {
            for (const auto& [member, rank] : known.members) group.ranks.push_back(rank);
        } else if (known.size == whole) {
            // Its members are the job's ranks in order, whether or not their files are here.
            for (int rank = 0; rank < whole; ++rank) group.ranks.push_back(RankId{rank});
        }
        std::set<RankId> distinct(group.ranks.begin(), group.ranks.end());
        group.ranks.assign(distinct.begin(), distinct.end());
        const bool everybody = known.size > 1 && known.size == whole;
        group.name = !known.name.empty() ? known.name
                     : everybody         ? "world"
                     : known.size == 1   ? "one rank"
                                         : "group " + shortId(id);
        if (group.ranks.empty() && known.size > 0) group.name += " of " + std::to_string(known.size);
        if (used.contains(group.name)) group.name += " " + shortId(id);
        while (!used.insert(group.name).second) group.name += "'";
        m_groups.emplace(id, std::move(group));
    }
}

const ProcessGroupInfo* SpoolGroups::find(const SpoolTables& tables, std::uint64_t communicator) const
{
    const auto info = tables.communicators.find(communicator);
    if (info == tables.communicators.end()) return nullptr;
    const auto group = m_groups.find(info->second.commId);
    return group == m_groups.end() ? nullptr : &group->second;
}

std::optional<RankId> SpoolGroups::member(const SpoolTables& tables, std::uint64_t communicator, int rank) const
{
    const auto info = tables.communicators.find(communicator);
    if (info == tables.communicators.end()) return std::nullopt;
    const auto known = m_known.find(info->second.commId);
    if (known != m_known.end())
        if (const auto found = known->second.members.find(rank); found != known->second.members.end())
            return found->second;
    const ProcessGroupInfo* const group = find(tables, communicator);
    const auto index = static_cast<std::size_t>(rank);
    return group && index < group->ranks.size() ? std::optional(group->ranks[index]) : std::nullopt;
}

void SpoolCollectives::addKernel(const SpoolTables& tables, RankId rank, std::int64_t shiftNs,
                                 const SpoolCommunication& kernel, TrackId track)
{
    const std::string_view name = tables.string(kernel.name);
    CollectiveRecord record;
    record.track = track;
    record.start = record.lastArrival = Instant{kernel.start + shiftNs};
    record.end = Instant{kernel.end + shiftNs};
    record.operation = collectiveOf(name).value_or(CollectiveOp::Other);
    record.algorithm = std::string(algorithmOf(name));
    record.protocol = std::string(protocolOf(name));
    const ProcessGroupInfo* group = nullptr;
    int size = 0;
    if (kernel.operation >= 0) {
        const NcclOperation& operation = tables.operations[static_cast<std::size_t>(kernel.operation)];
        group = m_groups.find(tables, operation.communicator);
        const auto info = tables.communicators.find(operation.communicator);
        if (info != tables.communicators.end()) size = info->second.ranks;
        if (size == 0 && group) size = static_cast<int>(group->ranks.size());
        record.operation = operation.operation;
        record.payloadBytes = operation.payloadBytes;
        record.wireBytes = operation.wireBytes >= 0 ? operation.wireBytes
                                                    : wireBytes(operation.operation, operation.payloadBytes, size);
        if (!operation.algorithm.empty()) record.algorithm = operation.algorithm;
        if (!operation.protocol.empty()) record.protocol = operation.protocol;
        if (operation.peer) record.peer = m_groups.member(tables, operation.communicator, *operation.peer);
        if (group && operation.sequence) {
            record.sequence = *operation.sequence;
            m_members.push_back({group, rank, std::move(record)});
            return;
        }
    }
    if (size != 1) ++m_unnumbered;
    CollectiveMember member;
    member.rank = rank;
    member.record = std::move(record);
    member.groupKey = group ? m_byTime.group(*group) : m_byTime.group(CollectiveDetail{}, name);
    m_byTime.add(std::move(member));
}

void SpoolCollectives::finish(TraceSink& sink)
{
    using Key = std::tuple<const ProcessGroupInfo*, CollectiveOp, std::int64_t>;
    struct Operation {
        Instant lastArrival{std::numeric_limits<std::int64_t>::min()};
        std::set<RankId> ranks;
    };
    std::map<Key, Operation> operations;
    for (const Member& member : m_members) {
        Operation& operation = operations[{member.group, member.record.operation, member.record.sequence}];
        operation.lastArrival = std::max(operation.lastArrival, member.record.start);
        operation.ranks.insert(member.rank);
    }
    {
        const auto producer = sink.openProducer();
        std::map<const ProcessGroupInfo*, GroupId> ids;
        for (Member& member : m_members) {
            auto id = ids.find(member.group);
            if (id == ids.end()) id = ids.emplace(member.group, sink.defineGroup(*member.group)).first;
            const Operation& operation = operations[{member.group, member.record.operation, member.record.sequence}];
            member.record.group = id->second;
            member.record.lastArrival = std::clamp(operation.lastArrival, member.record.start, member.record.end);
            producer->collective(member.record);
        }
        m_matched = std::count_if(operations.begin(), operations.end(),
                                  [](const auto& entry) { return entry.second.ranks.size() > 1; });
        m_members = {};
    }
    m_byTime.finish(sink);
}

std::vector<OperationMark> operationMarks(const SpoolTables& tables)
{
    std::vector<OperationMark> marks;
    for (const SpoolCommunication& each : tables.communication) {
        OperationMark mark;
        mark.begin = Instant{each.start};
        mark.end = Instant{each.end};
        const auto byName = collectiveOf(tables.string(each.name));
        mark.kind = byName ? static_cast<int>(*byName) : -1;
        if (each.operation >= 0) {
            const NcclOperation& operation = tables.operations[static_cast<std::size_t>(each.operation)];
            mark.kind = static_cast<int>(operation.operation);
            const auto info = tables.communicators.find(operation.communicator);
            if (info != tables.communicators.end() && info->second.ranks == 1) continue;
            if (operation.byCopies) continue; // its members' last copies need not end together
            if (info != tables.communicators.end() && info->second.commId != 0 && operation.sequence)
                mark.key = std::to_string(info->second.commId) + " " + std::to_string(mark.kind) + " " +
                           std::to_string(*operation.sequence);
        }
        marks.push_back(std::move(mark));
    }
    std::stable_sort(marks.begin(), marks.end(),
                     [](const OperationMark& a, const OperationMark& b) { return a.begin < b.begin; });
    return marks;
}

} // namespace fourwalls::importers
