// SPDX-License-Identifier: Apache-2.0
// What one core of this machine can do at best, measured when a recording starts.
#pragma once

#include "profiler/engine/core/dtype.h"

#include <cstdint>
#include <functional>

namespace fourwalls::engine {

struct MachinePeak {
    double flops = 0;          ///< fastest matrix product of the sweep [FLOP/s]
    double bytesPerSecond = 0; ///< main memory, two arrays read and one written
};

/// Sweeps matrix products of several sizes for about 100 ms and adds large arrays for about 50 ms, in the calling
/// thread. Throws EngineError if there is no memory for it. stop: asked between products; once true, it returns with what
/// it has (a busy machine takes many times as long).
MachinePeak measureMachinePeak(DType compute, const std::function<bool()>& stop = {});

} // namespace fourwalls::engine
