// SPDX-License-Identifier: Apache-2.0
// What the process groups of a run are for, told from the names that frameworks give them.
#pragma once

#include "model/trace/group_label.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::importers {

using fourwalls::purposeOfGroup;

/// One process group that the rank belongs to.
struct HostGroup {
    std::string name;
    std::string description;
    std::string backend;
    std::vector<int> ranks; ///< empty: not said, or cut short by the writer
    int size = 0;           ///< 0: not said
};

/// By description and else name.
GroupPurpose purposeOfGroup(const HostGroup& group);

/// The pipeline stage of a rank: its place in its pipeline group. Absent if no group says so.
std::optional<int> pipelineStage(const std::vector<HostGroup>& groups, int rank);

} // namespace fourwalls::importers
