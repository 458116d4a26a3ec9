// SPDX-License-Identifier: Apache-2.0
// How the clocks of a trace's ranks were aligned, as its audit tells.
#pragma once

#include "model/trace/trace_query.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fourwalls::cli {

/// One object per rank whose clock was compared: "rank", "offset_ns" (added to its times), "residual_ns".
nlohmann::json clocksJson(const TraceInfo& info);

/// The same as lines: "rank 1: 5.0 s added, residual 3.1 us".
std::vector<std::string> clocksText(const TraceInfo& info);

} // namespace fourwalls::cli
