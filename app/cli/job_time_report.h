// SPDX-License-Identifier: Apache-2.0
// Where the time of a recorded job went, failures included, as JSON and as text; and what the model says of the same job.
#pragma once

#include "app/cli/console.h"
#include "model/trace/job_time.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fourwalls::cli {

/// {"seconds", "training_seconds", "wasted_seconds", "goodput", "lost_seconds": {…}, "failures", "checkpoints", "steps",
/// "lost_steps", "median_step_ms"}.
nlohmann::json jobTimeJson(const JobTime& time);
std::string jobTimeText(const JobTime& time);

/// The answer of `goodput FILE`. Returns the exit code.
int tellRecordedGoodput(Console& console, const std::string& file);

} // namespace fourwalls::cli
