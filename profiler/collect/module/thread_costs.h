// SPDX-License-Identifier: Apache-2.0
// What the collector's functions have taken of each thread of the program (CostScope, system.h).
#pragma once

#include "profiler/collect/module/system.h"

#include <cstddef>

namespace fourwalls::collect::module {

/// As many threads have a cost of their own; the others share the last one, whose thread is 0.
inline constexpr std::size_t kMostThreadCosts = 256;

/// The cost at one of kMostThreadCosts places; one that nobody has taken has no calls.
const ThreadCost& threadCost(std::size_t index);
/// In a forked child: nothing was spent there yet.
void forgetThreadCosts();

} // namespace fourwalls::collect::module
