// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels for every x86-64 processor: see simd_kernels.inc.h.
#include "profiler/engine/device/simd_kernels.h"

#define FW_SIMD_NAMESPACE baseline
#define FW_SIMD_NAME "baseline"
#define FW_SIMD_BYTES 16
#include "profiler/engine/device/simd_kernels.inc.h"
