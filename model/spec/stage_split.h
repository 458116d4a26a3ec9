// SPDX-License-Identifier: Apache-2.0
// Which layers each position of the pipeline holds.
#pragma once

#include "model/spec/framework_preset.h"

#include <cstdint>
#include <vector>

namespace fourwalls {

/// Layers of every position. positions: at least 1. The sum is `layers`; positions may be empty where embedding and
/// head count as layers of their own.
/// EndsCount: the first and the last position hold one layer less. Automatic: as many each where they divide; else
/// EndsCount where layers + 2 divide; else the fuller positions first.
std::vector<std::int64_t> splitLayers(std::int64_t layers, int positions, StageSplit split);

} // namespace fourwalls
