// SPDX-License-Identifier: Apache-2.0
// What the process groups of a run are for, told from the names that frameworks give them.
#pragma once

#include "model/import/chrome/chrome_header.h"
#include "model/trace/group_label.h"

#include <optional>
#include <vector>

namespace fourwalls::importers {

using fourwalls::purposeOfGroup;

/// By description and else name.
GroupPurpose purposeOfGroup(const HostGroup& group);

/// The pipeline stage of a rank: its place in its pipeline group. Absent if no group says so.
std::optional<int> pipelineStage(const std::vector<HostGroup>& groups, int rank);

} // namespace fourwalls::importers
