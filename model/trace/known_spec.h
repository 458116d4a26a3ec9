// SPDX-License-Identifier: Apache-2.0
// What a trace says about the run behind it, completed to what the cost model needs: rates of the device that the
// recorder measured, and guesses where an importer could not know. Every guess is listed, so that a screen can show it.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <vector>

namespace fourwalls {

struct KnownSpec {
    std::optional<RunSpec> spec;        ///< absent: the trace says too little
    std::vector<InferredField> assumed; ///< what the trace does not say itself, each with its reason
    bool isGuess = false;               ///< the trace has no specification: all of it is put together from signs
};

/// The spec of a trace. A recorded or predicted one has it; device rates that it leaves open come from the
/// measurements in the trace's closing. A recording says which machines it was made for, and its ranks which device
/// computed: where these differ (a processor with the links of a GPU cluster), the spec is that of the latter.
KnownSpec knownSpec(const TraceInfo& info);

} // namespace fourwalls
