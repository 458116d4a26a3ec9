// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels for AVX2: see simd_kernels.inc.h.
#include "profiler/engine/device/simd_kernels.h"

#pragma GCC target("avx2,fma")
#define FW_SIMD_NAMESPACE avx2
#define FW_SIMD_NAME "AVX2"
#define FW_SIMD_BYTES 32
#include "profiler/engine/device/simd_kernels.inc.h"
