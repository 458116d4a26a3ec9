// SPDX-License-Identifier: Apache-2.0
// The graph of a pipelined job that was recorded by operations ("forward-compute", "grads-reduce-scatter", …), one or a
// few per pass, as large trainings record themselves. What depends on what follows from the kinds of operations.
#pragma once

#include "model/replay/graph_builder.h"
#include "model/replay/recording.h"

namespace fourwalls::replay {

/// Whether the recording is of that kind.
bool isOperationRecording(const Recording& recording);

/// Takes steps out in which ranks or members of operations are missing, if complete ones are left. Returns their numbers.
std::vector<StepIndex> dropIncompleteSteps(Recording& recording);

/// Dependencies as in the analysis of ByteDance-Seed/StragglerAnalysis (OSDI'25), read there and written anew, and as
/// derived ones what those leave unexplained: a message is posted behind the computation before it, messages that begin and
/// end together are one call, and ranks that start together after having been ready at different times have met somewhere
/// that nobody recorded.
/// Errors: Format naming rank and step where operations do not fit together.
Result<GraphBuilder> operationGraph(const Recording& recording);

} // namespace fourwalls::replay
