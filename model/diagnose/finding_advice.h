// SPDX-License-Identifier: Apache-2.0
// What one can do about a finding, and what to record where something cannot be told. In English; views translate it.
#pragma once

#include "model/diagnose/finding.h"

#include <string>

namespace fourwalls::diagnose {

/// A sentence with at most one hole, "%1".
struct Wording {
    const char* text = ""; ///< marked for translation in the context "FindingWords"
    std::string argument{};

    bool empty() const { return *text == '\0'; }
    std::string english() const;
};

/// What helps against it, with the flag of a framework where there is one.
Wording adviceOn(const Finding& finding);
/// Why it cannot be told, without figures.
Wording reasonOf(const Abstention& abstention);
/// What to record so that it can be told; empty: nothing would.
Wording whatToRecord(const Abstention& abstention);

} // namespace fourwalls::diagnose
