// SPDX-License-Identifier: Apache-2.0
// Where recorded instants of a pipeline's ranks lie once its passes are ordered anew: what was recorded in a pass moves with
// it, as often as the new order has it.
#pragma once

#include "model/replay/pass_order.h"
#include "model/replay/recording.h"

#include <map>
#include <optional>
#include <vector>

namespace fourwalls::replay {

/// A stretch of a recorded pass at its new place.
struct Placement {
    Instant start, end;
    double from = 0, to = 1; ///< of the recorded pass
    std::int32_t microbatch = 0;
    PipelinePass pass = PipelinePass::Forward; ///< that it is a part of now
};

/// A pass of one rank as it was recorded: work of one micro-batch and kind without other passes in between.
struct RecordedPass {
    TimeRange range;
    std::int32_t microbatch = 0;
    int kind = 0;    ///< 0 forward, 1 gradients of inputs (and of weights, unless they are apart), 2 of weights
    int chunk = 0;   ///< of the stage, in the order of the network
    double work = 0; ///< [ns]
    std::vector<Placement> placements;

    double shareAt(Instant at) const;
    /// An instant within a placement; instants before or behind it are at its ends.
    static Instant at(const Placement& placement, double share);
};

/// The passes of one rank in one step.
struct PlacedRank {
    std::vector<RecordedPass> passes; ///< by time
    Instant firstStart, lastEnd;      ///< of the passes as recorded
    Instant newEnd;                   ///< of the last one where it is now
};

class PassPlacement {
public:
    /// Errors: Unsupported where a rank lacks a pass that the new order needs.
    static Result<PassPlacement> of(const Recording& recording, const PassOrder& order);

    const PlacedRank* rank(RankId rank, std::uint32_t step) const;
    /// How much later each step begins, for the steps before it have changed; and its own change.
    Duration shiftOf(std::uint32_t step) const { return Duration{m_change.ns * static_cast<std::int64_t>(step)}; }
    Duration change() const { return m_change; }
    /// An instant of a step outside of its passes.
    Instant outside(const PlacedRank& rank, std::uint32_t step, Instant at) const;

private:
    Duration m_change;
    std::vector<Instant> m_windowEnd; ///< by step: the last recorded pass of all ranks
    std::map<std::pair<std::int32_t, std::uint32_t>, PlacedRank> m_ranks;
};

} // namespace fourwalls::replay
