// SPDX-License-Identifier: Apache-2.0
// The figures of a trace as the contract's JSON and as text.
#pragma once

#include "model/trace/metrics.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fourwalls::cli {

/// The object of `metrics --json`, without schema_version. Unknown figures are null.
nlohmann::json metricsJson(const TraceMetrics& metrics);
/// The same for a person.
std::string metricsText(const TraceMetrics& metrics);

} // namespace fourwalls::cli
