// SPDX-License-Identifier: Apache-2.0
// What a run may take of the machine that it is on.
#pragma once

#include "model/spec/run_spec.h"

#include <cstdint>

namespace fourwalls::engine {

bool onGpu(const RunSpec& spec);

/// Memory of a device, as the spec says it, else as the machine has it [bytes].
std::int64_t capacityOf(const RunSpec& spec);

/// What a rank may take of it: the device's capacity, but no more than the machine has [bytes].
std::int64_t memoryLimit(const RunSpec& spec);

} // namespace fourwalls::engine
