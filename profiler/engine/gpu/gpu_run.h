// SPDX-License-Identifier: Apache-2.0
// What a run on a GPU needs besides the device itself: whether it can be, what the GPU is, memory and devices for the
// ranks, and what the GPU can do at best.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/run_options.h"
#include "profiler/engine/device/machine_peak.h"
#include "profiler/engine/train/rank_world.h"

#include <cstdint>

namespace fourwalls::engine {

/// Whether this machine's GPU can run the spec. Errors: Unsupported, one sentence each: driver, libraries, or what the
/// plan or the options ask for that is not done on a GPU.
Status checkGpu(const RunSpec& spec, const RunOptions& options);

/// Makes the ranks of the world those of one GPU, each with a stream of its own, or with NCCL those of as many GPUs.
/// After checkGpu().
void useGpu(WorldOptions& world, bool tf32, bool nccl);

/// The fastest of a sweep of matrix products, and the GPU's memory; as measureMachinePeak. Throws EngineError.
MachinePeak measureGpuPeak(DType compute, bool tf32);

/// Cost of the two clock marks of an event on the rank's thread [ns].
double gpuMarkCost();

} // namespace fourwalls::engine
