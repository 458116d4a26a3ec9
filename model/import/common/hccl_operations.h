// SPDX-License-Identifier: Apache-2.0
// Operations of HCCL, the collective library of Ascend devices, as its profiler names them.
#pragma once

#include "model/import/common/collective_detail.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// Whether a name is that of a whole operation ("hcom_allReduce__586_0_1"), not of a part of one.
bool isHcclOperation(std::string_view name);

/// What such a name, a number of elements and HCCL's name of their type ("FP32") tell.
CollectiveDetail hcclDetail(std::string_view name, std::optional<std::int64_t> elements, std::string_view type);

} // namespace fourwalls::importers
