// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels for AVX-512: see simd_kernels.inc.h.
#include "profiler/engine/device/simd_kernels.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")
#define FW_SIMD_NAMESPACE avx512
#define FW_SIMD_NAME "AVX-512"
#define FW_SIMD_BYTES 64
#include "profiler/engine/device/simd_kernels.inc.h"
