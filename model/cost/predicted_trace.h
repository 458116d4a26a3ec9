// SPDX-License-Identifier: Apache-2.0
// A predicted step as a trace, through the same sink as a recorded one: source and clock "predicted", collectives with
// transport "modelled", one timeline per rank class (the identical ranks of a pipeline stage, with their number).
#pragma once

#include "model/base/result.h"
#include "model/cost/predicted_step.h"
#include "model/cost/step_cost.h"
#include "model/spec/run_spec.h"
#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <memory>
#include <vector>

namespace fourwalls::cost {

/// The operators of one pass (Forward, Recompute, BackwardInput or BackwardWeight) through one position, in order.
using OperatorsOfPass = std::function<std::vector<OperatorCost>(int position, Phase pass)>;

/// The operators of the passes of a prediction, from the model that made it, which must outlive the result.
OperatorsOfPass operatorsOf(CostModel& model, const PredictedStep& predicted);

/// Whether a trace with every operator stays small: a few passes of layers.
bool hasFewOperators(const StepCost& cost);

/// The header of the trace of this prediction: its ranks stand for the stages. spec: resolved.
TraceHeader predictedHeader(const RunSpec& spec, const DrawnStep& drawn);

/// Writes the step and finishes the sink, which was made with predictedHeader. drawn: of `cost`.
/// Without `operators` every pass is a few slices, one per kind of work (matrix products, memory-bound operators,
/// communication, …), and one collective record stands for all collectives of that kind in the pass; with them every
/// layer and operator has its own. Errors: those of the sink.
Status writePredictedTrace(const RunSpec& spec, const StepCost& cost, const DrawnStep& drawn, TraceSink& sink,
                           const OperatorsOfPass& operators = {});

/// The same in memory.
Result<std::shared_ptr<const InMemoryTraceData>> predictedTrace(const RunSpec& spec, const StepCost& cost,
                                                                const DrawnStep& drawn,
                                                                const OperatorsOfPass& operators = {});

/// Its summaries and memory curves alone, a third of the work: as predictedTrace without operators, but without slices,
/// collectives, flows and allocations.
Result<std::shared_ptr<const InMemoryTraceData>> predictedSummary(const RunSpec& spec, const StepCost& cost,
                                                                  const DrawnStep& drawn);

} // namespace fourwalls::cost
