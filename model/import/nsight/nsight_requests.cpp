// SPDX-License-Identifier: Apache-2.0
// See nsight_requests.h.
#include "model/import/nsight/nsight_requests.h"

#include "model/import/common/kernel_class.h"
#include "model/import/common/nccl_operations.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostNsightRequests = 1'000'000;
constexpr std::int64_t kMostRequestBytes = std::int64_t{1} << 50;
constexpr std::size_t kMostNvtxCommunicators = 100'000;
constexpr std::int64_t kMostMembers = 1 << 24;

/// Whether NCCL's kernel of that kind (Other: of sends and receives) carries out such calls.
bool carries(CollectiveOp kind, CollectiveOp call)
{
    if (kind != CollectiveOp::Other) return kind == call;
    return call == CollectiveOp::Send || call == CollectiveOp::Receive || call == CollectiveOp::AllToAll ||
           call == CollectiveOp::Gather || call == CollectiveOp::Scatter;
}

/// What one kernel does that carries out all of these calls.
CollectiveDetail joinedCalls(const std::vector<const CollectiveDetail*>& calls)
{
    CollectiveDetail all = *calls.front();
    if (calls.size() == 1) return all;
    std::int64_t sent = 0, received = 0, other = 0;
    int sends = 0, receives = 0;
    bool known = true;
    for (const CollectiveDetail* call : calls) {
        // A kernel is of one communicator: these are not all of it.
        if (call->groupName != all.groupName) return {};
        known = known && call->payloadBytes;
        const bool send = call->operation == CollectiveOp::Send, receive = call->operation == CollectiveOp::Receive;
        sends += send;
        receives += receive;
        std::int64_t& sum = send ? sent : receive ? received : other;
        sum = std::min(kMostRequestBytes, sum + call->payloadBytes.value_or(0));
        if (call->operation != all.operation) all.operation = CollectiveOp::Other;
    }
    all.payloadBytes =
        known ? std::optional(std::min(kMostRequestBytes, std::max(sent, received) + other)) : std::nullopt;
    const int others = all.groupSize - 1;
    if (others > 1 && sends >= others && receives >= others && other == 0) all.operation = CollectiveOp::AllToAll;
    return all;
}

} // namespace

std::optional<CollectiveOp> blockingMpi(std::string_view name)
{
    if (name.substr(0, 4) != "MPI_" || name.size() < 6) return std::nullopt;
    // MPI_Isend, MPI_Iallreduce return at once; no blocking call begins with this letter but MPI_Init.
    if (name[4] == 'I') return std::nullopt;
    if (name.find("_init") != std::string_view::npos) return std::nullopt;
    if (name == "MPI_Bcast") return CollectiveOp::Broadcast;
    if (name == "MPI_Reduce") return CollectiveOp::Reduce;
    if (name == "MPI_Sendrecv") return CollectiveOp::Other;
    return collectiveOf(name);
}

int NsightRequests::add(int lane, std::int64_t begin, std::int64_t end, std::string_view text,
                        const NvtxPayload& payload)
{
    if (payload.communicator && payload.ranks && *payload.ranks > 0 && *payload.ranks <= kMostMembers &&
        m_ranksOf.size() < kMostNvtxCommunicators)
        m_ranksOf[*payload.communicator] = static_cast<int>(*payload.ranks);
    const std::string_view name = text.substr(0, text.find(','));
    CollectiveDetail detail;
    const bool framework = requestKind(name) == RequestKind::Annotation;
    if (framework)
        detail.operation = collectiveOf(name);
    else if (name.substr(0, 4) == "nccl")
        detail.operation = ncclFunction(name);
    if (m_requests.size() >= kMostNsightRequests) return -1;
    if (name == "ncclGroupStart" && m_groupStarts.size() < kMostNsightRequests) m_groupStarts.push_back({lane, begin});
    if (name == "ncclGroupEnd") {
        Request request{begin, end, lane, -1, false, static_cast<std::int32_t>(m_groups.size()), {}, {}};
        m_groups.emplace_back();
        m_requests.push_back(request);
        return static_cast<int>(m_requests.size() - 1);
    }
    if (!detail.operation) return -1;
    if (*detail.operation == CollectiveOp::Send && m_sends.size() < kMostNsightRequests)
        m_sends.push_back({lane, begin});
    m_requests.push_back(
        {begin, end, lane, detailIndex(std::move(detail)), framework, -1, payload.bytes, payload.communicator});
    return static_cast<int>(m_requests.size() - 1);
}

