// SPDX-License-Identifier: Apache-2.0
// How the durations of each operator are spread: beside the sums that a trace keeps of its operators, percentiles.
#pragma once

#include "model/trace/duration_distribution.h"
#include "model/trace/trace_query.h"

#include <cstddef>
#include <stop_token>
#include <vector>

namespace fourwalls {

/// Of each operator, by id, the durations of the slices that TraceQuery::opSummaries counts: those that begin in a measured
/// step of their rank; in a trace without steps all. Reads every slice once.
/// mostKept: durations that are kept one by one; of more, only those within a hundredth are told apart (isExact()).
/// Errors: those of TraceQuery::steps and scanSlices; Cancelled.
Result<std::vector<DurationDistribution>> opDurations(TraceQuery& trace, const std::stop_token& stop = {},
                                                      std::size_t mostKept = 16'000'000);

} // namespace fourwalls
