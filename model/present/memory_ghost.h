// SPDX-License-Identifier: Apache-2.0
// A predicted memory curve laid over recorded steps: of the same pipeline stage, from each step's own beginning. Pure.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_query.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// The rank of a ghost's trace that stands for a rank of that stage: itself, else the first of its stage, or of the last
/// stage where the ghost has fewer. Null: no ranks.
const RankInfo* predictedRank(const InMemoryTraceData& predicted, RankId rank, int stage);

/// The live bytes of a rank (see DrawnStep::laneOf) in a predicted or replayed step, laid over each of the steps and cut
/// where the next one begins; by time. most: samples in all, of which every one is the largest of its part of the curve.
std::vector<MemorySample> ghostOf(const DrawnStep& predicted, RankId rank, int stage, std::span<const StepSpan> steps,
                                  std::size_t most);

/// The curves over the steps that are in sight, and whether they still are those. A long run has more steps than are worth
/// a curve each: then those about what is shown have one, or, where even these are a few pixels each, one level stands for all.
class GhostCurve {
public:
    void forget();
    /// Whether what is shown needs other steps than those that have a curve. inSight: the part of `shown` in the trace.
    bool isOutOfSight(std::span<const StepSpan> steps, TimeRange shown, TimeRange inSight) const;
    /// The samples of a rank of that stage; absent where they are those that were asked for before. predicted: null for
    /// none. whole: of the trace.
    std::optional<std::vector<MemorySample>> over(std::span<const StepSpan> steps,
                                                  const std::shared_ptr<const DrawnStep>& predicted, RankId rank,
                                                  int stage, TimeRange shown, TimeRange whole);

private:
    std::shared_ptr<const DrawnStep> m_of;
    TimeRange m_range; ///< whose steps have a curve; empty: none, or the level that all reach
};

/// Bytes by category at the peak of that rank in a ghost; absent without memory records.
std::optional<MemorySummary> predictedPeak(const InMemoryTraceData& predicted, RankId rank, int stage);

} // namespace fourwalls
