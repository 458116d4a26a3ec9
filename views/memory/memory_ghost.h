// SPDX-License-Identifier: GPL-3.0-or-later
// A predicted memory curve laid over recorded steps: of the same pipeline stage, from each step's own beginning. Pure.
#pragma once

#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_query.h"
#include "views/session/step_spans.h"

#include <span>
#include <vector>

namespace fourwalls::views {

/// The predicted rank that stands for a stage; of the last stage where the prediction has fewer. Null: no ranks.
const RankInfo* predictedRank(const InMemoryTraceData& predicted, int stage);

/// The live bytes of a stage (of the last one where there are fewer) in a predicted step, laid over each of the steps and
/// cut where the next one begins; by time. most: samples in all, of which every one is the largest of its part of the
/// curve.
std::vector<MemorySample> ghostOf(const DrawnStep& predicted, int stage, std::span<const StepSpan> steps,
                                  std::size_t most);

/// Bytes by category at the predicted peak of that rank; absent without memory records.
std::optional<MemorySummary> predictedPeak(const InMemoryTraceData& predicted, int stage);

} // namespace fourwalls::views
