// SPDX-License-Identifier: Apache-2.0
// Element-wise sums and maxima of what two ranks hold.
#pragma once

#include "profiler/engine/comm/communicator.h"

#include <cstdint>

namespace fourwalls::engine {

/// into[i] = into[i] op from[i]. bf16 is added in f32 and rounded.
void reduceInto(void* into, const void* from, std::int64_t elements, DType type, ReduceOp op);

} // namespace fourwalls::engine
