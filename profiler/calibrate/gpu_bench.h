// SPDX-License-Identifier: Apache-2.0
// Carries the measurements of gpu_calibration.h out on a GPU, through the engine's CUDA module.
#pragma once

#include "profiler/calibrate/gpu_calibration.h"
#include "profiler/engine/gpu/gpu_module.h"

#include <memory>

namespace fourwalls::calibrate {

/// On the first GPU of the module; collectives between the first `devices`. Errors: what the GPU refuses.
Result<std::unique_ptr<GpuBench>> openGpuBench(const engine::gpu::Module& module, int devices);

/// The same on this machine's GPU. Errors: Unsupported, one sentence that says what is missing.
Result<std::unique_ptr<GpuBench>> openGpuBench();

} // namespace fourwalls::calibrate
