// SPDX-License-Identifier: Apache-2.0
// A predicted memory curve laid over recorded steps: of the same pipeline stage, from each step's own beginning. Pure.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_query.h"

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

/// Bytes by category at the peak of that rank in a ghost; absent without memory records.
std::optional<MemorySummary> predictedPeak(const InMemoryTraceData& predicted, RankId rank, int stage);

} // namespace fourwalls
