// SPDX-License-Identifier: Apache-2.0
// What a request means, and what is sent for a payload.
#include "model/import/common/collective_detail.h"

#include "model/import/common/kernel_class.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace fourwalls::importers {

std::optional<std::int64_t> payloadOf(const CollectiveDetail& detail, CollectiveOp operation)
{
    if (detail.payloadBytes || !detail.inputBytes) return detail.payloadBytes;
    if (operation != CollectiveOp::AllGather && operation != CollectiveOp::Gather) return detail.inputBytes;
    if (detail.groupSize < 1) return std::nullopt;
    std::int64_t all = 0;
    if (__builtin_mul_overflow(*detail.inputBytes, std::int64_t{detail.groupSize}, &all)) return std::nullopt;
    return all;
}

std::string operationText(const CollectiveDetail& detail)
{
    if (!detail.operation || *detail.operation == CollectiveOp::Other) return {};
    std::string text(fourwalls::name(*detail.operation));
    const std::optional<std::int64_t> payload = payloadOf(detail, *detail.operation);
    if (!payload || *payload <= 0) return text;
    static constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
    double size = static_cast<double>(*payload);
    std::size_t unit = 0;
    for (; size >= 999.5 && unit + 1 < kUnits.size(); ++unit) size /= 1000;
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), " %.3g %s", size, kUnits[unit]);
    return text + buffer.data();
}

RequestKind requestKind(std::string_view name)
{
    static constexpr std::array<std::string_view, 7> kBackends{
        "nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:", "rccl:"};
    if (name == "record_param_comms") return RequestKind::Parameters;
    if (name.substr(0, 6) == "c10d::" || name.substr(0, 18) == "_c10d_functional::")
        return collectiveOf(name) ? RequestKind::Operator : RequestKind::None;
    if (std::any_of(kBackends.begin(), kBackends.end(),
                    [name](std::string_view each) { return name.substr(0, each.size()) == each; }))
        return RequestKind::Annotation;
    const bool asks = name.substr(0, 7) == "All2All" && name.find("_Req") != std::string_view::npos;
    return asks ? RequestKind::Hint : RequestKind::None;
}

bool isHostCollective(std::string_view name)
{
    return name.substr(0, 5) == "gloo:" || name.substr(0, 4) == "mpi:";
}

void completeDetail(CollectiveDetail& detail, const CollectiveDetail& other)
{
    const bool vague = !detail.operation || *detail.operation == CollectiveOp::Other;
    if (vague && other.operation) detail.operation = other.operation;
    if (detail.groupName.empty()) detail.groupName = other.groupName;
    if (detail.groupDescription.empty()) detail.groupDescription = other.groupDescription;
    if (detail.ranks.empty()) detail.ranks = other.ranks;
    if (detail.groupSize == 0) detail.groupSize = other.groupSize;
    if (!detail.payloadBytes) detail.payloadBytes = other.payloadBytes;
    if (!detail.inputBytes) detail.inputBytes = other.inputBytes;
    if (detail.payloadBytes) detail.inputBytes.reset();
    if (!detail.sequence) detail.sequence = other.sequence;
    if (!detail.peer) detail.peer = other.peer;
}

std::optional<std::int64_t> wireBytes(CollectiveOp operation, std::int64_t payloadBytes, int groupSize)
{
    if (groupSize == 1) return 0;
    const bool byMembers = operation == CollectiveOp::AllReduce || operation == CollectiveOp::AllGather ||
                           operation == CollectiveOp::ReduceScatter;
    if (byMembers && groupSize < 1) return std::nullopt;
    const double n = groupSize;
    double factor = 1;
    if (operation == CollectiveOp::AllReduce) factor = 2 * (n - 1) / n;
    if (operation == CollectiveOp::AllGather || operation == CollectiveOp::ReduceScatter) factor = (n - 1) / n;
    return static_cast<std::int64_t>(static_cast<double>(payloadBytes) * factor);
}

} // namespace fourwalls::importers
