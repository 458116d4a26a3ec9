// SPDX-License-Identifier: Apache-2.0
// See nsight_requests.h.
#include "model/import/nsight/nsight_requests.h"

#include "model/import/common/kernel_class.h"
#include "model/import/common/nccl_operations.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostNsightRequests = 1'000'000;

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

int NsightRequests::add(int lane, std::int64_t begin, std::int64_t end, std::string_view text)
{
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
    m_requests.push_back({begin, end, lane, detailIndex(std::move(detail)), framework});
    return static_cast<int>(m_requests.size() - 1);
}

std::int32_t NsightRequests::detailIndex(CollectiveDetail detail)
{
    const auto found = std::find(m_details.begin(), m_details.end(), detail);
    if (found != m_details.end()) return static_cast<std::int32_t>(found - m_details.begin());
    m_details.push_back(std::move(detail));
    return static_cast<std::int32_t>(m_details.size() - 1);
}

void NsightRequests::settle()
{
    const auto earlier = [](const SendCall& a, const SendCall& b) {
        return std::tie(a.lane, a.at) < std::tie(b.lane, b.at);
    };
    std::sort(m_sends.begin(), m_sends.end(), earlier);
    for (Request& request : m_requests) {
        CollectiveDetail detail = m_details[static_cast<std::size_t>(request.detail)];
        if (detail.operation != CollectiveOp::AllToAll) continue;
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
