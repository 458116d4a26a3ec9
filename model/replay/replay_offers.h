// SPDX-License-Identifier: Apache-2.0
// What could be tried on a recorded step, each with what it would give: the changes that its own trace can answer.
#pragma once

#include "model/replay/replay.h"

#include <vector>

namespace fourwalls::replay {

enum class OfferKind : std::uint8_t { Stragglers, Launches, Link, Kernel, Schedule };

struct ReplayOffer {
    OfferKind kind = OfferKind::Stragglers;
    std::string what; ///< the group, kernel or schedule; empty for the others
    ReplayChange change;
    ReplayOutcome outcome;

    /// How much shorter the step gets; negative: longer.
    Duration gain(Duration replayed) const { return replayed - outcome.changed; }
};

struct ReplayOffers {
    ReplayQuality quality;
    std::vector<ReplayOffer> offers; ///< most gain first; those that change nothing are left out
};

/// Kernels in half their time that are offered, at most.
inline constexpr std::size_t kMostKernelOffers = 3;

/// Of the step that stepWindow chooses: without stragglers, launches as a graph, links of each group twice as fast, the
/// kernels with most time on the path in half of it, and the other schedules of its pipeline. Errors: those of Replay::of.
Result<ReplayOffers> replayOffers(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop = {});

} // namespace fourwalls::replay
