// SPDX-License-Identifier: Apache-2.0
// How long the same work takes on every rank, in every step and for every micro-batch: what diagnosis compares.
#pragma once

#include "model/replay/replay.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls::diagnose {

/// A piece of computing.
struct WorkItem {
    replay::NodeIndex node;
    std::uint32_t rank;  ///< in WorkEffects::ranks
    std::uint32_t step;  ///< in WorkEffects::steps
    std::uint32_t peers; ///< items of one number do the same
    std::int32_t microbatch;
    Phase phase;
    std::int64_t time; ///< [ns]
};

struct RankWork {
    RankId rank;
    int stage = 0;
    double computing = 0; ///< per step [ns]
    double compared = 0;  ///< of it what others also do [ns]
    /// What the rank takes for work that others do, too, against the lower median of the ranks: the time-weighted median
    /// over the kinds of work, of each step; 0: nothing to compare.
    std::vector<double> againstPeers;
    /// The same against the rank's own median over the steps.
    std::vector<double> againstItself;
    /// In WorkEffects::steps, from which on the rank takes longer than before; absent: no such step. See findThrottling.
    std::optional<std::size_t> slowsFrom;
    double ratio = 1; ///< median of againstPeers over the steps before that one, or all
    /// Of the ratio's logarithm: 1.48 times the median deviation over the steps, by the root of their number.
    double noise = 0;
};

struct WorkEffects {
    std::vector<StepIndex> steps;
    std::vector<RankWork> ranks; ///< by rank
    std::vector<WorkItem> items; ///< by kind of work
    int stages = 0;              ///< pipeline stages among the ranks

    bool empty() const { return items.empty(); }
};

/// Fills `ratio` and `noise` from the steps before `slowsFrom`.
void settleRatio(RankWork& work);

/// Of the computing nodes of a replay's graph.
WorkEffects workEffects(const replay::Replay& replay);

} // namespace fourwalls::diagnose
