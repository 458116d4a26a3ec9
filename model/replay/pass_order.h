// SPDX-License-Identifier: Apache-2.0
// The passes of a recorded pipeline, ordered anew: another schedule, other micro-batches, other chunks, with the times that
// the passes were measured to take, or that other changes give them.
#pragma once

#include "model/base/sentence.h"
#include "model/replay/replay_change.h"
#include "model/spec/pipeline_schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::replay {

/// A pass where another order has it, from the begin of the first one [ns].
struct PlacedPass {
    int stage = 0;
    PipelineAction action;
    std::int64_t start = 0, end = 0;
};

/// What another order makes of a step.
struct PassOrder {
    Duration recorded, changed; ///< first to last pass, as the same simulation has them
    double deviation = 0;       ///< of `changed`, from the spread of the passes [ns]
    PipelineShape recordedShape, changedShape;
    double supposed = 0;            ///< share of the passes' time that was split by a rule, not measured by pass
    std::vector<double> inputShare; ///< by stage: of a backward pass, what the gradients of inputs take
    std::vector<PlacedPass> passes; ///< of the changed order
    Duration hop;                   ///< that a message between stages is on its way
    std::vector<Sentence> assumed;
};

/// The order that the passes were recorded in. Errors: as orderPasses.
Result<PipelineShape> recordedPasses(const Recording& recording, const ReplayGraph& graph);

/// Runs the passes in the recorded order and in the order that the changes ask for (the kinds Microbatches, Schedule and
/// Vpp). times: of the graph's nodes, as other changes made them. Each pass takes the mean of its stage; a message between stages takes the median that messages were on their way.
/// A step then changes by changed - recorded: what is before and behind the passes stays.
/// Errors: Unsupported if the trace has no stages or no passes with micro-batches; those of pipelineActions.
Result<PassOrder> orderPasses(const Recording& recording, const ReplayGraph& graph, const NodeTimes& times,
                              std::span<const ReplayChange> changes);

} // namespace fourwalls::replay
