// SPDX-License-Identifier: Apache-2.0
// The figures of a trace as the contract's JSON and as text.
#pragma once

#include "model/trace/metrics.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace fourwalls::cli {

/// A figure, or null where it is unknown.
nlohmann::json orNull(const std::optional<double>& value);

/// The object of `metrics --json`, without schema_version. Unknown figures are null.
nlohmann::json metricsJson(const TraceMetrics& metrics);
/// The same for a person.
std::string metricsText(const TraceMetrics& metrics);

} // namespace fourwalls::cli
