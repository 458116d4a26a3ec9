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
    if (!detail.operation || m_requests.size() >= kMostNsightRequests) return -1;
    if (*detail.operation == CollectiveOp::Send && m_sends.size() < kMostNsightRequests)
        m_sends.push_back({lane, begin});
    m_requests.push_back(
        {begin, end, lane, detailIndex(std::move(detail)), framework, payload.bytes, payload.communicator});
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

void NsightRequests::settle()
{
    const auto earlier = [](const SendCall& a, const SendCall& b) {
        return std::tie(a.lane, a.at) < std::tie(b.lane, b.at);
    };
    std::sort(m_sends.begin(), m_sends.end(), earlier);
    for (Request& request : m_requests) {
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

const CollectiveDetail* NsightRequests::find(const std::optional<Launch>& launch) const
{
    if (!launch || launch->collective < 0 || static_cast<std::size_t>(launch->collective) >= m_requests.size())
        return nullptr;
    return &m_details[static_cast<std::size_t>(m_requests[static_cast<std::size_t>(launch->collective)].detail)];
}

} // namespace fourwalls::importers
