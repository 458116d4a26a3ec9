// SPDX-License-Identifier: Apache-2.0
// What could be tried against a finding on the recorded step itself.
#pragma once

#include "model/diagnose/finding.h"

#include <string>

namespace fourwalls::diagnose {

/// The change of a replay that takes a cause away, as `replay --change` takes it; empty: none does.
std::string remedyOf(const Finding& finding);

} // namespace fourwalls::diagnose
