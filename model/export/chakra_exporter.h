// SPDX-License-Identifier: Apache-2.0
// A step as Chakra execution traces, which simulators of clusters (ASTRA-sim) read.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls {

struct ChakraExport {
    StepIndex step;
    std::vector<std::string> files; ///< names in the folder
    std::int64_t nodes = 0;
    /// Operations of a kind that Chakra has none of, or with members in another step: written as computing of their length.
    std::int64_t withoutKind = 0;
};

/// Writes one step (absent: the typical one) into `folder`, which is created if missing: "step.R.et" for each rank R, and
/// "groups.json" with the ranks of each process group. A node is a piece of work with its length free of waiting, and
/// waits for what the replay's graph says (model/replay); between ranks nodes meet in their operations. Messages that have a
/// sender's record alone get a receive that takes no time. Begins (from the step's) and ends are whole microseconds, as the
/// format has them.
/// A rank of a prediction that stands for equal ones is written once for each of them, with the groups and peers of each.
/// Errors: those of Replay::of; NotFound for a trace without work; Unsupported for a prediction of too many ranks; Io;
/// Cancelled.
Result<ChakraExport> exportChakra(TraceQuery& trace, const std::string& folder, std::optional<StepIndex> step = {},
                                  std::stop_token stop = {});

} // namespace fourwalls
