// SPDX-License-Identifier: Apache-2.0
// See spec_inference.h.
#include "model/import/common/spec_inference.h"

namespace fourwalls::importers {

void SpecEvidence::addGroups(const std::vector<HostGroup>& groups)
{
    for (const HostGroup& group : groups) {
        const bool described = purposeOfGroup(group.description) != GroupPurpose::Other;
        addGroup(described ? group.description : group.name,
                 group.ranks.empty() ? group.size : static_cast<int>(group.ranks.size()));
    }
}

} // namespace fourwalls::importers
