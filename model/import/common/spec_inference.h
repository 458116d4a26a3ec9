// SPDX-License-Identifier: Apache-2.0
// The evidence that an importer collects for guessing what ran; the rules are model/trace's (spec_evidence.h).
#pragma once

#include "model/import/common/parallel_groups.h"
#include "model/trace/spec_evidence.h"

#include <vector>

namespace fourwalls::importers {

/// What one file (one rank) shows. All files of a run add to the same evidence; counts are those of the first.
class SpecEvidence : public fourwalls::SpecEvidence {
public:
    void addGroups(const std::vector<HostGroup>& groups);
};

} // namespace fourwalls::importers
