// SPDX-License-Identifier: Apache-2.0
// What a file says about a collective operation, and what kind of request an operator or annotation is.
#pragma once

#include "model/trace/records.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

struct CollectiveDetail {
    std::optional<CollectiveOp> operation;
    std::string groupName; ///< "Process Group Name", counted over the whole job; empty: not said
    std::string groupDescription;
    std::vector<int> ranks;                   ///< empty: not said, or cut short by the writer
    int groupSize = 0;                        ///< 0: not said
    std::optional<std::int64_t> payloadBytes; ///< the larger of input and output; absent: not said
    std::optional<std::int64_t> inputBytes;   ///< of a request that only lists its inputs; see payloadOf
    std::optional<std::int64_t> sequence;
    std::optional<int> peer; ///< of sends and receives

    friend bool operator==(const CollectiveDetail&, const CollectiveDetail&) = default;
};

/// The buffer that the operation works on: what was said, else from the inputs, of which an all-gather and a gather have
/// one per member. Absent: unknown.
std::optional<std::int64_t> payloadOf(const CollectiveDetail& detail, CollectiveOp operation);

/// "all_reduce 23.4 MB": what was asked for, to begin the detail of its kernels; empty where the operation is not known.
std::string operationText(const CollectiveDetail& detail);

/// What kind of request for communication an operator or annotation of the host is.
enum class RequestKind : std::uint8_t {
    None,
    Hint,       ///< says which operation runs inside, and is none itself (torchrec's All2All_Pooled_Req)
    Operator,   ///< c10d::allreduce_
    Parameters, ///< record_param_comms
    Annotation  ///< nccl:all_reduce, gloo:broadcast, hccl:allGather
};
RequestKind requestKind(std::string_view name);

/// Whether a request is the operation itself, done by the host while the annotation lasts (gloo, MPI). Others return as
/// soon as a device has been told to do it.
bool isHostCollective(std::string_view name);

/// Fills what `detail` leaves open from a request around or inside it.
void completeDetail(CollectiveDetail& detail, const CollectiveDetail& other);

/// What a rank sends for a payload: 2(n-1)/n of it in an all-reduce, (n-1)/n in an all-gather or reduce-scatter, else
/// the payload; absent where that needs the group's size and it is 0, unknown. Source: NVIDIA/nccl-tests doc/PERFORMANCE.md.
std::optional<std::int64_t> wireBytes(CollectiveOp operation, std::int64_t payloadBytes, int groupSize);

} // namespace fourwalls::importers
