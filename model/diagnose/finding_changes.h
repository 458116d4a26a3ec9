// SPDX-License-Identifier: Apache-2.0
// What two diagnoses differ in: which findings went away, which are new, and which are still there.
#pragma once

#include "model/diagnose/finding.h"

#include <compare>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::diagnose {

/// What makes two findings of two runs the same one: the cause and, of a fault, who has it.
struct FindingKey {
    Cause cause = Cause::HostBound;
    std::optional<int> stage;
    std::vector<RankId> ranks; ///< empty: all of the run, or it is no fault of a rank

    friend auto operator<=>(const FindingKey&, const FindingKey&) = default;
};
FindingKey findingKey(const Finding& finding, const Diagnosis& of);

/// One finding of two sets of runs.
struct FindingChange {
    FindingKey key;
    std::size_t before = 0, after = 0;      ///< runs that have it
    double shareBefore = 0, shareAfter = 0; ///< mean gain over those runs, as a share of the step; 0: not of time
};

struct FindingChanges {
    std::size_t runsBefore = 0, runsAfter = 0;
    std::vector<FindingChange> gone;  ///< more than half of the runs before have it, at most half after
    std::vector<FindingChange> added; ///< the other way round
    std::vector<FindingChange> kept;  ///< more than half of both have it
};

/// Each list by its larger share, most first.
FindingChanges changesOf(std::span<const Diagnosis> before, std::span<const Diagnosis> after);

} // namespace fourwalls::diagnose
