// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction set of the engine's own kernels.
#include "profiler/engine/device/simd_kernels.h"

namespace fourwalls::engine {

namespace avx512 {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
namespace baseline {
extern const KernelTable kTable;
}

KernelTableList runnableKernels()
{
    KernelTableList list{};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
        list.tables[list.count++] = &avx512::kTable;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.tables[list.count++] = &avx2::kTable;
#endif
    list.tables[list.count++] = &baseline::kTable;
    return list;
}

const KernelTable& kernels()
{
    static const KernelTable& best = *runnableKernels().tables[0];
    return best;
}

} // namespace fourwalls::engine
