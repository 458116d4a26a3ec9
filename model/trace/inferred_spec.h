// SPDX-License-Identifier: Apache-2.0
// What an importer could tell of the network and the parallel plan behind a trace whose specification is unknown: each
// statement with how sure it is and why. They travel in the audit, so that every trace file can hold them.
#pragma once

#include "model/trace/records.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// high: the file says so, or two independent signs agree. medium: one sign. low: it fits, but so would other things.
enum class Confidence { Low, Medium, High };

std::string_view name(Confidence);

/// What a value could be instead.
struct RunnerUp {
    std::string value;
    double odds =
        0; ///< its evidence by that for the value: how often a shape came, how many FLOPs, how many signs; below 1
};

struct InferredField {
    std::string field; ///< "layers", "hidden", "heads", "sequence", "tp", "device", …: the names of spec and plan
    std::string value; ///< a number, or a word
    Confidence confidence = Confidence::Low;
    std::string why;
    std::optional<RunnerUp> runnerUp = {}; ///< absent: nothing else fits
};

/// As an audit record "inferred_FIELD" with "VALUE; CONFIDENCE; WHY", or "VALUE; CONFIDENCE or OTHER at ODDS; WHY", as its detail and the number (or 1) as its count.
AuditRecord toAudit(const InferredField& field);

/// The statements in an audit, in its order.
std::vector<InferredField> inferredFields(const std::vector<AuditRecord>& audit);

} // namespace fourwalls
