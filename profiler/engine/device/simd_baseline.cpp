// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels for every processor of its kind, with the vectors of 16 bytes that each x86-64 (SSE2) and
// each 64-bit ARM (NEON) has: see simd_kernels.inc.h.
#include "profiler/engine/device/simd_kernels.h"

#define FW_SIMD_NAMESPACE baseline
#if defined(__aarch64__)
#define FW_SIMD_NAME "NEON"
#else
#define FW_SIMD_NAME "baseline"
#endif
#define FW_SIMD_BYTES 16
#include "profiler/engine/device/simd_kernels.inc.h"
