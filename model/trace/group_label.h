// SPDX-License-Identifier: Apache-2.0
// What a process group is called: its role where its name tells (tp, dp, pp, cp, ep, world), else its ranks. Frameworks
// number their groups, and "13" tells nobody anything.
#pragma once

#include "model/trace/trace_query.h"

#include <string>
#include <string_view>

namespace fourwalls {

enum class GroupPurpose { Other, Tensor, Pipeline, Data, Context, Expert };

/// Of names like "TENSOR_MODEL_PARALLEL_GROUP" (Megatron), "mesh_tp" (DTensor), "dp". Groups of several dimensions
/// ("TENSOR_AND_DATA_PARALLEL_GROUP") and helpers ("EMBEDDING_GROUP") are Other.
GroupPurpose purposeOfGroup(std::string_view name);

/// "tp", "dp", "pp", "cp", "ep"; "world" for the group of all ranks that frameworks make by themselves; "ranks 0, 1",
/// "ranks 0-7" or "ranks 0, 2, ... 14" for a group without a telling name; the name itself where it is made of words.
/// Ranks too many for words: "group of 300". Unknown group: its number.
std::string groupLabel(const TraceInfo& info, GroupId group);

} // namespace fourwalls
