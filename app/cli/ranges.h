// SPDX-License-Identifier: Apache-2.0
// Ranges as the command line writes them: steps "2-4", times "1.5ms:2s", ranks "0,2-3".
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "model/base/time.h"

#include <string>
#include <utility>
#include <vector>

namespace fourwalls::cli {

/// "A-B" or "A" (one step). Errors: InvalidArgument.
Result<std::pair<StepIndex, StepIndex>> readStepRange(const std::string& text);
/// "A:B" with A < B, each a decimal number with an optional unit ns (default), us, ms or s; exact to the nanosecond.
Result<TimeRange> readTimeRange(const std::string& text);
/// Comma-separated numbers and A-B ranges; sorted, each once.
Result<std::vector<RankId>> readRanks(const std::string& text);

} // namespace fourwalls::cli
