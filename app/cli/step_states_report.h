// SPDX-License-Identifier: Apache-2.0
// How many steps of a trace figures use, how many are left out and why, as JSON and as a line.
#pragma once

#include "model/trace/job_step.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fourwalls::cli {

/// {"measured", "warmup", "cut", "odd", "lost", "by"}; by: null where the recorder knows its own steps. lost: see TraceInfo.
nlohmann::json stepStatesJson(const std::vector<JobStep>& steps, const std::string& by, int lost = 0);

/// "2 of 4 steps measured (1 warm-up, 1 cut), by ProfilerStep".
std::string stepStatesText(const std::vector<JobStep>& steps, const std::string& by, int lost = 0);

} // namespace fourwalls::cli