std::int32_t NsightRequests::detailIndex(CollectiveDetail detail)
{
    // Training asks for the same few things over and over.
    constexpr std::ptrdiff_t kLooked = 64;
    const auto from = m_details.end() - std::min<std::ptrdiff_t>(kLooked, std::ssize(m_details));
    const auto found = std::find(from, m_details.end(), detail);
    if (found != m_details.end()) return static_cast<std::int32_t>(found - m_details.begin());
    m_details.push_back(std::move(detail));
    return static_cast<std::int32_t>(m_details.size() - 1);
}

/// The communicator as a group, and the buffer that it works on.
void NsightRequests::takePayload(const Request& request, CollectiveDetail& detail) const
{
    if (request.communicator) {
        std::array<char, 32> name{};
        std::snprintf(name.data(), name.size(), "NCCL %llx", static_cast<unsigned long long>(*request.communicator));
        detail.groupName = name.data();
        if (const auto ranks = m_ranksOf.find(*request.communicator); ranks != m_ranksOf.end())
            detail.groupSize = ranks->second;
    }
    if (!request.bytes || *request.bytes < 0 || *request.bytes > kMostRequestBytes || !detail.operation) return;
    const std::int64_t ofTwo = wholePayload(*detail.operation, 1, 2);
    // What each rank gives is a part of the buffer, which only the number of ranks tells.
    if (ofTwo == 1 || detail.groupSize > 0)
        detail.payloadBytes = wholePayload(*detail.operation, *request.bytes, detail.groupSize);
}

void NsightRequests::addKernel(std::int64_t correlation, std::optional<CollectiveOp> kind)
{
    if (m_kernels.size() < kMostNsightRequests) m_kernels.emplace_back(correlation, kind);
}

/// The calls of each outermost group, by thread and time.
void NsightRequests::collectGroups()
{
    if (m_groups.empty()) return;
    constexpr std::int32_t kStart = -1;
    std::vector<std::tuple<int, std::int64_t, std::int32_t>> events; // lane, begin, request or start of a group
    for (const SendCall& start : m_groupStarts) events.emplace_back(start.lane, start.at, kStart);
    for (std::size_t i = 0; i < m_requests.size(); ++i)
        events.emplace_back(m_requests[i].lane, m_requests[i].begin, static_cast<std::int32_t>(i));
    m_groupStarts = {};
    std::sort(events.begin(), events.end());
    int depth = 0, onLane = -1;
    std::vector<std::int32_t> members, around;
    for (const auto& [lane, begin, index] : events) {
        if (lane != onLane) {
            depth = 0;
            members.clear();
            around.clear();
            onLane = lane;
        }
        if (index == kStart) {
            ++depth;
            continue;
        }
        const Request& request = m_requests[static_cast<std::size_t>(index)];
        while (!around.empty() && m_requests[static_cast<std::size_t>(around.back())].end < request.end)
            around.pop_back();
        if (request.framework) {
            around.push_back(index);
        } else if (request.group < 0) {
            if (depth > 0) members.push_back(index);
        } else if (depth == 0 || --depth == 0) { // a group that began before the capture has members that nobody knows
            Group& group = m_groups[static_cast<std::size_t>(request.group)];
            group.members = std::exchange(members, {});
            group.around = around.empty() ? -1 : around.back();
        }
    }
}

CollectiveDetail NsightRequests::shareOf(const Group& group, std::optional<CollectiveOp> kind) const
{
    std::vector<const CollectiveDetail*> calls;
    for (const std::int32_t member : group.members) {
        const CollectiveDetail& detail =
            m_details[static_cast<std::size_t>(m_requests[static_cast<std::size_t>(member)].detail)];
        if (!kind || carries(*kind, *detail.operation)) calls.push_back(&detail);
    }
    if (calls.empty()) return {};
    const auto kernels = static_cast<std::size_t>(std::count(group.kernels.begin(), group.kernels.end(), kind));
    const auto unnamed = static_cast<std::size_t>(std::count(group.kernels.begin(), group.kernels.end(), std::nullopt));
    if (kernels == 1 && (kind ? unnamed == 0 : group.kernels.size() == 1)) return joinedCalls(calls);
    const bool alike =
        std::all_of(calls.begin(), calls.end(), [&](const CollectiveDetail* call) { return *call == *calls.front(); });
    // NCCL orders and joins the calls of a group as it likes: of several kernels it is known only where all are alike.
    if (alike && kind && unnamed == 0 && kernels == calls.size()) return *calls.front();
    CollectiveDetail unknown;
    if (alike) unknown.operation = calls.front()->operation;
    const auto sameGroup = [&](const CollectiveDetail* call) { return call->groupName == calls.front()->groupName; };
    if (std::all_of(calls.begin(), calls.end(), sameGroup)) {
        unknown.groupName = calls.front()->groupName;
        unknown.groupSize = calls.front()->groupSize;
    }
    return unknown;
}

