// SPDX-License-Identifier: Apache-2.0
// What every finding gets once it stands: the rows that its figures come from, the place to look at, the band of its gain.
#pragma once

#include "model/diagnose/case_facts.h"

#include <string>

namespace fourwalls::diagnose {

/// Gives each piece of evidence that has no rows of its own those of its kind: in the finding's ranks, step and place; and
/// the finding a range to look at, where it has none.
void settleRows(const CaseFacts& facts, Finding& finding);

/// "step_summaries", "slices", …: for JSON.
std::string_view name(EvidenceRows::Table table);

/// The rows as a question to a trace file (docs/trace-format.md).
std::string queryOf(const EvidenceRows& rows);

} // namespace fourwalls::diagnose
