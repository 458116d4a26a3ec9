// SPDX-License-Identifier: Apache-2.0
// What NVTX ranges of a process say about its communication: PyTorch's nccl:all_to_all, NCCL's ncclAllReduce, MPI_Allreduce.
// Kernels are found through the calls that launched them.
#pragma once

#include "model/import/common/collective_detail.h"
#include "model/import/common/launch_links.h"
#include "model/import/nsight/nvtx_payloads.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// The operation of an MPI call that lasts as long as the operation ("MPI_Allreduce", "MPI_Recv"); absent for other ranges
/// and for calls that return at once ("MPI_Iallreduce").
std::optional<CollectiveOp> blockingMpi(std::string_view name);

class NsightRequests {
public:
    /// A range of a thread. Gives what LaunchLinks shall know it as (OperatorContext::collective); -1: asks for nothing.
    /// payload: what a range of NCCL's says beside its name.
    int add(int lane, std::int64_t begin, std::int64_t end, std::string_view text, const NvtxPayload& payload = {});

    /// Call once, when all have been added. Communicators are known by the calls that made them; an all-to-all without one
    /// is one send per member: that tells the group's size.
    void settle();

    /// What the request of a launch says; null: it has none.
    const CollectiveDetail* find(const std::optional<Launch>& launch) const;

    /// What a kernel of unknown launch that sends and receives must be: the framework asked for all-to-alls of one group
    /// and nothing else. Null otherwise.
    const CollectiveDetail* onlyAllToAll() const;

private:
    struct Request {
        std::int64_t begin = 0, end = 0;
        int lane = 0;
        std::int32_t detail = -1;
        bool framework = false; ///< not NCCL's own range
        std::optional<std::int64_t> bytes, communicator;
    };
    struct SendCall {
        int lane = 0;
        std::int64_t at = 0;
    };
    std::int32_t detailIndex(CollectiveDetail detail);
    void takePayload(const Request& request, CollectiveDetail& detail) const;

    std::vector<Request> m_requests;
    std::vector<SendCall> m_sends;
    std::vector<CollectiveDetail>
        m_details;                         ///< kinds of operation, sizes and groups; of many, equal ones may be several
    std::map<std::int64_t, int> m_ranksOf; ///< by communicator
};

} // namespace fourwalls::importers
