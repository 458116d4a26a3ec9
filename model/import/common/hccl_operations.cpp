// SPDX-License-Identifier: Apache-2.0
// Names and types of HCCL.
#include "model/import/common/hccl_operations.h"

#include "model/import/common/kernel_class.h"

#include <array>
#include <string>
#include <utility>

namespace fourwalls::importers {

namespace {

std::optional<std::int64_t> bytesOfType(std::string_view type)
{
    using Row = std::pair<std::string_view, std::int64_t>;
    static constexpr std::array<Row, 14> kTable{{{"FP32", 4},
                                                 {"FP16", 2},
                                                 {"BFP16", 2},
                                                 {"BF16", 2},
                                                 {"FP64", 8},
                                                 {"INT8", 1},
                                                 {"UINT8", 1},
                                                 {"INT16", 2},
                                                 {"UINT16", 2},
                                                 {"INT32", 4},
                                                 {"UINT32", 4},
                                                 {"INT64", 8},
                                                 {"UINT64", 8},
                                                 {"INT128", 16}}};
    for (const auto& [name, bytes] : kTable)
        if (name == type) return bytes;
    return std::nullopt;
}

/// "586" of "hcom_allReduce__586_0_1": HCCL's short name of the group.
std::string_view groupOf(std::string_view name)
{
    const std::size_t at = name.rfind("__");
    if (at == std::string_view::npos) return {};
    const std::string_view rest = name.substr(at + 2);
    return rest.substr(0, rest.find('_'));
}

} // namespace

bool isHcclOperation(std::string_view name)
{
    return name.substr(0, 5) == "hcom_" || name.substr(0, 5) == "Hccl@";
}

CollectiveDetail hcclDetail(std::string_view name, std::optional<std::int64_t> elements, std::string_view type)
{
    CollectiveDetail detail;
    detail.operation = collectiveOf(name);
    detail.groupName = std::string(groupOf(name));
    const auto bytes = bytesOfType(type);
    constexpr std::int64_t kMostElements = std::int64_t{1} << 42;
    if (elements && bytes && *elements > 0 && *elements < kMostElements) detail.payloadBytes = *elements * *bytes;
    return detail;
}

} // namespace fourwalls::importers
