// SPDX-License-Identifier: Apache-2.0
// How much memory this machine has.
#pragma once

#include <cstdint>

namespace fourwalls {

/// Of the whole machine [bytes]; 0: not known.
std::int64_t machineMemoryBytes();

} // namespace fourwalls
