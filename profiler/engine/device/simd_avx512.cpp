// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels for AVX-512 (x86-64 only): see simd_kernels.inc.h.
#include "profiler/engine/device/simd_kernels.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")
#endif
#define FW_SIMD_NAMESPACE avx512
#define FW_SIMD_NAME "AVX-512"
#define FW_SIMD_BYTES 64
#include "profiler/engine/device/simd_kernels.inc.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
