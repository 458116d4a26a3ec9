// SPDX-License-Identifier: Apache-2.0
// What `compare --against` says: as JSON, for a terminal, and as Markdown for a pull request.
#pragma once

#include "model/compare/run_gate.h"
#include "model/diagnose/finding_changes.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fourwalls::cli {

struct GateAnswer {
    std::vector<std::string> runs, against; ///< files
    double confidence = 0.99;
    std::optional<double> failOver; ///< [%]
    bool failed = false;
    compare::GateReport report;
    diagnose::FindingChanges findings;
};

nlohmann::json gateJson(const GateAnswer& answer);
std::string gateText(const GateAnswer& answer);
std::string gateMarkdown(const GateAnswer& answer);

/// The three lists of a comparison's findings.
nlohmann::json findingsJson(const diagnose::FindingChanges& changes);
/// Lines such as "new: one rank holds the others up: rank 3 (12.3 % of the step)"; empty: neither side has any.
std::vector<std::string> findingLines(const diagnose::FindingChanges& changes);

} // namespace fourwalls::cli