void NsightRequests::share(const LaunchLinks& links)
{
    const auto groupOf = [this](const std::optional<Launch>& launch) -> Group* {
        if (!launch || launch->collective < 0 || static_cast<std::size_t>(launch->collective) >= m_requests.size())
            return nullptr;
        const std::int32_t group = m_requests[static_cast<std::size_t>(launch->collective)].group;
        return group < 0 ? nullptr : &m_groups[static_cast<std::size_t>(group)];
    };
    if (!m_groups.empty())
        for (const auto& [correlation, kind] : m_kernels)
            if (Group* const group = groupOf(links.find(correlation))) group->kernels.push_back(kind);
    m_kernels = {};
    for (Group& group : m_groups) {
        for (const std::optional<CollectiveOp>& kind : group.kernels) {
            const auto known = [&kind](const auto& share) { return share.first == kind; };
            if (std::any_of(group.shares.begin(), group.shares.end(), known)) continue;
            CollectiveDetail detail;
            if (group.around >= 0)
                detail = m_details[static_cast<std::size_t>(m_requests[static_cast<std::size_t>(group.around)].detail)];
            completeDetail(detail, shareOf(group, kind));
            group.shares.emplace_back(kind, detailIndex(std::move(detail)));
        }
        group.members = {};
        group.kernels = {};
    }
}

void NsightRequests::settle()
{
    collectGroups();
    const auto earlier = [](const SendCall& a, const SendCall& b) {
        return std::tie(a.lane, a.at) < std::tie(b.lane, b.at);
    };
    std::sort(m_sends.begin(), m_sends.end(), earlier);
    for (Request& request : m_requests) {
        if (request.group >= 0) continue;
        CollectiveDetail detail = m_details[static_cast<std::size_t>(request.detail)];
        if (request.communicator || request.bytes) {
            takePayload(request, detail);
            request.detail = detailIndex(detail);
        }
        if (detail.operation != CollectiveOp::AllToAll || detail.groupSize > 0) continue;
        const auto first =
            std::lower_bound(m_sends.begin(), m_sends.end(), SendCall{request.lane, request.begin}, earlier);
        const auto last = std::lower_bound(first, m_sends.end(), SendCall{request.lane, request.end}, earlier);
        const auto sends = last - first;
        if (sends < 2 || sends > 4096) continue; // empty parts are not sent: one message says nothing
        detail.groupSize = static_cast<int>(sends);
        request.detail = detailIndex(std::move(detail));
    }
    m_sends = {};
}

const CollectiveDetail* NsightRequests::onlyAllToAll() const
{
    std::int32_t one = -1;
    for (const Request& request : m_requests) {
        if (!request.framework) continue;
        if (one >= 0 && request.detail != one) return nullptr;
        one = request.detail;
    }
    if (one < 0) return nullptr;
    const CollectiveDetail& detail = m_details[static_cast<std::size_t>(one)];
    return detail.operation == CollectiveOp::AllToAll ? &detail : nullptr;
}

const CollectiveDetail* NsightRequests::find(const std::optional<Launch>& launch,
                                             std::optional<CollectiveOp> kind) const
{
    if (!launch || launch->collective < 0 || static_cast<std::size_t>(launch->collective) >= m_requests.size())
        return nullptr;
    const Request& request = m_requests[static_cast<std::size_t>(launch->collective)];
    if (request.group < 0) return &m_details[static_cast<std::size_t>(request.detail)];
    for (const auto& [of, detail] : m_groups[static_cast<std::size_t>(request.group)].shares)
        if (of == kind) return &m_details[static_cast<std::size_t>(detail)];
    return nullptr;
}

} // namespace fourwalls::importers
