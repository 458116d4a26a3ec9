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
#include <utility>
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

    /// A communication kernel of the process, and what its name says of its operation (Other: sends and receives).
    void addKernel(std::int64_t correlation, std::optional<CollectiveOp> kind);

    /// Call once, when all have been added. Communicators are known by the calls that made them; an all-to-all without one
    /// is one send per member: that tells the group's size.
    void settle();
    /// Gives the calls between ncclGroupStart and ncclGroupEnd to the kernels that the latter launched, where it is certain
    /// which kernel carried out which. Call once, when the links are resolved.
    void share(const LaunchLinks& links);

    /// What the request of a launch says; null: it has none. kind: as of addKernel.
    const CollectiveDetail* find(const std::optional<Launch>& launch, std::optional<CollectiveOp> kind = {}) const;

    /// What a kernel of unknown launch that sends and receives must be: the framework asked for all-to-alls of one group
    /// and nothing else. Null otherwise.
    const CollectiveDetail* onlyAllToAll() const;

private:
    struct Request {
        std::int64_t begin = 0, end = 0;
        int lane = 0;
        std::int32_t detail = -1;
        bool framework = false;  ///< not NCCL's own range
        std::int32_t group = -1; ///< it is an ncclGroupEnd
        std::optional<std::int64_t> bytes, communicator;
    };
    struct SendCall {
        int lane = 0;
        std::int64_t at = 0;
    };
    /// A group of NCCL's calls: they are launched together when it ends.
    struct Group {
        std::vector<std::int32_t> members;                                        ///< requests
        std::int32_t around = -1;                                                 ///< the framework's request
        std::vector<std::optional<CollectiveOp>> kernels;                         ///< by what their names say
        std::vector<std::pair<std::optional<CollectiveOp>, std::int32_t>> shares; ///< details, by the same
    };
    std::int32_t detailIndex(CollectiveDetail detail);
    void takePayload(const Request& request, CollectiveDetail& detail) const;
    void collectGroups();
    CollectiveDetail shareOf(const Group& group, std::optional<CollectiveOp> kind) const;

    std::vector<Request> m_requests;
    std::vector<SendCall> m_sends, m_groupStarts;
    std::vector<Group> m_groups;
    std::vector<std::pair<std::int64_t, std::optional<CollectiveOp>>> m_kernels; ///< until share()
    std::vector<CollectiveDetail>
        m_details;                         ///< kinds of operation, sizes and groups; of many, equal ones may be several
    std::map<std::int64_t, int> m_ranksOf; ///< by communicator
};

} // namespace fourwalls::importers
