// SPDX-License-Identifier: Apache-2.0
// What could be tried against a finding on the recorded step itself.
#pragma once

#include "model/diagnose/finding.h"

#include <string>

namespace fourwalls::diagnose {

/// The change of a replay that takes a cause away, as `replay --change` takes it; empty: none does.
std::string remedyOf(const Finding& finding);
/// Whether what the device waits for can be its launches: one takes, with the program around it, well under a millisecond.
/// Of a finding HostBound.
bool isOfLaunches(const Finding& finding);

} // namespace fourwalls::diagnose
