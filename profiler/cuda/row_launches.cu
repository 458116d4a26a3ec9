// SPDX-License-Identifier: Apache-2.0
// The kernels of FOURWALLS_ROW_KERNELS: norms, softmax, cross entropy, attention's rows, sums.
#include "profiler/cuda/launch_cuda.cuh"

namespace fourwalls::engine::gpu {

const RowLaunch* rowLaunches()
{
#define FOURWALLS_LAUNCH(...) &launchRows<__VA_ARGS__>,
    static constexpr RowLaunch launches[] = {FOURWALLS_ROW_KERNELS(FOURWALLS_LAUNCH)};
#undef FOURWALLS_LAUNCH
    return launches;
}

} // namespace fourwalls::engine::gpu
