// SPDX-License-Identifier: Apache-2.0
// See spool_nccl.h.
#include "model/import/spool/spool_nccl.h"

#include "model/base/ascii.h"

#include <algorithm>

namespace fourwalls::importers {

void SpoolNccl::add(const collect::NcclCommunicator& made)
{
    NcclCommunicatorInfo info;
    info.commId = made.commId;
    info.name = std::string(m_tables.string(made.name).substr(0, 200));
    info.ranks = std::clamp(made.ranks, 0, 1 << 20);
    info.rank = std::clamp(made.rank, 0, 1 << 20);
    info.time = spoolTime(made.time).value_or(0);
    m_tables.communicators[made.id] = info;
    m_local[made.commId] = made.id;
}

std::uint64_t SpoolNccl::localOf(std::uint64_t commId)
{
    if (commId == 0) return 0;
    const auto [found, isNew] = m_local.try_emplace(commId, (std::uint64_t{1} << 63) + m_local.size());
    if (isNew) m_tables.communicators[found->second].commId = commId;
    return found->second;
}

void SpoolNccl::add(const collect::NcclKernelLaunch& launch)
{
    m_launches.push_back(
        {launch.id, launch.parent, launch.communicator, spoolTime(launch.start).value_or(0), launch.thread, false});
}

void SpoolNccl::add(const collect::NcclGroup& group)
{
    if (group.api != 0 && group.captured != 0) m_capturedGroups.insert(group.id);
    if (group.api == 0)
        m_pairing.add(NcclPlan{group.id, group.communicator, spoolTime(group.start).value_or(0), group.thread});
}

std::int32_t SpoolNccl::opened(const collect::NvtxEvent& event, std::span<const std::byte> payload)
{
    const NcclRangeFacts facts = m_ranges.read(event, payload);
    if (facts.ranks > 0) {
        NcclCommunicatorInfo& info = m_tables.communicators[localOf(facts.commId)];
        info.ranks = facts.ranks;
        info.rank = facts.rank.value_or(info.rank);
    }
    if (!ncclFunction(m_tables.string(event.name))) return -1;
    m_rangeFacts.push_back(facts);
    return static_cast<std::int32_t>(m_rangeFacts.size() - 1);
}

void SpoolNccl::addCall(const SpoolRange& range, std::uint32_t thread, std::int32_t known)
{
    const auto operation = ncclFunction(m_tables.string(range.name));
    const NcclRangeFacts& facts = m_rangeFacts[static_cast<std::size_t>(known)];
    NcclCall call;
    call.communicator = localOf(facts.commId);
    call.begin = range.begin;
    call.end = range.end;
    call.thread = thread;
    call.fromRange = true;
    call.captured = m_captures.covers(thread, range.begin);
    call.operation.operation = operation.value_or(CollectiveOp::Other);
    call.operation.payloadBytes = facts.bytes;
    call.operation.peer = facts.peer;
    m_pairing.add(std::move(call));
}

void SpoolNccl::pair()
{
    for (NcclLaunch& launch : m_launches) {
        launch.captured = m_capturedGroups.contains(launch.group) || m_captures.covers(launch.thread, launch.begin);
        m_pairing.add(launch);
    }
    for (const collect::NcclColl& coll : m_colls) {
        NcclCall call;
        const auto api = m_apis.find(coll.parent);
        call.id = coll.id;
        call.group = api != m_apis.end() ? api->second.parent : 0;
        call.plan = coll.group;
        call.captured = (api != m_apis.end() && api->second.captured != 0) ||
                        m_captures.covers(coll.thread, spoolTime(coll.start).value_or(0));
        call.communicator = coll.communicator;
        call.begin = spoolTime(coll.start).value_or(0);
        call.end = spoolTime(coll.stop).value_or(0);
        call.thread = coll.thread;
        call.operation.operation = ncclFunction(m_tables.string(coll.function)).value_or(CollectiveOp::Other);
        // The caller's count has one meaning; the task's is in bytes for some functions.
        const std::uint64_t count = api != m_apis.end() ? api->second.count : coll.count;
        const std::uint32_t type = api != m_apis.end() ? api->second.datatype : coll.datatype;
        call.operation.payloadBytes = bytesOf(count, type);
        if (coll.sequence < (std::uint64_t{1} << 62))
            call.operation.sequence = static_cast<std::int64_t>(coll.sequence);
        call.operation.algorithm = lowerCase(m_tables.string(coll.algorithm).substr(0, 60));
        call.operation.protocol = std::string(m_tables.string(coll.protocol).substr(0, 60));
        call.operation.channels = coll.channels;
        m_pairing.add(std::move(call));
    }
    for (const collect::NcclP2p& message : m_messages) {
        NcclCall call;
        const auto api = m_apis.find(message.parent);
        call.id = message.id;
        call.group = api != m_apis.end() ? api->second.parent : 0;
        call.plan = message.group;
        call.captured = (api != m_apis.end() && api->second.captured != 0) ||
                        m_captures.covers(message.thread, spoolTime(message.start).value_or(0));
        call.communicator = message.communicator;
        call.begin = spoolTime(message.start).value_or(0);
        call.end = spoolTime(message.stop).value_or(0);
        call.thread = message.thread;
        call.operation.operation = ncclFunction(m_tables.string(message.function)).value_or(CollectiveOp::Other);
        call.operation.payloadBytes = bytesOf(message.count, message.datatype);
        if (message.peer >= 0) call.operation.peer = message.peer;
        call.operation.channels = message.channels;
        m_pairing.add(std::move(call));
    }
    std::vector<NcclKernel> kernels;
    for (const SpoolCommunication& each : m_tables.communication) {
        const std::optional<Launch> launch =
            each.correlation != 0 ? m_tables.links.find(each.correlation) : std::nullopt;
        NcclKernel kernel;
        kernel.correlation = each.correlation;
        kernel.inGraph = each.inGraph;
        if (launch) {
            kernel.launchedAt = launch->at;
            const auto thread = m_tables.threadOfLane.find(launch->lane);
            if (thread != m_tables.threadOfLane.end()) kernel.thread = thread->second;
        }
        kernels.push_back(kernel);
    }
    const std::vector<std::int32_t> paired = m_pairing.pair(
        kernels, [this](std::uint64_t communicator) { return ranksOf(communicator); }, m_tables.operations);
    for (std::size_t i = 0; i < paired.size(); ++i) m_tables.communication[i].operation = paired[i];
    m_tables.pairedExactly = m_pairing.exactly();
    m_tables.pairedByTime = m_pairing.byTime();
    m_tables.pairedEvenly = m_pairing.divided();
    m_tables.communicationInGraphs = m_pairing.inGraphs();
    m_tables.callsWithoutKernel = m_pairing.callsWithoutKernel();
    pairCopies();
}

void SpoolNccl::tie(const std::vector<SpoolKernel>& copies)
{
    if (m_ofCopies.empty()) return;
    for (const SpoolKernel& copy : copies) {
        const auto found = m_ofCopies.find(m_pairing.launchOf(copy.correlation));
        if (found == m_ofCopies.end()) continue;
        auto& [coll, whole, correlations] = found->second;
        if (correlations.empty() || copy.start < whole.start) {
            whole.start = copy.start;
            whole.lane = copy.lane;
            whole.correlation = copy.correlation;
        }
        whole.end = std::max(whole.end, copy.end);
        correlations.push_back(copy.correlation);
    }
}

/// Operations of copy engines have numbers of their own, which count the waits of their communicator.
void SpoolNccl::pairCopies()
{
    constexpr std::int64_t kFirstSequence = std::int64_t{1} << 48; // behind those of kernels
    for (auto& [id, each] : m_ofCopies) {
        auto& [coll, whole, correlations] = each;
        const auto api = m_apis.find(coll.parent);
        const bool captured = (api != m_apis.end() && api->second.captured != 0) ||
                              m_captures.covers(coll.thread, spoolTime(coll.start).value_or(0));
        if (correlations.empty()) {
            m_tables.callsWithoutCopies += captured ? 0 : 1;
            continue;
        }
        NcclOperation operation;
        operation.communicator = coll.communicator;
        operation.operation = ncclFunction(m_tables.string(coll.function)).value_or(CollectiveOp::Other);
        operation.payloadBytes =
            wholePayload(operation.operation, bytesOf(coll.count, coll.datatype), ranksOf(coll.communicator));
        if (coll.sequence < static_cast<std::uint64_t>(kFirstSequence))
            operation.sequence = kFirstSequence + static_cast<std::int64_t>(coll.sequence);
        operation.algorithm = lowerCase(m_tables.string(coll.algorithm).substr(0, 60));
        operation.protocol = std::string(m_tables.string(coll.protocol).substr(0, 60));
        operation.byCopies = true;
        whole.operation = static_cast<std::int32_t>(m_tables.operations.size());
        m_tables.operations.push_back(std::move(operation));
        for (const std::uint32_t correlation : correlations) m_tables.operationOfCopy[correlation] = whole.operation;
        m_tables.communication.push_back(whole);
        ++m_tables.pairedWithCopies;
    }
}

int SpoolNccl::ranksOf(std::uint64_t communicator) const
{
    const auto found = m_tables.communicators.find(communicator);
    return found == m_tables.communicators.end() ? 0 : found->second.ranks;
}

std::int64_t SpoolNccl::bytesOf(std::uint64_t count, std::uint32_t type) const
{
    const std::int64_t each = ncclTypeBytes(m_tables.string(type));
    return count > (std::uint64_t{1} << 50) ? 0 : static_cast<std::int64_t>(count) * each;
}

} // namespace fourwalls::importers
