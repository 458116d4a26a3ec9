// SPDX-License-Identifier: Apache-2.0
// Names and arguments: rccl.h of ROCm/rccl, and the domains of rocprofiler-sdk.
#include "model/import/rocm/rccl_calls.h"

#include "model/import/common/decimal_time.h"
#include "model/import/common/kernel_class.h"

namespace fourwalls::importers {

Category rocmCategory(std::string_view domain)
{
    const auto starts = [domain](std::string_view with) { return domain.substr(0, with.size()) == with; };
    if (starts("HIP_") || starts("HSA_") || starts("RCCL")) return Category::Runtime;
    if (starts("MARKER_")) return Category::UserAnnotation;
    return Category::OtherRuntime;
}

std::optional<CollectiveOp> rcclOperation(std::string_view call)
{
    if (call.substr(0, 4) != "nccl") return std::nullopt;
    for (const std::string_view none : {"ncclGroup", "ncclComm", "ncclGet", "ncclMem", "ncclRedOp"})
        if (call.substr(0, none.size()) == none) return std::nullopt;
    if (call == "ncclReduce") return CollectiveOp::Reduce;
    if (call == "ncclBcast") return CollectiveOp::Broadcast;
    return collectiveOf(call);
}

void RcclCall::add(std::string_view name, std::string_view value)
{
    constexpr std::int64_t kMostElements = std::int64_t{1} << 42;
    if (name == "peer") {
        if (const auto peer = integerFromText(value); peer && *peer >= 0 && *peer < (1 << 24))
            detail.peer = static_cast<int>(*peer);
        return;
    }
    if (name == "count" || name == "sendcount" || name == "recvcount") {
        elements = integerFromText(value);
        if (elements && (*elements <= 0 || *elements >= kMostElements)) elements.reset();
    } else if (name == "datatype") {
        width = elementBytes(value);
    }
    if (!elements || !width || !detail.operation) return;
    switch (*detail.operation) {
    case CollectiveOp::AllGather:
    case CollectiveOp::Gather: detail.inputBytes = *elements * *width; break;
    // These count what one member gets or gives: the whole follows from their number.
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::Scatter:
    case CollectiveOp::AllToAll:
        if (detail.groupSize > 0 && detail.groupSize < (1 << 20))
            detail.payloadBytes = *elements * *width * detail.groupSize;
        break;
    default: detail.payloadBytes = *elements * *width; break;
    }
}

std::string_view rocmKernelName(std::string_view name)
{
    if (name.ends_with(".kd")) name.remove_suffix(3);
    return name;
}

} // namespace fourwalls::importers
