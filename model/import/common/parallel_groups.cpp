// SPDX-License-Identifier: Apache-2.0
// The words of names are model/trace's; here they meet the groups of a file's header.
#include "model/import/common/parallel_groups.h"

#include <algorithm>
#include <string>

namespace fourwalls::importers {

GroupPurpose purposeOfGroup(const HostGroup& group)
{
    const GroupPurpose purpose = purposeOfGroup(group.description);
    return purpose != GroupPurpose::Other ? purpose : purposeOfGroup(group.name);
}

std::optional<int> pipelineStage(const std::vector<HostGroup>& groups, int rank)
{
    for (const HostGroup& group : groups) {
        if (purposeOfGroup(group) != GroupPurpose::Pipeline) continue;
        const auto found = std::find(group.ranks.begin(), group.ranks.end(), rank);
        if (found != group.ranks.end()) return static_cast<int>(found - group.ranks.begin());
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
