// SPDX-License-Identifier: Apache-2.0
// Which ranks of a run asked for memory that was not there.
#pragma once

#include "model/trace/trace_query.h"

#include <vector>

namespace fourwalls {

/// The ranks of a recorded or imported run that ran out of memory, in the order in which they did; a rank may stand
/// there twice. None of a prediction: what does not fit there says so by its peak. Errors: those of the query.
Result<std::vector<RankId>> ranksOutOfMemory(TraceQuery& trace);

} // namespace fourwalls
