// SPDX-License-Identifier: Apache-2.0
// Which tool recorded a trace.
#pragma once

#include "model/trace/records.h"

namespace fourwalls {

/// What recorded a trace, as far as advice differs. JaxCuda: JAX's profiler on GPUs of NVIDIA, whose programs the collector
/// records, too; Jax: the same on anything else. Rocprof: the profilers of ROCm.
enum class Recorder { Own, PyTorch, AscendPyTorch, NsightSystems, MemorySnapshot, Jax, JaxCuda, Rocprof, Other };
Recorder recorderOf(const TraceHeader& header);

} // namespace fourwalls
