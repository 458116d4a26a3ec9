// SPDX-License-Identifier: Apache-2.0
// What the process groups of a run are for, told from the names that frameworks give them.
#pragma once

#include "model/import/chrome_header.h"

#include <optional>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

enum class GroupPurpose { Other, Tensor, Pipeline, Data, Context, Expert };

/// Of names like "TENSOR_MODEL_PARALLEL_GROUP" (Megatron), "mesh_tp" (DTensor), "dp". Groups of several dimensions
/// ("TENSOR_AND_DATA_PARALLEL_GROUP") and helpers ("EMBEDDING_GROUP") are Other.
GroupPurpose purposeOfGroup(std::string_view name);

/// Likewise, by description and else name.
GroupPurpose purposeOfGroup(const HostGroup& group);

/// The pipeline stage of a rank: its place in its pipeline group. Absent if no group says so.
std::optional<int> pipelineStage(const std::vector<HostGroup>& groups, int rank);

} // namespace fourwalls::importers
