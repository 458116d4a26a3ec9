// SPDX-License-Identifier: Apache-2.0
// Steps of a trace that is already stored, found again in another way: what the trace offers to choose from, the steps
// of a choice, and a sink that puts them in the place of the old ones.
#pragma once

#include "model/base/result.h"
#include "model/import/common/step_finder.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// Something in a trace that comes again and could be a step.
struct StepCandidate {
    StepChoice choice;
    std::int64_t count = 0;     ///< of the first rank that has it
    Duration median;            ///< of a range: its length; of a kernel: from one to the next
    double coverage = 0;        ///< share of that rank's time, at most 1
    bool looksLikeStep = false; ///< by its name
};

/// Whether a person may choose the steps of a trace: of imported ones, and of recorded programs that did not mark theirs.
/// Errors: Unsupported with the reason.
Status mayChooseSteps(const TraceInfo& info);

/// Ranges and kernels, those that look like steps first, then by how much of the trace they cover. At most 200.
/// Errors: those of the query; Cancelled.
Result<std::vector<StepCandidate>> stepCandidates(TraceQuery& trace, std::stop_token stop = {});

/// The steps of a choice, rank by rank. Errors: InvalidArgument if nothing in the trace gives such steps; those of
/// mayChooseSteps and of the query.
Result<RunSteps> stepsOfChoice(TraceQuery& trace, const StepChoice& choice, const std::string& scratch,
                               std::stop_token stop = {});

/// A sink that hands everything on but steps: those are the given ones, and the closing says how they were found.
std::unique_ptr<TraceSink> sinkWithSteps(TraceSink& target, RunSteps steps);

} // namespace fourwalls::importers
