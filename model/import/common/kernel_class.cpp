// SPDX-License-Identifier: Apache-2.0
// Tables of name parts; all are compared without regard to case.
#include "model/import/common/kernel_class.h"

#include "model/base/ascii.h"

#include <array>
#include <cstddef>
#include <utility>

namespace fourwalls::importers {

namespace {

/// Whether `name` contains `part` (lower case), ignoring case.
bool namesPart(std::string_view name, std::string_view part)
{
    for (std::size_t at = 0; at + part.size() <= name.size(); ++at) {
        std::size_t i = 0;
        while (i < part.size() && lowerCase(name[at + i]) == part[i]) ++i;
        if (i == part.size()) return true;
    }
    return false;
}

template <std::size_t N>
bool namesAnyPart(std::string_view name, const std::array<std::string_view, N>& parts)
{
    for (const std::string_view part : parts)
        if (namesPart(name, part)) return true;
    return false;
}

} // namespace

bool isCommunicationKernel(std::string_view name)
{
    // torch.compile names a kernel after the operators whose work it fuses, also those before and behind a collective.
    if (name.substr(0, 7) == "triton_" && namesPart(name, "fused")) return false;
    static constexpr std::array<std::string_view, 24> kParts{
        "nccl",       "rccl",           "oneccl",        "ccl::",       "hccl",         "hcom_",
        "deep_ep",    "::ep::",         "nvshmem",       "rocshmem",    "ishmem",       "msccl",
        "all_reduce", "allreduce",      "all_gather",    "allgather",   "all_to_all",   "alltoall",
        "multimem_",  "reduce_scatter", "reducescatter", "userbuffers", "one_shot_all", "cross_device_reduce"};
    return namesAnyPart(name, kParts);
}

bool isCopyKernel(std::string_view name)
{
    return name.starts_with("__amd_rocclr_copy") || name.starts_with("__amd_rocclr_fill");
}

std::optional<CollectiveOp> collectiveOf(std::string_view name)
{
    using Row = std::pair<std::string_view, CollectiveOp>;
    // Longer words first: "reduce_scatter" contains "reduce".
    static constexpr std::array<Row, 27> kTable{{
        {"reducescatter", CollectiveOp::ReduceScatter},
        {"reduce_scatter", CollectiveOp::ReduceScatter},
        {"allreduce", CollectiveOp::AllReduce},
        {"all_reduce", CollectiveOp::AllReduce},
        {"cross_device_reduce", CollectiveOp::AllReduce},
        {"allgather", CollectiveOp::AllGather},
        {"all_gather", CollectiveOp::AllGather},
        {"alltoall", CollectiveOp::AllToAll},
        {"all_to_all", CollectiveOp::AllToAll},
        {"::ep::", CollectiveOp::AllToAll},
        {"deep_ep", CollectiveOp::AllToAll},
        {"broadcast", CollectiveOp::Broadcast},
        {"sendrecv", CollectiveOp::Other},
        {"send_recv", CollectiveOp::Other},
        {"barrier", CollectiveOp::Barrier},
        {"coalesced", CollectiveOp::Other},
        {"scatter", CollectiveOp::Scatter},
        {"gather", CollectiveOp::Gather},
        {"_reduce_", CollectiveOp::Reduce},
        {":reduce", CollectiveOp::Reduce},
        {"reduceoop", CollectiveOp::Reduce},
        {"devkernel_reduce", CollectiveOp::Reduce},
        {"irecv", CollectiveOp::Receive},
        {"recv", CollectiveOp::Receive},
        {"receive", CollectiveOp::Receive},
        {"isend", CollectiveOp::Send},
        {"send", CollectiveOp::Send},
    }};
    if (name == "reduce") return CollectiveOp::Reduce;
    if (name == "wait" || name == "init") return std::nullopt;
    for (const auto& [part, operation] : kTable)
        if (namesPart(name, part)) return operation;
    return std::nullopt;
}

std::string_view algorithmOf(std::string_view name)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTable{
        {{"_ring", "ring"},
         {"_tree", "tree"},
         {"_collnet", "collnet"},
         {"_nvls", "nvls"},
         {"cross_device_reduce", "direct"}}};
    for (const auto& [part, word] : kTable)
        if (namesPart(name, part)) return word;
    return {};
}

std::string_view protocolOf(std::string_view name)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTable{
        {{"_ll128", "LL128"}, {"_ll", "LL"}, {"_simple", "Simple"}}};
    for (const auto& [part, word] : kTable)
        if (namesPart(name, part)) return word;
    return {};
}

std::optional<std::int64_t> elementBytes(std::string_view dtype)
{
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 18> kTable{{{"bfloat16", 2},
                                                                                       {"float16", 2},
                                                                                       {"half", 2},
                                                                                       {"float8", 1},
                                                                                       {"double", 8},
                                                                                       {"float64", 8},
                                                                                       {"long", 8},
                                                                                       {"int64", 8},
                                                                                       {"complexfloat", 8},
                                                                                       {"float", 4},
                                                                                       {"int32", 4},
                                                                                       {"short", 2},
                                                                                       {"byte", 1},
                                                                                       {"char", 1},
                                                                                       {"bool", 1},
                                                                                       {"int8", 1},
                                                                                       {"fp8", 1},
                                                                                       {"int", 4}}};
    for (const auto& [part, bytes] : kTable)
        if (namesPart(dtype, part)) return bytes;
    return std::nullopt;
}

bool isNcclName(std::string_view name)
{
    for (std::size_t i = 0; i + 4 <= name.size(); ++i) {
        const char first = static_cast<char>(name[i] | 0x20);
        if ((first == 'n' || first == 'r') && (name[i + 1] | 0x20) == 'c' && (name[i + 2] | 0x20) == 'c' &&
            (name[i + 3] | 0x20) == 'l')
            return true;
    }
    return false;
}

} // namespace fourwalls::importers
