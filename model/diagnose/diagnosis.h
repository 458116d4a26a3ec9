// SPDX-License-Identifier: Apache-2.0
// What is wrong with a run, from its trace alone: no model of the network has a say. One list, most urgent first; an empty
// list is an answer, too.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/finding.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <stop_token>

namespace fourwalls::diagnose {

/// Of the wanted step, or the one that stands for the job (typicalStep), and the measured steps around it, over all ranks.
/// Reads stored summaries, and takes apart as many steps as are about a second's work. Errors: those of the queries;
/// Cancelled.
Result<Diagnosis> diagnose(TraceQuery& trace, std::stop_token stop = {},
                           std::optional<StepIndex> wanted = std::nullopt);

} // namespace fourwalls::diagnose
