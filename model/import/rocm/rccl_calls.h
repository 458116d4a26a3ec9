// SPDX-License-Identifier: Apache-2.0
// Calls of RCCL as rocprofiler-sdk traces them, and what a call of any of its domains is.
#pragma once

#include "model/import/common/collective_detail.h"
#include "model/import/common/trace_categories.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// What a row of the host is by the domain of its API ("HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "RCCL_API").
Category rocmCategory(std::string_view domain);

/// What a call asked for, argument by argument.
struct RcclCall {
    CollectiveDetail detail;
    std::optional<std::int64_t> elements, width;

    /// An argument ("count", "datatype", "peer"); others say nothing here.
    void add(std::string_view name, std::string_view value);
};

/// The operation of a call; absent for those that ask for none ("ncclGroupStart").
std::optional<CollectiveOp> rcclOperation(std::string_view call);

/// A kernel's name as people know it: without the ending of its descriptor in a code object.
std::string_view rocmKernelName(std::string_view name);

} // namespace fourwalls::importers
